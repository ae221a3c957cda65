"""NTMCell: a cell that reads and writes a memory by attention (tf.contrib.rnn.NTMCell)."""

from __future__ import annotations

from typing import Any, NamedTuple

import graphflow.nn as nn
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike
from graphflow._core.ops.array import array, indexing
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import clip, linalg, math
from graphflow._core.ops.math.arithmetic import pow_
from graphflow._core.ops.math.norms import norm
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.state.initializers import Constant, GlorotUniform, TruncatedNormal, Zeros
from graphflow.contrib.rnn.scoped import last_size
from graphflow.nn.cells import RNNCell
from graphflow.nn.zero_states import rows_of_zeros


class NTMControllerState(NamedTuple):
    """The state of an NTMCell: the controller's, what was read, where the heads look, the memory, and the time."""

    controller_state: Any
    read_vector_list: Any
    w_list: Any
    M: Any
    time: Any


class NTMCell(RNNCell):
    """A neural Turing machine around a cell, its controller (tf.contrib.rnn.NTMCell).

    Sources: Graves, Wayne and Danihelka, "Neural Turing Machines", 2014, arXiv:1410.5401; Collier and Beel,
    "Implementing Neural Turing Machines", 2018, arXiv:1807.08518.

    Args:
        controller: An RNNCell.
        memory_size: How many rows the memory has.
        memory_vector_dim: How many columns.
        read_head_num: How many heads read.
        write_head_num: How many heads write.
        shift_range: How many rows a head may move either way in one step.
        output_dim: The size of the output; None for that of the inputs.
        clip_value: The bound of the heads' parameters and of the output.
        dtype: The dtype of the variables.
        name: The name of the cell's scope.
    """

    def __init__(
        self, controller: Any, memory_size: int, memory_vector_dim: int, read_head_num: int,
        write_head_num: int, shift_range: int = 1, output_dim: int | None = None, clip_value: float = 20,
        dtype: DTypeLike = dtypes.float32, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, name=name)
        if not (
            hasattr(controller, "state_size") and hasattr(controller, "output_size") and callable(controller)
        ):
            raise TypeError(f"NTM RNN controller cell is not an RNNCell: {controller!r}")
        self.controller, self.memory_size, self.memory_vector_dim = controller, memory_size, memory_vector_dim
        self.read_head_num, self.write_head_num = read_head_num, write_head_num
        self.shift_range, self.output_dim, self.clip_value = shift_range, output_dim, clip_value
        self.num_heads = read_head_num + write_head_num
        self.num_parameters_per_head = memory_vector_dim + 2 * shift_range + 4
        self.total_parameter_num = (
            self.num_heads * self.num_parameters_per_head + 2 * memory_vector_dim * write_head_num
        )

    @property
    def state_size(self) -> NTMControllerState:
        """The sizes of a state's parts; the memory as one row."""
        return NTMControllerState(
            controller_state=self.controller.state_size,
            read_vector_list=[self.memory_vector_dim] * self.read_head_num,
            w_list=[self.memory_size] * self.num_heads,
            M=TensorShape([self.memory_size * self.memory_vector_dim]),
            time=TensorShape([]),
        )

    @property
    def output_size(self) -> int | None:
        """output_dim; None before the first input if it was not given."""
        return self.output_dim

    def build(self, inputs_shape: ShapeLike) -> None:
        """Makes the variables.

        Args:
            inputs_shape: The shape of the inputs.
        """
        if self.output_dim is None:
            self.output_dim = last_size(inputs_shape)
        width, size = self.memory_vector_dim, self.controller.output_size
        dtype: Any = self._dtype

        def linear(name: str, rows: int, columns: int) -> tuple[Any, Any]:
            start = TruncatedNormal(stddev=rows**-0.5, dtype=dtypes.float32)
            kernel = self.add_variable(f"{name}_kernel", [rows, columns], start)
            return kernel, self.add_variable(f"{name}_bias", [columns], Zeros(dtype=dtype))

        self._parameters = linear("parameters", size, self.total_parameter_num)
        self._output = linear("output", size + width * self.read_head_num, self.output_dim)
        self._first_reads = [
            self.add_variable(f"initial_read_vector_{i}", [1, width], GlorotUniform())
            for i in range(self.read_head_num)
        ]
        self._first_weights = [
            self.add_variable(f"initial_address_weights_{i}", [1, self.memory_size], GlorotUniform())
            for i in range(self.num_heads)
        ]
        self._memory = self.add_variable("memory", [self.memory_size, width], Constant(1e-6, dtype=dtype))
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: An NTMControllerState; at time 0 what was read, the weights and the memory are not those in it, but
                the cell's variables.
        """
        begins = math.equal(state.time, 0)
        rows = inputs.shape.as_list()[0] or array.shape(inputs)[0]

        def begin(first: Any, later: Any) -> Tensor:
            """What the cell begins with, the same for all of the batch, or else what the state has."""
            alike = array.tile(array.expand_dims(first, 0), [rows] + [1] * first.shape.ndims)
            chosen: Tensor = indexing.where(array.fill(array.shape(alike), begins), alike, later)
            chosen.set_shape([inputs.shape.as_list()[0], *first.shape.as_list()])
            return chosen

        reads = [
            begin(math.tanh(first[0]), later)
            for first, later in zip(self._first_reads, state.read_vector_list, strict=True)
        ]
        weights = [
            begin(nn.softmax(first[0]), later)
            for first, later in zip(self._first_weights, state.w_list, strict=True)
        ]
        memory = begin(convert_to_tensor(self._memory), state.M)
        made, following = self.controller(array.concat([inputs, *reads], 1), state.controller_state)
        parameters = self._within(nn.xw_plus_b(made, *self._parameters))
        of_heads = self.num_heads * self.num_parameters_per_head
        heads = array.split(parameters[:, :of_heads], self.num_heads, axis=1)
        weights = [self._address(head, memory, w) for head, w in zip(heads, weights, strict=True)]
        reads = [reduce_sum(array.expand_dims(w, 2) * memory, axis=1) for w in weights[: self.read_head_num]]
        changes = array.split(parameters[:, of_heads:], 2 * self.write_head_num, axis=1)
        pairs = zip(changes[::2], changes[1::2], weights[self.read_head_num :], strict=True)
        for erased, added, w in pairs:
            at = array.expand_dims(w, 2)
            kept = 1 - linalg.matmul(at, array.expand_dims(math.sigmoid(erased), 1))
            memory = memory * kept + linalg.matmul(at, array.expand_dims(math.tanh(added), 1))
        output = self._within(nn.xw_plus_b(array.concat([made, *reads], 1), *self._output))
        return output, NTMControllerState(following, reads, weights, memory, state.time + 1)

    def _within(self, value: Tensor) -> Tensor:
        result: Tensor = clip.clip_by_value(value, -self.clip_value, self.clip_value)
        return result

    def _address(self, head: Tensor, memory: Tensor, before: Tensor) -> Tensor:
        """Where a head looks, [batch, memory_size]: by content, then moved and sharpened (section 3.3 of the paper)."""
        width, moves = self.memory_vector_dim, 2 * self.shift_range + 1
        key = array.expand_dims(math.tanh(head[:, :width]), 2)
        strength = nn.softplus(head[:, width : width + 1])
        gate = math.sigmoid(head[:, width + 1 : width + 2])
        shift = nn.softmax(head[:, width + 2 : width + 2 + moves])
        sharpness = nn.softplus(head[:, -1:]) + 1
        norms = norm(key, axis=1, keepdims=True) * norm(memory, axis=2, keepdims=True)
        alike = array.squeeze(linalg.matmul(memory, key) / (norms + 1e-8), [2])
        weighted = math.exp(strength * alike)
        content = weighted / reduce_sum(weighted, axis=1, keepdims=True)
        mixed = gate * content + (1 - gate) * before
        # Row i becomes the sum over moves s of shift[s] * mixed[i - s], around the ends.
        distances = [*range(self.shift_range + 1), *range(-self.shift_range, 0)]
        columns = [*range(self.shift_range + 1), *range(self.shift_range + 1, moves)]
        moved = sum(
            shift[:, column : column + 1] * self._rolled(mixed, distance)
            for column, distance in zip(columns, distances, strict=True)
        )
        sharp = pow_(moved, sharpness)
        result: Tensor = sharp / reduce_sum(sharp, axis=1, keepdims=True)
        return result

    def _rolled(self, value: Tensor, distance: int) -> Tensor:
        """The columns moved by a distance to the right, around the end."""
        at = -distance % self.memory_size
        rolled: Tensor = array.concat([value[:, at:], value[:, :at]], 1) if at else value
        return rolled

    def zero_state(self, batch_size: IntTensorLike, dtype: DTypeLike) -> NTMControllerState:
        """A state of zeros, at time 0.

        Args:
            batch_size: How many rows, an int or a scalar tensor.
            dtype: The dtype of the controller's state.
        """
        width, length = self.memory_vector_dim, self.memory_size
        return NTMControllerState(
            controller_state=self.controller.zero_state(batch_size, dtype),
            read_vector_list=[
                rows_of_zeros(width, batch_size, dtypes.float32) for _ in range(self.read_head_num)
            ],
            w_list=[rows_of_zeros(length, batch_size, dtypes.float32) for _ in range(self.num_heads)],
            M=rows_of_zeros(TensorShape([length, width]), batch_size, dtypes.float32),
            time=0,
        )
