"""Labels, weights and logits of heads, checked against one another: a wrong shape broadcasts to a wrong loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import concat, expand_dims, identity, shape
from graphflow._core.ops.control_flow.assertions import (
    assert_equal,
    assert_less_equal,
    assert_non_negative,
    assert_rank_at_least,
)
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import equal
from graphflow._core.ops.math.reductions import reduce_all, reduce_any
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
        message = (
            f"labels shape must be [D0, D1, ... DN, {size}]. Suggested Fix: check your n_classes argument to the "
            "estimator and/or the shape of your label."
        )
        rank = assert_rank_at_least(found, 2, message=message)
        with control_dependencies([rank] if rank is not None else []):
            wanted, own = concat([shape(logits)[:-1], [size]], 0), shape(found)
        told = [message, "expected_labels_shape: ", wanted, "labels_shape: ", own]
        with control_dependencies([_assert_same(wanted, own, told)]):
            return identity(found, name=scope)


def _same(wanted: Tensor, found: Tensor) -> Tensor:
    return reduce_all(equal(wanted, found))


def _assert_same(wanted: Tensor, found: Tensor, told: Sequence[Any]) -> Operation:
    # Never while the graph is built: what is known then the loss says, which names both shapes.
    return assert_(_same(wanted, found), told)


def class_numbers(labels: TensorLike, count: int, message: str | None = None, verb: str = "must") -> Tensor:
    """The labels; InvalidArgumentError at the run, with the message, if one is no number of a class."""
    found = convert_to_tensor(labels)
    last = convert_to_tensor(count - 1, dtype=found.dtype)
    checks = [
        assert_less_equal(found, last, message=message or f"Labels {verb} <= n_classes - 1"),
        assert_non_negative(found, message=message or f"Labels {verb} >= 0"),
    ]
    with control_dependencies(checks):
        return identity(found)


def losses_of(
    function: Callable[..., Any], labels: Tensor, logits: Tensor, features: Any, size: int = 1, **rest: Any
) -> Tensor:
    """What a function of a program gives as losses; InvalidArgumentError at the run unless they are [..., size]."""
    given = {"features": features, **rest}
    taken = signature(function).parameters
    with op_scope(None, "call_loss_fn", [labels, logits]):
        found = convert_to_tensor(
            function(labels=labels, logits=logits, **{key: given[key] for key in taken if key in given})
        )
        wanted = concat([shape(logits)[:-1], [size]], 0)
        told = [
            f"loss_fn must return Tensor of shape [D0, D1, ... DN, {size}]. ",
            "logits_shape: ", shape(logits), "loss_shape: ", shape(found),
        ]  # fmt: skip
        with control_dependencies([_assert_same(wanted, shape(found), told)]):
            return identity(found)


def check_loss_function(function: Callable[..., Any]) -> None:
    """ValueError unless it takes labels and logits, and of the rest features and loss_reduction alone."""
    taken = tuple(signature(function).parameters)
    for name in ("labels", "logits"):
        if name not in taken:
            raise ValueError(f"loss_fn must contain argument: {name}. Given arguments: {taken}")
    others = [name for name in taken if name not in ("labels", "logits", "features", "loss_reduction")]
    if others:
        raise ValueError(f"loss_fn has unexpected args: {others}")


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
    message = "weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]"
    if each:
        message = "weights shape must be [D0, D1, ... DN], [D0, D1, ... DN, 1] or [D0, D1, ... DN, logits_dimension]"
    with op_scope(None, "weights", [logits]):
        raw = found.get_dense_tensor(FeatureTransformationCache(features), StateManager())
        if not (raw.dtype.is_floating or raw.dtype.is_integer):
            raise ValueError(f"Weight column should be castable to float. Given dtype: {raw.dtype}")
        weights = cast(raw, dtypes.float32)
        of_logits, own = shape(logits), shape(weights)
        told = [message, "logits_shape: ", of_logits, "weights_shape: ", own]
        if weights.dims is not None and logits.dims is not None and len(weights.dims) == len(logits.dims) - 1:
            with control_dependencies([_assert_same(of_logits[:-1], own, told)]):
                return expand_dims(weights, -1)
        wanted = concat([of_logits[:-1], [1]], 0)
        check = _same(wanted, own)
        if each:
            check = reduce_any([check, _same(of_logits, own)])
        with control_dependencies([assert_(check, told)]):
            return identity(weights)


def checked_logits(logits: Any, size: int) -> Tensor:
    """The logits as float32; ValueError, or InvalidArgumentError at the run, unless their last axis has that size.

    A size that is a tensor is not compared with one that is known.
    """
    found: Tensor = cast(logits, dtypes.float32)
    known = found.dims
    wrong = known is not None and bool(known) and isinstance(size, int) and known[-1] not in (None, size)
    if known is not None and (len(known) < 2 or wrong):
        raise ValueError(
            f"logits shape must be [D0, D1, ... DN, logits_dimension], got {found.shape}, expected {size}."
        )
    if known is not None and known[-1] is not None:
        return found
    message = "logits shape must be [D0, D1, ... DN, logits_dimension]"
    checks = [
        assert_rank_at_least(found, 2, message=message),
        assert_equal(shape(found)[-1], size, message=message),
    ]
    with control_dependencies([check for check in checks if check is not None]):
        return identity(found)
