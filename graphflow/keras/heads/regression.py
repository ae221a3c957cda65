"""Heads of numbers: as they are, rates, and shares from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graphflow.losses as losses
import graphflow.nn as nn
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.transcendental import exp, sigmoid
from graphflow.estimator.canned.labels import checked_labels, class_numbers
from graphflow.estimator.export import ExportOutput, PredictOutput, RegressionOutput
from graphflow.keras.heads.base import METRICS, PREDICTIONS, SERVING, SingleHead
from graphflow.keras.heads.classes import spread
from graphflow.keras.losses import Reduction
from graphflow.keras.metrics import Mean, Metric


class RegressionHead(SingleHead):
    """Numbers, by their squared error, with metrics and optimizers of Keras (tf.estimator.RegressionHead).

    Args:
        label_dimension: How many numbers a label has.
        weight_column: The name of the feature with the weights of examples or numbers, or a numeric column.
        loss_reduction: How losses become one; gf.keras.losses.Reduction.
        loss_fn: Gives the losses [batch, label_dimension], of labels and logits.
        inverse_link_fn: Makes predictions of logits.
        name: Stands behind the names of metrics and summaries.

    Raises:
        ValueError: If a label has no number, or the reduction gives no scalar.
    """

    _keys = (PREDICTIONS.PREDICTIONS, PREDICTIONS.LOGITS)
    _weighs_each = True

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Tensor], Any] | None = None,
        name: str | None = None,
    ) -> None:
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, name)
        self._link = inverse_link_fn

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        return cast(checked_labels(labels, logits, self._size), dtypes.float32)

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        found: Tensor = losses.mean_squared_error(labels, logits, reduction=losses.Reduction.NONE)
        return found

    def _predicted(self, logits: Tensor, keys: Sequence[str]) -> dict[str, Tensor]:
        if self._link is None:
            return {PREDICTIONS.PREDICTIONS: logits}
        return {PREDICTIONS.PREDICTIONS: self._link(logits), PREDICTIONS.LOGITS: logits}

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        found = RegressionOutput(predictions[PREDICTIONS.PREDICTIONS])
        return {SERVING: found, "regression": found, "predict": PredictOutput(predictions)}

    def _new_metrics(self) -> dict[str, Metric]:
        return {key: Mean(key) for key in (METRICS.PREDICTION_MEAN, METRICS.LABEL_MEAN)}

    def _update(self, metrics: Mapping[str, Any], labels: Tensor, logits: Tensor, weights: Any) -> None:
        predicted = self.predictions(logits)[PREDICTIONS.PREDICTIONS]
        for key, values in ((METRICS.PREDICTION_MEAN, predicted), (METRICS.LABEL_MEAN, labels)):
            metrics[key].update_state(values, sample_weight=spread(weights, values))


class PoissonRegressionHead(RegressionHead):
    """Rates, whose logarithms are the logits (tf.estimator.PoissonRegressionHead).

    Args:
        label_dimension: How many numbers a label has.
        weight_column: The name of the feature with the weights of examples or numbers, or a numeric column.
        loss_reduction: How losses become one; gf.keras.losses.Reduction.
        compute_full_loss: Whether the loss has the terms that depend on labels alone.
        name: Stands behind the names of metrics and summaries.
    """

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        def loss(labels: Tensor, logits: Tensor) -> Tensor:
            found: Tensor = nn.log_poisson_loss(labels, logits, compute_full_loss)
            return found

        super().__init__(label_dimension, weight_column, loss_reduction, loss, exp, name)


def _logistic_loss(labels: Tensor, logits: Tensor) -> Tensor:
    shares = class_numbers(labels, 2, "Labels must be in range [0, 1]")
    found: Tensor = nn.sigmoid_cross_entropy_with_logits(labels=shares, logits=logits)
    return found


class LogisticRegressionHead(RegressionHead):
    """Shares from 0 to 1, by their cross entropy (tf.estimator.LogisticRegressionHead).

    Args:
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        loss_reduction: How losses become one; gf.keras.losses.Reduction.
        name: Stands behind the names of metrics and summaries.
    """

    def __init__(
        self,
        weight_column: Any = None,
        loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
        name: str | None = None,
    ) -> None:
        super().__init__(1, weight_column, loss_reduction, _logistic_loss, sigmoid, name)
