"""Operations take other tensors than they were built with, and wait for others."""

from __future__ import annotations

from collections.abc import Iterable

from graphflow._core.graph.elements import Operation, Tensor
from graphflow.contrib.graph_editor.walks import Elements, listed


def _tensors(given: Elements) -> list[Tensor]:
    found = listed(given)
    for one in found:
        if not isinstance(one, Tensor):
            raise TypeError(f"Expected a gf.Tensor, got: {one!r}")
    return found


def _pairs(ts0: Elements, ts1: Elements) -> list[tuple[Tensor, Tensor, list[Operation], list[Operation]]]:
    """Tensors that can stand for each other, and who takes them by now."""
    first, second = _tensors(ts0), _tensors(ts1)
    if len(first) != len(second):
        raise ValueError(f"ts0 and ts1 have different sizes: {len(first)} != {len(second)}")
    for one, other in zip(first, second, strict=True):
        if one.dtype != other.dtype:
            raise ValueError(
                f"Dtypes {one.dtype.name} and {other.dtype.name} are not compatible: {one}, {other}."
            )
        if not one.shape.is_compatible_with(other.shape):
            raise ValueError(f"Shapes {one.shape} and {other.shape} are not compatible: {one}, {other}.")
    return [(a, b, a.consumers(), b.consumers()) for a, b in zip(first, second, strict=True) if a is not b]


def _replace(
    old: Tensor, new: Tensor, takers: Iterable[Operation], may: Elements | None, may_not: Elements | None
) -> int:
    allowed = None if may is None else set(listed(may))
    refused = set() if may_not is None else set(listed(may_not))
    changed = 0
    for op in dict.fromkeys(takers):
        if op in refused or (allowed is not None and op not in allowed):
            continue
        for place, tensor in enumerate(op.inputs):
            if tensor is old:
                op.update_input(place, new)
                changed += 1
    return changed


def reroute_ts(
    ts0: Elements, ts1: Elements, can_modify: Elements | None = None, cannot_modify: Elements | None = None
) -> int:
    """Who takes a tensor of `ts1` takes the one of `ts0` from now on (tf.contrib.graph_editor.reroute_ts).

    Args:
        ts0: A tensor, or some.
        ts1: As many, of the same dtypes and shapes.
        can_modify: The operations that may be changed; all by default.
        cannot_modify: The operations that may not.

    Returns:
        How many inputs were changed.

    Raises:
        TypeError: For what is no tensor.
        ValueError: If the tensors do not fit each other.
    """
    return sum(
        _replace(one, other, takers, can_modify, cannot_modify) for other, one, _, takers in _pairs(ts0, ts1)
    )


def swap_ts(
    ts0: Elements, ts1: Elements, can_modify: Elements | None = None, cannot_modify: Elements | None = None
) -> int:
    """Who takes a tensor of the one takes that of the other (tf.contrib.graph_editor.swap_ts).

    Args:
        ts0: A tensor, or some.
        ts1: As many, of the same dtypes and shapes.
        can_modify: The operations that may be changed; all by default.
        cannot_modify: The operations that may not.

    Returns:
        How many inputs were changed.

    Raises:
        TypeError: For what is no tensor.
        ValueError: If the tensors do not fit each other.
    """
    changed = 0
    for one, other, takers, others in _pairs(ts0, ts1):
        # An operation that takes both is changed at its own places.
        places = [
            (op, place, new)
            for old, new, ops in ((other, one, others), (one, other, takers))
            for op in dict.fromkeys(ops)
            for place, tensor in enumerate(op.inputs)
            if tensor is old
        ]
        allowed = None if can_modify is None else set(listed(can_modify))
        refused = set() if cannot_modify is None else set(listed(cannot_modify))
        for op, place, new in places:
            if op not in refused and (allowed is None or op in allowed):
                op.update_input(place, new)
                changed += 1
    return changed


def _waited(op: Operation, cops: Elements) -> list[Operation]:
    if not isinstance(op, Operation):
        raise TypeError(f"Expected a gf.Operation, got: {type(op)}")
    return [one.op if isinstance(one, Tensor) else one for one in listed(cops)]


def add_control_inputs(op: Operation, cops: Elements) -> None:
    """An operation waits for others from now on (tf.contrib.graph_editor.add_control_inputs).

    Args:
        op: The operation.
        cops: One, or some, that run before it.

    Raises:
        TypeError: If `op` is no operation.
        ValueError: If it waits for one already.
    """
    ops = _waited(op, cops)
    for one in ops:
        if one in op.control_inputs:
            raise ValueError(f"{one.name} is already a control_input of {op.name}")
    op.add_control_inputs(ops)


def remove_control_inputs(op: Operation, cops: Elements) -> None:
    """An operation does not wait for others any more (tf.contrib.graph_editor.remove_control_inputs).

    Args:
        op: The operation.
        cops: One, or some, that it waited for.

    Raises:
        TypeError: If `op` is no operation.
        ValueError: If it does not wait for one.
    """
    ops = _waited(op, cops)
    for one in ops:
        if one not in op.control_inputs:
            raise ValueError(f"{one.name} is not a control_input of {op.name}")
    op.remove_control_inputs(ops)


__all__ = ["add_control_inputs", "remove_control_inputs", "reroute_ts", "swap_ts"]
