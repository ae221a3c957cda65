"""Averages over all that has been seen: a total and a count in local variables, moved by an update operation.

Every measure is a pair: a tensor of its present value, which changes nothing, and a tensor that takes in a batch when
it runs and gives the value after that. Names are TensorFlow's (tf.metrics).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import CollectionNames, DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.state.state import assign_add
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.distribute.context import one_of_several_towers
from graphflow.distribute.values import select
from graphflow.losses.reduction import Weights, squeeze_to_rank_difference

Measure = tuple[Any, Tensor]


def metric_variable(shape: IntTensorLike, dtype: DTypeLike, name: str) -> Variable:
    """A variable of zeros in LOCAL_VARIABLES and METRIC_VARIABLES: not trained and not saved."""
    return Variable(
        lambda: array.zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
    )


def same_ranks(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None
) -> tuple[Tensor, Tensor, Any]:
    """Predictions, labels and weights, without or with a last axis of 1 if that makes their ranks equal.

    ValueError if the shapes of predictions and labels differ.
    """
    y, p = squeeze_to_rank_difference(labels, predictions, 0)
    if not shapes.compatible(p.dims, y.dims):
        raise ValueError(f"Shapes {p.shape} of the predictions and {y.shape} of the labels are incompatible.")
    return p, y, ranked_weights(weights, p)


def ranked_weights(weights: TensorLike | None, values: Tensor) -> Any:
    """The weights with as many axes as the values, if they differ by a last axis of 1; None and scalars stay.

    If a rank is not known while the graph is built, the run decides.
    """
    if weights is None:
        return None
    tensor = convert_to_tensor(weights)
    if tensor.dims is None or (tensor.dims and values.dims is None):
        sizes, surplus = array.shape(tensor), array.rank(tensor) - array.rank(values)
        may_lose = tensor.dims is None or tensor.dims[-1] in (1, None)
        lost = math.cast(math.equal(surplus, 1), dtypes.int32) if may_lose else 0
        gained = math.logical_and(math.equal(surplus, -1), math.greater(array.rank(tensor), 0))
        ones = array.fill([math.cast(gained, dtypes.int32)], 1)
        return array.reshape(tensor, array.concat([sizes[: array.rank(tensor) - lost], ones], 0))
    if tensor.dims and values.dims is not None:
        if len(tensor.dims) == len(values.dims) + 1:
            return array.squeeze(tensor, [-1])
        if len(tensor.dims) == len(values.dims) - 1:
            return array.expand_dims(tensor, [-1])
    return tensor


def broadcast_weights(weights: TensorLike, values: Tensor) -> Tensor:
    """float32 weights of the values' shape; ValueError, or InvalidArgumentError when run, if they do not fit."""
    given = Weights(weights)
    factors = given.tensor
    known = shapes.size_of(values.dims) is not None and factors.dims == values.dims
    if known:
        return factors
    with values.graph.control_dependencies(given.checks(values)):
        return math.multiply(factors, array.ones_like(values))


def _of_first_tower(_: Any, value: Any) -> Any:
    return select(0, value)


def collected(
    value: Any,
    update: Tensor,
    metrics_collections: CollectionNames | None,
    updates_collections: CollectionNames | None,
) -> Measure:
    """The pair, its parts added to the collections that were asked for.

    The value is one for all towers, as each would read the same.
    """
    graph = get_default_graph()
    context = one_of_several_towers()
    if context is not None:
        value = context.merge_call(_of_first_tower, value)
    if metrics_collections:
        graph.add_to_collections(metrics_collections, value)
    if updates_collections:
        graph.add_to_collections(updates_collections, update)
    return value, update


def _mean(total: Any, count: Any, name: str) -> Tensor:
    return math.div_no_nan(total, math.maximum(count, 0.0), name=name)


def mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean of all values so far, 0 before the first (tf.metrics.mean): (value, update).

    Args:
        values: A tensor of any shape, taken as float32.
        weights: A scalar, or a tensor of the values' rank with their size or 1 in each axis; 0 leaves a value
            out.
        metrics_collections: With `updates_collections`: where value and update are added.
        updates_collections: See `metrics_collections`.
        name: Of the scope of the local variables total and count.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "mean", [values, weights]):
        values = math.cast(convert_to_tensor(values), dtypes.float32)
        total = metric_variable([], dtypes.float32, "total")
        count = metric_variable([], dtypes.float32, "count")
        if weights is None:
            number = math.cast(array.size(values), dtypes.float32)
        else:
            factors = broadcast_weights(ranked_weights(weights, values), values)
            values = math.multiply(values, factors)
            number = reductions.reduce_sum(factors)
        moved_total = assign_add(total, reductions.reduce_sum(values))
        with values.graph.control_dependencies([values]):
            moved_count = assign_add(count, number)
        value = _mean(total, count, "value")
        update = _mean(moved_total, moved_count, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def mean_tensor(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean of each element of `values`, a tensor of known shape, over runs (tf.metrics.mean_tensor); see mean.

    Args:
        values: A tensor of numbers.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "mean", [values, weights]):
        values = math.cast(convert_to_tensor(values), dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, "total_tensor")
        count = metric_variable(values.shape, dtypes.float32, "count_tensor")
        number = array.ones_like(values)
        if weights is not None:
            factors = broadcast_weights(ranked_weights(weights, values), values)
            values, number = math.multiply(values, factors), math.multiply(number, factors)
        moved_total = assign_add(total, values)
        with values.graph.control_dependencies([values]):
            moved_count = assign_add(count, number)
        value = _mean(total, count, "value")
        update = _mean(moved_total, moved_count, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of predictions that equal their labels (tf.metrics.accuracy); for the arguments see mean.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.

    Examples:
        >>> value, update = gf.metrics.accuracy([1, 0, 1], [1, 1, 1])
        >>> with gf.Session() as session:
        ...     session.run(gf.local_variables_initializer())
        ...     print(round(float(session.run(update)), 3))
        0.667
    """
    p, y, factors = same_ranks(predictions, labels, weights)
    p = p if p.dtype is y.dtype else math.cast(p, y.dtype)
    correct = math.cast(math.equal(p, y), dtypes.float32)
    return mean(correct, factors, metrics_collections, updates_collections, name or "accuracy")


def _error(
    labels: Any, predictions: Any, weights: Any, measure: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Any]:
    p, y, factors = same_ranks(predictions, labels, weights)
    return measure(p, y), factors


def mean_absolute_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean of |predictions - labels| (tf.metrics.mean_absolute_error); for the arguments see mean.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    errors, factors = _error(labels, predictions, weights, lambda p, y: math.abs_(p - y))
    return mean(errors, factors, metrics_collections, updates_collections, name or "mean_absolute_error")


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean of (labels - predictions) ** 2 (tf.metrics.mean_squared_error); for the arguments see mean.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    errors, factors = _error(labels, predictions, weights, lambda p, y: math.squared_difference(p, y))
    return mean(errors, factors, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The square root of mean_squared_error (tf.metrics.root_mean_squared_error); for the arguments see mean.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    value, update = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    return collected(math.sqrt(value), math.sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The mean of |labels - predictions| / normalizer, 0 if that is 0 (tf.metrics.mean_relative_error); see mean.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        normalizer: What errors are divided by, a tensor of the labels' shape.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    p, y, factors = same_ranks(predictions, labels, weights)
    p, scale, _ = same_ranks(p, normalizer, None)
    errors = math.div_no_nan(math.abs_(y - p), scale)
    return mean(errors, factors, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """1 - the mean product of vectors along `dim`, taken as of length 1 (tf.metrics.mean_cosine_distance); see mean.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        dim: The axis of a vector.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    p, y, factors = same_ranks(predictions, labels, weights)
    products = reductions.reduce_sum(math.multiply(p, y), axis=[dim], keepdims=True)
    value, update = mean(products, factors, None, None, name or "mean_cosine_distance")
    return collected(
        math.subtract(1.0, value), math.subtract(1.0, update), metrics_collections, updates_collections
    )


def percentage_below(
    values: TensorLike,
    threshold: float,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The share of values, from 0 to 1, below a threshold (tf.metrics.percentage_below); for the arguments see mean.

    Args:
        values: A tensor of numbers.
        threshold: A number.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    below = math.cast(math.less(values, threshold), dtypes.float32)
    return mean(
        below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold"
    )
