"""Heads of which an example is of one class: of two classes, and of more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graphflow.losses as losses
import graphflow.nn as nn
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import concat, expand_dims, ones_like, range_, zeros_like
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.io.vocabularies import index_table_from_tensor, index_to_string_table_from_tensor
from graphflow._core.ops.math.arithmetic import maximum
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.scans import argmax
from graphflow._core.ops.math.transcendental import sigmoid
from graphflow._core.ops.strings import as_string
from graphflow.estimator.canned.labels import checked_labels, class_numbers
from graphflow.estimator.export import ExportOutput, PredictOutput, RegressionOutput
from graphflow.keras import ops
from graphflow.keras.heads.base import (
    METRICS,
    PREDICTIONS,
    SERVING,
    SingleHead,
    classified,
    each_row,
    names_of,
)
from graphflow.keras.losses import Reduction
from graphflow.keras.metrics import AUC, Accuracy, BinaryAccuracy, Mean, Metric, Precision, Recall


def checked_thresholds(thresholds: Sequence[float] | None, message: str) -> tuple[float, ...]:
    """Thresholds inside of 0 and 1; ValueError, with the message, for others."""
    found = tuple(thresholds or ())
    for threshold in found:
        if not 0 < threshold < 1:
            raise ValueError(message.format(threshold))
    return found


def threshold_metrics(thresholds: Sequence[float]) -> dict[str, Metric]:
    """Accuracy, precision and recall at each threshold."""
    found: dict[str, Metric] = {}
    for threshold in thresholds:
        accuracy, precision = (
            METRICS.ACCURACY_AT_THRESHOLD % threshold,
            METRICS.PRECISION_AT_THRESHOLD % threshold,
        )
        recall = METRICS.RECALL_AT_THRESHOLD % threshold
        found[accuracy] = BinaryAccuracy(accuracy, threshold=threshold)
        found[precision] = Precision(threshold, name=precision)
        found[recall] = Recall(threshold, name=recall)
    return found


def update_threshold_metrics(
    metrics: Mapping[str, Any], thresholds: Sequence[float], labels: Tensor, scores: Tensor, weights: Any
) -> None:
    """Adds a batch to those."""
    for threshold in thresholds:
        for key in (
            METRICS.ACCURACY_AT_THRESHOLD,
            METRICS.PRECISION_AT_THRESHOLD,
            METRICS.RECALL_AT_THRESHOLD,
        ):
            metrics[key % threshold].update_state(labels, scores, sample_weight=weights)


def spread(weights: Any, values: Tensor) -> Tensor:
    """A weight for each value: a mean counts values, where those of an example may have one weight."""
    found: Tensor = ones_like(values) * weights
    return found


class _Baseline(Metric):
    """The accuracy of always saying the class that more labels have, by the mean of labels of two classes."""

    def __init__(self, label_mean: Mean) -> None:
        super().__init__(name=METRICS.ACCURACY_BASELINE)
        self._label_mean = label_mean

    def update_state(self) -> Any:
        """Nothing: the mean is updated by itself."""
        return no_op()

    def result(self) -> Any:
        """The accuracy."""
        total, count = self._label_mean.total, self._label_mean.count
        return ops.div_no_nan(maximum(total, count - total), count)


class _OneClass(SingleHead):
    """An example is of one class.

    Args:
        classes: How many classes there are.
        size: How many logits an example has.
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        loss_reduction: How losses of examples become one; gf.keras.losses.Reduction.
        loss_fn: Gives the losses of examples, of labels and logits.
        name: Stands behind the names of metrics and summaries.
    """

    def __init__(
        self, classes: int, size: int, weight_column: Any, label_vocabulary: Sequence[str] | None, loss_reduction: str,
        loss_fn: Callable[..., Any] | None, name: str | None,
    ) -> None:  # fmt: skip
        if label_vocabulary is not None and not isinstance(label_vocabulary, list | tuple):
            raise ValueError(
                f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}"
            )
        super().__init__(size, weight_column, loss_reduction, loss_fn, name)
        self._classes, self._vocabulary = classes, label_vocabulary

    def _words_to_numbers(self, labels: Tensor) -> Tensor:
        table = index_table_from_tensor(list(self._vocabulary or ()), name="class_id_lookup")
        found: Tensor = table.lookup(labels)
        return found

    def _of_classes(self, scores: Tensor, keys: Sequence[str]) -> dict[str, Tensor]:
        """The predictions that both heads have, of a score for each class."""
        found: dict[str, Tensor] = {}
        if PREDICTIONS.PROBABILITIES in keys:
            found[PREDICTIONS.PROBABILITIES] = nn.softmax(scores, name=PREDICTIONS.PROBABILITIES)
        ids = expand_dims(argmax(scores, axis=-1, name=PREDICTIONS.CLASS_IDS), -1)
        if PREDICTIONS.CLASS_IDS in keys:
            found[PREDICTIONS.CLASS_IDS] = ids
        if PREDICTIONS.CLASSES in keys:
            if self._vocabulary:
                table = index_to_string_table_from_tensor(list(self._vocabulary), name="class_string_lookup")
                found[PREDICTIONS.CLASSES] = table.lookup(ids)
            else:
                found[PREDICTIONS.CLASSES] = as_string(ids, name="str_classes")
        if PREDICTIONS.ALL_CLASS_IDS in keys:
            found[PREDICTIONS.ALL_CLASS_IDS] = each_row(range_(self._classes), scores)
        if PREDICTIONS.ALL_CLASSES in keys:
            found[PREDICTIONS.ALL_CLASSES] = each_row(names_of(self._classes, self._vocabulary), scores)
        return found


class BinaryClassHead(_OneClass):
    """Two classes by one logit, with metrics and optimizers of Keras (tf.estimator.BinaryClassHead).

    Args:
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        thresholds: Probabilities from which on a class counts as told, for more metrics.
        label_vocabulary: The two words that labels are, if they are no numbers from 0 to 1.
        loss_reduction: How losses of examples become one; gf.keras.losses.Reduction.
        loss_fn: Gives the losses of examples [batch, 1], of labels and logits.
        name: Stands behind the names of metrics and summaries.

    Raises:
        ValueError: If a threshold is no probability, the vocabulary no list, or the reduction gives no scalar.
    """

    _keys = (
        PREDICTIONS.LOGITS, PREDICTIONS.LOGISTIC, PREDICTIONS.PROBABILITIES, PREDICTIONS.CLASS_IDS,
        PREDICTIONS.CLASSES, PREDICTIONS.ALL_CLASS_IDS, PREDICTIONS.ALL_CLASSES,
    )  # fmt: skip

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(2, 1, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        self._thresholds = checked_thresholds(thresholds, "thresholds not in (0, 1): {}.")

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        found = checked_labels(labels, logits, 1)
        if self._vocabulary is not None:
            found = self._words_to_numbers(found)
        return class_numbers(cast(found, dtypes.float32), 2, verb="must be")

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found: Tensor = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return found

    def _predicted(self, logits: Tensor, keys: Sequence[str]) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        if PREDICTIONS.LOGITS in keys:
            found[PREDICTIONS.LOGITS] = logits
        if PREDICTIONS.LOGISTIC in keys:
            found[PREDICTIONS.LOGISTIC] = sigmoid(logits, name=PREDICTIONS.LOGISTIC)
        both = concat([zeros_like(logits), logits], -1, name="two_class_logits")
        return {**found, **self._of_classes(both, keys)}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        told = classified(predictions[PREDICTIONS.PROBABILITIES], 2, self._vocabulary)
        return {
            SERVING: told, "classification": told,
            "regression": RegressionOutput(predictions[PREDICTIONS.LOGISTIC]), "predict": PredictOutput(predictions),
        }  # fmt: skip

    def _new_metrics(self) -> dict[str, Metric]:
        label_mean = Mean(METRICS.LABEL_MEAN)
        return {
            METRICS.ACCURACY: Accuracy(METRICS.ACCURACY),
            METRICS.PRECISION: Precision(name=METRICS.PRECISION),
            METRICS.RECALL: Recall(name=METRICS.RECALL),
            METRICS.PREDICTION_MEAN: Mean(METRICS.PREDICTION_MEAN),
            METRICS.LABEL_MEAN: label_mean,
            METRICS.ACCURACY_BASELINE: _Baseline(label_mean),
            METRICS.AUC: AUC(name=METRICS.AUC),
            METRICS.AUC_PR: AUC(curve="PR", name=METRICS.AUC_PR),
            **threshold_metrics(self._thresholds),
        }

    def _update(self, metrics: Mapping[str, Any], labels: Tensor, logits: Tensor, weights: Any) -> None:
        found = self.predictions(logits, [PREDICTIONS.LOGISTIC, PREDICTIONS.CLASS_IDS])
        ids, logistic = found[PREDICTIONS.CLASS_IDS], found[PREDICTIONS.LOGISTIC]
        for key in (METRICS.ACCURACY, METRICS.PRECISION, METRICS.RECALL):
            metrics[key].update_state(labels, ids, sample_weight=weights)
        for key, values in ((METRICS.PREDICTION_MEAN, logistic), (METRICS.LABEL_MEAN, labels)):
            metrics[key].update_state(values, sample_weight=spread(weights, values))
        metrics[METRICS.ACCURACY_BASELINE].update_state()
        for key in (METRICS.AUC, METRICS.AUC_PR):
            metrics[key].update_state(labels, logistic, sample_weight=weights)
        update_threshold_metrics(metrics, self._thresholds, labels, logistic, weights)


class MultiClassHead(_OneClass):
    """More than two classes, a logit each, with metrics and optimizers of Keras (tf.estimator.MultiClassHead).

    Args:
        n_classes: How many classes there are.
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        loss_reduction: How losses of examples become one; gf.keras.losses.Reduction.
        loss_fn: Gives the losses of examples [batch, 1], of labels and logits.
        name: Stands behind the names of metrics and summaries.

    Raises:
        ValueError: If there are fewer than three classes, another number of words, or the reduction gives no scalar.
    """

    _keys = (
        PREDICTIONS.LOGITS, PREDICTIONS.PROBABILITIES, PREDICTIONS.CLASS_IDS, PREDICTIONS.CLASSES,
        PREDICTIONS.ALL_CLASS_IDS, PREDICTIONS.ALL_CLASSES,
    )  # fmt: skip

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        if isinstance(n_classes, int) and n_classes <= 2:  # It may be a tensor, too.
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f'"label_vocabulary" does not have "n_classes" items. len(label_vocabulary)={len(label_vocabulary)}, '
                f"n_classes={n_classes}, label_vocabulary={label_vocabulary}"
            )

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        found = checked_labels(labels, logits, 1)
        if self._vocabulary is not None:
            if found.dtype is not dtypes.string:
                raise ValueError(
                    f"Labels dtype should be string if there is a vocabulary. Instead got {found.dtype}"
                )
            found = self._words_to_numbers(found)
        elif not found.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {found.dtype}.")
        return class_numbers(found, self._classes, verb="must be")

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found = losses.sparse_softmax_cross_entropy(labels, logits, reduction=losses.Reduction.NONE)
        return expand_dims(found, -1)

    def _predicted(self, logits: Tensor, keys: Sequence[str]) -> dict[str, Tensor]:
        found = {PREDICTIONS.LOGITS: logits} if PREDICTIONS.LOGITS in keys else {}
        return {**found, **self._of_classes(logits, keys)}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        told = classified(predictions[PREDICTIONS.PROBABILITIES], self._classes, self._vocabulary)
        return {SERVING: told, "classification": told, "predict": PredictOutput(predictions)}

    def _new_metrics(self) -> dict[str, Metric]:
        return {METRICS.ACCURACY: Accuracy(METRICS.ACCURACY)}

    def _update(self, metrics: Mapping[str, Any], labels: Tensor, logits: Tensor, weights: Any) -> None:
        ids = self.predictions(logits, [PREDICTIONS.CLASS_IDS])[PREDICTIONS.CLASS_IDS]
        metrics[METRICS.ACCURACY].update_state(labels, ids, sample_weight=weights)
