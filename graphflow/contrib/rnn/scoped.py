"""ScopedCell: a cell that makes its variables where a step uses them, in scopes inside its own."""

from __future__ import annotations

from typing import Any

import graphflow.nn as nn
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import ShapeLike
from graphflow._core.ops.array import array
from graphflow._core.ops.math import linalg
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant, Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers.contrib import layer_norm
from graphflow.nn.cells import RNNCell


def last_size(shape: ShapeLike) -> int:
    """The size of the last axis; ValueError if it is not known."""
    shape = TensorShape(shape)
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

    def sharded(self, name: str, rows: int, columns: int, shards: int) -> Any:
        """A matrix that is made of variables name_0, name_1, ..., one below the other.

        Args:
            name: The beginning of their names.
            rows: The rows of all together.
            columns: Its columns.
            shards: How many variables there are.

        Raises:
            ValueError: If there are more of them than rows.
        """
        if shards > rows:
            raise ValueError(f"{name} has {rows} rows, which cannot be {shards} variables.")
        least, more = divmod(rows, shards)
        parts = [self.get(f"{name}_{i}", [least + (i < more), columns]) for i in range(shards)]
        return parts[0] if shards == 1 else array.concat(parts, 0)

    def linear(
        self, parts: list[Tensor], size: int, initializer: Any = None, joined_first: bool = False,
        biased: bool = True,
    ) -> Tensor:  # fmt: skip
        """Tensors side by side, times `kernel`, plus `bias`: [batch, size].

        Args:
            parts: Tensors [batch, ...].
            size: The size of the results.
            initializer: What the kernel begins with; None for the variable scope's.
            joined_first: Whether they are put side by side before the variables are made; seeds depend on it.
            biased: Whether there is a bias.
        """
        rows = sum(last_size(part.shape) for part in parts)
        if joined_first:
            parts = [array.concat(parts, 1)]
        kernel = self.get("kernel", [rows, size], initializer)
        bias = self.get("bias", [size], Zeros(dtype=self._dtype)) if biased else None
        joined = parts[0] if len(parts) == 1 else array.concat(parts, 1)
        product: Tensor = linalg.matmul(joined, kernel)
        return product if bias is None else nn.bias_add(product, bias)

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
