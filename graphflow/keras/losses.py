"""Losses: functions of targets and predictions, and classes that reduce them (tf.keras.losses)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.backend import entropy
from graphflow.keras.backend.settings import epsilon
from graphflow.keras.typing import Config, Elements, Objects
from graphflow.keras.utils import registry
from graphflow.keras.weighting import AUTO, NONE, SUM, SUM_OVER_BATCH_SIZE, weighted

__all__ = [
    "KLD", "MAE", "MAPE", "MSE", "MSLE", "BinaryCrossentropy", "CategoricalCrossentropy", "CategoricalHinge",
    "CosineSimilarity", "Hinge", "Huber", "KLDivergence", "LogCosh", "Loss", "MeanAbsoluteError",
    "MeanAbsolutePercentageError", "MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson", "Reduction",
    "SparseCategoricalCrossentropy", "SquaredHinge", "binary_crossentropy", "categorical_crossentropy",
    "categorical_hinge", "cosine", "cosine_proximity", "cosine_similarity", "deserialize", "get", "hinge", "kld",
    "kullback_leibler_divergence", "logcosh", "mae", "mape", "mean_absolute_error", "mean_absolute_percentage_error",
    "mean_squared_error", "mean_squared_logarithmic_error", "mse", "msle", "poisson", "serialize",
    "sparse_categorical_crossentropy", "squared_hinge",
]  # fmt: skip


class Reduction:
    """What becomes of the losses of a batch (tf.keras.losses.Reduction)."""

    AUTO: Final = AUTO
    NONE: Final = NONE
    SUM: Final = SUM
    SUM_OVER_BATCH_SIZE: Final = SUM_OVER_BATCH_SIZE

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return AUTO, NONE, SUM, SUM_OVER_BATCH_SIZE


def _pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    predictions = ops.convert_to_tensor(y_pred)
    return ops.cast(y_true, predictions.dtype), predictions


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of (prediction - target) ** 2 over the last axis (tf.keras.losses.mean_squared_error).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    return ops.reduce_mean(ops.squared_difference(predictions, target), axis=-1)


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of |prediction - target| over the last axis (tf.keras.losses.mean_absolute_error).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    return ops.reduce_mean(ops.abs(predictions - target), axis=-1)


def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of 100 * |prediction - target| / |target| (tf.keras.losses.mean_absolute_percentage_error).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    shares = ops.abs((target - predictions) / ops.maximum(ops.abs(target), epsilon()))
    return 100.0 * ops.reduce_mean(shares, axis=-1)


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of the squared difference of log(1 + x) (tf.keras.losses.mean_squared_logarithmic_error).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    first = ops.log(ops.maximum(predictions, epsilon()) + 1.0)
    second = ops.log(ops.maximum(target, epsilon()) + 1.0)
    return ops.reduce_mean(ops.squared_difference(first, second), axis=-1)


def _signs(target: Any) -> Any:
    """Targets of 0 and 1 as -1 and 1; others as they are."""
    zeros, ones = ops.equal(target, 0.0), ops.equal(target, 1.0)
    binary = ops.reduce_all(ops.logical_or(zeros, ones))
    return ops.cond(binary, lambda: 2.0 * target - 1.0, lambda: ops.identity(target))


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of max(1 - target * prediction, 0) ** 2 (tf.keras.losses.squared_hinge).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    return ops.reduce_mean(ops.square(ops.maximum(1.0 - _signs(target) * predictions, 0.0)), axis=-1)


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of max(1 - target * prediction, 0) over the last axis (tf.keras.losses.hinge).

    Args:
        y_true: The targets, -1 and 1 or 0 and 1, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    return ops.reduce_mean(ops.maximum(1.0 - _signs(target) * predictions, 0.0), axis=-1)


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """max(largest wrong score - right score + 1, 0) (tf.keras.losses.categorical_hinge).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    right = ops.reduce_sum(target * predictions, axis=-1)
    wrong = ops.reduce_max((1.0 - target) * predictions, axis=-1)
    return ops.maximum(0.0, wrong - right + 1.0)


def huber_loss(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Any:
    """Half the square of the error up to delta, linear beyond, of each element.

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].
        delta: Where the loss becomes linear.

    Returns:
        A tensor of the shape of the predictions.
    """
    target, predictions = _pair(y_true, y_pred)
    error = ops.abs(predictions - target)
    quadratic = ops.minimum(error, delta)
    return 0.5 * quadratic * quadratic + delta * (error - quadratic)


def logcosh(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of log(cosh(prediction - target)) (tf.keras.losses.logcosh).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    error = predictions - target
    return ops.reduce_mean(error + ops.softplus(-2.0 * error) - 0.6931471805599453, axis=-1)


def _smoothed(target: Any, smoothing: Any, others: Any) -> Any:
    if isinstance(smoothing, int | float) and not smoothing:
        return target
    return target * (1.0 - smoothing) + smoothing / others


def categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0
) -> Any:
    """-sum(target * log(prediction)) over the last axis (tf.keras.losses.categorical_crossentropy).

    Args:
        y_true: The targets, probabilities of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].
        from_logits: Whether the predictions are logits, before softmax.
        label_smoothing: The share of each target that is spread over all classes, from 0 to 1.

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    classes = ops.cast(ops.shape(target)[-1], predictions.dtype) if label_smoothing else 1.0
    return entropy.categorical_crossentropy(
        _smoothed(target, label_smoothing, classes), predictions, from_logits
    )


def sparse_categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, axis: int = -1
) -> Any:
    """-log of the prediction of the target class (tf.keras.losses.sparse_categorical_crossentropy).

    Args:
        y_true: The numbers of the classes, [batch, ...].
        y_pred: The predictions, floats [batch, ..., size].
        from_logits: Whether the predictions are logits, before softmax.
        axis: The axis of the classes, which is the last one.

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    return entropy.sparse_categorical_crossentropy(y_true, y_pred, from_logits, axis)


def binary_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0
) -> Any:
    """The mean cross entropy of the elements of the last axis (tf.keras.losses.binary_crossentropy).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].
        from_logits: Whether the predictions are logits, before the sigmoid.
        label_smoothing: How far targets are drawn towards 0.5, from 0 to 1.

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    target = _smoothed(target, label_smoothing, 2.0)
    return ops.reduce_mean(entropy.binary_crossentropy(target, predictions, from_logits), axis=-1)


def kullback_leibler_divergence(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """sum(target * log(target / prediction)) (tf.keras.losses.kullback_leibler_divergence).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = (ops.clip_by_value(v, epsilon(), 1) for v in _pair(y_true, y_pred))
    return ops.reduce_sum(target * ops.log(target / predictions), axis=-1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """The mean of prediction - target * log(prediction) (tf.keras.losses.poisson).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].

    Returns:
        A tensor [batch, ...] without the last axis.
    """
    target, predictions = _pair(y_true, y_pred)
    return ops.reduce_mean(predictions - target * ops.log(predictions + epsilon()), axis=-1)


def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Any:
    """The cosine between target and prediction (tf.keras.losses.cosine_similarity).

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].
        axis: The axis of the vectors.

    Returns:
        A tensor without that axis, from -1 to 1.
    """
    target, predictions = _pair(y_true, y_pred)
    return ops.reduce_sum(
        ops.l2_normalize(target, axis=axis) * ops.l2_normalize(predictions, axis=axis), axis=axis
    )


def cosine_proximity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Any:
    """The cosine between target and prediction (tf.keras.losses.cosine_proximity); minimised, it turns them apart.

    Args:
        y_true: The targets, of the shape of the predictions.
        y_pred: The predictions, floats [batch, ..., size].
        axis: The axis of the vectors.

    Returns:
        A tensor without that axis, from -1 to 1.
    """
    return cosine_similarity(y_true, y_pred, axis)


cosine = cosine_proximity
mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence


class Loss:
    """What losses are derived from: `call` gives the loss of each example (tf.keras.losses.Loss).

    Args:
        reduction: What becomes of the losses of a batch, one of tf.keras.losses.Reduction.
        name: The loss's name.
    """

    def __init__(self, reduction: str = AUTO, name: str | None = None) -> None:
        if reduction not in Reduction.all():
            raise ValueError(f"Invalid Reduction Key {reduction!r}. Expected keys are {Reduction.all()}.")
        self.reduction = reduction
        self.name = name

    def __call__(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """The losses of a batch, weighted and reduced.

        Args:
            y_true: The targets, of the shape of the predictions.
            y_pred: The predictions, floats [batch, ..., size].
            sample_weight: A weight for each example or element, of a shape that broadcasts to theirs; 1 by default.

        Returns:
            A scalar; with the reduction NONE a tensor [batch, ...].
        """
        name = "loss" if self.name is None or not self.name.isidentifier() else self.name
        with ops.name_scope(name):
            reduction = SUM_OVER_BATCH_SIZE if self.reduction == AUTO else self.reduction
            return weighted(self.call(y_true, y_pred), sample_weight, reduction)

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        """The loss of each example.

        Args:
            y_true: The targets, of the shape of the predictions.
            y_pred: The predictions, floats [batch, ..., size].

        Returns:
            A tensor [batch, ...].

        Raises:
            NotImplementedError: The class does not define it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not say its loss: define call(y_true, y_pred)."
        )

    def get_config(self) -> Config:
        """The arguments that make a loss like it."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: Config) -> Any:
        """The loss of a configuration that get_config gave.

        Args:
            config: What get_config gave.

        Returns:
            A new loss.
        """
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A function of targets and predictions as a loss.

    Args:
        fn: A function of targets and predictions that gives the loss of each example.
        reduction: What becomes of the losses of a batch, one of gf.keras.losses.Reduction.
        name: The name of the name scope.
        **kwargs: More arguments of the function.
    """

    def __init__(
        self, fn: Callable[..., Any], reduction: str = AUTO, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(reduction, name or getattr(fn, "__name__", None))
        self.fn = fn
        self._arguments = kwargs

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        """The function's result.

        Args:
            y_true: The targets, of the shape of the predictions.
            y_pred: The predictions, floats [batch, ..., size].

        Returns:
            A tensor [batch, ...].
        """
        return self.fn(y_true, y_pred, **self._arguments)

    def get_config(self) -> Config:
        """The arguments that make a loss like it."""
        return {**self._arguments, **super().get_config()}


class _OfFunction(LossFunctionWrapper):
    """A function of this module as a loss of its name."""

    _function: Callable[..., Any]

    def __init__(self, reduction: str = AUTO, name: str | None = None) -> None:
        """The loss.

        Args:
            reduction: What becomes of the losses of a batch, one of gf.keras.losses.Reduction.
            name: The name of the name scope; by default the function's.
        """
        super().__init__(self._function, reduction, name)


class MeanSquaredError(_OfFunction):
    """mean_squared_error as a class, reduced over a batch (tf.keras.losses.MeanSquaredError)."""

    _function = staticmethod(mean_squared_error)


class MeanAbsoluteError(_OfFunction):
    """mean_absolute_error as a class, reduced over a batch (tf.keras.losses.MeanAbsoluteError)."""

    _function = staticmethod(mean_absolute_error)


class MeanAbsolutePercentageError(_OfFunction):
    """mean_absolute_percentage_error as a class, reduced over a batch (tf.keras.losses.MeanAbsolutePercentageError)."""

    _function = staticmethod(mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(_OfFunction):
    """mean_squared_logarithmic_error as a class, reduced over a batch (tf.keras.losses.MeanSquaredLogarithmicError)."""

    _function = staticmethod(mean_squared_logarithmic_error)


class BinaryCrossentropy(LossFunctionWrapper):
    """binary_crossentropy as a class, reduced over a batch (tf.keras.losses.BinaryCrossentropy).

    Args:
        from_logits: Whether the predictions are logits rather than probabilities.
        label_smoothing: How far targets are drawn towards 0.5, from 0 to 1.
        reduction: What becomes of the losses of a batch, one of gf.keras.losses.Reduction.
        name: The name of the name scope.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = AUTO,
        name: str | None = None,
    ) -> None:
        super().__init__(
            binary_crossentropy, reduction, name, from_logits=from_logits, label_smoothing=label_smoothing
        )


class CategoricalCrossentropy(LossFunctionWrapper):
    """categorical_crossentropy as a class, reduced over a batch (tf.keras.losses.CategoricalCrossentropy).

    Args:
        from_logits: Whether the predictions are logits rather than probabilities.
        label_smoothing: The share of each target that is spread over all classes, from 0 to 1.
        reduction: What becomes of the losses of a batch, one of gf.keras.losses.Reduction.
        name: The name of the name scope.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0,
        reduction: str = AUTO,
        name: str | None = None,
    ) -> None:
        super().__init__(
            categorical_crossentropy,
            reduction,
            name,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """sparse_categorical_crossentropy as a class, reduced over a batch (tf.keras.losses.SparseCategoricalCrossentropy).

    Args:
        from_logits: Whether the predictions are logits rather than probabilities.
        reduction: What becomes of the losses of a batch, one of gf.keras.losses.Reduction.
        name: The name of the name scope.
    """

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = AUTO,
        name: str | None = None,
    ) -> None:
        super().__init__(sparse_categorical_crossentropy, reduction, name, from_logits=from_logits)


class Hinge(_OfFunction):
    """hinge as a class, reduced over a batch (tf.keras.losses.Hinge)."""

    _function = staticmethod(hinge)


class SquaredHinge(_OfFunction):
    """squared_hinge as a class, reduced over a batch (tf.keras.losses.SquaredHinge)."""

    _function = staticmethod(squared_hinge)


class CategoricalHinge(_OfFunction):
    """categorical_hinge as a class, reduced over a batch (tf.keras.losses.CategoricalHinge)."""

    _function = staticmethod(categorical_hinge)


class Poisson(_OfFunction):
    """poisson as a class, reduced over a batch (tf.keras.losses.Poisson)."""

    _function = staticmethod(poisson)


class LogCosh(_OfFunction):
    """logcosh as a class, reduced over a batch (tf.keras.losses.LogCosh)."""

    _function = staticmethod(logcosh)


class KLDivergence(_OfFunction):
    """kullback_leibler_divergence as a class, reduced over a batch (tf.keras.losses.KLDivergence)."""

    _function = staticmethod(kullback_leibler_divergence)


class Huber(LossFunctionWrapper):
    """huber_loss as a class, reduced over a batch (tf.keras.losses.Huber).

    Args:
        delta: Where the loss becomes linear.
        reduction: What becomes of the losses of a batch, one of gf.keras.losses.Reduction.
        name: The name of the name scope.
    """

    def __init__(self, delta: float = 1.0, reduction: str = AUTO, name: str | None = "huber_loss") -> None:
        super().__init__(huber_loss, reduction, name, delta=delta)


class CosineSimilarity(LossFunctionWrapper):
    """cosine_proximity as a class, reduced over a batch (tf.keras.losses.CosineSimilarity).

    Args:
        axis: The axis of the vectors.
        reduction: What becomes of the losses of a batch, one of gf.keras.losses.Reduction.
        name: The name of the name scope.
    """

    def __init__(self, axis: int = -1, reduction: str = AUTO, name: str | None = "cosine_similarity") -> None:
        super().__init__(cosine_proximity, reduction, name, axis=axis)


def serialize(loss: Loss) -> Config:
    """The configuration of a loss, or the name of a function (tf.keras.losses.serialize).

    Args:
        loss: A loss, or a function.

    Returns:
        {"class_name": ..., "config": ...}, or a function's name.
    """
    return registry.serialize_keras_object(loss)


def deserialize(name: Config, custom_objects: Objects = None) -> Any:
    """The loss of a configuration or name (tf.keras.losses.deserialize).

    Args:
        name: A name, or a configuration.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The loss.

    Raises:
        ValueError: No loss has that name.
    """
    return registry.deserialize(name, __name__, "loss function", custom_objects)


def get(identifier: Elements) -> Any:
    """A loss from itself, its name or its configuration (tf.keras.losses.get).

    Args:
        identifier: One of these, or None.

    Returns:
        The loss; None for None.

    Raises:
        ValueError: It is none of these, or no loss has that name.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"A loss is a function, its name or its configuration; got {identifier!r}.")
