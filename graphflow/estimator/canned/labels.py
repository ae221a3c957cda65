"""Labels, weights and logits of heads, checked against one another: a wrong shape broadcasts to a wrong loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.ops.array.array import concat, expand_dims, identity, shape
from graphflow._core.ops.control_flow.assertions import (
    assert_equal,
    assert_less_equal,
    assert_non_negative,
    assert_rank_at_least,
)
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.feature_column.base import FeatureTransformationCache, StateManager
from graphflow.feature_column.numeric import NumericColumn, numeric_column


def checked_labels(labels: Any, logits: Tensor, size: int) -> Tensor:
    """Labels [..., size], a vector as a matrix; ValueError, or InvalidArgumentError at the run, if they do not fit."""
    if labels is None:
        raise ValueError(
            "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data "
            "contain your label feature. Check that your input_fn properly parses and returns labels."
        )
    if isinstance(labels, SparseTensor | SparseTensorValue):
        raise ValueError(
            f"SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, {size}]. In "
            "your input_fn, use gf.sparse_tensor_to_dense() to turn labels into a Tensor."
        )
    with op_scope(None, "labels", [logits]) as scope:
        found = convert_to_tensor(labels)
        if found.dims is not None and logits.dims is not None and len(found.dims) == len(logits.dims) - 1:
            found = expand_dims(found, -1)
        if found.dims is not None and found.dims and found.dims[-1] not in (None, size):
            raise ValueError(
                f"Mismatched label shape. Expected labels dimension={size}.  Received {found.dims[-1]}. Suggested Fix: "
                "If your classifier expects one-hot encoding label, check your n_classes argument to the estimator "
                "and/or the shape of your label. Otherwise, check the shape of your label."
            )
        wanted = concat([shape(logits)[:-1], [size]], 0)
        message = (
            f"labels shape must be [D0, D1, ... DN, {size}]. Check n_classes and the shape of the labels."
        )
        with control_dependencies([assert_equal(wanted, shape(found), message=message)]):
            return identity(found, name=scope)


def class_numbers(labels: Tensor, count: int) -> Tensor:
    """The labels; InvalidArgumentError at the run if one is no number of a class."""
    last = convert_to_tensor(count - 1, dtype=labels.dtype)
    checks = [
        assert_less_equal(labels, last, message="Labels must <= n_classes - 1"),
        assert_non_negative(labels, message="Labels must >= 0"),
    ]
    with control_dependencies(checks):
        return identity(labels)


def weights_of(
    features: Mapping[str, Any], column: str | NumericColumn | None, logits: Tensor, each: bool = False
) -> Any:
    """The weights of examples [..., 1], or with `each` of logits; 1.0 if there is no column of weights.

    TypeError for a column of another kind, InvalidArgumentError at the run if they do not fit.
    """
    if column is None:
        return 1.0
    found = numeric_column(column) if isinstance(column, str) else column
    if not isinstance(found, NumericColumn):
        raise TypeError(
            f"Weight column must be either a string or NumericColumn. Given type: {type(column)}."
        )
    with op_scope(None, "weights", [logits]):
        weights = found.get_dense_tensor(FeatureTransformationCache(features), StateManager())
        if weights.dims is not None and logits.dims is not None and len(weights.dims) == len(logits.dims) - 1:
            weights = expand_dims(weights, -1)
        of_logits = each and weights.dims is not None and weights.dims[-1] not in (None, 1)
        wanted = shape(logits) if of_logits else concat([shape(logits)[:-1], [1]], 0)
        message = "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]"
        with control_dependencies([assert_equal(wanted, shape(weights), message=message)]):
            return identity(weights)


def checked_logits(logits: Any, size: int) -> Tensor:
    """The logits as float32; ValueError, or InvalidArgumentError at the run, unless their last axis has that size."""
    found: Tensor = cast(logits, dtypes.float32)
    known = found.dims
    if known is not None and (len(known) < 2 or known[-1] not in (None, size)):
        raise ValueError(
            f"logits shape must be [D0, D1, ... DN, logits_dimension], got {found.shape}, expected {size}."
        )
    if known is not None and known[-1] is not None:
        return found
    message = f"logits shape must be [D0, D1, ... DN, {size}]"
    checks = [
        assert_rank_at_least(found, 2, message=message),
        assert_equal(shape(found)[-1], size, message=message),
    ]
    with control_dependencies([check for check in checks if check is not None]):
        return identity(found)
