"""The losses: each computes one number an element and leaves weights, reduction and collection to `reduction`."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array, indexing
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.nn import nn
from graphflow._core.ops.nn.softmax import (
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from graphflow._core.ops.rules import deprecated
from graphflow.losses.reduction import (
    Reduction,
    Weights,
    add_loss,
    compute_weighted_loss,
    rows_axes,
    safe_mean,
    squeeze_to_rank_difference,
    squeeze_weights,
)
from graphflow.nn.cross_entropy import sigmoid_cross_entropy_with_logits

_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


def _pair(labels: Any, predictions: Any) -> tuple[Any, Any]:
    """Labels and predictions as float32 tensors of one shape; ValueError otherwise."""
    p = math.cast(predictions, dtypes.float32)
    y = math.cast(labels, dtypes.float32)
    p.shape.assert_is_compatible_with(y.shape)
    return y, p


def _require(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The mean of (predictions - labels) ** 2 (tf.losses.mean_squared_error).

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.

    Examples:
        >>> gf.Session().run(gf.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0]))
        np.float32(2.0)
    """
    _require(labels=labels, predictions=predictions)
    with op_scope(scope, "mean_squared_error", (predictions, labels, weights)) as inner:
        y, p = _pair(labels, predictions)
        losses = math.squared_difference(p, y)
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The mean of abs(predictions - labels) (tf.losses.absolute_difference).

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    _require(labels=labels, predictions=predictions)
    with op_scope(scope, "absolute_difference", (predictions, labels, weights)) as inner:
        y, p = _pair(labels, predictions)
        losses = math.abs_(math.subtract(p, y))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """error ** 2 / 2 up to `delta`, delta * abs(error) - delta ** 2 / 2 beyond (tf.losses.huber_loss; Huber 1964).

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        delta: Where the loss becomes linear.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    _require(labels=labels, predictions=predictions)
    with op_scope(scope, "huber_loss", (predictions, labels, weights)) as inner:
        y, p = _pair(labels, predictions)
        error = math.abs_(math.subtract(p, y))
        quadratic = math.minimum(error, delta)
        linear = math.subtract(error, quadratic)
        half = constant(0.5, dtype=quadratic.dtype)
        losses = math.add(
            math.multiply(half, math.multiply(quadratic, quadratic)), math.multiply(delta, linear)
        )
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of probabilities, `epsilon` added inside the logarithms (tf.losses.log_loss).

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        epsilon: Added inside of the logarithms.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    _require(labels=labels, predictions=predictions)
    with op_scope(scope, "log_loss", (predictions, labels, weights)) as inner:
        y, p = _pair(labels, predictions)
        losses = -math.multiply(y, math.log(p + epsilon)) - math.multiply(1 - y, math.log(1 - p + epsilon))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """max(0, 1 - y * logits), with y = 2 * labels - 1 for labels 0 and 1 (tf.losses.hinge_loss).

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        logits: Unnormalised log-probabilities, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    _require(labels=labels, logits=logits)
    with op_scope(scope, "hinge_loss", (logits, labels, weights)) as inner:
        y, x = _pair(labels, logits)
        ones = array.ones_like(y)
        signs = math.subtract(2 * y, ones)
        losses = nn.relu(math.subtract(ones, math.multiply(signs, x)))
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
    dim: int | None = None,
) -> Tensor:
    """1 - sum(labels * predictions) along `axis`, for vectors of length 1 (tf.losses.cosine_distance).

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor of floats.
        axis: The axis of a vector.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.
        dim: The old name of `axis`.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    axis = deprecated(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    _require(labels=labels, predictions=predictions)
    with op_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as inner:
        y, p = _pair(labels, predictions)
        similarity = reductions.reduce_sum(math.multiply(p, y), axis=[axis], keepdims=True)
        return compute_weighted_loss(1 - similarity, weights, inner, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """The mean squared difference between the errors of pairs of elements of a row.

    TensorFlow: tf.losses.mean_pairwise_squared_error.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.

    Returns:
        The loss, a scalar of floats.
    """
    _require(labels=labels, predictions=predictions)
    with op_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)):
        y, p = _pair(labels, predictions)
        factors = Weights(weights)
        with y.graph.control_dependencies(factors.checks(y)):
            difference = math.subtract(p, y)
            axes = rows_axes(difference)
            squares = reductions.reduce_sum(math.square(difference), axes, keepdims=True)
            present = factors.present(difference, per_row=True)
            others = math.maximum(present - 1, 0)
            first = 2.0 * safe_mean(squares, others)
            total = reductions.reduce_sum(difference, axes, keepdims=True)
            pairs = math.maximum(math.multiply(present, present - 1), 0)
            second = 2.0 * safe_mean(math.square(total), pairs)
            loss = reductions.reduce_sum(factors.apply(first - second))
            counted = reductions.reduce_sum(present)
            result = indexing.where(counted > 0, loss, array.zeros_like(loss), name="value")
        add_loss(result, loss_collection)
        return result


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of independent classes (tf.losses.sigmoid_cross_entropy).

    `label_smoothing` moves labels towards 1/2 by that share.

    Args:
        multi_class_labels: 0 or 1 for each class, of the logits' shape.
        logits: Unnormalised log-probabilities, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        label_smoothing: The share, in [0, 1], by which labels are smoothed; 0 leaves them.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    _require(multi_class_labels=multi_class_labels, logits=logits)
    with op_scope(scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)) as inner:
        x = convert_to_tensor(logits)
        y = math.cast(multi_class_labels, x.dtype)
        x.shape.assert_is_compatible_with(y.shape)
        if label_smoothing > 0:
            y = y * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=y, logits=x, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of exclusive classes, labels as rows of probabilities (tf.losses.softmax_cross_entropy).

    `label_smoothing` moves labels towards 1 / classes by that share. No gradient reaches the labels.

    Args:
        onehot_labels: Rows of probabilities, of the logits' shape.
        logits: Unnormalised log-probabilities, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        label_smoothing: The share, in [0, 1], by which labels are smoothed; 0 leaves them.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    _require(onehot_labels=onehot_labels, logits=logits)
    with op_scope(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as inner:
        x = convert_to_tensor(logits)
        y = math.cast(onehot_labels, x.dtype)
        x.shape.assert_is_compatible_with(y.shape)
        if label_smoothing > 0:
            classes = math.cast(array.shape(y)[1], x.dtype)
            y = y * (1 - label_smoothing) + label_smoothing / classes
        fixed = array.stop_gradient(y, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=fixed, logits=x, name="xentropy")
        return compute_weighted_loss(losses, weights, inner, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of exclusive classes, labels as class numbers (tf.losses.sparse_softmax_cross_entropy).

    Labels and weights may have a last axis of size 1, which is removed.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        logits: Unnormalised log-probabilities, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    _require(labels=labels, logits=logits)
    with op_scope(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as inner:
        y, x = squeeze_to_rank_difference(labels, logits, 1)
        losses = sparse_softmax_cross_entropy_with_logits(labels=y, logits=x, name="xentropy")
        return compute_weighted_loss(losses, squeeze_weights(weights, y), inner, loss_collection, reduction)
