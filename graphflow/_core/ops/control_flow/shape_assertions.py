"""Assertions about the shapes of several tensors, whose sizes have names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from graphflow._core.graph import shapes as static_shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.shaping import shape
from graphflow._core.ops.control_flow.assertions import assert_rank, assert_rank_at_least, assert_rank_in
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.flow_basics import group, no_op
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.math import equal

_ANY = (None, ".")
_OUTER = (Ellipsis, "*")


class _Wanted(NamedTuple):
    """A tensor, what its sizes are called, and whether there may be others before these."""

    tensor: Tensor
    sizes: tuple[Any, ...]
    inner: bool


def _read(tensor: Tensor, wanted: Any, message: str) -> _Wanted:
    if not hasattr(wanted, "__iter__"):
        raise ValueError(f"{message}Tensor {tensor.name}: a shape must be an iterable, got {wanted!r}.")
    sizes = tuple(wanted)
    for place, size in enumerate(sizes[1:], 1):
        if _is_outer(size):
            raise ValueError(
                f"{message}Tensor {tensor.name}: `...` or `*` may only be the first size of a shape, not that "
                f"at position {place}."
            )
    inner = bool(sizes) and _is_outer(sizes[0])
    return _Wanted(tensor, (sizes[1:] if inner else sizes) or (1,), inner)


def _is_outer(size: Any) -> bool:
    return any(size is outer or (isinstance(size, str) and size == outer) for outer in _OUTER)


def _number(size: Any) -> int | None:
    """A size that is one, and no name."""
    try:
        return int(size)
    except (ValueError, TypeError):
        return None


def _actual(tensor: Tensor, axis: int) -> Any:
    """The size along an axis, 1 for a scalar: a number, or a tensor if the run decides."""
    if tensor.dims == ():
        return 1
    if tensor.dims is not None and tensor.dims[axis] is not None:
        return tensor.dims[axis]
    sizes = shape(tensor)
    if tensor.dims is None:
        # With 1 on the other side, the one axis that a scalar counts as is there, too.
        sizes = concat([sizes, [1]], 0) if axis >= 0 else concat([[1], sizes], 0)
    return sizes[axis]


def assert_shapes(
    shapes: Mapping[Any, Any] | Iterable[tuple[TensorLike, Any]],
    data: Sequence[TensorLike] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """An operation that raises InvalidArgumentError unless tensors have shapes (tf.debugging.assert_shapes).

    A size is a number, a name, which stands for the same size everywhere, or None or "." for any. `...` or "*" at the
    beginning stands for any axes before those that follow. A scalar has one axis of size 1, too.

    Args:
        shapes: Pairs of a tensor and its shape, or a dictionary.
        data: Tensors whose values the error shows; by default sizes and shape.
        summarize: How many elements of each tensor the error shows.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        An operation that checks when it runs.

    Raises:
        ValueError: If a shape is known to differ, or says nothing that could be.

    Examples:
        >>> x, y = gf.placeholder(gf.float32, [None, 3]), gf.zeros([4, 2])
        >>> check = gf.debugging.assert_shapes([(x, ("N", 3)), (y, ("N", "D"))])
        >>> with gf.Session() as session:
        ...     session.run(check, {x: [[1, 2, 3]] * 4})
    """
    pairs = shapes.items() if isinstance(shapes, Mapping) else shapes
    text = f"{message}.  " if message else ""
    with op_scope(name, "assert_shapes", []):
        wanted = [_read(convert_to_tensor(x), s, text) for x, s in pairs if s is not None]
        checks = [check for each in wanted if (check := _rank(each, data, summarize, message)) is not None]
        known: dict[Any, tuple[Any, str]] = {}
        for each in wanted:
            for place, size in enumerate(each.sizes):
                if size is None or (isinstance(size, str) and size in _ANY):
                    continue
                axis = place - len(each.sizes) if each.inner else place
                with get_default_graph().control_dependencies(checks):
                    actual = _actual(each.tensor, axis)
                number = _number(size)
                if number is None and size not in known:
                    known[size] = (actual, f"Specified by tensor {each.tensor.name} dimension {axis}")
                    continue
                expected, why = (number, "Specified explicitly") if number is not None else known[size]
                told = f"Tensor {each.tensor.name} dimension {axis} must have size"
                if isinstance(actual, int) and isinstance(expected, int):
                    if actual != expected:
                        raise ValueError(
                            f"{text}{why}.  {told} {expected}.  Received size {actual}, shape "
                            f"{static_shapes.text(each.tensor.dims)}"
                        )
                    continue
                shown = [text, why, told, expected, "Received shape: ", shape(each.tensor)]
                checks.append(
                    assert_(equal(actual, expected), shown if data is None else list(data), summarize)
                )
        return group(*checks) if checks else no_op()


def _rank(wanted: _Wanted, data: Any, summarize: int | None, message: str | None) -> Operation | None:
    rank = len(wanted.sizes)
    rest = (data, summarize, message)
    if rank == 1:
        return None if wanted.inner else assert_rank_in(wanted.tensor, [0, 1], *rest)
    return (assert_rank_at_least if wanted.inner else assert_rank)(wanted.tensor, rank, *rest)
