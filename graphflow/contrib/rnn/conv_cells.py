"""LSTM cells with convolutions in place of products (tf.contrib.rnn.ConvLSTMCell)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graphflow.nn as nn
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array import array
from graphflow._core.ops.math import math
from graphflow._core.ops.state.initializers import Zeros
from graphflow.contrib.rnn.scoped import ScopedCell, last_size
from graphflow.nn.cells import LSTMStateTuple


class ConvLSTMCell(ScopedCell):
    """An LSTM cell whose gates are convolutions of inputs and state (tf.contrib.rnn.ConvLSTMCell).

    Source: Shi et al., "Convolutional LSTM Network: A Machine Learning Approach for Precipitation Nowcasting", NIPS
    2015, arXiv:1506.04214.

    Args:
        conv_ndims: How many axes are convolved: 1, 2 or 3.
        input_shape: The shape of the inputs without the batch.
        output_channels: How many channels memory and output have.
        kernel_shape: The size of the windows along each axis.
        use_bias: Whether there is a bias.
        skip_connection: Whether the inputs stand beside the output, in the state, too.
        forget_bias: What is added to the forget gate.
        initializers: Accepted, and not needed.
        name: A name for the operation.

    Raises:
        ValueError: If input_shape has another number of axes than conv_ndims + 1.
    """

    def __init__(
        self, conv_ndims: int, input_shape: Sequence[int], output_channels: int, kernel_shape: Sequence[int],
        use_bias: bool = True, skip_connection: bool = False, forget_bias: float = 1.0, initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(
                f"{type(self).__name__}: input_shape must be {conv_ndims} sizes and the number of channels, got "
                f"{list(input_shape)}."
            )
        *self._sizes, self._input_channels = input_shape
        self._channels, self._windows = output_channels, list(kernel_shape)
        self._use_bias, self._skips, self._forget_bias = use_bias, skip_connection, forget_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        """The shapes of the memory and of the last output, without the batch."""
        shape = TensorShape([*self._sizes, self._channels])
        return LSTMStateTuple(shape, shape)

    @property
    def output_size(self) -> TensorShape:
        """The shape of the output, without the batch."""
        return TensorShape([*self._sizes, self._channels + self._skips * self._input_channels])

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, ..., channels].
            state: The memory and the last output.
        """
        memory, last = state
        seen = array.concat([inputs, last], -1)
        kernel = self.get("kernel", [*self._windows, last_size(seen.shape), 4 * self._channels])
        gates = nn.convolution(seen, kernel, "SAME")
        if self._use_bias:
            gates += self.get("biases", [4 * self._channels], Zeros(dtype=self._dtype))
        entering, value, forgetting, leaving = array.split(gates, 4, axis=-1)
        kept = math.sigmoid(forgetting + self._forget_bias) * memory
        memory = kept + math.sigmoid(entering) * math.tanh(value)
        output = math.tanh(memory) * math.sigmoid(leaving)
        if self._skips:
            output = array.concat([output, inputs], -1)
        return output, LSTMStateTuple(memory, output)


class Conv1DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell along one axis (tf.contrib.rnn.Conv1DLSTMCell).

    Args:
        name: A name for the operation.
        **kwargs: The other arguments of ConvLSTMCell.
    """

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell along two axes (tf.contrib.rnn.Conv2DLSTMCell).

    Args:
        name: A name for the operation.
        **kwargs: The other arguments of ConvLSTMCell.
    """

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell along three axes (tf.contrib.rnn.Conv3DLSTMCell).

    Args:
        name: A name for the operation.
        **kwargs: The other arguments of ConvLSTMCell.
    """

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
