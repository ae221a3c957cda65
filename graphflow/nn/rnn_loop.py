"""raw_rnn: a cell in a loop that a function of the caller's drives, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.nn.rnn import assert_like_rnncell, keep_finished
from graphflow.nn.zero_states import rows_of_zeros, zero_state_of

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope
    from graphflow.nn.cells import RNNCell


def raw_rnn(
    cell: RNNCell,
    loop_fn: Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any, Any]],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """A cell in a loop whose inputs, outputs and end a function decides (tf.nn.raw_rnn).

    The function is called as loop_fn(time, cell_output, cell_state, loop_state), before the loop with time 0 and three
    times None, then behind each step, and gives (finished, next_input, next_state, emit_output, next_loop_state).
    `finished`, a bool [batch], ends the loop once all of it is true; a row that has finished keeps its state and emits
    zeros. The first `emit_output` says what is emitted, None if it is what the cell puts out; its values do not count.
    A `next_loop_state` of None leaves the loop's state as it is.

    Args:
        cell: An RNNCell.
        loop_fn: The function.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        scope: The variable scope.

    Returns:
        A TensorArray of what was emitted, or a structure of them; the last state; the loop's last state.

    Raises:
        TypeError: For what is no cell, or no function.

    Examples:
        >>> cell, inputs = gf.nn.rnn_cell.GRUCell(4), gf.TensorArray(gf.float32, 5).unstack(gf.zeros([5, 2, 3]))
        >>> def step(time, output, state, loop_state):
        ...     start = cell.zero_state(2, gf.float32) if output is None else state
        ...     done = time >= gf.constant([5, 3])
        ...     following = gf.cond(
        ...         gf.reduce_all(done), lambda: gf.zeros([2, 3]), lambda: gf.reshape(inputs.read(time), [2, 3])
        ...     )
        ...     return done, following, start, output, None
        >>> outputs, state, _ = gf.nn.raw_rnn(cell, step)
        >>> outputs.stack().shape, state.shape
        (TensorShape([None, 2, 4]), TensorShape([2, 4]))
    """
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(f"loop_fn must be a function, got {loop_fn!r}.")
    with variable_scope(scope or "rnn"):
        time = constant(0, dtype=dtypes.int32, name="time")
        finished, first, state, emitted, kept = loop_fn(time, None, None, None)
        first, state = (nest.map_structure(convert_to_tensor, part) for part in (first, state))
        nest.assert_same_structure(state, cell.state_size)
        known = TensorShape([None])
        for part in nest.flatten(first):
            known = known.merge_with(part.shape[:1])
        batch = known[0].value if known[0].value is not None else array.shape(nest.flatten(first)[0])[0]
        silent = _silent(cell, emitted, batch, nest.flatten(state)[0].dtype)
        sinks = [
            TensorArray(
                part.dtype,
                size=0,
                dynamic_size=True,
                element_shape=part.shape,
                tensor_array_name=f"rnn_output_{i}",
            )
            for i, part in enumerate(nest.flatten(silent))
        ]

        def step(
            time: Any, finished: Any, x: Any, written: Any, current: Any, carried: Any
        ) -> tuple[Any, ...]:
            output, following = cell(x, current)
            nest.assert_same_structure(current, following)
            following_time = time + 1
            done, coming, following, emit, own = loop_fn(following_time, output, following, carried)
            nest.assert_same_structure(current, following)
            nest.assert_same_structure(x, coming)
            nest.assert_same_structure(silent, emit)
            emit = keep_finished(finished, silent, emit)
            made = tuple(
                sink.write(time, value) for sink, value in zip(written, nest.flatten(emit), strict=True)
            )
            following = keep_finished(finished, current, following)
            left = carried if own is None else own
            return following_time, math.logical_or(finished, done), coming, made, following, left

        start = (time, finished, first, tuple(sinks), state, constant(0) if kept is None else kept)
        *_, written, state, left = while_loop(
            lambda time, finished, *rest: math.logical_not(reductions.reduce_all(finished)),
            step, start, parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory,
        )  # fmt: skip
        return nest.pack_sequence_as(silent, list(written)), state, None if kept is None else left


def _silent(cell: Any, emitted: Any, batch: Any, dtype: Any) -> Any:
    """What a finished row emits: zeros [batch, ...] like the first that is emitted, or like what the cell puts out."""
    if emitted is None:
        with counted_as((6 if isinstance(batch, int) else 7) * len(nest.flatten(cell.output_size))):
            return rows_of_zeros(cell.output_size, batch, dtype)

    def zeros(part: Any) -> Any:
        tensor = convert_to_tensor(part)
        size = tensor.shape if tensor.shape.is_fully_defined() else array.shape(tensor)
        if isinstance(size, TensorShape):
            return zero_state_of(size, batch, tensor.dtype)
        made = array.zeros(array.concat([array.reshape(batch, [1]), size], 0), tensor.dtype)
        made.set_shape(TensorShape([None if hasattr(batch, "graph") else batch]).concatenate(tensor.shape))
        return made

    return nest.map_structure(zeros, emitted)
