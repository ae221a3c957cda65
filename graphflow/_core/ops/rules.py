"""Shape rules that many ops share, and where the gradients of a family stand that need ops above their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import GradientsIn, InferRule, Signature
from graphflow._core.graph.shapes import Dims

ARRAY_GRADIENTS: Final = GradientsIn("graphflow._core.ops.array.gradients")
MATH_GRADIENTS: Final = GradientsIn("graphflow._core.ops.math.gradients")


def same_as_input(op: Operation) -> Signature:
    """The dtype and shape of the first input."""
    return [(op.inputs[0].dtype, op.inputs[0].dims)]


def broadcast_binary(op: Operation) -> Signature:
    """The dtype of the first input, the shape of both broadcast together."""
    x, y = op.inputs[0], op.inputs[1]
    return [(x.dtype, shapes.broadcast(x.dims, y.dims))]


def broadcast_bool(op: Operation) -> Signature:
    """Booleans of the shape of both inputs broadcast together."""
    return [(dtypes.bool_, shapes.broadcast(op.inputs[0].dims, op.inputs[1].dims))]


def same_shape(dtype: DType) -> InferRule:
    """A fixed dtype, the shape of the first input."""
    return lambda op: [(dtype, op.inputs[0].dims)]


def scalar_of(dtype: DType) -> InferRule:
    """A scalar of a fixed dtype."""
    return lambda op: [(dtype, ())]


def no_outputs(op: Operation) -> Signature:
    """No results."""
    return []


def require_rank(dims: Dims, rank: int, what: str) -> Dims:
    """The shape, known to have that rank; ValueError if it has another."""
    if dims is None:
        return (None,) * rank
    if len(dims) != rank:
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(dims)} for {what} with shape {shapes.text(dims)}."
        )
    return dims


def require_rank_at_least(dims: Dims, rank: int, what: str) -> Dims:
    """The shape; ValueError if its rank is known and smaller."""
    if dims is not None and len(dims) < rank:
        raise ValueError(
            f"Shape must be at least rank {rank} but is rank {len(dims)} for {what} with shape {shapes.text(dims)}."
        )
    return dims


def deprecated(new: Any, old: Any, new_name: str, old_name: str) -> Any:
    """The value of an argument that has two names.

    Args:
        new: The value under the new name, or None.
        old: The value under the old name, or None.
        new_name: The new name.
        old_name: The old name.

    Returns:
        The one that is given; None if neither is.

    Raises:
        ValueError: Both are given.
    """
    if old is None:
        return new
    if new is not None:
        raise ValueError(f"Cannot specify both '{new_name}' and '{old_name}'.")
    return old


def axes_list(axis: Any) -> Sequence[int]:
    """Axes as a list of ints."""
    return [int(axis)] if not hasattr(axis, "__iter__") else [int(a) for a in axis]
