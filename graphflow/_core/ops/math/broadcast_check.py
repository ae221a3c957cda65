"""Checks of shapes that are known only when the graph runs: one op, where TensorFlow builds dozens."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import no_outputs

CHECK = op_def(
    "AssertBroadcastable",
    ("weights_shape: int32", "values_shape: int32"),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def check_broadcastable(weights: Any, values: Any, name: str | None = None) -> Operation:
    """An operation that raises InvalidArgumentError unless `weights` may weigh `values`.

    They are a scalar, or have the values' rank and in each axis their size or 1 (TensorFlow: assert_broadcastable).
    """
    shapes = (array.shape(weights), array.shape(values))
    return apply(CHECK, shapes, {"exact": False}, name or "assert_broadcastable")


def check_shape(value: Any, shape: Any, name: str | None = None) -> Operation:
    """An operation that raises InvalidArgumentError unless `value` has the shape that the vector `shape` says."""
    return apply(CHECK, (array.shape(value), shape), {"exact": True}, name or "assert_shape")
