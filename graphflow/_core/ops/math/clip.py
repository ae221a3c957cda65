"""Bounding values and norms, above all those of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, comparison, reductions, transcendental
from graphflow._core.ops.nn import nn


@overload
def clip_by_value(
    t: Tensor, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor: ...
# IndexedSlices can become a tensor too, but here remain what they are.
@overload
def clip_by_value(  # type: ignore[overload-overlap]
    t: IndexedSlices, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor: ...
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor | IndexedSlices:
    """The values held within bounds (tf.clip_by_value).

    Args:
        t: A tensor of real numbers, or IndexedSlices.
        clip_value_min: The lower bound, of the same dtype: a scalar, or what broadcasts to the shape of `t`.
        clip_value_max: The upper bound, likewise.
        name: A name for the operation.

    Returns:
        What was given, of the same shape.

    Raises:
        ValueError: A bound would change the shape.

    Examples:
        >>> gf.Session().run(gf.clip_by_value([-2.0, 0.5, 2.0], -1.0, 1.0))
        array([-1. ,  0.5,  1. ], dtype=float32)
    """
    given = t.values if isinstance(t, IndexedSlices) else t
    with op_scope(name, "clip_by_value", (given, clip_value_min, clip_value_max)) as scope:
        values = convert_to_tensor(given, name="t")
        below = arithmetic.minimum(values, clip_value_max)
        shapes.merge(values.dims, below.dims)
        clipped = arithmetic.maximum(below, clip_value_min, scope)
        shapes.merge(values.dims, clipped.dims)
    return _like(t, clipped)


@overload
def clip_by_norm(
    t: Tensor, clip_norm: TensorLike, axes: IntTensorLike | None = None, name: str | None = None
) -> Tensor: ...
@overload
def clip_by_norm(  # type: ignore[overload-overlap]
    t: IndexedSlices, clip_norm: TensorLike, axes: IntTensorLike | None = None, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: IntTensorLike | None = None, name: str | None = None
) -> Tensor: ...
def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: IntTensorLike | None = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """The tensor scaled down if its L2 norm along axes is beyond `clip_norm` (tf.clip_by_norm).

    Args:
        t: A tensor.
        clip_norm: The largest norm, a positive scalar.
        axes: The axes of one vector; None for all.
        name: A name for the operation.

    Returns:
        A tensor like `t`.
    """
    given = t.values if isinstance(t, IndexedSlices) else t
    with op_scope(name, "clip_by_norm", (given, clip_norm)) as scope:
        values = convert_to_tensor(given, name="t")
        squares = reductions.reduce_sum(arithmetic.multiply(values, values, "mul"), axes, True)
        # The square root of zero has no gradient, so it gets ones there.
        positive = comparison.greater(squares, 0)
        safe = array.where(positive, squares, array.ones_like(squares))
        size = array.where(positive, transcendental.sqrt(safe), squares)
        scaled = arithmetic.multiply(values, clip_norm, "mul")
        shapes.merge(values.dims, scaled.dims)
        clipped = arithmetic.truediv(scaled, arithmetic.maximum(size, clip_norm))
        return _like(t, array.identity(clipped, name=scope))


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """The tensor scaled down if its L2 norm divided by its size is beyond `clip_norm` (tf.clip_by_average_norm).

    Args:
        t: A tensor.
        clip_norm: The largest norm by element.
        name: A name for the operation.

    Returns:
        A tensor like `t`.
    """
    with op_scope(name, "clip_by_average_norm", (t, clip_norm)) as scope:
        t = convert_to_tensor(t, name="t")
        count = casting.cast(array.size(t), t.dtype)
        squares = reductions.reduce_sum(arithmetic.multiply(t, t, "mul"), array.range_(array.rank(t)))
        inverse = transcendental.rsqrt(squares)
        limit = arithmetic.truediv(constant(1.0, dtype=t.dtype), clip_norm)
        scale = arithmetic.minimum(arithmetic.multiply(inverse, count, "mul"), limit)
        scaled = arithmetic.multiply(arithmetic.multiply(t, clip_norm, "mul"), scale, "mul")
        return array.identity(scaled, name=scope)


def global_norm(t_list: Sequence[TensorLike | None], name: str | None = None) -> Tensor:
    """The L2 norm of all tensors taken together (tf.global_norm); None and the shape are left out of account.

    Args:
        t_list: A list of tensors, IndexedSlices and Nones.
        name: A name for the operation.

    Returns:
        A scalar.

    Raises:
        TypeError: If `t_list` is no list.
    """
    _require_list(t_list)
    tensors = _values(t_list, name or "global_norm")
    present = [x for x in tensors if x is not None]
    with op_scope(name, "global_norm", present):
        halves = [nn.l2_loss(x) for x in present]
        half = reductions.reduce_sum(array.stack(halves) if halves else constant([], dtype=np.float32))
        doubled = arithmetic.multiply(half, constant(2.0, dtype=half.dtype), "mul")
        result: Tensor = transcendental.sqrt(doubled, name="global_norm")
        return result


def clip_by_global_norm(
    t_list: Sequence[TensorLike | None],
    clip_norm: TensorLike,
    use_norm: TensorLike | None = None,
    name: str | None = None,
) -> tuple[list[Tensor | Any], Tensor]:
    """The tensors scaled down together if their global norm is beyond `clip_norm`, and that norm.

    Args:
        t_list: A list of tensors, IndexedSlices and Nones.
        clip_norm: The largest norm, a scalar.
        use_norm: The global norm, if it is known.
        name: A name for the operation.

    Returns:
        The list of clipped tensors, and the global norm before.

    Raises:
        TypeError: If `t_list` is no list.

    Source: Pascanu et al. 2012 (tf.clip_by_global_norm). None and IndexedSlices are passed on as such. If the norm
    is infinite or NaN, so is the result.

    Examples:
        >>> clipped, norm = gf.clip_by_global_norm([[3.0], [4.0]], clip_norm=1.0)
        >>> gf.Session().run([*clipped, norm])
        [array([0.6], dtype=float32), array([0.8], dtype=float32), np.float32(5.0)]
    """
    _require_list(t_list)
    items = list(t_list)
    total = global_norm(items, name if use_norm is None else None) if use_norm is None else use_norm
    values = _values(items, name or "clip_by_global_norm")
    with op_scope(name, "clip_by_global_norm", [x for x in values if x is not None]) as scope:
        total = convert_to_tensor(total)
        one = constant(1.0, dtype=total.dtype)
        inverse = arithmetic.truediv(1.0, total)
        factor = arithmetic.multiply(
            clip_norm, arithmetic.minimum(inverse, arithmetic.truediv(one, clip_norm)), "mul"
        )
        not_a_number = constant(float("nan"), dtype=total.dtype)
        scale = array.where(comparison.is_finite(total), factor, not_a_number)
        clipped = [
            None if x is None else array.identity(arithmetic.multiply(x, scale, "mul"), name=f"{scope}_{i}")
            for i, x in enumerate(values)
        ]
    parts = zip(items, clipped, strict=True)
    return [None if x is None else _like(item, x) for item, x in parts], total


def _require_list(t_list: Any) -> None:
    if not isinstance(t_list, list | tuple):
        raise TypeError(f"t_list should be a sequence of tensors, got {t_list!r}.")


def _values(items: Any, scope: str) -> list[Tensor | None]:
    found: list[Tensor | None] = []
    for i, item in enumerate(items):
        values = item.values if isinstance(item, IndexedSlices) else item
        found.append(None if values is None else convert_to_tensor(values, name=f"t_{i}"))
    return found


def _like(original: Any, values: Tensor) -> Tensor | IndexedSlices:
    if isinstance(original, IndexedSlices):
        return IndexedSlices(values, original.indices, original.dense_shape)
    return values
