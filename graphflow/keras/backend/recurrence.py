"""Steps over time (tf.keras.backend.rnn)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.typing import Tensors


def _time_first(tensor: Any) -> Any:
    return ops.transpose(tensor, [1, 0, *range(2, len(tensor.shape.as_list()))])


def _where(mask: Any, chosen: Any, otherwise: Any) -> Any:
    """Elements of examples that are not masked from `chosen`, others from `otherwise`."""
    spread = mask
    for _ in range(len(chosen.shape.as_list()) - len(mask.shape.as_list())):
        spread = ops.expand_dims(spread, -1)
    return ops.where(ops.logical_and(spread, ops.ones_like(chosen, dtype="bool")), chosen, otherwise)


def rnn(
    step_function: Callable[..., Any],
    inputs: Tensors,
    initial_states: Tensors,
    go_backwards: bool = False,
    mask: TensorLike | None = None,
    constants: Tensors = None,
    unroll: bool = False,
    input_length: int | TensorLike | None = None,
    time_major: bool = False,
    zero_output_for_mask: bool = False,
) -> tuple[Any, Any, Any]:
    """The last output, all outputs and the last states of a step that is done for each time (tf.keras.backend.rnn).

    Args:
        step_function: (inputs of one time, states) -> (output, new states).
        inputs: [batch, time, ...], or a structure of such.
        initial_states: The states before the first step.
        go_backwards: Whether the last time comes first.
        mask: [batch, time] of bools; a masked step repeats the output and the states before it.
        constants: Handed to each step behind the states.
        unroll: Whether each step has operations of its own; the number of times must be known then.
        input_length: Changes nothing.
        time_major: Whether time is the first axis.
        zero_output_for_mask: Whether the output of a masked step is zero.
    """
    swapped = inputs if time_major else nest.map_structure(_time_first, inputs)
    flat = nest.flatten(swapped)
    known = flat[0].shape.as_list()[0]
    steps: Any = ops.shape(flat[0])[0] if known is None else known
    masks = None
    if mask is not None:
        masks = ops.cast(mask, "bool")
        masks = masks if time_major else ops.transpose(masks, [1, 0])
    if go_backwards:
        flat = [ops.reverse(t, [0]) for t in flat]
        masks = None if masks is None else ops.reverse(masks, [0])
    more = list(constants or ())

    def step(at: list[Any], states: list[Any], masked: Any, previous: Any) -> tuple[Any, list[Any]]:
        output, new = step_function(nest.pack_sequence_as(swapped, at), [*states, *more])
        flat_new = nest.flatten(new)
        if masked is not None:
            before = ops.zeros_like(output) if previous is None or zero_output_for_mask else previous
            output = _where(masked, output, before)
            flat_new = [_where(masked, n, s) for n, s in zip(flat_new, states, strict=True)]
        return output, flat_new

    states = nest.flatten(initial_states)
    if unroll:
        if known is None:
            raise ValueError(
                "Unrolling requires a fixed number of timesteps: give Input(shape=(steps, ...))."
            )
        apart = [ops.unstack(t, known) for t in flat]
        said = [None] * known if masks is None else ops.unstack(masks, known)
        outputs: list[Any] = []
        for time in range(known):
            output, states = step(
                [a[time] for a in apart], states, said[time], outputs[-1] if outputs else None
            )
            outputs.append(output)
        stacked = ops.stack(outputs)
    else:
        stacked, states = _loop(step, flat, states, masks, steps, known)
    last = stacked[-1]
    every = stacked if time_major else _time_first(stacked)
    shape = every.shape.as_list()
    shape[0 if time_major else 1] = known
    every.set_shape(shape)
    return last, every, nest.pack_sequence_as(initial_states, states)


def _loop(
    step: Any, flat: list[Any], states: list[Any], masks: Any, steps: Any, known: int | None
) -> tuple[Any, Any]:
    """All outputs and the last states, by a loop of the graph."""

    def array(tensor: Any) -> Any:
        return ops.TensorArray(tensor.dtype, size=steps).unstack(tensor)

    arrays = [array(t) for t in flat]
    mask_array = None if masks is None else array(masks)
    inner = [t.shape.as_list()[1:] for t in flat]
    probe, _ = step([t[0] for t in flat], states, None, None)
    collected = ops.TensorArray(probe.dtype, size=steps, element_shape=probe.shape)
    carried = [ops.zeros_like(probe)] if masks is not None else []

    def body(time: Any, made: Any, *rest: Any) -> tuple[Any, ...]:
        previous, current = list(rest[: len(carried)]), list(rest[len(carried) :])
        at = [a.read(time) for a in arrays]
        for tensor, shape in zip(at, inner, strict=True):
            tensor.set_shape(shape)
        masked = None if mask_array is None else mask_array.read(time)
        output, new = step(at, current, masked, previous[0] if previous else None)
        for tensor, state in zip(new, current, strict=True):
            if tensor.shape.dims is not None and state.shape.dims is not None:
                tensor.set_shape(state.shape)
        return (time + 1, made.write(time, output), *([output] if carried else []), *new)

    time = ops.constant(0, name="time")
    result = ops.while_loop(
        lambda time, *_: time < steps, body, (time, collected, *carried, *states), maximum_iterations=steps,
        shape_invariants=None,
    )  # fmt: skip
    stacked = result[1].stack()
    stacked.set_shape([known, *probe.shape.as_list()])
    return stacked, list(result[2 + len(carried) :])
