"""Cells that compute what cuDNN's layers do, and whose variables have the names that their checkpoints have."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import Initializer
from graphflow._core.ops.array import array
from graphflow._core.ops.math import math
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.state.initializers import Constant, Zeros
from graphflow.contrib.rnn.cells import LSTMBlockCell
from graphflow.nn import bias_add
from graphflow.nn.cells import GRUCell


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """The cell of CudnnLSTM (tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell).

    Args:
        num_units: The size of state and output.
        reuse: Whether to take variables that are there.
    """

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(GRUCell):
    """The cell of CudnnGRU, whose reset gate works after the product (tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell).

    Args:
        num_units: The size of state and output.
        reuse: Whether to take variables that are there.
        kernel_initializer: What the matrices begin with; None for the variable scope's.
    """

    def __init__(
        self, num_units: int, reuse: bool | None = None, kernel_initializer: Initializer | None = None
    ) -> None:
        super().__init__(num_units, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, inputs_shape: Any) -> None:
        """Makes the kernels and biases of gates and candidate.

        Args:
            inputs_shape: The shape of the inputs.
        """
        depth = inputs_shape.as_list()[1]
        if depth is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        units, kernel = self._num_units, self._kernel_initializer
        zeros = self._bias_initializer or Zeros()
        self._gate_kernel = self.add_variable("gates/kernel", [depth + units, 2 * units], kernel)
        self._gate_bias = self.add_variable(
            "gates/bias", [2 * units], self._bias_initializer or Constant(1.0)
        )
        of_inputs, of_state = "candidate/input_projection", "candidate/hidden_projection"
        self._input_kernel: Any = self.add_variable(f"{of_inputs}/kernel", [depth, units], kernel)
        self._state_kernel: Any = self.add_variable(f"{of_state}/kernel", [units, units], kernel)
        self._input_bias: Any = self.add_variable(f"{of_inputs}/bias", [units], zeros)
        self._state_bias: Any = self.add_variable(f"{of_state}/bias", [units], zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: A tensor [batch, size].
            state: The state before the step.
        """
        weights = (
            self._gate_kernel, self._gate_bias, self._input_kernel, self._state_kernel, self._input_bias,
            self._state_bias,
        )  # fmt: skip
        output = gru_step(inputs, state, weights, self._activation)
        return output, output


def gru_step(inputs: Any, state: Any, weights: tuple[Any, ...], activation: Any) -> Tensor:
    """The state after a step of a gated recurrent unit whose reset gate works after the product."""
    gate_kernel, gate_bias, input_kernel, state_kernel, input_bias, state_bias = weights
    gates = bias_add(matmul(array.concat([inputs, state], 1), gate_kernel), gate_bias)
    reset, update = array.split(math.sigmoid(gates), 2, axis=1)
    candidate = bias_add(matmul(inputs, input_kernel), input_bias)
    candidate = activation(candidate + reset * bias_add(matmul(state, state_kernel), state_bias))
    result: Tensor = (1 - update) * candidate + update * state
    return result
