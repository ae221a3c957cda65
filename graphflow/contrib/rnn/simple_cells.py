"""Cells with few gates that stay calm: minimal ones, and those without chaos (tf.contrib.rnn)."""

from __future__ import annotations

from typing import Any

import graphflow.nn as nn
from graphflow._core.graph.types import Activation, DTypeLike, InitializerLike, ShapeLike
from graphflow._core.ops.array import array
from graphflow._core.ops.math import linalg, math
from graphflow.contrib.rnn.scoped import last_size
from graphflow.layers.arguments import activation_of, initializer_of
from graphflow.nn.cells import RNNCell


class MinimalRNNCell(RNNCell):
    """A cell with one gate between its state and a layer of the inputs alone (tf.contrib.rnn.MinimalRNNCell).

    Source: Chen, Pennington and Schoenholz, "Dynamical Isometry and a Mean Field Theory of RNNs", ICML 2018,
    arXiv:1806.05394.

    Args:
        units: The size of state and output.
        activation: A function, or its name.
        kernel_initializer: What the kernel begins with, or the name of it.
        bias_initializer: What the bias of the gate begins with, or the name of it.
        name: The name of the cell's scope.
        dtype: The dtype of the variables.
        **kwargs: trainable and _reuse, as for any cell.
    """

    def __init__(
        self, units: int, activation: Activation | str = "tanh",
        kernel_initializer: InitializerLike | str = "glorot_uniform",
        bias_initializer: InitializerLike | str = "ones", name: str | None = None,
        dtype: DTypeLike | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.units, self.activation = units, activation_of(activation)
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)

    @property
    def state_size(self) -> int:
        """units."""
        return self.units

    @property
    def output_size(self) -> int:
        """units."""
        return self.units

    def build(self, inputs_shape: ShapeLike) -> None:
        """Makes kernel and bias.

        Args:
            inputs_shape: The shape of the inputs.
        """
        rows = last_size(inputs_shape) + 2 * self.units
        self.kernel = self.add_variable("kernel", [rows, self.units], self.kernel_initializer)
        self.bias = self.add_variable("bias", [self.units], self.bias_initializer)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: [batch, size].
            state: [batch, units].
        """
        forward, of_gate = array.split(self.kernel, [last_size(inputs.shape), 2 * self.units], axis=0)
        new = self.activation(linalg.matmul(inputs, forward))
        gate = nn.bias_add(linalg.matmul(array.concat([new, state], 1), of_gate), self.bias)
        kept = math.sigmoid(gate)
        output = kept * state + (1 - kept) * new
        return output, output


class CFNCell(MinimalRNNCell):
    """A cell whose state dies down without inputs (tf.contrib.rnn.CFNCell).

    Source: Laurent and von Brecht, "A recurrent neural network without chaos", ICLR 2017, arXiv:1612.06212; what is
    taken in is one minus the second gate, as in TensorFlow.

    Args:
        units: The size of state and output.
        activation: A function, or its name.
        kernel_initializer: What the kernels begin with, or the name of it.
        bias_initializer: What the bias of the gates begins with, or the name of it.
        name: The name of the cell's scope.
        dtype: The dtype of the variables.
        **kwargs: trainable and _reuse, as for any cell.
    """

    def build(self, inputs_shape: ShapeLike) -> None:
        """Makes kernels and bias.

        Args:
            inputs_shape: The shape of the inputs.
        """
        size, start = self.units, self.kernel_initializer
        self.kernel = self.add_variable("kernel", [last_size(inputs_shape), 3 * size], start)
        self.recurrent_kernel = self.add_variable("recurrent_kernel", [size, 2 * size], start)
        self.bias = self.add_variable("bias", [2 * size], self.bias_initializer)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: [batch, size].
            state: [batch, units].
        """
        of_gates, forward = array.split(self.kernel, [2 * self.units, self.units], axis=1)
        gates = linalg.matmul(state, self.recurrent_kernel) + linalg.matmul(inputs, of_gates)
        kept, held = array.split(math.sigmoid(nn.bias_add(gates, self.bias)), 2, axis=1)
        output = kept * self.activation(state) + (1 - held) * self.activation(linalg.matmul(inputs, forward))
        return output, output
