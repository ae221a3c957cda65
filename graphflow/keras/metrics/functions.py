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


def _of(function: Callable[..., Any], name: str, class_name: str, **defaults: Any) -> Any:
    """The class of the mean of a function; its first arguments are name and dtype, or those of `defaults`."""

    class Made(MeanMetricWrapper):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            order = ["name", "dtype", *defaults] if "from_logits" in defaults else [*_order(defaults)]
            given = {**dict(zip(order, args, strict=False)), **kwargs}
            unknown = set(given) - set(order)
            if unknown:
                raise TypeError(
                    f"{class_name} takes no argument {sorted(unknown)[0]!r}, but {', '.join(order)}."
                )
            own = {key: given.get(key, value) for key, value in defaults.items()}
            dtype: DTypeLike | None = given.get("dtype")
            super().__init__(function, given.get("name") or name, dtype, **own)

    Made.__name__ = Made.__qualname__ = class_name
    Made.__module__ = __name__
    Made.__doc__ = f"The mean of {function.__name__} (tf.keras.metrics.{class_name})."
    return Made


def _order(defaults: dict[str, Any]) -> list[str]:
    if "k" in defaults:
        return ["k", "name", "dtype"]
    return ["name", "dtype", *defaults]


Accuracy: Any = _of(accuracy, "accuracy", "Accuracy")
BinaryAccuracy: Any = _of(binary_accuracy, "binary_accuracy", "BinaryAccuracy", threshold=0.5)
CategoricalAccuracy: Any = _of(categorical_accuracy, "categorical_accuracy", "CategoricalAccuracy")
SparseCategoricalAccuracy: Any = _of(
    sparse_categorical_accuracy, "sparse_categorical_accuracy", "SparseCategoricalAccuracy"
)
TopKCategoricalAccuracy: Any = _of(
    top_k_categorical_accuracy, "top_k_categorical_accuracy", "TopKCategoricalAccuracy", k=5
)
SparseTopKCategoricalAccuracy: Any = _of(
    sparse_top_k_categorical_accuracy,
    "sparse_top_k_categorical_accuracy",
    "SparseTopKCategoricalAccuracy",
    k=5,
)
MeanSquaredError: Any = _of(losses.mean_squared_error, "mean_squared_error", "MeanSquaredError")
MeanAbsoluteError: Any = _of(losses.mean_absolute_error, "mean_absolute_error", "MeanAbsoluteError")
MeanAbsolutePercentageError: Any = _of(
    losses.mean_absolute_percentage_error, "mean_absolute_percentage_error", "MeanAbsolutePercentageError"
)
MeanSquaredLogarithmicError: Any = _of(
    losses.mean_squared_logarithmic_error, "mean_squared_logarithmic_error", "MeanSquaredLogarithmicError"
)
Hinge: Any = _of(losses.hinge, "hinge", "Hinge")
SquaredHinge: Any = _of(losses.squared_hinge, "squared_hinge", "SquaredHinge")
CategoricalHinge: Any = _of(losses.categorical_hinge, "categorical_hinge", "CategoricalHinge")
LogCoshError: Any = _of(losses.logcosh, "logcosh", "LogCoshError")
Poisson: Any = _of(losses.poisson, "poisson", "Poisson")
KLDivergence: Any = _of(losses.kullback_leibler_divergence, "kullback_leibler_divergence", "KLDivergence")
CosineSimilarity: Any = _of(losses.cosine_similarity, "cosine_similarity", "CosineSimilarity", axis=-1)
BinaryCrossentropy: Any = _of(
    losses.binary_crossentropy,
    "binary_crossentropy",
    "BinaryCrossentropy",
    from_logits=False,
    label_smoothing=0,
)
CategoricalCrossentropy: Any = _of(
    losses.categorical_crossentropy, "categorical_crossentropy", "CategoricalCrossentropy", from_logits=False,
    label_smoothing=0,
)  # fmt: skip
SparseCategoricalCrossentropy: Any = _of(
    losses.sparse_categorical_crossentropy, "sparse_categorical_crossentropy", "SparseCategoricalCrossentropy",
    from_logits=False, axis=-1,
)  # fmt: skip

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
