"""Weights that meet values of other shapes (tensorflow.python.ops.weights_broadcast_ops and confusion_matrix)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import ones_like
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.arithmetic import multiply
from graphflow.losses.reduction import Weights, squeeze_to_rank_difference


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation:
    """An operation that fails unless weights are a scalar, or have the values' rank and in each axis their size or 1.

    Args:
        weights: A tensor.
        values: A tensor.

    Returns:
        The operation; one that does nothing if the shapes are known.

    Raises:
        ValueError: They are known not to fit.
    """
    with op_scope(None, "assert_broadcastable", [weights, values]):
        return group(*Weights(weights).checks(convert_to_tensor(values)))


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """Weights repeated to the shape of values; see assert_broadcastable for what fits.

    Args:
        weights: A tensor.
        values: A tensor.

    Returns:
        A tensor of the shape of values.

    Raises:
        ValueError: They are known not to fit.
    """
    with op_scope(None, "broadcast_weights", [weights, values]) as scope:
        against = convert_to_tensor(values)
        given = convert_to_tensor(weights, dtype=against.dtype.base_dtype)
        if given.dims == against.dims and given.dims is not None and None not in given.dims:
            return given
        with get_default_graph().control_dependencies([assert_broadcastable(given, against)]):
            return multiply(given, ones_like(against), name=scope)


def remove_squeezable_dimensions(
    labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Labels and predictions, one without a last axis of size 1 if that makes their ranks differ as asked.

    Args:
        labels: A tensor.
        predictions: A tensor.
        expected_rank_diff: The rank of the predictions less that of the labels.
        name: Of the operations' scope.

    Returns:
        (labels, predictions).
    """
    with op_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        return squeeze_to_rank_difference(labels, predictions, expected_rank_diff)
