"""Running a cell over a sequence: step by step in the graph, or in a loop whose length is known when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import count_more, counted_as
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array, indexing, layout
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math import math
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.nn.zero_states import rows_of_zeros

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope
    from graphflow.nn.cells import RNNCell


_OF_A_COUNTER: Final = 10
"""What TensorFlow builds before the steps of a loop to count them, besides `time`; two operations follow after it."""


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """TypeError, which names the argument, if it is no cell."""
    missing = [name for name in ("state_size", "output_size") if not hasattr(cell, name)]
    if not hasattr(cell, "zero_state") and not hasattr(cell, "get_initial_state"):
        missing.append("zero_state")
    if missing or not callable(cell):
        raise TypeError(
            f"The argument {cell_name!r} ({cell!r}) is not an RNNCell: it lacks {', '.join(missing) or 'a call'}."
        )


def _initial_state(cell: Any, initial_state: Any, batch_size: Any, dtype: Any) -> Any:
    if initial_state is not None:
        return initial_state
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def _as_tensors(state: Any) -> Any:
    """The state with tensors for its numbers and arrays; TensorArrays stay."""
    return nest.map_structure(lambda part: part if hasattr(part, "flow") else convert_to_tensor(part), state)


def _called(cell: Any, inputs: Any, state: Any) -> tuple[Any, Any]:
    """One step of a cell. Cells of Keras take and give a list of states, if there is one alone, too."""
    if hasattr(cell, "zero_state"):
        result: tuple[Any, Any] = cell(inputs, state)
        return result
    output, following = cell(inputs, state if nest.is_nested(state) else [state])
    return output, nest.pack_sequence_as(state, nest.flatten(following))


def _batch_size(inputs: Sequence[Tensor], axis: int) -> Any:
    for tensor in inputs:
        if tensor.dims is not None and len(tensor.dims) > axis and tensor.dims[axis] is not None:
            return tensor.dims[axis]
    return array.shape(inputs[0])[axis]


def _swapped(x: Tensor) -> Tensor:
    """Batch and time exchanged; the static rank is needed."""
    if x.dims is None or len(x.dims) < 2:
        raise ValueError(f"Expected input tensor {x.name} to have rank at least 2, but saw shape: {x.shape}")
    with counted_as(8):  # TensorFlow counts the other axes in the graph.
        return array.transpose(x, [1, 0, *range(2, len(x.dims))])


def _state_dtype(dtype: Any, state: Any) -> Any:
    """The dtype of the outputs: the given one, otherwise that of all parts of the state. ValueError if these differ."""
    if dtype is not None:
        return as_dtype(dtype)
    found = [part.dtype for part in nest.flatten(state)]
    if not found:
        raise ValueError("The state is empty: dtype, the dtype of the outputs, must be given.")
    if any(other != found[0] for other in found):
        raise ValueError(
            f"The parts of the state have different dtypes, {', '.join(sorted({x.name for x in found}))}: dtype, the"
            " dtype of the outputs, must be given."
        )
    return found[0]


def _lengths(sequence_length: Any) -> Tensor | None:
    if sequence_length is None:
        return None
    lengths = math.cast(convert_to_tensor(sequence_length), dtypes.int32)
    if lengths.dims is not None and len(lengths.dims) != 1:
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    return array.identity(lengths, name="sequence_length")


def keep_finished(finished: Tensor, old: Any, new: Any) -> Any:
    """The new values in the rows that go on, the old ones in those that are finished."""

    def choose(before: Any, after: Any) -> Any:
        if hasattr(after, "flow") or convert_to_tensor(after).dims == ():
            return after
        chosen = indexing.where(finished, before, after)
        chosen.set_shape(after.shape)
        return chosen

    return nest.map_structure(choose, old, new)


def dynamic_rnn(
    cell: RNNCell,
    inputs: TensorLike,
    sequence_length: IntTensorLike | None = None,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """A cell run over [batch, time, ...] inputs in a loop: (outputs, last state) (tf.nn.dynamic_rnn).

    Outputs are [batch, time, ...]. With `time_major` inputs and outputs are [time, batch, ...]. Rows past their
    `sequence_length` give zeros and keep their state. `dtype` is that of the outputs, and of the initial state if
    none is given. ValueError without an initial state and a dtype, or for a state of several dtypes without a
    dtype.

    Args:
        cell: An RNNCell.
        inputs: A tensor, or structure of tensors, [batch, time, ...].
        sequence_length: How many steps each row has, a vector [batch] of int32 or int64; None for all.
        initial_state: The state before the first step; None for zeros, which needs `dtype`.
        dtype: The dtype of the state that is made of zeros.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        time_major: Whether the first axis is that of time, and the second the batch's.
        scope: The variable scope.

    Raises:
        TypeError: For what is no cell.

    Examples:
        >>> cell = gf.nn.rnn_cell.GRUCell(4)
        >>> outputs, state = gf.nn.dynamic_rnn(cell, gf.zeros([2, 5, 3]), dtype=gf.float32)
        >>> outputs.shape, state.shape
        (TensorShape([2, 5, 4]), TensorShape([2, 4]))
    """
    assert_like_rnncell("cell", cell)
    with variable_scope(scope or "rnn"):
        steps = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        if not time_major:
            steps = [_swapped(x) for x in steps]
        lengths = _lengths(sequence_length)
        batch_size = _batch_size(steps, 1)
        state = _as_tensors(_initial_state(cell, initial_state, batch_size, dtype))
        if lengths is not None:
            count_more(
                11
            )  # TensorFlow's check that there is a length for each row: here keep_finished refuses others.
        outputs, final = _loop(
            cell,
            inputs,
            steps,
            state,
            _state_dtype(dtype, state),
            lengths,
            batch_size,
            parallel_iterations or 32,
            swap_memory,
        )
        if not time_major:
            outputs = nest.map_structure(_swapped, outputs)
        return outputs, final


def _loop(
    cell: Any,
    structure: Any,
    steps: list[Tensor],
    state: Any,
    output_dtype: Any,
    lengths: Tensor | None,
    batch_size: Any,
    parallel_iterations: int,
    swap_memory: bool,
) -> tuple[Any, Any]:
    static_time = next((x.dims[0] for x in steps if x.dims is not None and x.dims[0] is not None), None)
    count = array.shape(steps[0])[0]
    sources = [
        TensorArray(x.dtype, size=count, tensor_array_name=f"input_{i}").unstack(x)
        for i, x in enumerate(steps)
    ]
    sizes = nest.flatten(cell.output_size)
    sinks = [
        TensorArray(output_dtype, size=count, tensor_array_name=f"output_{i}") for i in range(len(sizes))
    ]
    silent = None
    known_batch = None if isinstance(batch_size, Tensor) else batch_size
    # TensorFlow asks for the size of the batch once more, builds zeros in any case, and bounds the loop twice.
    with counted_as((5 if known_batch is None else 0) + (6 if known_batch is not None else 7) * len(sizes)):
        if lengths is not None:
            silent = rows_of_zeros(cell.output_size, batch_size, output_dtype)
    count_more(3 if lengths is None else 7)

    def step(time: Any, written: tuple[Any, ...], current: Any) -> tuple[Any, ...]:
        flat = []
        for source, x in zip(sources, steps, strict=True):
            value = source.read(time)
            value.set_shape(None if x.dims is None else x.dims[1:])
            flat.append(value)
        finished = None if lengths is None else time >= lengths
        output, following = _called(cell, nest.pack_sequence_as(structure, flat), current)
        nest.assert_same_structure(current, following)
        if finished is not None:
            output = keep_finished(finished, silent, output)
            following = keep_finished(finished, current, following)
        made = tuple(
            sink.write(time, value) for sink, value in zip(written, nest.flatten(output), strict=True)
        )
        return time + 1, made, following

    def goes_on(time: Tensor, *rest: Any) -> Tensor:
        count_more(_OF_A_COUNTER)
        return time < count

    start = constant(0, dtype=dtypes.int32, name="time")
    _, written, final = while_loop(
        goes_on,
        step,
        (start, tuple(sinks), state),
        parallel_iterations=parallel_iterations,
        swap_memory=swap_memory,
    )
    count_more(2)
    outputs = []
    for sink, size in zip(written, sizes, strict=True):
        stacked = sink.stack()
        rest = size.as_list() if hasattr(size, "as_list") else [int(size)]
        stacked.set_shape([static_time, known_batch, *rest])
        count_more(1 if static_time is None or known_batch is None else 2)
        outputs.append(stacked)
    return nest.pack_sequence_as(cell.output_size, outputs), final


def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: TensorLike,
    sequence_length: IntTensorLike | None = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Two cells, one over the sequence and one over its reverse (tf.nn.bidirectional_dynamic_rnn).

    Returns ((outputs forward, outputs backward), (state forward, state backward)), the outputs in the order of time.

    Args:
        cell_fw: The RNNCell that reads forward.
        cell_bw: The RNNCell that reads backward.
        inputs: A tensor, or structure of tensors, [batch, time, ...].
        sequence_length: How many steps each row has, a vector [batch] of int32 or int64; None for all.
        initial_state_fw: The forward state before the first step; None for zeros.
        initial_state_bw: The backward state before the first step; None for zeros.
        dtype: The dtype of the state that is made of zeros.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        time_major: Whether the first axis is that of time, and the second the batch's.
        scope: The variable scope.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reversed_in_time(x: Any) -> Tensor:
        if sequence_length is not None:
            return layout.reverse_sequence(x, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)
        return layout.reverse(x, axis=[time_axis])

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            out_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, parallel_iterations, swap_memory,
                time_major, forward,
            )  # fmt: skip
        with variable_scope("bw") as backward:
            out_bw, state_bw = dynamic_rnn(
                cell_bw, nest.map_structure(reversed_in_time, inputs), sequence_length, initial_state_bw, dtype,
                parallel_iterations, swap_memory, time_major, backward,
            )  # fmt: skip
    return (out_fw, nest.map_structure(reversed_in_time, out_bw)), (state_fw, state_bw)


def static_rnn(
    cell: RNNCell,
    inputs: Sequence[TensorLike],
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: IntTensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """A cell run over a list of inputs, one [batch, ...] a step: (outputs a step, last state) (tf.nn.static_rnn).

    Rows past their `sequence_length` give zeros and keep their state.

    Args:
        cell: An RNNCell.
        inputs: A list of tensors [batch, ...], one for each step.
        initial_state: The state before the first step; None for zeros, which needs `dtype`.
        dtype: The dtype of the state that is made of zeros.
        sequence_length: How many steps each row has, a vector [batch] of int32 or int64; None for all.
        scope: The variable scope.

    Raises:
        TypeError: If the inputs are no list.
        ValueError: If they are empty.
    """
    assert_like_rnncell("cell", cell)
    if not isinstance(inputs, list | tuple):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "rnn") as own:
        batch_size = _batch_size([convert_to_tensor(x) for x in nest.flatten(inputs[0])], 0)
        state = _initial_state(cell, initial_state, batch_size, dtype)
        lengths = _lengths(sequence_length)
        outputs: list[Any] = []
        for time, x in enumerate(inputs):
            if time:
                own.reuse_variables()
            output, following = _called(cell, x, state)
            if lengths is not None:
                finished = math.greater_equal(time, lengths)
                silent = nest.map_structure(array.zeros_like, output)
                output, following = (
                    keep_finished(finished, silent, output),
                    keep_finished(finished, state, following),
                )
            outputs.append(output)
            state = following
        return outputs, state


def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: Sequence[TensorLike],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: IntTensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any, Any]:
    """Two cells over a list of inputs and its reverse (tf.nn.static_bidirectional_rnn).

    Returns (outputs a step, both side by side, state forward, state backward).

    Args:
        cell_fw: The RNNCell that reads forward.
        cell_bw: The RNNCell that reads backward.
        inputs: A list of tensors [batch, ...], one for each step.
        initial_state_fw: The forward state before the first step; None for zeros.
        initial_state_bw: The backward state before the first step; None for zeros.
        dtype: The dtype of the state that is made of zeros.
        sequence_length: How many steps each row has, a vector [batch] of int32 or int64; None for all.
        scope: The variable scope.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    if not isinstance(inputs, list | tuple):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as forward:
            out_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, forward)
        with variable_scope("bw") as backward:
            turned = _turned(inputs, sequence_length)
            out_bw, state_bw = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length, backward)
    both = zip(out_fw, _turned(out_bw, sequence_length), strict=True)
    outputs = [nest.map_structure(lambda *sides: array.concat(sides, 1), a, b) for a, b in both]
    return outputs, state_fw, state_bw


def _turned(steps: Sequence[Any], sequence_length: Any) -> list[Any]:
    """The steps in reverse order, each row up to its own length."""
    if sequence_length is None:
        return list(reversed(steps))
    turned = []
    for part in zip(*(nest.flatten(step) for step in steps), strict=True):
        stacked = layout.reverse_sequence(array.stack(list(part)), sequence_length, seq_axis=0, batch_axis=1)
        turned.append(array.unstack(stacked, num=len(steps)))
    return [nest.pack_sequence_as(steps[0], list(parts)) for parts in zip(*turned, strict=True)]
