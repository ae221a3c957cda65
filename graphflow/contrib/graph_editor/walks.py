"""What lies before and behind operations in a graph, and operations by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph

Elements: TypeAlias = "Graph | Operation | Tensor | Iterable[Operation | Tensor]"
"""Operations and tensors, as functions here take them."""


def listed(given: Elements) -> list[Any]:
    """What is given as a list: of a graph its operations, of one element this.

    Args:
        given: A graph, an operation, a tensor, or some of these.

    Returns:
        A list of them.
    """
    if isinstance(given, Graph):
        return list(given.get_operations())
    return list(given) if isinstance(given, Iterable) and not isinstance(given, Tensor) else [given]


def _walk(
    seeds: list[Operation],
    following: Callable[[Operation], Iterable[Operation]],
    inclusive: bool,
    within_ops: Elements | None,
    within_ops_fn: Callable[[Operation], bool] | None,
) -> list[Operation]:
    """All that is reached from some operations, in the order in which it is."""
    within = None if not within_ops else set(listed(within_ops))
    begun = [op for op in dict.fromkeys(seeds) if within is None or op in within]
    found, waiting = dict.fromkeys(begun), begun
    while waiting:
        wave: dict[Operation, None] = {}
        for op in waiting:
            for one in following(op):
                allowed = within is None or one in within
                if one not in found and allowed and (within_ops_fn is None or within_ops_fn(one)):
                    wave[one] = None
        found |= wave
        waiting = list(wave)
    return list(found) if inclusive else [op for op in found if op not in set(begun)]


def get_backward_walk_ops(
    seed_ops: Elements,
    inclusive: bool = True,
    within_ops: Elements | None = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    stop_at_ts: Elements = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """The operations that others need (tf.contrib.graph_editor.get_backward_walk_ops).

    Args:
        seed_ops: Operations, or tensors, whose operations are meant.
        inclusive: Whether these are among the result.
        within_ops: Operations among which the walk stays; all by default.
        within_ops_fn: A function that says whether it goes to an operation.
        stop_at_ts: Tensors that it does not pass.
        control_inputs: Whether it goes on through control inputs.

    Returns:
        A list of operations.
    """
    stops = set(listed(stop_at_ts))
    seeds = [one.op if isinstance(one, Tensor) else one for one in listed(seed_ops)]

    def before(op: Operation) -> list[Operation]:
        found = [tensor.op for tensor in op.inputs if tensor not in stops]
        return [*found, *op.control_inputs] if control_inputs else found

    return _walk(seeds, before, inclusive, within_ops, within_ops_fn)


def get_forward_walk_ops(
    seed_ops: Elements,
    inclusive: bool = True,
    within_ops: Elements | None = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    stop_at_ts: Elements = (),
    control_outputs: None = None,
) -> list[Operation]:
    """The operations that need others (tf.contrib.graph_editor.get_forward_walk_ops).

    Args:
        seed_ops: Operations, or tensors, of which those that take them are meant.
        inclusive: Whether these are among the result.
        within_ops: Operations among which the walk stays; all by default.
        within_ops_fn: A function that says whether it goes to an operation.
        stop_at_ts: Tensors that it does not pass.
        control_outputs: None: control inputs are not followed.

    Returns:
        A list of operations.
    """
    stops = set(listed(stop_at_ts))
    given = listed(seed_ops)
    seeds: list[Operation] = []
    for one in given:
        seeds += one.consumers() if isinstance(one, Tensor) else [one]

    def behind(op: Operation) -> list[Operation]:
        return [one for tensor in op.outputs if tensor not in stops for one in tensor.consumers()]

    return _walk(seeds, behind, inclusive, within_ops, within_ops_fn)


def get_walks_intersection_ops(
    forward_seed_ops: Elements,
    backward_seed_ops: Elements,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Elements | None = None,
    within_ops_fn: Callable[[Operation], bool] | None = None,
    control_inputs: bool = False,
) -> list[Operation]:
    """The operations between some and others (tf.contrib.graph_editor.get_walks_intersection_ops).

    Args:
        forward_seed_ops: Where it begins.
        backward_seed_ops: Where it ends.
        forward_inclusive: Whether the first are among the result.
        backward_inclusive: Whether the last are.
        within_ops: Operations among which the walks stay; all by default.
        within_ops_fn: A function that says whether they go to an operation.
        control_inputs: Whether the walk from the end goes on through control inputs.

    Returns:
        A list of operations.
    """
    behind = get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn)
    before = set(
        get_backward_walk_ops(
            backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, control_inputs=control_inputs
        )
    )
    return [op for op in behind if op in before]


def filter_ops_from_regex(ops: Elements, regex: str | re.Pattern[str]) -> list[Operation]:
    """The operations in whose names a pattern is found (tf.contrib.graph_editor.filter_ops_from_regex).

    Args:
        ops: Operations, or a graph.
        regex: The pattern.

    Returns:
        A list of operations.
    """
    return [op for op in listed(ops) if re.search(regex, op.name)]


def filter_ts_from_regex(ops: Elements, regex: str | re.Pattern[str]) -> list[Tensor]:
    """The tensors in whose names a pattern is found (tf.contrib.graph_editor.filter_ts_from_regex).

    Args:
        ops: Operations, whose results are meant, or a graph, or tensors.
        regex: The pattern.

    Returns:
        A list of tensors.
    """
    found: Sequence[Tensor] = [
        tensor for one in listed(ops) for tensor in ([one] if isinstance(one, Tensor) else one.outputs)
    ]
    return [tensor for tensor in found if re.search(regex, tensor.name)]
