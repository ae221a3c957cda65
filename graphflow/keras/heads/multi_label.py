"""The head of which an example is of any number of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graphflow.losses as losses
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.ops.io.vocabularies import index_table_from_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.reductions import reduce_mean
from graphflow._core.ops.math.transcendental import sigmoid
from graphflow._core.ops.sparse.composed import sparse_to_indicator
from graphflow.estimator.canned.labels import checked_labels, class_numbers
from graphflow.estimator.export import ExportOutput, PredictOutput
from graphflow.keras.heads.base import METRICS, PREDICTIONS, SERVING, SingleHead, classified
from graphflow.keras.heads.classes import (
    checked_thresholds,
    spread,
    threshold_metrics,
    update_threshold_metrics,
)
from graphflow.keras.losses import Reduction
from graphflow.keras.metrics import AUC, Mean, Metric


class MultiLabelHead(SingleHead):
    """Any number of classes for an example, with metrics and optimizers of Keras (tf.estimator.MultiLabelHead).

    Labels are rows of zeros and ones, or a SparseTensor of the numbers or the words of classes.

    Args:
        n_classes: How many classes there are.
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        thresholds: Probabilities from which on a class counts as told, for more metrics.
        label_vocabulary: The words that labels are, if they are no numbers.
        loss_reduction: How losses of examples become one; gf.keras.losses.Reduction.
        loss_fn: Gives the losses of examples [batch, 1], of labels and logits.
        classes_for_class_based_metrics: Numbers or words of classes that have metrics of their own.
        name: Stands behind the names of metrics and summaries.

    Raises:
        ValueError: If there are fewer than two classes, another number of words, a class or threshold is none, or the
            reduction gives no scalar.
    """

    _keys = (PREDICTIONS.LOGITS, PREDICTIONS.PROBABILITIES)

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Sequence[int | str] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        self._thresholds = checked_thresholds(thresholds, "thresholds must be in (0, 1) range. Given: {}")
        if label_vocabulary is not None:
            if not isinstance(label_vocabulary, list | tuple):
                raise ValueError(
                    f"label_vocabulary must be a list or tuple. Given type: {type(label_vocabulary)}"
                )
            if len(label_vocabulary) != n_classes:
                raise ValueError(
                    f"Length of label_vocabulary must be n_classes ({n_classes}). Given: {len(label_vocabulary)}"
                )
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        self._vocabulary = label_vocabulary
        self._told = [self._number_of(each) for each in classes_for_class_based_metrics or ()]

    def _number_of(self, told: int | str) -> int:
        if isinstance(told, str):
            if not self._vocabulary:
                raise ValueError(
                    "label_vocabulary must be provided when classes_for_class_based_metrics are words."
                )
            return list(self._vocabulary).index(told)
        if not 0 <= told < self._size:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, {self._size - 1}]. Given: {told}"
            )
        return told

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        if isinstance(labels, SparseTensorValue):
            labels = SparseTensor.from_value(labels)
        if isinstance(labels, SparseTensor):
            numbers = labels.values
            if numbers.dtype is dtypes.string:
                table = index_table_from_tensor(list(self._vocabulary or ()), name="class_id_lookup")
                numbers = table.lookup(numbers)
            elif not numbers.dtype.is_integer:
                raise ValueError(f"Labels dtype should be integer. Instead got {numbers.dtype}.")
            message = f"labels must be an integer SparseTensor with values in [0, {self._size})"
            told = SparseTensor(
                labels.indices, class_numbers(numbers, self._size, message), labels.dense_shape
            )
            labels = cast(sparse_to_indicator(told, self._size), dtypes.int64)
        elif labels is not None:
            message = "labels must be an integer indicator Tensor with values in [0, 1]"
            labels = class_numbers(labels, 2, message)
        return checked_labels(labels, logits, self._size)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        each = losses.sigmoid_cross_entropy(labels, logits, reduction=losses.Reduction.NONE)
        return reduce_mean(each, axis=-1, keepdims=True)

    def _predicted(self, logits: Tensor, keys: Sequence[str]) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        if PREDICTIONS.LOGITS in keys:
            found[PREDICTIONS.LOGITS] = logits
        if PREDICTIONS.PROBABILITIES in keys:
            found[PREDICTIONS.PROBABILITIES] = sigmoid(logits, name=PREDICTIONS.PROBABILITIES)
        return found

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        told = classified(predictions[PREDICTIONS.PROBABILITIES], self._size, self._vocabulary)
        return {SERVING: told, "classification": told, "predict": PredictOutput(predictions)}

    def _keys_of(self, number: int) -> tuple[str, str, str]:
        """The names of a class's mean probability, AUC, and AUC of precision and recall."""
        if self._vocabulary:
            word = self._vocabulary[number]
            return (
                METRICS.PROBABILITY_MEAN_AT_NAME % word, METRICS.AUC_AT_NAME % word, METRICS.AUC_PR_AT_NAME % word
            )  # fmt: skip
        return (
            METRICS.PROBABILITY_MEAN_AT_CLASS % number, METRICS.AUC_AT_CLASS % number, METRICS.AUC_PR_AT_CLASS % number
        )  # fmt: skip

    def _new_metrics(self) -> dict[str, Metric]:
        found: dict[str, Metric] = {
            METRICS.AUC: AUC(name=METRICS.AUC),
            METRICS.AUC_PR: AUC(curve="PR", name=METRICS.AUC_PR),
            **threshold_metrics(self._thresholds),
        }
        for number in self._told:
            mean, area, other_area = self._keys_of(number)
            found |= {mean: Mean(mean), area: AUC(name=area), other_area: AUC(curve="PR", name=other_area)}
        return found

    def _update(self, metrics: Mapping[str, Any], labels: Tensor, logits: Tensor, weights: Any) -> None:
        scores = self.predictions(logits, [PREDICTIONS.PROBABILITIES])[PREDICTIONS.PROBABILITIES]
        for key in (METRICS.AUC, METRICS.AUC_PR):
            metrics[key].update_state(labels, scores, sample_weight=weights)
        update_threshold_metrics(metrics, self._thresholds, labels, scores, weights)
        for number in self._told:
            mean, *areas = self._keys_of(number)
            own, wanted = scores[..., number : number + 1], labels[..., number : number + 1]
            metrics[mean].update_state(own, sample_weight=spread(weights, own))
            for key in areas:
                metrics[key].update_state(wanted, own, sample_weight=weights)
