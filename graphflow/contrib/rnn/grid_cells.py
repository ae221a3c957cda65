"""LSTM cells that go along a second axis, of frequencies, at every step of time (tf.contrib.rnn)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, NamedTuple

import graphflow.nn as nn
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import Initializer
from graphflow._core.ops.array import array
from graphflow._core.ops.math import clip, linalg, math
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.contrib.rnn.scoped import ScopedCell
from graphflow.nn.zero_states import rows_of_zeros


def _width(inputs: Tensor) -> int:
    width: int | None = inputs.shape.with_rank(2).as_list()[1]
    if width is None:
        raise ValueError(
            f"Cannot infer input_size from static shape inference: the inputs are {inputs.shape}."
        )
    return width


def _rows(inputs: Tensor) -> Any:
    return inputs.shape.as_list()[0] or array.shape(inputs)[0]


def _tuple_of(name: str, parts: list[str]) -> Any:
    return namedtuple(name, parts)  # Its parts are known when the cell is made.


class TimeFreqLSTMCell(ScopedCell):
    """An LSTM cell that goes along the inputs in windows, too (tf.contrib.rnn.TimeFreqLSTMCell).

    Source: Sainath and Li, "Modeling Time-Frequency Patterns with LSTM vs. Convolutional Architectures for LVCSR
    Tasks", Interspeech 2016. The state has memory and output of every window, side by side.

    Args:
        num_units: The size of the memory of a window.
        use_peepholes: Whether the gates see the memory.
        cell_clip: The bound of the memory; None for none.
        initializer: Accepted, and not used, as in TensorFlow: variables begin with what their scope says.
        num_unit_shards: How many variables the kernel is made of.
        forget_bias: What is added to the forget gate.
        feature_size: The columns of a window.
        frequency_skip: The columns from one window to the next.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, cell_clip: float | None = None,
        initializer: Initializer | None = None, num_unit_shards: int = 1, forget_bias: float = 1.0,
        feature_size: int | None = None, frequency_skip: int = 1, reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units, self._peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._shards, self._forget_bias = num_unit_shards, forget_bias
        self._size, self._skip = feature_size, frequency_skip

    @property
    def state_size(self) -> int:
        """2 * num_units, as TensorFlow says; a state has that for each window."""
        return 2 * self._num_units

    @property
    def output_size(self) -> int:
        """num_units, as TensorFlow says; an output has that for each window."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: [batch, 2 * num_units * windows].

        Raises:
            ValueError: If the inputs' size is not known.
        """
        units, size = self._num_units, self._size or 0
        windows = (_width(inputs) - size) // self._skip + 1
        kernel = self.sharded("W", size + 2 * units, 4 * units, self._shards)
        bias = self.get("B", [4 * units], Zeros(dtype=self._dtype))
        seen = [self.get(f"W_{gate}_diag", [units]) for gate in "FIO" if self._peepholes]
        below = rows_of_zeros(units, _rows(inputs), inputs.dtype)
        outputs, states = [], []
        for window in range(windows):
            here = window * self._skip
            memory, last = (state[:, at * units : (at + 1) * units] for at in (2 * window, 2 * window + 1))
            joined = array.concat([inputs[:, here : here + size], last, below], 1)
            gates = array.split(nn.bias_add(linalg.matmul(joined, kernel), bias), 4, axis=1)
            entering, value, forgetting, leaving = gates
            forgetting = forgetting + self._forget_bias
            if seen:
                forgetting, entering = forgetting + seen[0] * memory, entering + seen[1] * memory
            memory = math.sigmoid(forgetting) * memory + math.sigmoid(entering) * math.tanh(value)
            if self._cell_clip is not None:
                memory = clip.clip_by_value(memory, -self._cell_clip, self._cell_clip)
            if seen:
                leaving = leaving + seen[2] * memory
            below = math.sigmoid(leaving) * math.tanh(memory)
            outputs.append(below)
            states += [memory, below]
        return array.concat(outputs, 1), array.concat(states, 1)


class _Weights(NamedTuple):
    """Of the LSTM along one axis: its matrix, and how much each gate sees of the memories of both axes."""

    kernel: Any
    bias: Any
    seen: dict[str, tuple[Any, Any]]


class GridLSTMCell(ScopedCell):
    """Two LSTM cells in each window of the inputs, along time and frequencies (tf.contrib.rnn.GridLSTMCell).

    Sources: Kalchbrenner, Danihelka and Graves, "Grid Long Short-Term Memory", ICLR 2016, arXiv:1507.01526; for
    peepholes Sainath and Li, "Modeling Time-Frequency Patterns with LSTM vs. Convolutional Architectures for LVCSR
    Tasks", Interspeech 2016.

    Args:
        num_units: The size of the memory of a window.
        use_peepholes: Whether the gates see the memories.
        share_time_frequency_weights: Whether both cells have the same variables.
        cell_clip: The bound of the memories; None for none.
        initializer: Accepted, and not used, as in TensorFlow: variables begin with what their scope says.
        num_unit_shards: How many variables each kernel is made of.
        forget_bias: What is added to the forget gates.
        feature_size: The columns of a window.
        frequency_skip: The columns from one window to the next.
        num_frequency_blocks: A list, how many windows each block of the inputs has; blocks have variables of their own.
        start_freqindex_list: The first column of each block; None for one block of all columns.
        end_freqindex_list: The column behind the last of each block.
        couple_input_forget_gates: Whether as much is forgotten as is taken in.
        state_is_tuple: Whether the state is a tuple and not one tensor.
        reuse: Whether to take variables that are there.

    Raises:
        ValueError: If num_frequency_blocks is not given.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, share_time_frequency_weights: bool = False,
        cell_clip: float | None = None, initializer: Initializer | None = None, num_unit_shards: int = 1,
        forget_bias: float = 1.0, feature_size: int | None = None, frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None, start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None, couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True, reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units, self._peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._shared, self._coupled = share_time_frequency_weights, couple_input_forget_gates
        self._shards, self._forget_bias = num_unit_shards, forget_bias
        self._size, self._skip = feature_size or 0, frequency_skip or 1
        self._blocks = [int(windows) for windows in num_frequency_blocks]
        self._starts, self._ends = list(start_freqindex_list or ()), list(end_freqindex_list or ())
        self._state_is_tuple = state_is_tuple
        self._state_type: Any = _tuple_of("GridLSTMStateTuple", self._state_names("state"))

    def _state_names(self, prefix: str) -> list[str]:
        return [
            f"{prefix}_f{window:02d}_b{block:02d}_{part}"
            for block, windows in enumerate(self._blocks)
            for window in range(windows)
            for part in "cm"
        ]

    @property
    def state_tuple_type(self) -> Any:
        """The class of states: a memory c and an output m of each window of each block. None if states are tensors."""
        return self._state_type if self._state_is_tuple else None

    @property
    def state_size(self) -> Any:
        """num_units for each memory and output, or their sum."""
        count = len(self._state_type._fields)
        return (
            self._state_type(*[self._num_units] * count) if self._state_is_tuple else count * self._num_units
        )

    @property
    def output_size(self) -> int:
        """2 * num_units for each window."""
        return len(self._state_type._fields) * self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: A state_tuple_type of [batch, num_units], or these side by side.

        Raises:
            ValueError: If the blocks do not fit the inputs, or their size is not known.
        """
        outputs, states = self._along(self._windows(inputs), state, "state", inputs)
        following = self._state_type(*states) if self._state_is_tuple else array.concat(states, 1)
        return array.concat(outputs, 1), following

    def _windows(self, inputs: Tensor, offset: int = 0) -> list[list[Tensor]]:
        """The windows of each block, the columns of the inputs shifted by an offset, with zeros beyond."""
        width = _width(inputs)
        if offset:
            inputs = array.pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        starts, ends = self._starts or [0], self._ends if self._starts else [width]
        if not len(starts) == len(ends) == len(self._blocks):
            raise ValueError(
                f"Length of num_frequency_blocks is {len(self._blocks)}, but there are {len(starts)} first and "
                f"{len(ends)} last columns of blocks."
            )
        found = []
        for first, end, windows in zip(starts, ends, self._blocks, strict=True):
            fitting = int((end - first - self._size) / self._skip) + 1
            if fitting != windows:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {windows} but gets {fitting}, please check the input size "
                    "and filter config are correct."
                )
            at = [first + max(offset, 0) + window * self._skip for window in range(windows)]
            found.append([inputs[:, column : column + self._size] for column in at])
        return found

    def _weights(self, axis: str, block: int) -> _Weights:
        """The matrix of the cell along an axis."""
        units = self._num_units
        columns = (3 if self._coupled else 4) * units
        kernel = self.sharded(f"W_{axis[0]}_{block}", self._size + 2 * units, columns, self._shards)
        return _Weights(kernel, self.get(f"B_{axis[0]}_{block}", [columns], Zeros(dtype=self._dtype)), {})

    def _along(
        self, windows: list[list[Tensor]], state: Any, prefix: str, inputs: Tensor
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The outputs, and the state, of windows one after the other, block by block."""
        outputs: list[Tensor] = []
        states: list[Tensor] = []
        units = self._num_units
        for block, of_block in enumerate(windows):
            axes = ["freq"] if self._shared else ["freq", "time"]
            weights = {axis: self._weights(axis, block) for axis in axes}
            for axis in axes if self._peepholes else ():
                for gate in "IO" if self._coupled else "FIO":
                    of_f, of_t = (self.get(f"W_{gate}_diag_{axis}{of}_{block}", [units]) for of in "ft")
                    weights[axis].seen[gate] = of_f, of_t
            below = (rows_of_zeros(units, _rows(inputs), inputs.dtype),) * 2
            for position, window in enumerate(of_block):
                if self._state_is_tuple:
                    name = f"{prefix}_f{position:02d}_b{block:02d}"
                    before = getattr(state, name + "_c"), getattr(state, name + "_m")
                else:
                    at = 2 * position * units
                    before = state[:, at : at + units], state[:, at + units : at + 2 * units]
                new, below = self._window(window, before, below, weights)
                states += new
                outputs += [new[1], below[1]]
        return outputs, states

    def _window(
        self, window: Tensor, before: Any, below: Any, weights: dict[str, _Weights]
    ) -> tuple[Any, Any]:
        """Memory and output of both cells, of time and of frequencies, in one window."""
        joined = array.concat([window, before[1], below[1]], 1)
        memories = below[0], before[0]
        leaving, new = [], []
        for axis, memory in (("freq", below[0]), ("time", before[0])):
            own = weights.get(axis, weights["freq"])
            gates = nn.bias_add(linalg.matmul(joined, own.kernel), own.bias)
            if self._coupled:
                entering, value, out = array.split(gates, 3, axis=1)
                taken = math.sigmoid(_with(entering, own, "I", memories))
                kept = 1.0 - taken
            else:
                entering, value, forgetting, out = array.split(gates, 4, axis=1)
                taken = math.sigmoid(_with(entering, own, "I", memories))
                kept = math.sigmoid(_with(forgetting + self._forget_bias, own, "F", memories))
            found = kept * memory + taken * math.tanh(value)
            if self._cell_clip is not None:
                found = clip.clip_by_value(found, -self._cell_clip, self._cell_clip)
            leaving.append((out, own))
            new.append(found)
        of_f, of_t = (
            math.sigmoid(_with(out, own, "O", (new[0], new[1]))) * math.tanh(memory)
            for (out, own), memory in zip(leaving, new, strict=True)
        )
        return (new[1], of_t), (new[0], of_f)


def _with(gate: Tensor, weights: _Weights, name: str, memories: tuple[Any, Any]) -> Tensor:
    """A gate that sees the memories of both axes, if there are peepholes."""
    if name not in weights.seen:
        return gate
    of_f, of_t = weights.seen[name]
    result: Tensor = gate + of_f * memories[0] + of_t * memories[1]
    return result


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A GridLSTMCell up and one down the frequencies (tf.contrib.rnn.BidirectionalGridLSTMCell).

    Args:
        num_units: The size of the memory of a window.
        use_peepholes: Whether the gates see the memories.
        share_time_frequency_weights: Whether the cells of time and of frequencies have the same variables.
        cell_clip: The bound of the memories; None for none.
        initializer: Accepted, and not used, as in TensorFlow: variables begin with what their scope says.
        num_unit_shards: How many variables each kernel is made of.
        forget_bias: What is added to the forget gates.
        feature_size: The columns of a window.
        frequency_skip: The columns from one window to the next.
        num_frequency_blocks: A list, how many windows each block of the inputs has.
        start_freqindex_list: The first column of each block; None for one block of all columns.
        end_freqindex_list: The column behind the last of each block.
        couple_input_forget_gates: Whether as much is forgotten as is taken in.
        backward_slice_offset: By how many columns the windows of the way down are shifted.
        reuse: Whether to take variables that are there.

    Raises:
        ValueError: If num_frequency_blocks is not given.
    """

    def __init__(
        self, num_units: int, use_peepholes: bool = False, share_time_frequency_weights: bool = False,
        cell_clip: float | None = None, initializer: Initializer | None = None, num_unit_shards: int = 1,
        forget_bias: float = 1.0, feature_size: int | None = None, frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None, start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None, couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0, reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer, num_unit_shards,
            forget_bias, feature_size, frequency_skip, num_frequency_blocks, start_freqindex_list,
            end_freqindex_list, couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._offset = int(backward_slice_offset)
        names = self._state_names("fwd_state") + self._state_names("bwd_state")
        self._state_type = _tuple_of("BidirectionalGridLSTMStateTuple", names)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: A state_tuple_type of [batch, num_units].

        Raises:
            ValueError: If the blocks do not fit the inputs, or their size is not known.
        """
        with variable_scope("fwd"):
            up, of_up = self._along(self._windows(inputs), state, "fwd_state", inputs)
        backward = [block[::-1] for block in self._windows(inputs, self._offset)]
        with variable_scope("bwd"):
            down, of_down = self._along(backward, state, "bwd_state", inputs)
        return array.concat(up + down, 1), self._state_type(*of_up, *of_down)
