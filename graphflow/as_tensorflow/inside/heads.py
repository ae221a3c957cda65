"""The heads of canned models whose losses are sums (tensorflow.python.estimator.canned.head), which programs import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import graphflow.losses as losses
from graphflow.estimator.canned import mean_heads
from graphflow.estimator.canned.heads import Head

_SUM: Final = losses.Reduction.SUM


def binary_logistic_head(
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """For two classes, of logits [batch, 1] (head._binary_logistic_head_with_sigmoid_cross_entropy_loss)."""
    return mean_heads.binary_classification_head(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """For more than two classes (head._multi_class_head_with_softmax_cross_entropy_loss)."""
    return mean_heads.multi_class_head(
        n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name
    )


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _SUM,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """For numbers, of logits [batch, label_dimension] (head._regression_head)."""
    return mean_heads.regression_head(
        weight_column, label_dimension, loss_reduction, loss_fn, inverse_link_fn, name
    )
