"""Metrics of right and wrong decisions at thresholds (tf.keras.metrics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import epsilon
from graphflow.keras.backend.values import batch_set_value
from graphflow.keras.metrics.base import Metric
from graphflow.keras.typing import Config


def _thresholds(value: Any, otherwise: float = 0.5) -> list[float]:
    found = [otherwise if value is None else value] if not isinstance(value, list | tuple) else list(value)
    if any(t is None or not 0 <= t <= 1 for t in found):
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {found}")
    return [float(t) for t in found]


def _between(count: int) -> list[float]:
    """Evenly spaced thresholds, so many with 0 and 1, which are not among them."""
    return [(i + 1) / (count - 1) for i in range(count - 2)]


class _Counts(Metric):
    """The numbers of true and false positives and negatives at thresholds; those derived say which they keep."""

    _kept: tuple[str, ...] = ()
    _variable: str | None = None

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        top_k: int | None = None,
        class_id: int | None = None,
        points: Sequence[float] | None = None,
    ) -> None:
        """points: thresholds as they are, in place of those of the program, which lie from 0 to 1."""
        super().__init__(name=name, dtype=dtype)
        self.thresholds: list[float] = _thresholds(thresholds) if points is None else list(points)
        self.init_thresholds = thresholds
        self.top_k = top_k
        self.class_id = class_id
        with ops.name_scope(self.name):
            for kept in self._kept:
                setattr(self, kept, self.add_weight(self._variable or kept, (len(self.thresholds),)))

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds a batch's decisions, times weights."""
        predictions = ops.cast(y_pred, "float32")
        target = ops.cast(y_true, "float32")
        if self.top_k is not None:
            lowest = ops.top_k(predictions, self.top_k)[0][..., -1:]
            predictions = ops.where(predictions >= lowest, predictions, ops.zeros_like(predictions) - 1.0)
        if self.class_id is not None:
            predictions, target = predictions[..., self.class_id], target[..., self.class_id]
        flat, labels = ops.reshape(predictions, [1, -1]), ops.reshape(target, [1, -1])
        positive = flat > ops.reshape(ops.constant(np.asarray(self.thresholds, np.float32)), [-1, 1])
        label = ops.cast(labels, "bool")
        weights: Any = None
        if sample_weight is not None:
            given = ops.cast(sample_weight, "float32")
            missing = len(predictions.shape.as_list()) - len(given.shape.as_list())
            for _ in range(missing):
                given = ops.expand_dims(given, -1)
            weights = ops.reshape(given * ops.ones_like(predictions), [1, -1])

        def count(said: Any, true: Any) -> Any:
            found = ops.cast(ops.logical_and(said, ops.logical_and(true, ops.ones_like(said))), "float32")
            return ops.reduce_sum(found if weights is None else found * weights, 1)

        sums = {
            "true_positives": lambda: count(positive, label),
            "false_positives": lambda: count(positive, ops.logical_not(label)),
            "true_negatives": lambda: count(ops.logical_not(positive), ops.logical_not(label)),
            "false_negatives": lambda: count(ops.logical_not(positive), label),
        }
        return ops.group(*[getattr(self, kept).assign_add(sums[kept]()) for kept in self._kept])

    def _shown(self, values: Any) -> Any:
        return values[0] if len(self.thresholds) == 1 else values

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        return {**super().get_config(), "thresholds": self.init_thresholds}


class _Single(_Counts):
    _variable = "accumulator"

    def __init__(
        self, thresholds: float | Sequence[float] | None = None, name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(thresholds, name, dtype)

    @property
    def accumulator(self) -> Any:
        """The variable, which has a number for each threshold."""
        return getattr(self, self._kept[0])

    def result(self) -> Any:
        """The number, for each threshold if there are several."""
        return self._shown(ops.identity(self.accumulator))


class TruePositives(_Single):
    """The number of positives that were said to be (tf.keras.metrics.TruePositives)."""

    _kept = ("true_positives",)


class FalsePositives(_Single):
    """The number of negatives that were said to be positives (tf.keras.metrics.FalsePositives)."""

    _kept = ("false_positives",)


class TrueNegatives(_Single):
    """The number of negatives that were said to be (tf.keras.metrics.TrueNegatives)."""

    _kept = ("true_negatives",)


class FalseNegatives(_Single):
    """The number of positives that were said to be negatives (tf.keras.metrics.FalseNegatives)."""

    _kept = ("false_negatives",)


class Precision(_Counts):
    """The share of positives among those that were said to be (tf.keras.metrics.Precision).

    Args:
        thresholds: Above which a prediction says positive, one or several; 0.5 by default, with `top_k` 0.
        top_k: So many of the largest predictions of an example alone may say so; None for all.
        class_id: The one class that is looked at; None for all.
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    _kept = ("true_positives", "false_positives")

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        otherwise = 0.0 if top_k is not None else 0.5
        super().__init__(otherwise if thresholds is None else thresholds, name, dtype, top_k, class_id)
        self.init_thresholds = thresholds

    def result(self) -> Any:
        """The share, for each threshold if there are several."""
        right: Any = getattr(self, self._kept[0])
        return self._shown(ops.div_no_nan(right, right + getattr(self, self._kept[1])))

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        return {**super().get_config(), "top_k": self.top_k, "class_id": self.class_id}


class Recall(Precision):
    """The share of the positives that were said to be (tf.keras.metrics.Recall); arguments as those of Precision."""

    _kept = ("true_positives", "false_negatives")


class AUC(_Counts):
    """The area under the curve of recall over false positives, or precision over recall (tf.keras.metrics.AUC).

    Args:
        num_thresholds: How many points the curve has.
        curve: "ROC" or "PR".
        summation_method: "interpolation", "minoring" or "majoring".
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
        thresholds: Thresholds from 0 to 1 in place of evenly spaced ones.

    Raises:
        ValueError: The curve or the method is none of these.
    """

    _kept = ("true_positives", "true_negatives", "false_positives", "false_negatives")

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        thresholds: Sequence[float] | None = None,
    ) -> None:
        if curve not in ("ROC", "PR") or summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(f"AUC does not know the curve {curve!r} or the method {summation_method!r}.")
        inner = _between(num_thresholds) if thresholds is None else sorted(thresholds)
        super().__init__(None, name, dtype, points=[0.0 - epsilon(), *inner, 1.0 + epsilon()])
        self.curve, self.summation_method = curve, summation_method
        self.num_thresholds: int = len(self.thresholds)

    def result(self) -> Any:
        """The area."""
        true, false = getattr(self, "true_positives"), getattr(self, "false_positives")  # noqa: B009
        missed, negative = getattr(self, "false_negatives"), getattr(self, "true_negatives")  # noqa: B009
        recall = ops.div_no_nan(true, true + missed)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._interpolated(true, false, missed)
        if self.curve == "ROC":
            x, y = ops.div_no_nan(false, false + negative), recall
        else:
            x, y = recall, ops.div_no_nan(true, true + false)
        last = self.num_thresholds - 1
        heights = {
            "interpolation": lambda: (y[:last] + y[1:]) / 2.0,
            "minoring": lambda: ops.minimum(y[:last], y[1:]),
            "majoring": lambda: ops.maximum(y[:last], y[1:]),
        }[self.summation_method]()
        return ops.reduce_sum((x[:last] - x[1:]) * heights)

    def _interpolated(self, true: Any, false: Any, missed: Any) -> Any:
        """The area of precision over recall by Davis and Goadrich (2006)."""
        last = self.num_thresholds - 1
        gained = true[:last] - true[1:]
        said = true + false
        slope = ops.div_no_nan(gained, ops.maximum(said[:last] - said[1:], 0))
        intercept = true[1:] - slope * said[1:]
        both = ops.logical_and(said[:last] > 0, said[1:] > 0)
        ratio = ops.where(
            both, ops.div_no_nan(said[:last], ops.maximum(said[1:], 0)), ops.ones_like(said[1:])
        )
        parts = ops.div_no_nan(
            slope * (gained + intercept * ops.log(ratio)), ops.maximum(true[1:] + missed[1:], 0)
        )
        return ops.reduce_sum(parts)

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        config = {k: v for k, v in super().get_config().items() if k != "thresholds"}
        return {
            **config, "num_thresholds": self.num_thresholds, "curve": self.curve,
            "summation_method": self.summation_method,
        }  # fmt: skip


class _Balance(_Counts):
    """Sensitivities and specificities at thresholds from 0 to 1."""

    _kept = ("true_positives", "true_negatives", "false_positives", "false_negatives")

    def __init__(self, value: float, count: int, name: str | None, dtype: DTypeLike | None) -> None:
        if not 0 <= value <= 1 or count < 1:
            raise ValueError(
                f"{type(self).__name__} takes a value from 0 to 1 and one threshold or more, not {value} and {count}."
            )
        points = [0.5] if count == 1 else [0.0, *_between(count), 1.0]
        super().__init__(None, name, dtype, points=points)
        self.value = value

    def _shares(self) -> tuple[Any, Any]:
        own: Any = self
        return (
            ops.div_no_nan(own.true_positives, own.true_positives + own.false_negatives),
            ops.div_no_nan(own.true_negatives, own.true_negatives + own.false_positives),
        )

    def _where(self, compared: Any, shown: Any) -> Any:
        """The one share where the other is nearest to the value."""
        return ops.gather(shown, ops.argmin(ops.abs(compared - self.value)))

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        config = {k: v for k, v in super().get_config().items() if k != "thresholds"}
        return {**config, "num_thresholds": len(self.thresholds)}


class SensitivityAtSpecificity(_Balance):
    """The share of positives that are found, where that of negatives is nearest to a value.

    TensorFlow: tf.keras.metrics.SensitivityAtSpecificity.

    Args:
        specificity: That value, from 0 to 1.
        num_thresholds: How many thresholds there are, evenly spaced from 0 to 1.
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().

    Raises:
        ValueError: The value does not lie between 0 and 1, or there is no threshold.
    """

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(specificity, num_thresholds, name, dtype)

    def result(self) -> Any:
        """The share."""
        sensitivities, specificities = self._shares()
        return self._where(specificities, sensitivities)

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        return {**super().get_config(), "specificity": self.value}


class SpecificityAtSensitivity(_Balance):
    """The share of negatives that are found, where that of positives is nearest to a value.

    TensorFlow: tf.keras.metrics.SpecificityAtSensitivity.

    Args:
        sensitivity: That value, from 0 to 1.
        num_thresholds: How many thresholds there are, evenly spaced from 0 to 1.
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().

    Raises:
        ValueError: The value does not lie between 0 and 1, or there is no threshold.
    """

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(sensitivity, num_thresholds, name, dtype)

    def result(self) -> Any:
        """The share."""
        sensitivities, specificities = self._shares()
        return self._where(sensitivities, specificities)

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        return {**super().get_config(), "sensitivity": self.value}


class MeanIoU(Metric):
    """The mean over classes of intersection by union (tf.keras.metrics.MeanIoU).

    Args:
        num_classes: How many classes there are.
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(self, num_classes: int, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        with ops.name_scope(self.name):
            self.total_cm = self.add_weight("total_confusion_matrix", (num_classes, num_classes))

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds a batch of classes, times weights.

        Args:
            y_true: The numbers of the classes, of any shape.
            y_pred: The numbers that were predicted, of the same shape.
            sample_weight: A weight for each example or element, of a shape that broadcasts to theirs; 1 by default.

        Returns:
            The operation that adds them.
        """
        labels = ops.reshape(ops.cast(y_true, "int32"), [-1])
        predictions = ops.reshape(ops.cast(y_pred, "int32"), [-1])
        weights = None if sample_weight is None else ops.reshape(ops.cast(sample_weight, "float32"), [-1])
        found = ops.confusion_matrix(labels, predictions, self.num_classes, dtype="float32", weights=weights)
        return self.total_cm.assign_add(found)

    def result(self) -> Any:
        """The mean over the classes that were there."""
        rows, columns = ops.reduce_sum(self.total_cm, 0), ops.reduce_sum(self.total_cm, 1)
        right = ops.matrix_diag_part(self.total_cm)
        union = rows + columns - right
        there = ops.reduce_sum(ops.cast(ops.not_equal(union, 0.0), "float32"))
        return ops.div_no_nan(ops.reduce_sum(ops.div_no_nan(right, union)), there)

    def reset_states(self) -> None:
        """Sets the matrix to zeros."""
        batch_set_value([(self.total_cm, np.zeros((self.num_classes, self.num_classes)))])

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        return {**super().get_config(), "num_classes": self.num_classes}
