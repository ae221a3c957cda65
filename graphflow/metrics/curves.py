"""Areas under curves, and points of them, from counts at many thresholds (tf.metrics)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.math.scans import argmax, argmin, cumsum
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.metrics.averages import Measure, collected
from graphflow.metrics.counts import counts_at_thresholds

_EPSILON: Final = 1e-7
_SMALL: Final = 1e-6


def _thresholds(number: int, above: float = _EPSILON) -> list[float]:
    """Evenly spaced thresholds, the first below 0 and the last at 1 + above."""
    between = [(k + 1) * 1.0 / (number - 1) for k in range(number - 2)]
    return [0.0 - _EPSILON, *between, 1.0 + above]


def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Measure:
    """The area under the curve of true over false positives, or of precision over recall (tf.metrics.auc).

    For the other arguments see gf.metrics.mean; the variables are true_positives, false_negatives,
    true_negatives and false_positives.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: In [0, 1].
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        num_thresholds: At how many the curve is taken, or `thresholds` themselves, between 0 and 1.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        curve: "ROC" or "PR".
        name: A name for the operation.
        summation_method: "trapezoidal", "minoring", "majoring" (for lower and upper bounds), or
            "careful_interpolation", which suits "PR" (Davis and Goadrich, 2006).
        thresholds: Numbers in [0, 1].

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if summation_method not in ("trapezoidal", "minoring", "majoring", "careful_interpolation"):
        raise ValueError(f"Invalid summation_method: {summation_method}")
    taken = _thresholds(num_thresholds)
    if thresholds is not None:
        taken = [0.0 - _EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
    with variable_scope(name, "auc", [labels, predictions, weights]):
        values, updates = counts_at_thresholds(labels, predictions, taken, weights)
        value = _area(values, curve, summation_method, "value")
        update = _area(updates, curve, summation_method, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _area(counts: Mapping[str, Any], curve: str, method: str, name: str) -> Tensor:
    tp, fn, tn, fp = (
        counts[k] for k in ("true_positives", "false_negatives", "true_negatives", "false_positives")
    )
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp + 0.0, fp + 0.0, fn + 0.0)
    hits = math.truediv(tp + _SMALL, tp + fn + _SMALL)
    if curve == "ROC":
        x, y = math.truediv(fp, fp + tn + _SMALL), hits
    else:
        x, y = hits, math.truediv(tp + _SMALL, tp + fp + _SMALL)
    left, right = y[:-1], y[1:]
    if method == "minoring":
        height: Any = math.minimum(left, right)
    elif method == "majoring":
        height = math.maximum(left, right)
    else:
        height = (left + right) / 2.0
    return reductions.reduce_sum(math.multiply(x[:-1] - x[1:], height), name=name)


def _interpolated(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """The area under precision over recall, both counts growing evenly between two thresholds.

    Between A and B true positives are a line of the predicted, TP = slope * P + intercept. Precision is TP / P, and its
    integral over recall slope * (TP_B - TP_A + intercept * log(P_B / P_A)) / positives.
    """
    p = tp + fp
    rise = tp[:-1] - tp[1:]
    slope = math.div_no_nan(rise, math.maximum(p[:-1] - p[1:], 0.0), name="prec_slope")
    intercept = tp[1:] - math.multiply(slope, p[1:])
    both = math.logical_and(p[:-1] > 0.0, p[1:] > 0.0)
    ratio = where(both, math.div_no_nan(p[:-1], math.maximum(p[1:], 0.0)), array.ones_like(p[1:]))
    area = slope * (rise + intercept * math.log(ratio))
    positives = math.maximum(tp[1:] + fn[1:], 0.0)
    return reductions.reduce_sum(math.div_no_nan(area, positives), name="interpolate_pr_auc")


def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of positives found at the threshold whose specificity is nearest (tf.metrics's); see auc.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        specificity: A number in [0, 1].
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        num_thresholds: At how many thresholds the counts are taken.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    if not 0 <= specificity <= 1:
        raise ValueError("`specificity` must be in the range [0, 1].")

    def point(counts: Mapping[str, Any], last: str) -> Tensor:
        tn, fp = counts["true_negatives"], counts["false_positives"]
        distance = math.abs_(math.truediv(tn, tn + fp + _EPSILON) - specificity)
        at = math.cast(argmin(distance, 0), dtypes.int32)
        found, missed = counts["true_positives"][at], counts["false_negatives"][at]
        return math.truediv(found, found + missed + _EPSILON, name=last)

    with variable_scope(name, "sensitivity_at_specificity", [predictions, labels, weights]):
        values, updates = counts_at_thresholds(labels, predictions, _thresholds(num_thresholds), weights)
        value = point(values, "value")
        return collected(value, point(updates, "update_op"), metrics_collections, updates_collections)


def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of negatives kept out at the last threshold whose sensitivity is nearest (tf.metrics's); see auc.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        sensitivity: A number in [0, 1].
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        num_thresholds: At how many thresholds the counts are taken.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")

    def point(counts: Mapping[str, Any], last: str) -> Tensor:
        tp, fn = counts["true_positives"], counts["false_negatives"]
        distance = math.abs_(math.truediv(tp, tp + fn + _EPSILON) - sensitivity)
        nearest = math.cast(math.equal(distance, reductions.reduce_min(distance)), dtypes.int64)
        at = math.cast(argmax(cumsum(nearest), 0), dtypes.int32)
        kept, passed = counts["true_negatives"][at], counts["false_positives"][at]
        return math.truediv(kept, kept + passed + _EPSILON, name=last)

    with variable_scope(name, "specificity_at_sensitivity", [predictions, labels, weights]):
        taken = _thresholds(num_thresholds, -_EPSILON)
        values, updates = counts_at_thresholds(labels, predictions, taken, weights)
        value = point(values, "value")
        return collected(value, point(updates, "update_op"), metrics_collections, updates_collections)
