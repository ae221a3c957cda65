"""Heads of several labels for an example, of rates and shares, and several heads as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graphflow.losses as losses
import graphflow.metrics as metrics
import graphflow.nn as nn
import graphflow.train as train
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.array.array import ones_like, split
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.io.vocabularies import index_table_from_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.numeric import add_n
from graphflow._core.ops.math.reductions import reduce_mean
from graphflow._core.ops.math.transcendental import exp, sigmoid
from graphflow._core.ops.sparse.composed import sparse_to_indicator
from graphflow.estimator.canned.heads import ClassHead, Head, LossSpec, RegressionHead
from graphflow.estimator.canned.labels import checked_labels, class_numbers
from graphflow.estimator.export import ExportOutput, PredictOutput, RegressionOutput
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.saved_model import signature_constants

_SERVING = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class MultiLabelHead(ClassHead):
    """Any number of classes for an example, a logit each.

    Args:
        n_classes: How many classes there are.
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
        told_classes: The numbers of classes that have metrics of their own.

    Raises:
        ValueError: If there are fewer than two classes, or another number of words.
    """

    def __init__(
        self, n_classes: int, weight_column: Any, label_vocabulary: Sequence[str] | None, loss_reduction: str,
        told_classes: Sequence[int] = (),
    ) -> None:  # fmt: skip
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}.")
        super().__init__(n_classes, n_classes, weight_column, label_vocabulary, loss_reduction)
        if self._vocabulary is not None and len(self._vocabulary) != n_classes:
            raise ValueError(
                f"There are {len(self._vocabulary)} words in label_vocabulary for {n_classes} classes."
            )
        self._told = tuple(told_classes)
        for number in self._told:
            if not 0 <= number < n_classes:
                raise ValueError(
                    f"A class of classes_for_class_based_metrics is below {n_classes}, got {number}."
                )

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"logits": logits, "probabilities": sigmoid(logits, name="probabilities")}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        classified = self._classified(predictions)
        return {_SERVING: classified, "classification": classified, "predict": PredictOutput(predictions)}

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        if isinstance(labels, SparseTensor):
            if labels.dtype is dtypes.string:
                numbers = index_table_from_tensor(self._vocabulary, name="class_id_lookup").lookup(
                    labels.values
                )
                labels = SparseTensor(labels.indices, numbers, labels.dense_shape)
            known = class_numbers(labels.values, self._classes)
            told = SparseTensor(labels.indices, known, labels.dense_shape)
            labels = cast(sparse_to_indicator(told, self._classes), dtypes.int64)
        else:
            labels = class_numbers(checked_labels(labels, logits, self._classes), 2)
        return checked_labels(labels, logits, self._classes)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        each = losses.sigmoid_cross_entropy(labels, logits, reduction=losses.Reduction.NONE)
        return reduce_mean(each, axis=-1, keepdims=True)

    def _metrics(self, predictions: Mapping[str, Tensor], loss: LossSpec) -> dict[str, Any]:
        labels, weights, probabilities = loss.processed_labels, loss.weights, predictions["probabilities"]
        found = {
            "average_loss": metrics.mean(loss.unreduced_loss, weights=weights, name="average_loss"),
            **_curves(labels, probabilities, weights, ""),
            **self._threshold_metrics(labels, probabilities, weights),
        }
        for number in self._told:
            end = f"/{self._vocabulary[number]}" if self._vocabulary else f"/class{number}"
            own, wanted = probabilities[..., number : number + 1], labels[..., number : number + 1]
            spread = weights * ones_like(own)
            found[f"probability_mean{end}"] = metrics.mean(own, spread, name=f"probability_mean{end}")
            found |= _curves(wanted, own, weights, end)
        return found


def _curves(labels: Tensor, probabilities: Tensor, weights: Any, end: str) -> dict[str, Any]:
    given = {"labels": labels, "predictions": probabilities, "weights": weights * ones_like(probabilities)}
    return {
        f"auc{end}": metrics.auc(**given, name=f"auc{end}"),
        f"auc_precision_recall{end}": metrics.auc(**given, curve="PR", name=f"auc_precision_recall{end}"),
    }


class LinkedHead(RegressionHead):
    """Numbers that a function makes of logits.

    Args:
        link: The function.
        loss: The losses of labels and logits; None for the squared error.
        label_dimension: How many numbers a label has.
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
    """

    def __init__(
        self, link: Callable[[Tensor], Any], loss: Callable[[Tensor, Tensor], Tensor] | None, label_dimension: int,
        weight_column: Any, loss_reduction: str,
    ) -> None:  # fmt: skip
        super().__init__(label_dimension, weight_column, loss_reduction)
        self._link, self._loss = link, loss

    def _predictions(self, logits: Tensor) -> dict[str, Tensor]:
        return {"predictions": self._link(logits), "logits": logits}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        found = RegressionOutput(predictions["predictions"])
        return {_SERVING: found, "regression": found, "predict": PredictOutput(predictions)}

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        return super()._losses(labels, logits) if self._loss is None else self._loss(labels, logits)


def poisson_head(
    label_dimension: int, weight_column: Any, loss_reduction: str, compute_full_loss: bool
) -> LinkedHead:
    """Rates, whose logarithms are the logits."""

    def loss(labels: Tensor, logits: Tensor) -> Tensor:
        found: Tensor = nn.log_poisson_loss(labels, logits, compute_full_loss)
        return found

    return LinkedHead(exp, loss, label_dimension, weight_column, loss_reduction)


def logistic_head(weight_column: Any, loss_reduction: str) -> LinkedHead:
    """Shares from 0 to 1, by their cross entropy."""

    def loss(labels: Tensor, logits: Tensor) -> Tensor:
        found: Tensor = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return found

    return LinkedHead(sigmoid, loss, 1, weight_column, loss_reduction)


class MultiHead(Head):
    """Several heads with names as one: logits side by side, labels by the name of the head, losses added up.

    Args:
        heads: The heads.
        head_weights: What their losses are multiplied by; None for 1.

    Raises:
        ValueError: If there are none, a head has no name or that of another, or there are other numbers of weights.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise ValueError("Must specify heads. Given: []")
        names = [head.name for head in heads]
        if not all(names) or len(set(names)) != len(names):
            raise ValueError(f"Each head of a multi_head has a name of its own, got {names}.")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                f"heads and head_weights must have the same size, got {len(heads)} and {len(head_weights)}."
            )
        super().__init__(sum(head.logits_dimension for head in heads), None, losses.Reduction.SUM)
        self.name = "_".join(map(str, names))
        self._heads = list(heads)
        self._weights = list(head_weights or ())

    def _parts(self, logits: Any) -> list[Any]:
        if isinstance(logits, Mapping):
            return [logits[head.name] for head in self._heads]
        return split(logits, [head.logits_dimension for head in self._heads], axis=-1)

    def _together(self, found: Sequence[Tensor]) -> Tensor:
        if self._weights:
            found = [loss * weight for loss, weight in zip(found, self._weights, strict=True)]
        return add_n(found)

    def create_loss(self, features: Mapping[str, Any], mode: str, logits: Any, labels: Any) -> LossSpec:
        """The sum of the losses; what else a head tells by the names of the heads."""
        specs = {
            head.name: head.create_loss(features, mode, part, labels[head.name])
            for head, part in zip(self._heads, self._parts(logits), strict=True)
        }
        named: list[Any] = [
            {name: getattr(spec, field) for name, spec in specs.items()} for field in LossSpec._fields[1:]
        ]
        return LossSpec(self._together([spec.training_loss for spec in specs.values()]), *named)

    def create_estimator_spec(
        self, features: Mapping[str, Any], mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None, regularization_losses: Sequence[Tensor] | None = None,
    ) -> EstimatorSpec:  # fmt: skip
        """What a model function returns for these logits.

        Args:
            features: Of the batch, for weights.
            mode: One of ModeKeys.
            logits: Side by side, or by the names of the heads.
            labels: By the names of the heads, unless it predicts.
            optimizer: Trains all variables.
            train_op_fn: Trains in its place: a function of the loss that gives an operation.
            regularization_losses: Are added to the loss.

        Returns:
            The EstimatorSpec; its predictions have pairs of names, of the head and of the prediction.

        Raises:
            ValueError: If it is to train and has neither of both, or labels or logits do not fit.
        """
        specs = [
            head.create_estimator_spec(
                features, mode, part, None if labels is None else labels[head.name],
                train_op_fn=(lambda loss: no_op()) if mode == ModeKeys.TRAIN else None,
            )
            for head, part in zip(self._heads, self._parts(logits), strict=True)
        ]  # fmt: skip
        names = [str(head.name) for head in self._heads]
        predictions = {
            (name, key): value
            for name, spec in zip(names, specs, strict=True)
            for key, value in spec.predictions.items()
        }
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=_merged_outputs(names, specs))  # type: ignore[arg-type]
        loss = self._together([spec.loss for spec in specs])
        if regularization_losses:
            loss = add_n([loss, *regularization_losses])
        if mode == ModeKeys.EVAL:
            measured: dict[str, Any] = {}
            for name, spec in zip(names, specs, strict=True):
                measured |= {
                    f"loss/{name}": metrics.mean(spec.loss, name=f"loss/{name}"),
                    **spec.eval_metric_ops,
                }
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=measured)  # type: ignore[arg-type]
        if (optimizer is None) == (train_op_fn is None):
            raise ValueError(
                f"train_op_fn and optimizer cannot both be {'None' if optimizer is None else 'set'}."
            )
        if train_op_fn is not None:
            step = train_op_fn(loss)
        else:
            step = optimizer.minimize(loss, global_step=train.get_global_step())
        return EstimatorSpec(mode, predictions, loss, step)  # type: ignore[arg-type]


def _merged_outputs(names: Sequence[str], specs: Sequence[EstimatorSpec]) -> dict[str, ExportOutput]:
    found: dict[str, ExportOutput] = {}
    predicted: dict[str, Any] = {}
    for name, spec in zip(names, specs, strict=True):
        for key, output in (spec.export_outputs or {}).items():
            found[name if key == _SERVING else f"{name}/{key}"] = output
            if key == "predict" and isinstance(output, PredictOutput):
                predicted |= {f"{name}/{inner}": value for inner, value in output.outputs.items()}
    return {_SERVING: found[names[0]], **found, "predict": PredictOutput(predicted)}
