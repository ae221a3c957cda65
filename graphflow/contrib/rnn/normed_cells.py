"""LSTM cells with other matrices: normalised by layer or by weight, and in groups (tf.contrib.rnn)."""

from __future__ import annotations

from typing import Any

import graphflow.nn as nn
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import Activation, Initializer
from graphflow._core.ops.array import array
from graphflow._core.ops.math import clip, linalg, math
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope
from graphflow.contrib.rnn.scoped import ScopedCell, last_size
from graphflow.layers.arguments import activation_of
from graphflow.nn.cells import LSTMStateTuple


class _OptionalLSTM(ScopedCell):
    """What LSTM cells with peepholes, bounds and a projection have in common; subclasses say what a product is.

    Args:
        num_units: The size of the memory.
        use_peepholes: Whether the gates see the memory.
        cell_clip: The bound of the memory; None for none.
        initializer: What the matrices begin with; None for the variable scope's.
        num_proj: The size to which outputs are projected; None for none.
        proj_clip: The bound of projected outputs; None for none.
        forget_bias: What is added to the forget gate.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool, cell_clip: float | None, initializer: Initializer | None,
        num_proj: int | None, proj_clip: float | None, forget_bias: float, activation: Activation | str | None,
        reuse: bool | None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units, self._peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._projected, self._proj_clip = initializer, num_proj, proj_clip
        self._forget_bias, self._activation = forget_bias, activation_of(activation) or math.tanh

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of the memory and of the last output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        """num_proj, or num_units without a projection."""
        return self._projected or self._num_units

    def _product(self, parts: list[Tensor], size: int, biased: bool) -> Tensor:
        """Tensors side by side times a kernel, [batch, size]."""
        raise NotImplementedError

    def _normal(self, value: Tensor, scope: str) -> Tensor:
        return value

    def _within(self, value: Tensor, bound: float | None) -> Tensor:
        result: Tensor = value if bound is None else clip.clip_by_value(value, -bound, bound)
        return result

    def _step(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        (memory, last), units = state, self._num_units
        gates = array.split(self._product([inputs, last], 4 * units, True), 4, axis=1)
        entering, value, forgetting, leaving = (
            self._normal(gate, scope)
            for gate, scope in zip(gates, ("input", "transform", "forget", "output"), strict=True)
        )
        seen = [self.get(f"w_{gate}_diag", [units]) for gate in "fio" if self._peepholes]
        forgetting = forgetting + self._forget_bias
        if seen:
            forgetting, entering = forgetting + seen[0] * memory, entering + seen[1] * memory
        memory = math.sigmoid(forgetting) * memory + math.sigmoid(entering) * self._activation(value)
        memory = self._within(self._normal(memory, "state"), self._cell_clip)
        if seen:
            leaving = leaving + seen[2] * memory
        output = math.sigmoid(leaving) * self._activation(memory)
        if self._projected is not None:
            with variable_scope("projection"):
                output = self._product([output], self._projected, False)
            output = self._within(output, self._proj_clip)
        return output, LSTMStateTuple(memory, output)


class LayerNormLSTMCell(_OptionalLSTM):
    """An LSTM cell with options whose gates and memory are normalised (tf.contrib.rnn.LayerNormLSTMCell).

    Source: Ba, Kiros and Hinton, "Layer Normalization", 2016, arXiv:1607.06450.

    Args:
        num_units: The size of the memory.
        use_peepholes: Whether the gates see the memory.
        cell_clip: The bound of the memory; None for none.
        initializer: What the matrices begin with; None for the variable scope's.
        num_proj: The size to which outputs are projected; None for none.
        proj_clip: The bound of projected outputs; None for none.
        forget_bias: What is added to the forget gate.
        activation: A function, or its name; tanh by default.
        layer_norm: Whether gates and memory are normalised; the bias is made, and not used, then.
        norm_gain: What gamma begins with.
        norm_shift: What beta begins with.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None,
        initializer: Initializer | None = None, num_proj: int | None = None, proj_clip: float | None = None,
        forget_bias: float = 1.0, activation: Activation | str | None = None, layer_norm: bool = False,
        norm_gain: float = 1.0, norm_shift: float = 0.0, reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias, activation, reuse
        )  # fmt: skip
        self._norm = (norm_gain, norm_shift) if layer_norm else None

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: The memory and the last output.
        """
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            return self._step(inputs, state)

    def _product(self, parts: list[Tensor], size: int, biased: bool) -> Tensor:
        kernel = self.get("kernel", [sum(last_size(part.shape) for part in parts), size])
        product: Tensor = linalg.matmul(array.concat(parts, 1), kernel)
        if not biased:
            return product
        bias = self.get("bias", [size], Zeros(dtype=self._dtype))
        return nn.bias_add(product, bias) if self._norm is None else product

    def _normal(self, value: Tensor, scope: str) -> Tensor:
        return value if self._norm is None else self.normalised(value, scope, *self._norm)


class WeightNormLSTMCell(_OptionalLSTM):
    """An LSTM cell with options whose matrices' columns are normalised (tf.contrib.rnn.WeightNormLSTMCell).

    Source: Salimans and Kingma, "Weight Normalization", 2016, arXiv:1602.07868.

    Args:
        num_units: The size of the memory.
        norm: Whether they are normalised.
        use_peepholes: Whether the gates see the memory.
        cell_clip: The bound of the memory; None for none.
        initializer: What the matrices begin with; None for the variable scope's.
        num_proj: The size to which outputs are projected; None for none.
        proj_clip: The bound of projected outputs; None for none.
        forget_bias: What is added to the forget gate.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, num_units: int, norm: bool = True, use_peepholes: bool = False, cell_clip: float | None = None,
        initializer: Initializer | None = None, num_proj: int | None = None, proj_clip: float | None = None,
        forget_bias: float = 1, activation: Activation | str | None = None, reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias, activation, reuse
        )  # fmt: skip
        self._scope, self._norm = "wn_lstm_cell", norm

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: The memory and the last output.
        """
        with variable_scope(self._scope, initializer=self._initializer):
            return self._step(inputs, state)

    def _product(self, parts: list[Tensor], size: int, biased: bool) -> Tensor:
        rows = [last_size(part.shape) for part in parts]
        kernel = self.get("kernel", [sum(rows), size])
        if self._norm:
            cut = array.split(kernel, rows, axis=0)
            scaled = [
                nn.l2_normalize(piece, axis=0) * self.get(f"norm_{i}", [size]) for i, piece in enumerate(cut)
            ]
            kernel = array.concat(scaled, 0)
        product: Tensor = linalg.matmul(array.concat(parts, 1), kernel)
        return nn.bias_add(product, self.get("bias", [size], Zeros(dtype=self._dtype))) if biased else product


class GLSTMCell(ScopedCell):
    """LSTM cells side by side, each of a part of the inputs and of the outputs (tf.contrib.rnn.GLSTMCell).

    Source: Kuchaiev and Ginsburg, "Factorization tricks for LSTM networks", 2017, arXiv:1703.10722.

    Args:
        num_units: The size of the memory of all groups together.
        initializer: What the matrices begin with; None for the variable scope's.
        num_proj: The size to which outputs are projected; None for none.
        number_of_groups: How many cells there are; sizes must be divisible by it.
        forget_bias: What is added to the forget gate.
        activation: A function of the memory, or its name.
        reuse: Whether to take variables that are there.

    Raises:
        ValueError: If a size is not divisible by number_of_groups.
    """

    def __init__(
        self, num_units: int, initializer: Initializer | None = None, num_proj: int | None = None,
        number_of_groups: int = 1, forget_bias: float = 1.0, activation: Activation | str = math.tanh,
        reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        for what, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if size % number_of_groups:
                raise ValueError(f"{what} must be divisible by number_of_groups: {size}, {number_of_groups}.")
        self._num_units, self._initializer, self._projected = num_units, initializer, num_proj
        self._groups, self._forget_bias = number_of_groups, forget_bias
        self._activation = activation_of(activation)

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of the memory and of the last output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        """num_proj, or num_units without a projection."""
        return self._projected or self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size], of a size that is divisible by the number of groups.
            state: The memory and the last output.

        Raises:
            ValueError: If it is not, or not known.
        """
        (memory, last), units, groups = state, self._num_units, self._groups
        size = inputs.shape.as_list()[1]
        if size is None:
            raise ValueError(f"GLSTMCell: the input size must be statically known, got {inputs.shape}.")
        if size % groups:
            raise ValueError(
                f"GLSTMCell: the input size ({size}) must be divisible by number_of_groups ({groups})."
            )
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            of_groups = []
            for group, parts in enumerate(
                zip(array.split(inputs, groups, axis=1), array.split(last, groups, axis=1), strict=True)
            ):
                with variable_scope(f"group{group}"):
                    product = self.linear(list(parts), 4 * units // groups, biased=False)
                of_groups.append(array.split(product, 4, axis=1))
            entering, value, forgetting, leaving = (
                nn.bias_add(
                    array.concat(list(gates), 1), self.get(f"bias_{gate}", [units], Zeros(dtype=self._dtype))
                )
                for gate, gates in zip("ijfo", zip(*of_groups, strict=True), strict=True)
            )
        memory = math.sigmoid(forgetting + self._forget_bias) * memory
        memory = memory + math.sigmoid(entering) * math.tanh(value)
        output = math.sigmoid(leaving) * self._activation(memory)
        if self._projected is not None:
            with variable_scope("projection"):
                output = self.linear([output], self._projected, biased=False)
        return output, LSTMStateTuple(memory, output)
