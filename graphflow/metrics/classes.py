"""Measures by class, and of the best few predictions (tf.metrics)."""

from __future__ import annotations

from typing import Any, Final

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.math.linalg import tensor_diag_part
from graphflow._core.ops.math.sorting import confusion_matrix, top_k
from graphflow._core.ops.sparse.sparse import sparse_tensor_to_dense
from graphflow._core.ops.state.state import assign_add, scatter_add
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.losses.reduction import Weights
from graphflow.metrics.averages import Measure, collected, metric_variable


def _flat(value: Any, dtype: Any) -> Tensor:
    tensor = math.cast(convert_to_tensor(value), dtype)
    return array.reshape(tensor, [-1]) if tensor.dims is None or len(tensor.dims) > 1 else tensor


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean over classes of the share of each that was predicted (tf.metrics.mean_per_class_accuracy).

    The update gives that of each class. For the other arguments see gf.metrics.mean; the variables are total and count.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        num_classes: How many classes there are.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        y, p = _flat(labels, dtypes.int64), _flat(predictions, dtypes.int64)
        if not shapes.compatible(p.dims, y.dims):
            raise ValueError(
                f"Shapes {p.shape} of the predictions and {y.shape} of the labels are incompatible."
            )
        total = metric_variable([num_classes], dtypes.float32, "total")
        count = metric_variable([num_classes], dtypes.float32, "count")
        ones = array.ones_like(y, dtypes.float32)
        correct = math.cast(math.equal(p, y), dtypes.float32)
        if weights is not None:
            factors = _flat(weights, dtypes.float32)
            ones, correct = ones * factors, correct * factors
        moved_total, moved_count = scatter_add(total, y, ones), scatter_add(count, y, correct)
        shares = math.div_no_nan(count, math.maximum(total, 0.0))
        value = reductions.reduce_mean(shares, name="mean_accuracy")
        update = math.div_no_nan(moved_count, math.maximum(moved_total, 0.0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean over classes of intersection / union of what is labelled and predicted so (tf.metrics.mean_iou).

    Classes that have not been seen do not count. The update gives the confusion matrix. For the other arguments see
    gf.metrics.mean; the variable is total_confusion_matrix.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        num_classes: How many classes there are.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        y, p = convert_to_tensor(labels), convert_to_tensor(predictions)
        if not shapes.compatible(p.dims, y.dims):
            raise ValueError(
                f"Shapes {p.shape} of the predictions and {y.shape} of the labels are incompatible."
            )
        total = metric_variable([num_classes, num_classes], dtypes.float64, "total_confusion_matrix")
        matrix = confusion_matrix(
            _flat(y, dtypes.int64),
            _flat(p, dtypes.int64),
            num_classes,
            dtype=dtypes.float64,
            weights=None if weights is None else _flat(weights, dtypes.float64),
        )
        update = assign_add(total, matrix)
        rows = math.cast(reductions.reduce_sum(total, 0), dtypes.float32)
        columns = math.cast(reductions.reduce_sum(total, 1), dtypes.float32)
        hits = math.cast(tensor_diag_part(total), dtypes.float32)
        union = rows + columns - hits
        seen = reductions.reduce_sum(math.cast(math.not_equal(union, 0.0), dtypes.float32))
        shares = math.truediv(hits, where(math.greater(union, 0.0), union, array.ones_like(union)))
        whole = reductions.reduce_sum(shares, name="mean_iou") / seen
        value = where(math.greater(seen, 0.0), whole, 0.0)
        return collected(value, update, metrics_collections, updates_collections)


# ---- the best k ---------------------------------------------------------------------------------------------------


NO_CLASS: Final = dtypes.int64.min
"""Stands where a row of sparse labels has no more of them."""


def _named(word: str, k: int | None, class_id: int | None) -> str:
    at = f"{word}_at_{'k' if k is None else k}"
    return at if class_id is None else f"{at}_class{class_id}"


def how_many(values: Tensor, which: Tensor) -> Tensor:
    """How many different elements of each last axis of `values`, of those that count, there are, float64."""
    count = array.shape(values)[-1]
    same = math.equal(array.expand_dims(values, -1), array.expand_dims(values, -2))
    places = array.range_(count)
    earlier = array.expand_dims(places, 0) < array.expand_dims(places, 1)
    new = math.logical_not(reductions.reduce_any(math.logical_and(same, earlier), -1))
    return reductions.reduce_sum(math.cast(math.logical_and(new, which), dtypes.float64), -1)


def _missing_from(values: Tensor, others: Tensor, class_id: int | None, inside: bool) -> Tensor:
    """How many different elements of each last axis of `values` are (not) among those of `others`, float64."""
    found = reductions.reduce_any(
        math.equal(array.expand_dims(values, -1), array.expand_dims(others, -2)), -1
    )
    kept = found if inside else math.logical_not(found)
    kept = math.logical_and(kept, math.not_equal(values, NO_CLASS))
    if class_id is not None:
        kept = math.logical_and(kept, math.equal(values, class_id))
    return how_many(values, kept)


def classes_of(labels: Any, predictions_idx: Any) -> tuple[Tensor, Tensor]:
    """Labels and predicted classes, both of int64 in the last axis of a tensor; NO_CLASS where a row has no more."""
    best = math.cast(convert_to_tensor(predictions_idx), dtypes.int64)
    if isinstance(labels, SparseTensor | SparseTensorValue):
        sparse = SparseTensor.from_value(labels)
        y = sparse_tensor_to_dense(math.cast(sparse, dtypes.int64), NO_CLASS, validate_indices=False)
    else:
        y = math.cast(convert_to_tensor(labels), dtypes.int64)
    if best.dims is not None and y.dims is not None and len(best.dims) != len(y.dims):
        if len(best.dims) != len(y.dims) + 1:
            raise ValueError(f"Unexpected labels shape {y.shape} for predictions shape {best.shape}.")
        y = array.expand_dims(y, -1)
    return y, best


def _gathered(counts: Tensor, weights: Any, name: str) -> Measure:
    """The weighted sum of counts in a variable, and its update."""
    with op_scope(None, name, [counts]) as scope:
        if weights is not None:
            factors = convert_to_tensor(weights)
            with counts.graph.control_dependencies(Weights(factors).checks(counts)):
                counts = math.multiply(counts, math.cast(factors, dtypes.float64))
        variable = metric_variable([], dtypes.float64, scope)
        return variable, assign_add(variable, reductions.reduce_sum(counts), name="update")


def _at_top_k(
    word: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    to_metrics: Any,
    to_updates: Any,
    name: str | None,
) -> Measure:
    with op_scope(name, _named(word, k, class_id), [predictions_idx, labels, weights]) as scope:
        y, best = classes_of(labels, predictions_idx)
        right, moved_right = _gathered(
            _missing_from(best, y, class_id, True), weights, _named("true_positive", k, class_id)
        )
        if word == "recall":
            wrong = _gathered(
                _missing_from(y, best, class_id, False), weights, _named("false_negative", k, class_id)
            )
        else:
            wrong = _gathered(
                _missing_from(best, y, class_id, False), weights, _named("false_positive", k, class_id)
            )
        value = math.truediv(right, math.add(right, wrong[0]), name=scope)
        update = math.truediv(moved_right, math.add(moved_right, wrong[1]), name="update")
        return collected(value, update, to_metrics, to_updates)


def recall_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of labels among the predicted classes [..., k] (tf.metrics.recall_at_top_k); see recall_at_k.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions_idx: The numbers of the predicted classes, [..., k] of int64.
        k: How many of the highest predictions of each row count.
        class_id: The one class to look at; None for all.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    return _at_top_k(
        "recall",
        labels,
        predictions_idx,
        k,
        class_id,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


def precision_at_top_k(
    labels: TensorLike,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of predicted classes [..., k] that are labels (tf.metrics.precision_at_top_k); see recall_at_k.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions_idx: The numbers of the predicted classes, [..., k] of int64.
        k: How many of the highest predictions of each row count.
        class_id: The one class to look at; None for all.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    return _at_top_k(
        "precision",
        labels,
        predictions_idx,
        k,
        class_id,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


def recall_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of labels that are among the k best predictions (tf.metrics.recall_at_k): (value, update).

    NaN before the first update.

    Args:
        labels: Integers [...] or [..., number of labels], a tensor or a SparseTensor.
        predictions: A number for each class, [..., classes].
        k: How many of the highest predictions of each row count.
        class_id: Looks at one class alone.
        weights: A scalar, or one for each row.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with op_scope(name, _named("recall", k, class_id), [predictions, labels, weights]) as scope:
        best = top_k(predictions, k)[1]
        return _at_top_k(
            "recall", labels, best, k, class_id, weights, metrics_collections, updates_collections, scope
        )


def precision_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of the k best predictions that are labels (tf.metrics.precision_at_k); see recall_at_k.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        k: How many of the highest predictions of each row count.
        class_id: The one class to look at; None for all.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with op_scope(name, _named("precision", k, class_id), [predictions, labels, weights]) as scope:
        best = top_k(predictions, k)[1]
        return _at_top_k(
            "precision", labels, best, k, class_id, weights, metrics_collections, updates_collections, scope
        )
