"""Heads: what a model's logits mean: predictions, the loss, metrics and signatures, under TensorFlow's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self

import graphflow.losses as losses
import graphflow.metrics as metrics
import graphflow.nn as nn
import graphflow.summary as summary
import graphflow.train as train
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import (
    concat,
    expand_dims,
    ones_like,
    range_,
    shape,
    stack,
    tile,
    zeros_like,
)
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.io.vocabularies import index_table_from_tensor, index_to_string_table_from_tensor
from graphflow._core.ops.math.arithmetic import maximum
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater_equal
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.scans import argmax
from graphflow._core.ops.math.transcendental import sigmoid
from graphflow._core.ops.strings import as_string
from graphflow.estimator.canned.labels import (
    check_loss_function,
    checked_labels,
    checked_logits,
    class_numbers,
    losses_of,
    weights_of,
)
from graphflow.estimator.export import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.saved_model import signature_constants

_SERVING: Final = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class LossSpec(NamedTuple):
    """The loss that is trained, that of each example, weights, and labels as numbers."""

    training_loss: Tensor
    unreduced_loss: Tensor
    weights: Any
    processed_labels: Tensor


class Head:
    """What logits mean. A subclass says what predictions, loss, metrics and signatures are.

    Args:
        size: How many logits an example has.
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.

    Raises:
        ValueError: If the reduction gives no scalar.
    """

    def __init__(self, size: int, weight_column: Any, loss_reduction: str) -> None:
        if loss_reduction not in losses.Reduction.all() or loss_reduction == losses.Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        self.logits_dimension: int = size
        self.name: str | None = None
        self._weight_column = weight_column
        self._reduction = loss_reduction
        self._loss_fn: Callable[..., Any] | None = None
        self._thresholds: tuple[float, ...] = ()
        self._eval_reduction: str | None = None

    def with_options(
        self,
        name: str | None = None,
        loss_fn: Callable[..., Any] | None = None,
        thresholds: Sequence[float] | None = None,
        eval_reduction: str | None = None,
    ) -> Self:
        """The head itself, with what the heads of tf.contrib.estimator may have besides.

        Args:
            name: Stands behind the names of metrics and summaries.
            loss_fn: Gives the losses of examples, of any of `labels`, `logits`, `features` and `loss_reduction`.
            thresholds: Probabilities from which on a class counts as told, for more metrics.
            eval_reduction: How losses of examples become one to evaluate, if that is in another way.

        Raises:
            ValueError: If a threshold is no probability, or the function takes other arguments.
        """
        self.name, self._loss_fn, self._thresholds = name, loss_fn, tuple(thresholds or ())
        self._eval_reduction = eval_reduction
        for threshold in self._thresholds:
            if not 0 < threshold < 1:
                raise ValueError(f"thresholds not in (0, 1): {threshold}.")
        if loss_fn is not None:
            check_loss_function(loss_fn)
        return self

    def _named(self, key: str) -> str:
        return f"{key}/{self.name}" if self.name else key

    def _threshold_metrics(self, labels: Tensor, probabilities: Tensor, weights: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        spread = weights * ones_like(probabilities)
        for threshold in self._thresholds:
            end = f"positive_threshold_{threshold:g}"
            told = cast(greater_equal(probabilities, threshold), dtypes.float32)
            found[f"accuracy/{end}"] = metrics.accuracy(labels, told, spread, name=f"accuracy/{end}")
            for kind, measure in (
                ("precision", metrics.precision_at_thresholds), ("recall", metrics.recall_at_thresholds),
            ):  # fmt: skip
                value, update = measure(labels, probabilities, (threshold,), spread, name=f"{kind}/{end}")
                found[f"{kind}/{end}"] = (value[0], update[0])
        return found

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        raise NotImplementedError

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        raise NotImplementedError

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        raise NotImplementedError

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        raise NotImplementedError

    def _metrics(self, predictions: Mapping[str, Tensor], loss: LossSpec) -> dict[str, Any]:
        raise NotImplementedError

    def create_loss(
        self, features: Mapping[str, Any], mode: str, logits: TensorLike, labels: Any
    ) -> LossSpec:
        """The loss of a batch."""
        logits = checked_logits(logits, self.logits_dimension)
        numbers = self._labels(labels, logits)
        unreduced = self._of_examples(numbers, logits, features)
        weights = weights_of(features, self._weight_column, logits, self._weighs_each)
        reduction = (self._eval_reduction if mode == ModeKeys.EVAL else None) or self._reduction
        reduced = losses.compute_weighted_loss(unreduced, weights=weights, reduction=reduction)
        return LossSpec(reduced, unreduced, weights, numbers)

    def _of_examples(self, labels: Tensor, logits: Tensor, features: Any) -> Tensor:
        if self._loss_fn is None:
            return self._losses(labels, logits)
        size = self.logits_dimension if self._weighs_each else 1
        return losses_of(self._loss_fn, labels, logits, features, size, loss_reduction=self._reduction)

    _weighs_each = False

    def create_estimator_spec(
        self, features: Mapping[str, Any], mode: str, logits: Tensor, labels: Any = None, optimizer: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None, regularization_losses: Sequence[Tensor] | None = None,
    ) -> EstimatorSpec:  # fmt: skip
        """What a model function returns for these logits.

        Args:
            features: Of the batch, for weights.
            mode: One of ModeKeys.
            logits: [batch, logits_dimension].
            labels: Of the batch, unless it predicts.
            optimizer: Trains all variables.
            train_op_fn: Trains in its place: a function of the loss that gives an operation.
            regularization_losses: Are added to the loss.

        Returns:
            The EstimatorSpec.

        Raises:
            ValueError: If it is to train and has neither of both, or labels or logits do not fit.
        """
        with op_scope(self.name, "head", [logits]):
            numbers = checked_logits(logits, self.logits_dimension)
            with op_scope(None, "predictions", [numbers]):
                predictions = self._predictions(numbers)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions, export_outputs=self._outputs(predictions))
            found = self.create_loss(features, mode, numbers, labels)
            loss, extra = found.training_loss, None
            if regularization_losses:
                extra = _sum(regularization_losses)
                loss = _sum([loss, extra])
            if mode == ModeKeys.EVAL:
                with op_scope(None, "metrics", [loss]):
                    measured = self._metrics(predictions, found)
                    if extra is not None:
                        measured["regularization_loss"] = metrics.mean(extra)
                measured = {self._named(key): metric for key, metric in measured.items()}
                return EstimatorSpec(mode, predictions, loss, eval_metric_ops=measured)
            step = _training(loss, optimizer, train_op_fn)
            shown = {"loss": loss}
            if self._reduction == losses.Reduction.SUM:
                shown["average_loss"] = found.training_loss / reduce_sum(
                    found.weights * ones_like(found.unreduced_loss)
                )
        if extra is not None:
            shown["regularization_loss"] = extra
        with get_default_graph().name_scope(""):
            for name, value in shown.items():
                summary.scalar(self._named(name), value)
        return EstimatorSpec(mode, predictions, loss, step)


def _sum(terms: Sequence[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _training(loss: Tensor, optimizer: Any, train_op_fn: Callable[[Tensor], Any] | None) -> Any:
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError(
            f"train_op_fn and optimizer cannot both be {'None' if optimizer is None else 'set'}."
        )
    if train_op_fn is not None:
        step = train_op_fn(loss)
    else:
        step = optimizer.minimize(loss, global_step=train.get_global_step())
    updates = get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
    return group(step, *updates) if updates else step


def _each_row(values: Any, logits: Tensor) -> Tensor:
    found: Tensor = tile(expand_dims(values, 0), stack([shape(logits)[0], 1]))
    return found


def _weighted_mean(values: Tensor, weights: Any, name: str) -> Any:
    numbers = cast(values, dtypes.float32)
    return metrics.mean(numbers, weights=weights * ones_like(numbers), name=name)


class ClassHead(Head):
    """A head whose labels are classes: numbers, or words of a vocabulary."""

    def __init__(
        self, classes: int, size: int, weight_column: Any, label_vocabulary: Sequence[str] | None, loss_reduction: str
    ) -> None:  # fmt: skip
        super().__init__(size, weight_column, loss_reduction)
        if label_vocabulary is not None and not isinstance(label_vocabulary, list | tuple):
            raise ValueError(
                f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}"
            )
        self._classes = classes
        self._vocabulary = None if label_vocabulary is None else list(label_vocabulary)

    def _names(self) -> Any:
        return convert_to_tensor(self._vocabulary) if self._vocabulary else as_string(range_(self._classes))

    def _class_predictions(self, scores: Tensor) -> dict[str, Tensor]:
        ids = expand_dims(argmax(scores, axis=-1, name="class_ids"), -1)
        if self._vocabulary:
            table = index_to_string_table_from_tensor(self._vocabulary, name="class_string_lookup")
            words = table.lookup(ids)
        else:
            words = as_string(ids, name="str_classes")
        return {
            "probabilities": nn.softmax(scores, name="probabilities"), "class_ids": ids, "classes": words,
            "all_class_ids": _each_row(range_(self._classes), scores), "all_classes": _each_row(self._names(), scores),
        }  # fmt: skip

    def _classified(self, predictions: Mapping[str, Tensor]) -> ClassificationOutput:
        scores = predictions["probabilities"]
        return ClassificationOutput(scores, _each_row(self._names(), scores))

    def _words_to_numbers(self, labels: Tensor) -> Tensor:
        found: Tensor = index_table_from_tensor(self._vocabulary, name="class_id_lookup").lookup(labels)
        return found


class BinaryHead(ClassHead):
    """Two classes by one logit."""

    def __init__(
        self, weight_column: Any = None, label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = losses.Reduction.SUM,
    ) -> None:  # fmt: skip
        super().__init__(2, 1, weight_column, label_vocabulary, loss_reduction)

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        both = concat([zeros_like(logits), logits], -1, name="two_class_logits")
        logistic = sigmoid(logits, name="logistic")
        return {"logits": logits, "logistic": logistic, **self._class_predictions(both)}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        classified = self._classified(predictions)
        return {
            _SERVING: classified, "classification": classified,
            "regression": RegressionOutput(predictions["logistic"]), "predict": PredictOutput(predictions),
        }  # fmt: skip

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        found = checked_labels(labels, logits, 1)
        if self._vocabulary is not None:
            found = self._words_to_numbers(found)
        return class_numbers(cast(found, dtypes.float32), 2)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found: Tensor = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return found

    def _metrics(self, predictions: Mapping[str, Tensor], loss: LossSpec) -> dict[str, Any]:
        labels, ids, weights = loss.processed_labels, predictions["class_ids"], loss.weights
        logistic = predictions["logistic"]
        given = {"labels": labels, "predictions": ids, "weights": weights}
        mean, update = _weighted_mean(labels, weights, "label/mean")
        spread = weights * ones_like(logistic)
        curve = {"labels": labels, "predictions": logistic, "weights": spread}
        return {
            "average_loss": metrics.mean(loss.unreduced_loss, weights=weights, name="average_loss"),
            "accuracy": metrics.accuracy(**given, name="accuracy"),
            "precision": metrics.precision(**given, name="precision"),
            "recall": metrics.recall(**given, name="recall"),
            "prediction/mean": _weighted_mean(logistic, weights, "prediction/mean"),
            "label/mean": (mean, update),
            "accuracy_baseline": (maximum(mean, 1.0 - mean), maximum(update, 1.0 - update)),
            "auc": metrics.auc(**curve, name="auc"),
            "auc_precision_recall": metrics.auc(**curve, curve="PR", name="auc_precision_recall"),
            **self._threshold_metrics(labels, logistic, weights),
        }


class MultiClassHead(ClassHead):
    """More than two classes, a logit each."""

    def __init__(
        self, n_classes: int, weight_column: Any = None, label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = losses.Reduction.SUM,
    ) -> None:  # fmt: skip
        if n_classes is None:
            raise ValueError("n_classes cannot be None")
        if isinstance(n_classes, int) and n_classes <= 2:  # It may be a tensor, too.
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, n_classes, weight_column, label_vocabulary, loss_reduction)

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"logits": logits, **self._class_predictions(logits)}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        classified = self._classified(predictions)
        return {_SERVING: classified, "classification": classified, "predict": PredictOutput(predictions)}

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
        return class_numbers(found, self._classes)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found = losses.sparse_softmax_cross_entropy(labels, logits, reduction=losses.Reduction.NONE)
        return expand_dims(found, -1)

    def _metrics(self, predictions: Mapping[str, Tensor], loss: LossSpec) -> dict[str, Any]:
        ids, weights = predictions["class_ids"], loss.weights
        return {
            "average_loss": metrics.mean(loss.unreduced_loss, weights=weights, name="average_loss"),
            "accuracy": metrics.accuracy(loss.processed_labels, ids, weights=weights, name="accuracy"),
        }


class RegressionHead(Head):
    """Numbers as they are, by their squared error."""

    _weighs_each = True

    def __init__(
        self, label_dimension: int = 1, weight_column: Any = None, loss_reduction: str = losses.Reduction.SUM
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction)

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"predictions": logits}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        found = RegressionOutput(predictions["predictions"])
        return {_SERVING: found, "regression": found, "predict": PredictOutput(predictions)}

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        return cast(checked_labels(labels, logits, self.logits_dimension), dtypes.float32)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found: Tensor = losses.mean_squared_error(labels, logits, reduction=losses.Reduction.NONE)
        return found

    def _metrics(self, predictions: Mapping[str, Tensor], loss: LossSpec) -> dict[str, Any]:
        weights = loss.weights
        return {
            "average_loss": metrics.mean(loss.unreduced_loss, weights=weights),
            "prediction/mean": _weighted_mean(predictions["predictions"], weights, "prediction/mean"),
            "label/mean": metrics.mean(loss.processed_labels, weights=weights),
        }


def class_head(
    n_classes: int, weight_column: Any, label_vocabulary: Sequence[str] | None, loss_reduction: str
) -> Head:
    """The head of two classes, or of more."""
    if n_classes == 2:
        return BinaryHead(weight_column, label_vocabulary, loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)
