"""Losses with predictions before labels, and weights by example (tf.contrib.losses): gf.losses with other arguments.

Weights may have fewer axes than the losses, whose first axes they then are; in gf.losses they have as many.
"""

from __future__ import annotations

from typing import Any

import graphflow.losses as by_label
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array, indexing
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.rules import deprecated
from graphflow.layers.arg_scope import add_arg_scope
from graphflow.losses.reduction import Weights, rows_axes, safe_mean


@add_arg_scope
def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection; None adds it nowhere (tf.contrib.losses.add_loss).

    Args:
        loss: The loss, a tensor.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
    """
    by_label.add_loss(loss, loss_collection)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """The sum of the collected losses and regularisation losses (tf.contrib.losses.get_total_loss).

    Args:
        add_regularization_losses: Whether these are added.
        name: A name for the operation.

    Returns:
        The loss, a scalar of floats.

    Raises:
        ValueError: If there is none.
    """
    return by_label.get_total_loss(add_regularization_losses, name)


def _spread(weights: Any, values: Tensor) -> Any:
    """The weights with as many axes as the values, theirs being the first; ValueError if a rank is not known."""
    given = None if isinstance(weights, int | float) else convert_to_tensor(weights)
    dims = () if given is None else given.dims
    if values.dims is None or dims is None:
        raise ValueError(
            f"The ranks of losses and weights must be known, but their dims are {values.dims} and {dims}."
        )
    if given is None or not dims:
        return weights
    if len(dims) > 1 and dims[-1] in (1, None):
        given, dims = array.squeeze(given, [-1]), dims[:-1]
    for _ in range(len(values.dims) - len(dims)):
        given = array.expand_dims(given, -1)
    return given


def _collected(loss: Tensor) -> Tensor:
    add_loss(loss)
    return loss


def _pair(predictions: Any, labels: Any) -> tuple[Tensor, Tensor]:
    if labels is None:
        raise ValueError("labels must be given.")
    p, y = convert_to_tensor(predictions), convert_to_tensor(labels)
    p.shape.assert_is_compatible_with(y.shape)
    return p, y


def compute_weighted_loss(losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """The sum of losses times weights, over the number of those whose weight is not zero; collected.

    TensorFlow: tf.contrib.losses.compute_weighted_loss.

    Args:
        losses: The losses of the elements.
        weights: A scalar, or a factor for each example or element.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    values = convert_to_tensor(losses)
    return _collected(by_label.compute_weighted_loss(values, _spread(weights, values), scope, None))


def absolute_difference(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """The mean of abs(predictions - labels) (tf.contrib.losses.absolute_difference).

    Args:
        predictions: What the model gives, a tensor of floats.
        labels: The true values, a tensor of the shape of the predictions.
        weights: A scalar, or a factor for each example or element.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    p, y = _pair(predictions, labels)
    return _collected(by_label.absolute_difference(y, p, _spread(weights, p), scope, None))


def mean_squared_error(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """The mean of (predictions - labels) ** 2 (tf.contrib.losses.mean_squared_error).

    Args:
        predictions: What the model gives, a tensor of floats.
        labels: The true values, a tensor of the shape of the predictions.
        weights: A scalar, or a factor for each example or element.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    p, y = _pair(predictions, labels)
    return _collected(by_label.mean_squared_error(y, p, _spread(weights, p), scope, None))


def log_loss(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Tensor:
    """The cross entropy of probabilities, `epsilon` added inside the logarithms (tf.contrib.losses.log_loss).

    Args:
        predictions: What the model gives, a tensor of floats.
        labels: The true values, a tensor of the shape of the predictions.
        weights: A scalar, or a factor for each example or element.
        epsilon: Added inside of the logarithms.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    p, y = _pair(predictions, labels)
    return _collected(by_label.log_loss(y, p, _spread(weights, p), epsilon, scope, None))


def hinge_loss(logits: TensorLike, labels: TensorLike | None = None, scope: str | None = None) -> Tensor:
    """max(0, 1 - y * logits) for each element, y = 2 * labels - 1; not collected (tf.contrib.losses.hinge_loss).

    Args:
        logits: Unnormalised log-probabilities, a tensor of floats.
        labels: The true values, a tensor of the shape of the predictions.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    x, y = _pair(logits, labels)
    return by_label.hinge_loss(y, x, 1.0, scope, None, by_label.Reduction.NONE)


def cosine_distance(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """1 - sum(labels * predictions) along `axis`, for vectors of length 1 (tf.contrib.losses.cosine_distance).

    Args:
        predictions: What the model gives, a tensor of floats.
        labels: The true values, a tensor of the shape of the predictions.
        axis: The axis of a vector.
        weights: A scalar, or a factor for each example or element.
        scope: A name scope for the operations.
        dim: The old name of `axis`.

    Returns:
        The loss, a scalar of floats.
    """
    axis = deprecated(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    p, y = _pair(predictions, labels)
    with op_scope(scope, "cosine_distance_loss", (p, y, weights)):
        product = math.multiply(math.cast(p, dtypes.float32), math.cast(y, dtypes.float32))
        return compute_weighted_loss(1 - reductions.reduce_sum(product, axis=[axis]), weights)


def mean_pairwise_squared_error(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
) -> Tensor:
    """The squared difference between the errors of pairs of elements of an example, over all n * n pairs.

    gf.losses has it over the n * (n - 1) pairs of two (tf.contrib.losses.mean_pairwise_squared_error).

    Args:
        predictions: What the model gives, a tensor of floats.
        labels: The true values, a tensor of the shape of the predictions.
        weights: A scalar, or a factor for each example or element.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    p, y = _pair(predictions, labels)
    with op_scope(scope, "mean_pairwise_squared_error", (p, y, weights)):
        difference = math.subtract(math.cast(p, dtypes.float32), math.cast(y, dtypes.float32))
        factors = Weights(_spread(weights, difference))
        axes = rows_axes(difference)
        present = factors.present(difference, per_row=True)
        squares = reductions.reduce_sum(math.square(difference), axes, keepdims=True)
        total = reductions.reduce_sum(difference, axes, keepdims=True)
        pairs = 2.0 * (safe_mean(squares, present) - safe_mean(math.square(total), math.square(present)))
        loss = reductions.reduce_sum(factors.apply(pairs))
        counted = reductions.reduce_sum(present)
        return _collected(indexing.where(counted > 0, loss, array.zeros_like(loss), name="value"))


def sigmoid_cross_entropy(
    logits: TensorLike,
    multi_class_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """The cross entropy of independent classes (tf.contrib.losses.sigmoid_cross_entropy).

    `label_smoothing` moves labels towards 1/2 by that share.

    Args:
        logits: Unnormalised log-probabilities, a tensor of floats.
        multi_class_labels: 0 or 1 for each class.
        weights: A scalar, or a factor for each example or element.
        label_smoothing: The share by which labels are smoothed.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    x, y = _pair(logits, multi_class_labels)
    return _collected(by_label.sigmoid_cross_entropy(y, x, _spread(weights, x), label_smoothing, scope, None))


def softmax_cross_entropy(
    logits: TensorLike,
    onehot_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """The cross entropy of exclusive classes, labels as rows of probabilities.

    `label_smoothing` moves labels towards 1 / classes by that share. No gradient reaches the labels. TensorFlow:
    tf.contrib.losses.softmax_cross_entropy.

    Args:
        logits: Unnormalised log-probabilities, a tensor of floats.
        onehot_labels: Rows of probabilities.
        weights: A scalar, or a factor for each example or element.
        label_smoothing: The share by which labels are smoothed.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    x, y = _pair(logits, onehot_labels)
    examples = _spread(weights, x[..., 0])
    return _collected(by_label.softmax_cross_entropy(y, x, examples, label_smoothing, scope, None))


def sparse_softmax_cross_entropy(
    logits: TensorLike, labels: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """The cross entropy of exclusive classes, labels as class numbers, [batch] or [batch, 1].

    TensorFlow: tf.contrib.losses.sparse_softmax_cross_entropy.

    Args:
        logits: Unnormalised log-probabilities, a tensor of floats.
        labels: The true values, a tensor of the shape of the predictions.
        weights: A scalar, or a factor for each example or element.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.
    """
    y = convert_to_tensor(labels)
    y = array.reshape(y, [array.shape(y)[0]])
    return _collected(by_label.sparse_softmax_cross_entropy(y, logits, _spread(weights, y), scope, None))
