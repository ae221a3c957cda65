"""Operations take other tensors than they were built with, and wait for others."""

from __future__ import annotations

from collections.abc import Iterable

from graphflow._core.graph.elements import Operation, Tensor
from graphflow.contrib.graph_editor.subgraph import Part, SubGraphView, make_view
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


def _both(sgv0: Part, sgv1: Part) -> tuple[SubGraphView, SubGraphView, list[Operation]]:
    """Two parts of a graph, and their operations."""
    one, other = make_view(sgv0), make_view(sgv1)
    if one.graph is not other.graph:
        raise ValueError("Both parts must be of one graph, and these are of two.")
    return one, other, [*one.ops, *other.ops]


def _reroute_inputs(sgv0: Part, sgv1: Part, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    one, other, inside = _both(sgv0, sgv1)
    takers = [op for view in (one, other) for tensor in view.passthroughs for op in tensor.consumers()]
    (swap_ts if swap else reroute_ts)(one.inputs, other.inputs, can_modify=[*inside, *takers])
    former = (other.inputs, other.passthroughs) if swap else None
    _takes(other, one.inputs, one.passthroughs)
    if former is not None:
        _takes(one, *former)
    return one, other


def _takes(view: SubGraphView, inputs: list[Tensor], passthroughs: list[Tensor]) -> None:
    """Has other tensors as inputs, and among the outputs those that go through it."""
    through = {old: new for old, new in zip(view.inputs, inputs, strict=True) if old in view.passthroughs}
    view.outputs = [through.get(tensor, tensor) for tensor in view.outputs]
    view.inputs, view.passthroughs = list(inputs), list(passthroughs)


def _reroute_outputs(sgv0: Part, sgv1: Part, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    one, other, inside = _both(sgv0, sgv1)
    (swap_ts if swap else reroute_ts)(one.outputs, other.outputs, cannot_modify=inside)
    return one, other


def swap_inputs(sgv0: Part, sgv1: Part) -> tuple[SubGraphView, SubGraphView]:
    """Two parts take each the inputs of the other (tf.contrib.graph_editor.swap_inputs).

    Args:
        sgv0: A view, or what makes one, such as a list of tensors.
        sgv1: Another, with as many inputs.

    Returns:
        Both views, which are changed as their operations are.

    Raises:
        ValueError: If the tensors do not fit each other.
    """
    return _reroute_inputs(sgv0, sgv1, True)


def reroute_inputs(sgv0: Part, sgv1: Part) -> tuple[SubGraphView, SubGraphView]:
    """The second part takes the inputs of the first (tf.contrib.graph_editor.reroute_inputs).

    Args:
        sgv0: A view, or what makes one, such as a list of tensors.
        sgv1: Another, with as many inputs.

    Returns:
        Both views, which are changed as their operations are.

    Raises:
        ValueError: If the tensors do not fit each other.
    """
    return _reroute_inputs(sgv0, sgv1, False)


def swap_outputs(sgv0: Part, sgv1: Part) -> tuple[SubGraphView, SubGraphView]:
    """Who takes outputs of the one part takes those of the other (tf.contrib.graph_editor.swap_outputs).

    Args:
        sgv0: A view, or what makes one, such as a list of tensors.
        sgv1: Another, with as many outputs.

    Returns:
        Both views, which are changed as their operations are.

    Raises:
        ValueError: If the tensors do not fit each other.
    """
    return _reroute_outputs(sgv0, sgv1, True)


def reroute_outputs(sgv0: Part, sgv1: Part) -> tuple[SubGraphView, SubGraphView]:
    """Who takes outputs of the second part takes those of the first (tf.contrib.graph_editor.reroute_outputs).

    Args:
        sgv0: A view, or what makes one, such as a list of tensors.
        sgv1: Another, with as many outputs.

    Returns:
        Both views, which are changed as their operations are.

    Raises:
        ValueError: If the tensors do not fit each other.
    """
    return _reroute_outputs(sgv0, sgv1, False)


def swap_ios(sgv0: Part, sgv1: Part) -> tuple[SubGraphView, SubGraphView]:
    """Two parts change their places (tf.contrib.graph_editor.swap_ios).

    Args:
        sgv0: A view, or what makes one, such as a list of tensors.
        sgv1: Another, with as many inputs and outputs.

    Returns:
        Both views, which are changed as their operations are.

    Raises:
        ValueError: If the tensors do not fit each other.
    """
    swap_outputs(one := make_view(sgv0), other := make_view(sgv1))
    return swap_inputs(one, other)


def reroute_ios(sgv0: Part, sgv1: Part) -> tuple[SubGraphView, SubGraphView]:
    """The first part stands where the second did (tf.contrib.graph_editor.reroute_ios).

    Args:
        sgv0: A view, or what makes one, such as a list of tensors.
        sgv1: Another, with as many inputs and outputs.

    Returns:
        Both views, which are changed as their operations are.

    Raises:
        ValueError: If the tensors do not fit each other.
    """
    reroute_outputs(one := make_view(sgv0), other := make_view(sgv1))
    return reroute_inputs(one, other)


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


__all__ = [
    "add_control_inputs",
    "remove_control_inputs",
    "reroute_inputs",
    "reroute_ios",
    "reroute_outputs",
    "reroute_ts",
    "swap_inputs",
    "swap_ios",
    "swap_outputs",
    "swap_ts",
]
