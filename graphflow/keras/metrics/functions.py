"""Metrics by function: which predictions are right, and losses as metrics (tf.keras.metrics)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow.keras import losses, ops
from graphflow.keras.backend import settings
from graphflow.keras.metrics.base import MeanMetricWrapper
from graphflow.keras.typing import Config, Elements, Objects
from graphflow.keras.utils import registry


def accuracy(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """Whether predictions are the targets."""
    predictions = ops.convert_to_tensor(y_pred)
    return ops.cast(ops.equal(ops.cast(y_true, predictions.dtype), predictions), settings.floatx())


def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Any:
    """The share of right elements of the last axis, 1 above the threshold (tf.keras.metrics.binary_accuracy).

    Args:
        y_true: The targets, 0 or 1, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].
        threshold: Above which a prediction says 1.

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    predictions = ops.convert_to_tensor(y_pred)
    chosen = ops.cast(predictions > ops.cast(threshold, predictions.dtype), predictions.dtype)
    right = ops.equal(ops.cast(y_true, predictions.dtype), chosen)
    return ops.reduce_mean(ops.cast(right, settings.floatx()), axis=-1)


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """Whether the largest of targets and predictions are the same (tf.keras.metrics.categorical_accuracy).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] of 0 and 1.
    """
    right = ops.equal(ops.argmax(y_true, axis=-1), ops.argmax(y_pred, axis=-1))
    return ops.cast(right, settings.floatx())


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """Whether the largest prediction is at the target (tf.keras.metrics.sparse_categorical_accuracy).

    Args:
        y_true: The numbers of the classes, [batch, ...], or of an axis of 1 more.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] of 0 and 1.
    """
    target, predictions = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
    sizes = target.shape.dims, predictions.shape.dims
    if sizes[0] is not None and sizes[1] is not None and len(sizes[0]) == len(sizes[1]):
        target = ops.squeeze(target, [-1])
    chosen = ops.cast(ops.argmax(predictions, axis=-1), target.dtype)
    return ops.cast(ops.equal(target, chosen), settings.floatx())


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Any:
    """Whether the target is among the k largest (tf.keras.metrics.top_k_categorical_accuracy).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, classes].
        k: How many of the largest count.

    Returns:
        A tensor [batch] of 0 and 1.
    """
    return ops.cast(ops.in_top_k(y_pred, ops.argmax(y_true, axis=-1), k), settings.floatx())


def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Any:
    """Whether the target, a class, is among the k largest (tf.keras.metrics.sparse_top_k_categorical_accuracy).

    Args:
        y_true: The numbers of the classes, [batch] or [batch, 1].
        y_pred: The predictions, floats [batch, classes].
        k: How many of the largest count.

    Returns:
        A tensor [batch] of 0 and 1.
    """
    labels = ops.reshape(ops.cast(y_true, "int32"), [-1])
    return ops.cast(ops.in_top_k(y_pred, labels, k), settings.floatx())


class _OfFunction(MeanMetricWrapper):
    """The mean of a function, whose name it has."""

    _function: Callable[..., Any]

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        """The metric.

        Args:
            name: The name in logs, and of the name scope; by default the function's.
            dtype: The dtype of its variables; by default that of K.floatx().
        """
        super().__init__(self._function, name or self._function.__name__, dtype)


class Accuracy(_OfFunction):
    """The mean of accuracy (tf.keras.metrics.Accuracy)."""

    _function = staticmethod(accuracy)


class BinaryAccuracy(MeanMetricWrapper):
    """The mean of binary_accuracy (tf.keras.metrics.BinaryAccuracy).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
        threshold: Above which a prediction says 1.
    """

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: DTypeLike | None = None, threshold: float = 0.5
    ) -> None:
        super().__init__(binary_accuracy, name or "binary_accuracy", dtype, threshold=threshold)


class CategoricalAccuracy(_OfFunction):
    """The mean of categorical_accuracy (tf.keras.metrics.CategoricalAccuracy)."""

    _function = staticmethod(categorical_accuracy)


class SparseCategoricalAccuracy(_OfFunction):
    """The mean of sparse_categorical_accuracy (tf.keras.metrics.SparseCategoricalAccuracy)."""

    _function = staticmethod(sparse_categorical_accuracy)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The mean of top_k_categorical_accuracy (tf.keras.metrics.TopKCategoricalAccuracy).

    Args:
        k: How many of the largest count.
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(top_k_categorical_accuracy, name or "top_k_categorical_accuracy", dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The mean of sparse_top_k_categorical_accuracy (tf.keras.metrics.SparseTopKCategoricalAccuracy).

    Args:
        k: How many of the largest count.
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(
        self,
        k: int = 5,
        name: str | None = "sparse_top_k_categorical_accuracy",
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            sparse_top_k_categorical_accuracy, name or "sparse_top_k_categorical_accuracy", dtype, k=k
        )


class MeanSquaredError(_OfFunction):
    """The mean of mean_squared_error (tf.keras.metrics.MeanSquaredError)."""

    _function = staticmethod(losses.mean_squared_error)


class MeanAbsoluteError(_OfFunction):
    """The mean of mean_absolute_error (tf.keras.metrics.MeanAbsoluteError)."""

    _function = staticmethod(losses.mean_absolute_error)


class MeanAbsolutePercentageError(_OfFunction):
    """The mean of mean_absolute_percentage_error (tf.keras.metrics.MeanAbsolutePercentageError)."""

    _function = staticmethod(losses.mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(_OfFunction):
    """The mean of mean_squared_logarithmic_error (tf.keras.metrics.MeanSquaredLogarithmicError)."""

    _function = staticmethod(losses.mean_squared_logarithmic_error)


class Hinge(_OfFunction):
    """The mean of hinge (tf.keras.metrics.Hinge)."""

    _function = staticmethod(losses.hinge)


class SquaredHinge(_OfFunction):
    """The mean of squared_hinge (tf.keras.metrics.SquaredHinge)."""

    _function = staticmethod(losses.squared_hinge)


class CategoricalHinge(_OfFunction):
    """The mean of categorical_hinge (tf.keras.metrics.CategoricalHinge)."""

    _function = staticmethod(losses.categorical_hinge)


class LogCoshError(_OfFunction):
    """The mean of logcosh (tf.keras.metrics.LogCoshError)."""

    _function = staticmethod(losses.logcosh)


class Poisson(_OfFunction):
    """The mean of poisson (tf.keras.metrics.Poisson)."""

    _function = staticmethod(losses.poisson)


class KLDivergence(_OfFunction):
    """The mean of kullback_leibler_divergence (tf.keras.metrics.KLDivergence)."""

    _function = staticmethod(losses.kullback_leibler_divergence)


class CosineSimilarity(MeanMetricWrapper):
    """The mean of cosine_similarity (tf.keras.metrics.CosineSimilarity).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
        axis: The axis of the vectors.
    """

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: DTypeLike | None = None, axis: int = -1
    ) -> None:
        super().__init__(losses.cosine_similarity, name or "cosine_similarity", dtype, axis=axis)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean of binary_crossentropy (tf.keras.metrics.BinaryCrossentropy).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
        from_logits: Whether the predictions are logits rather than probabilities.
        label_smoothing: How far targets are drawn towards 0.5, from 0 to 1.
    """

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(
            losses.binary_crossentropy,
            name or "binary_crossentropy",
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean of categorical_crossentropy (tf.keras.metrics.CategoricalCrossentropy).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
        from_logits: Whether the predictions are logits rather than probabilities.
        label_smoothing: The share of each target that is spread over all classes, from 0 to 1.
    """

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(
            losses.categorical_crossentropy,
            name or "categorical_crossentropy",
            dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean of sparse_categorical_crossentropy (tf.keras.metrics.SparseCategoricalCrossentropy).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
        from_logits: Whether the predictions are logits rather than probabilities.
        axis: The axis of the vectors.
    """

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(
            losses.sparse_categorical_crossentropy,
            name or "sparse_categorical_crossentropy",
            dtype,
            from_logits=from_logits,
            axis=axis,
        )


_OTHER_NAMES = {
    "acc": accuracy,
    "ACC": accuracy,
    "accuracy": accuracy,
    "cosine_similarity": losses.cosine_similarity,
}


def serialize(metric: Elements) -> Config:
    """The configuration of a metric, or the name of a function (tf.keras.metrics.serialize).

    Args:
        metric: A metric, or a function.

    Returns:
        {"class_name": ..., "config": ...}, or a function's name.
    """
    return registry.serialize_keras_object(metric)


def deserialize(config: Config, custom_objects: Objects = None) -> Any:
    """The metric of a configuration or name (tf.keras.metrics.deserialize).

    Args:
        config: A configuration, or a name.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The metric.

    Raises:
        ValueError: No metric has that name.
    """
    known = {**_OTHER_NAMES, **(custom_objects or {})}
    return registry.deserialize(config, "graphflow.keras.metrics", "metric function", known)


def get(identifier: Elements) -> Any:
    """A metric from itself, its name or its configuration (tf.keras.metrics.get).

    Args:
        identifier: One of these.

    Returns:
        The metric.

    Raises:
        ValueError: It is none of these, or no metric has that name.
    """
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"A metric is a function, an object, its name or its configuration; got {identifier!r}.")
