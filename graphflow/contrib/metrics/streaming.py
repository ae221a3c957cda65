"""Measures with predictions before labels (tf.contrib.metrics): those of gf.metrics with other arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import graphflow.metrics as metrics
from graphflow._core.common.shown.docstrings import arguments_said, document
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.math.sorting import in_top_k
from graphflow.metrics.averages import Measure


def _streaming(name: str, measure: str) -> Callable[..., Measure]:
    """A measure of gf.metrics under its name here, its labels, if it has any, behind the predictions."""
    function = getattr(metrics, measure)
    known = inspect.signature(function).parameters
    order = [*(["predictions", "labels"] if "labels" in known else []), *known]
    kept = [known[argument] for argument in dict.fromkeys(order)]
    signature = inspect.Signature(kept)

    def streaming(*args: Any, **kwargs: Any) -> Measure:
        given: Measure = function(**signature.bind(*args, **kwargs).arguments)
        return given

    streaming.__name__ = streaming.__qualname__ = f"streaming_{name}"
    streaming.__signature__ = signature  # type: ignore[attr-defined]
    sentence = f"gf.metrics.{measure}, predictions first (tf.contrib.metrics.streaming_{name}): see there."
    returns = "The value, and the operation that adds a batch to it and gives the new value."
    streaming.__doc__ = document(sentence, signature.parameters, arguments_said(function), returns)
    return streaming


streaming_accuracy: Final[Callable[..., Measure]] = _streaming("accuracy", "accuracy")
streaming_auc: Final[Callable[..., Measure]] = _streaming("auc", "auc")
streaming_false_negatives: Final[Callable[..., Measure]] = _streaming("false_negatives", "false_negatives")
streaming_false_positives: Final[Callable[..., Measure]] = _streaming("false_positives", "false_positives")
streaming_mean: Final[Callable[..., Measure]] = _streaming("mean", "mean")
streaming_mean_absolute_error: Final[Callable[..., Measure]] = _streaming(
    "mean_absolute_error", "mean_absolute_error"
)
streaming_mean_cosine_distance: Final[Callable[..., Measure]] = _streaming(
    "mean_cosine_distance", "mean_cosine_distance"
)
streaming_mean_iou: Final[Callable[..., Measure]] = _streaming("mean_iou", "mean_iou")
streaming_mean_relative_error: Final[Callable[..., Measure]] = _streaming(
    "mean_relative_error", "mean_relative_error"
)
streaming_mean_squared_error: Final[Callable[..., Measure]] = _streaming(
    "mean_squared_error", "mean_squared_error"
)
streaming_mean_tensor: Final[Callable[..., Measure]] = _streaming("mean_tensor", "mean_tensor")
streaming_precision: Final[Callable[..., Measure]] = _streaming("precision", "precision")
streaming_precision_at_thresholds: Final[Callable[..., Measure]] = _streaming(
    "precision_at_thresholds", "precision_at_thresholds"
)
streaming_recall: Final[Callable[..., Measure]] = _streaming("recall", "recall")
streaming_recall_at_thresholds: Final[Callable[..., Measure]] = _streaming(
    "recall_at_thresholds", "recall_at_thresholds"
)
streaming_root_mean_squared_error: Final[Callable[..., Measure]] = _streaming(
    "root_mean_squared_error", "root_mean_squared_error"
)
streaming_sensitivity_at_specificity: Final[Callable[..., Measure]] = _streaming(
    "sensitivity_at_specificity", "sensitivity_at_specificity"
)
streaming_specificity_at_sensitivity: Final[Callable[..., Measure]] = _streaming(
    "specificity_at_sensitivity", "specificity_at_sensitivity"
)
streaming_true_negatives: Final[Callable[..., Measure]] = _streaming("true_negatives", "true_negatives")
streaming_true_positives: Final[Callable[..., Measure]] = _streaming("true_positives", "true_positives")
streaming_percentage_less: Final[Callable[..., Measure]] = _streaming("percentage_less", "percentage_below")
streaming_sparse_precision_at_k: Final[Callable[..., Measure]] = _streaming(
    "sparse_precision_at_k", "precision_at_k"
)
streaming_sparse_recall_at_k: Final[Callable[..., Measure]] = _streaming("sparse_recall_at_k", "recall_at_k")


def streaming_recall_at_k(
    predictions: TensorLike,
    labels: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of labels [batch] that are among the k best predictions (tf.contrib.metrics.streaming_recall_at_k).

    Args:
        predictions: What the model gives, a tensor.
        labels: The true values, a tensor of the shape of the predictions.
        k: How many of the highest predictions of each row count.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    found = math.cast(in_top_k(predictions, labels, k), dtypes.float32)
    share: Measure = metrics.mean(
        found, weights, metrics_collections, updates_collections, name or f"recall_at_{k}"
    )
    return share


def accuracy(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """The share of a batch's predictions that equal their labels (tf.contrib.metrics.accuracy).

    Args:
        predictions: What the model gives, a tensor.
        labels: The true values, a tensor of the shape of the predictions.
        weights: Of the examples.
        name: A name for the operation.

    Raises:
        ValueError: If the dtypes differ or are neither integer, bool nor string.
    """
    p, y = convert_to_tensor(predictions), convert_to_tensor(labels)
    if not (y.dtype.is_integer or y.dtype in (dtypes.bool_, dtypes.string)):
        raise ValueError(
            f"Labels should have bool, string or integer dtype, not {y.dtype.name}; use gf.argmax before."
        )
    p.shape.assert_is_compatible_with(y.shape)
    if p.dtype != y.dtype:
        raise ValueError(f"Dtypes of predictions and labels should match: {p.dtype.name} and {y.dtype.name}.")
    with op_scope(name, "accuracy", (p, y)):
        right = math.cast(math.equal(p, y), dtypes.float32)
        if weights is None:
            result: Tensor = reductions.reduce_mean(right)
            return result
        factors = convert_to_tensor(weights, dtype=dtypes.float32)
        total = reductions.reduce_sum(factors * array.ones_like(right))
        share: Tensor = reductions.reduce_sum(right * factors) / total
        return share


def aggregate_metrics(*value_update_tuples: Measure) -> tuple[list[Any], list[Any]]:
    """(values, updates) of several measures (tf.contrib.metrics.aggregate_metrics); ValueError without any.

    Args:
        *value_update_tuples: Pairs (value, update).

    Returns:
        The values and the updates.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    return [value for value, _ in value_update_tuples], [update for _, update in value_update_tuples]


def aggregate_metric_map(names_to_tuples: Mapping[str, Measure]) -> tuple[dict[str, Any], dict[str, Any]]:
    """({name: value}, {name: update}) of measures by name (tf.contrib.metrics.aggregate_metric_map).

    Args:
        names_to_tuples: {name: (value, update)}.

    Returns:
        {name: value} and {name: update}.
    """
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
