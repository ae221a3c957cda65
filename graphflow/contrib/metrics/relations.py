"""How predictions and labels go together: covariance, correlation, agreement of classes, and harmonic means."""

from __future__ import annotations

from typing import Any

import graphflow.metrics.counts as counts
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.state.state import assign, assign_add
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.metrics.averages import Measure, broadcast_weights, collected, metric_variable, same_ranks


def _covariance(comoment: Any, count: Any) -> Tensor:
    """Of so many pairs; not a number of fewer than two."""
    return where(count <= 1.0, constant(float("nan")), math.truediv(comoment, count - 1.0))


def _moves(
    given: Tensor, weights: Any, count: Tensor, total: Any, name: str
) -> tuple[Tensor, Tensor, Tensor]:
    """A variable's mean after a batch, that before it, and the batch's own."""
    mean = metric_variable([], dtypes.float32, name)
    own = math.div_no_nan(reductions.reduce_sum(given if weights is None else given * weights), count)
    before = array.identity(mean)
    after = before + math.div_no_nan((own - before) * count, total)
    with given.graph.control_dependencies([before]):
        return assign(mean, after), before, own


def streaming_covariance(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The covariance of predictions and labels so far, without bias (tf.contrib.metrics.streaming_covariance).

    Args:
        predictions: What the model gives, a tensor.
        labels: The true values, a tensor of the shape of the predictions.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operations and variables.

    Returns:
        The value, not a number of fewer than two pairs, and the operation that adds a batch to it.
    """
    with variable_scope(name, "covariance", [predictions, labels, weights]):
        p, y, factors = same_ranks(
            math.cast(convert_to_tensor(predictions), dtypes.float32),
            math.cast(convert_to_tensor(labels), dtypes.float32),
            weights,
        )
        count = metric_variable([], dtypes.float32, "count")
        spread = None if factors is None else broadcast_weights(factors, p)
        number = math.cast(array.size(p), dtypes.float32) if spread is None else reductions.reduce_sum(spread)
        earlier = array.identity(count)
        total = earlier + number
        moved_p, p_before, p_own = _moves(p, spread, number, total, "mean_prediction")
        moved_y, y_before, y_own = _moves(y, spread, number, total, "mean_label")
        comoment = metric_variable([], dtypes.float32, "comoment")
        together = (p - p_own) * (y - y_own)
        inside = reductions.reduce_sum(together if spread is None else together * spread)
        between = (p_before - p_own) * (y_before - y_own) * math.div_no_nan(earlier * number, total)
        with p.graph.control_dependencies([moved_p, moved_y, earlier]):
            moved = assign_add(comoment, inside + between)
            moved_count = assign(count, total)
        value = _covariance(comoment, count)
        return collected(value, _covariance(moved, moved_count), metrics_collections, updates_collections)


def streaming_pearson_correlation(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """Pearson's correlation of predictions and labels so far (tf.contrib.metrics.streaming_pearson_correlation).

    Args:
        predictions: What the model gives, a tensor.
        labels: The true values, a tensor of the shape of the predictions.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operations and variables.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "pearson_r", [predictions, labels, weights]):
        pairs = {
            "covariance": (predictions, labels),
            "variance_predictions": (predictions, predictions),
            "variance_labels": (labels, labels),
        }
        both, first, second = [
            streaming_covariance(x, y, weights, name=scope) for scope, (x, y) in pairs.items()
        ]
        value, update = [math.truediv(both[i], math.sqrt(first[i]) * math.sqrt(second[i])) for i in range(2)]
        return collected(value, update, metrics_collections, updates_collections)


def f1_score(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The best harmonic mean of precision and recall over thresholds (tf.contrib.metrics.f1_score).

    Args:
        labels: The true values, a tensor that is taken as bools.
        predictions: Floats in [0, 1], of the shape of the labels.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        num_thresholds: How many thresholds are tried.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operations and variables.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "f1", [labels, predictions, weights]):
        small = 1e-7
        inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        kinds = ("true_positives", "false_negatives", "false_positives")
        found = counts.counts_at_thresholds(
            labels,
            predictions,
            [-small, *inner, 1.0 + small],
            weights,
            [k for k in counts.KINDS if k in kinds],
        )

        def best(of: dict[str, Any]) -> Tensor:
            right = of["true_positives"]
            precision = math.truediv(right, small + right + of["false_positives"])
            recall = math.truediv(right, small + right + of["false_negatives"])
            return reductions.reduce_max(2.0 * precision * recall / (precision + recall + small))

        return collected(best(found[0]), best(found[1]), metrics_collections, updates_collections)


def cohen_kappa(
    labels: TensorLike,
    predictions_idx: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """How far predicted and true classes agree beyond chance (tf.contrib.metrics.cohen_kappa).

    Args:
        labels: The true classes, integers [batch] or [batch, 1].
        predictions_idx: The predicted ones, of the same shape.
        num_classes: How many there are, two or more.
        weights: Of the examples.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operations and variables.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.

    Raises:
        ValueError: For fewer than two classes.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2. Found: {num_classes}")
    with variable_scope(name, "cohen_kappa", [labels, predictions_idx, weights]):
        true = array.reshape(convert_to_tensor(labels), [-1])
        said = array.reshape(convert_to_tensor(predictions_idx), [-1])
        ones = array.ones_like(true, dtypes.float32)
        factors = (
            ones
            if weights is None
            else array.reshape(convert_to_tensor(weights, dtypes.float32), [-1]) * ones
        )
        rows = array.one_hot(true, num_classes) * factors[:, None]
        columns = array.one_hot(said, num_classes)
        parts = {
            "po": reductions.reduce_sum(rows * columns, 0),
            "pe_row": reductions.reduce_sum(rows, 0),
            "pe_col": reductions.reduce_sum(columns * factors[:, None], 0),
        }
        values: list[Any] = [metric_variable([num_classes], dtypes.float32, part) for part in parts]
        updates = [assign_add(one, part) for one, part in zip(values, parts.values(), strict=True)]

        def agreement(agreed: Any, row: Any, column: Any) -> Tensor:
            total = reductions.reduce_sum(row)
            chance = reductions.reduce_sum(math.div_no_nan(row * column, total))
            return math.div_no_nan(reductions.reduce_sum(agreed) - chance, total - chance)

        return collected(agreement(*values), agreement(*updates), metrics_collections, updates_collections)


__all__ = ["cohen_kappa", "f1_score", "streaming_covariance", "streaming_pearson_correlation"]
