"""Ops on shapes that TensorFlow's gradients use, so that a training graph that it wrote runs here.

graphflow's own gradients use others in their place, which know more while the graph is built.
"""

from __future__ import annotations

from typing import Any

import graphflow._core.ops.rules as rules
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.ops.core import apply


def _arguments(op: Operation) -> Signature:
    for tensor, name in zip(op.inputs, ("s0", "s1"), strict=True):
        rules.require_rank(tensor.dims, 1, name)
    return [(op.inputs[0].dtype, (None,)), (op.inputs[0].dtype, (None,))]


BROADCAST_GRADIENT_ARGS = op_def(
    "BroadcastGradientArgs",
    ("s0: T=index", "s1: T"),
    infer=_arguments,
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
    outputs=("r0", "r1"),
)


def _offsets(op: Operation) -> Signature:
    shapes = op.inputs[1:]
    for tensor in shapes:
        rules.require_rank(tensor.dims, 1, "shape")
    return [(tensor.dtype, tensor.dims) for tensor in shapes]


CONCAT_OFFSET = op_def(
    "ConcatOffset", ("concat_dim: int32", "shape*: int32"), infer=_offsets, gradient=NOT_DIFFERENTIABLE
)


def broadcast_gradient_args(s0: Any, s1: Any, name: str | None = None) -> list[Tensor]:
    """The axes to sum the gradients of two operands of these shapes along (TensorFlow's BroadcastGradientArgs)."""
    return apply(BROADCAST_GRADIENT_ARGS, (s0, s1), name=name).outputs


def concat_offset(concat_dim: Any, shapes: list[Any], name: str | None = None) -> list[Tensor]:
    """The start of each of some arrays of these shapes in their concatenation (TensorFlow's ConcatOffset)."""
    return apply(CONCAT_OFFSET, (concat_dim, shapes), {"N": len(shapes)}, name).outputs
