"""The recurrent cell that was found by searching among many."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array.array import split
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.transcendental import sigmoid, tanh
from graphflow._core.ops.nn.nn import bias_add, relu
from graphflow._core.ops.state.initializers import Zeros
from graphflow.contrib.rnn.scoped import last_size
from graphflow.nn.cells import LSTMStateTuple, RNNCell

_PARTS = 8


class NASCell(RNNCell):
    """A cell whose form was found by a search (tf.contrib.rnn.NASCell).

    Source: Zoph and Le, "Neural Architecture Search with Reinforcement Learning", ICLR 2017, arXiv:1611.01578.

    Args:
        num_units: The size of its memory.
        num_proj: The size to which outputs are projected; None for none.
        use_bias: Whether biases are added.
        reuse: Whether to take variables that are there.
        **kwargs: name and dtype, as for any layer.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: bool | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._units, self._projected, self._use_bias = num_units, num_proj, use_bias

    @property
    def output_size(self) -> int:
        """The size of outputs."""
        return self._units if self._projected is None else self._projected

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of the memory and of the last output."""
        return LSTMStateTuple(self._units, self.output_size)

    def build(self, input_shape: Any) -> None:
        """Makes the variables.

        Args:
            input_shape: The shape of an input.
        """
        wide = _PARTS * self._units
        size = last_size(TensorShape(input_shape).with_rank(2))
        self._recurrent = self.add_variable("recurrent_kernel", [self.output_size, wide])
        self._kernel = self.add_variable("kernel", [size, wide])
        if self._use_bias:
            self._bias = self.add_variable("bias", [wide], Zeros())
        if self._projected is not None:
            self._projection = self.add_variable("projection_weights", [self._units, self._projected])
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: The memory and the last output.

        Returns:
            The output and the state after it.
        """
        memory, last = state
        recurrent = matmul(last, self._recurrent)
        if self._use_bias:
            recurrent = bias_add(recurrent, self._bias)
        m = split(recurrent, _PARTS, 1)
        x = split(matmul(inputs, self._kernel), _PARTS, 1)
        first = tanh(sigmoid(x[0] + m[0]) * relu(x[1] + m[1]))
        second = tanh(sigmoid(x[2] + m[2]) + relu(x[3] * m[3]))
        third = tanh(tanh(x[4] + m[4]) * sigmoid(x[5] + m[5]))
        fourth = sigmoid(tanh(x[6] + m[6]) + sigmoid(x[7] + m[7]))
        new = tanh(first + memory) * second
        output = tanh(new * tanh(third + fourth))
        if self._projected is not None:
            output = matmul(output, self._projection)
        return output, LSTMStateTuple(new, output)
