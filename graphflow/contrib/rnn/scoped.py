"""ScopedCell: a cell that makes its variables where a step uses them, in scopes inside its own."""

from __future__ import annotations

from typing import Any

import graphflow.nn as nn
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array import array
from graphflow._core.ops.math import linalg
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant, Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers.contrib import layer_norm
from graphflow.nn.cells import RNNCell


def last_size(shape: TensorShape) -> int:
    """The size of the last axis; ValueError if it is not known."""
    size: int | None = None if shape.ndims is None else shape.as_list()[-1]
    if size is None:
        raise ValueError(f"The size of the inputs' last axis must be known, but their shape is {shape}.")
    return size


class ScopedCell(RNNCell):
    """A cell whose `call` makes its variables, at the first step, and finds them again at later ones."""

    def get(self, name: str, shape: list[int], initializer: Any = None, trainable: bool = True) -> Any:
        """A variable of the present scope.

        Args:
            name: Its name.
            shape: Its shape.
            initializer: What it begins with; None for the variable scope's.
            trainable: Whether optimizers train it.
        """
        found = get_variable(name, shape, dtype=self._dtype, initializer=initializer, trainable=trainable)
        if not self.built:
            self._variables.append(found)
        return found

    def linear(
        self, parts: list[Tensor], size: int, initializer: Any = None, joined_first: bool = False
    ) -> Tensor:
        """Tensors side by side, times `kernel`, plus `bias`: [batch, size].

        Args:
            parts: Tensors [batch, ...].
            size: The size of the results.
            initializer: What the kernel begins with; None for the variable scope's.
            joined_first: Whether they are put side by side before the variables are made; seeds depend on it.
        """
        rows = sum(last_size(part.shape) for part in parts)
        if joined_first:
            parts = [array.concat(parts, 1)]
        kernel = self.get("kernel", [rows, size], initializer)
        bias = self.get("bias", [size], Zeros(dtype=self._dtype))
        joined = parts[0] if len(parts) == 1 else array.concat(parts, 1)
        return nn.bias_add(linalg.matmul(joined, kernel), bias)

    def normalised(self, value: Tensor, scope: str, gain: float, shift: float) -> Tensor:
        """A value with layer normalisation.

        Args:
            value: [batch, size].
            scope: The scope of gamma and beta.
            gain: What gamma begins with.
            shift: What beta begins with.
        """
        size = last_size(value.shape)
        with variable_scope(scope):
            self.get("gamma", [size], Constant(gain))
            self.get("beta", [size], Constant(shift))
        result: Tensor = layer_norm(value, reuse=True, scope=scope)
        return result
