"""Mean average precision of the best few predictions (tf.metrics.average_precision_at_k)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.math.scans import cumsum
from graphflow._core.ops.math.sorting import top_k
from graphflow._core.ops.state.state import assign_add
from graphflow.losses.reduction import Weights
from graphflow.metrics.averages import Measure, collected, metric_variable
from graphflow.metrics.classes import NO_CLASS, classes_of, how_many


def _without_unknown(labels: Any, classes: Tensor) -> Any:
    """The labels, those that are no class replaced by -1."""
    if isinstance(labels, SparseTensor | SparseTensorValue):
        sparse = SparseTensor.from_value(labels)
        return SparseTensor(sparse.indices, _without_unknown(sparse.values, classes), sparse.dense_shape)
    numbers = math.cast(convert_to_tensor(labels), dtypes.int64)
    return where_v2(math.greater_equal(numbers, classes), math.negative(array.ones_like(numbers)), numbers)


def _average_precisions(labels: Any, best: Tensor, k: int) -> Tensor:
    """Of each row the mean, over its labels, of the precision at the places where they are found."""
    found, ranked = classes_of(labels, best)
    same = math.equal(array.expand_dims(ranked, -1), array.expand_dims(found, -2))
    hits = math.cast(reductions.reduce_any(same, -1), dtypes.float64)
    places = array.range_(1.0, k + 1.0, dtype=dtypes.float64)
    total = reductions.reduce_sum(hits * cumsum(hits, -1) / places, -1)
    if isinstance(labels, SparseTensor | SparseTensorValue):
        relevant = how_many(found, math.not_equal(found, NO_CLASS))
    else:
        given = math.cast(math.greater_equal(found, 0), dtypes.float64)
        relevant = reductions.reduce_sum(given, -1)
    result: Tensor = total / math.minimum(relevant, float(k))
    return result


def average_precision_at_k(
    labels: TensorLike,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean over rows of the average precision of the k best predictions (tf.metrics.average_precision_at_k).

    That of a row is the sum of the shares of labels among the first i predictions, over those places i that are
    labels, divided by the number of labels, or by k if there are more. The variables are total and max.

    Args:
        labels: Integers [...] or [..., number of labels], a tensor or a SparseTensor; what is no class is left out.
        predictions: A number for each class, [..., classes].
        k: How many of the highest predictions of each row count.
        weights: A scalar, or one for each row.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.

    Raises:
        ValueError: If k is below 1.

    Examples:
        >>> value, update = gf.metrics.average_precision_at_k([[0, 2]], [[0.6, 0.3, 0.1]], 3)
        >>> with gf.Session() as session:
        ...     session.run(gf.local_variables_initializer())
        ...     print(session.run(update).round(4))
        0.8333
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with op_scope(name, f"average_precision_at_{k}", [predictions, labels, weights]) as scope:
        best = top_k(predictions, k)[1]
        classes = math.cast(array.shape(convert_to_tensor(predictions))[-1], dtypes.int64)
        rows = _average_precisions(_without_unknown(labels, classes), best, k)
        most: Tensor = math.cast(array.size(rows), dtypes.float64)
        if weights is not None:
            factors: Tensor = convert_to_tensor(weights)
            with rows.graph.control_dependencies(Weights(factors).checks(rows)):
                factors = math.cast(factors, dtypes.float64) * array.ones_like(rows)
            rows, most = rows * factors, reductions.reduce_sum(factors)
        with op_scope(None, "max_1", [rows]) as part:  # TensorFlow has looked for the largest label by then.
            largest = metric_variable([], dtypes.float64, part)
            moved_largest = assign_add(largest, most, name="update")
        with op_scope(None, "total", [rows]) as part:
            total = metric_variable([], dtypes.float64, part)
            moved_total = assign_add(total, reductions.reduce_sum(rows), name="update")
        value = math.div_no_nan(total, largest, name="mean")
        update = math.div_no_nan(moved_total, moved_largest, name=scope)
        return collected(value, update, metrics_collections, updates_collections)
