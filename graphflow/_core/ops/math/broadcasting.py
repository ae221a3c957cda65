"""Broadcasting to the shape of another tensor, its inverse, and its check while the graph runs.

Gradients of ops that broadcast are summed over the axes along which their inputs were. If shapes are known while the
graph is built, that is made of ops with static axes, which both tiers can fuse; otherwise two ops of our own take the
shape from a tensor that has it (SumToShape, BroadcastLike), in place of TensorFlow's chains of shape arithmetic. The
check is one op, where TensorFlow builds dozens.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims, TensorShape
from graphflow._core.ops.array.shaping import shape as shape_of
from graphflow._core.ops.core import apply
from graphflow._core.ops.math import reductions
from graphflow._core.ops.rules import no_outputs


def _broadcast_like_infer(op: Operation) -> Signature:
    x, target = op.inputs
    return [(x.dtype, shapes.merge(target.dims, _fits(x.dims, target.dims)))]


def _fits(x: Dims, target: Dims) -> Dims:
    if x is None or target is None:
        return target
    if len(x) > len(target):
        raise ValueError(f"cannot broadcast shape {shapes.text(x)} to {shapes.text(target)}.")
    return shapes.broadcast(x, target)


def _static_infer(op: Operation) -> Signature:
    x, target = op.inputs[0], op.attrs["shape"].raw
    return [(x.dtype, shapes.merge(target, _fits(x.dims, target)))]


BROADCAST_LIKE = op_def(
    "BroadcastLike",
    ("x: T", "like: any"),
    infer=_broadcast_like_infer,
    gradient=lambda op, g: (sum_to_shape_of(g, op.inputs[0]), None),
    scalar="{x}",
)


BROADCAST_STATIC = op_def(
    "BroadcastStatic",
    ("x: T",),
    infer=_static_infer,
    gradient=lambda op, g: (sum_to_shape_of(g, op.inputs[0]),),
    scalar="{x}",
)


SUM_TO_SHAPE = op_def(
    "SumToShape",
    ("x: T=number", "like: any"),
    infer=lambda op: [(op.inputs[0].dtype, op.inputs[1].dims)],
    gradient=lambda op, g: (broadcast_like(g, op.inputs[0]), None),
)


def broadcast_like(x: Tensor, target: Tensor) -> Tensor:
    """`x` repeated along the axes that `target` has more elements of; the value of `target` is not looked at."""
    if target.dims is None or None in target.dims:
        return apply(BROADCAST_LIKE, (x, target)).outputs[0]
    if x.dims == target.dims:
        return x
    return apply(BROADCAST_STATIC, (x,), {"shape": TensorShape(target.dims)}).outputs[0]


def sum_to_shape_of(x: Tensor, target: Tensor) -> Tensor:
    """`x` summed over the axes along which `target` would be broadcast to it; only the shape of `target` counts."""
    wanted = target.dims
    if wanted is None or None in wanted or x.dims is None:
        return apply(SUM_TO_SHAPE, (x, target)).outputs[0]
    extra = len(x.dims) - len(wanted)
    inner = [extra + i for i, size in enumerate(wanted) if size == 1 and x.dims[extra + i] != 1]
    if inner:
        x = reductions.reduce_sum(x, inner, keepdims=True)
    if extra:
        x = reductions.reduce_sum(x, list(range(extra)))
    x.set_shape(wanted)
    return x


def unbroadcast(gradient: Tensor, target: Tensor, other: Tensor | None = None) -> Tensor:
    """Sums a gradient over the axes along which `target` was broadcast, by `other` if that is known.

    If the static shapes prove that there are none, it is the gradient itself.
    """
    if gradient.dims == target.dims and _never_broadcast(target.dims, None if other is None else other.dims):
        return gradient
    return sum_to_shape_of(gradient, target)


def _never_broadcast(target: Dims, other: Dims) -> bool:
    if target is None:
        return False
    if None not in target:
        return True
    if other is None or len(other) > len(target):
        return False
    aligned = (1,) * (len(target) - len(other)) + other
    return all(size is not None or beside == 1 for size, beside in zip(target, aligned))


def unbroadcast_pair(op: Operation, x_gradient: Tensor, y_gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Both gradients of a broadcasting op of two inputs, summed to the inputs' shapes."""
    x, y = op.inputs[0], op.inputs[1]
    if x is y:
        return x_gradient, y_gradient
    return unbroadcast(x_gradient, x, y), unbroadcast(y_gradient, y, x)


ASSERT_BROADCASTABLE = op_def(
    "AssertBroadcastable",
    ("weights_shape: int32", "values_shape: int32"),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def check_broadcastable(weights: Tensor, values: Tensor, name: str | None = None) -> Operation:
    """An operation that raises InvalidArgumentError unless `weights` may weigh `values`.

    They are a scalar, or have the values' rank and in each axis their size or 1 (TensorFlow: assert_broadcastable).
    """
    shapes = (shape_of(weights), shape_of(values))
    return apply(ASSERT_BROADCASTABLE, shapes, {"exact": False}, name or "assert_broadcastable")


def check_shape(value: Any, shape: Any, name: str | None = None) -> Operation:
    """An operation that raises InvalidArgumentError unless `value` has the shape that the vector `shape` says."""
    return apply(ASSERT_BROADCASTABLE, (shape_of(value), shape), {"exact": True}, name or "assert_shape")
