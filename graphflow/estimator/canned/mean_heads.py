"""The parts of canned models that make loss, metrics and predictions of logits (tf.contrib.estimator's heads).

Their losses are means over the batch, where those of gf.estimator's canned models are sums, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graphflow.losses as losses
from graphflow.estimator.canned.heads import BinaryHead, Head, MultiClassHead, RegressionHead


def binary_classification_head(
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
) -> Head:
    """For two classes, of logits [batch, 1] (tf.contrib.estimator.binary_classification_head).

    Args:
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        label_vocabulary: The labels, if they are texts.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return BinaryHead(weight_column, label_vocabulary, loss_reduction)


def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
) -> Head:
    """For more than two classes, of logits [batch, n_classes] (tf.contrib.estimator.multi_class_head).

    Args:
        n_classes: How many classes there are.
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        label_vocabulary: The labels, if they are texts.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
) -> Head:
    """For numbers, of logits [batch, label_dimension] (tf.contrib.estimator.regression_head).

    Args:
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        label_dimension: How many numbers a label has.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return RegressionHead(label_dimension, weight_column, loss_reduction)
