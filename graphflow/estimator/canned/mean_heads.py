"""The parts of canned models that make loss, metrics and predictions of logits (tf.contrib.estimator's heads).

Their losses are means over the batch, where those of gf.estimator's canned models are sums, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import graphflow.losses as losses
from graphflow.estimator.canned.heads import BinaryHead, Head, MultiClassHead, RegressionHead
from graphflow.estimator.canned.other_heads import (
    LinkedHead,
    MultiHead,
    MultiLabelHead,
    logistic_head,
    poisson_head,
)

_MEAN: Final = losses.Reduction.SUM_OVER_BATCH_SIZE


def binary_classification_head(
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """For two classes, of logits [batch, 1] (tf.contrib.estimator.binary_classification_head).

    Args:
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        thresholds: Probabilities from which on class 1 counts as told, for more metrics.
        label_vocabulary: The labels, if they are texts.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.
        loss_fn: Gives the losses of the rows, of labels and logits.
        name: Stands behind the names of metrics.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return BinaryHead(weight_column, label_vocabulary, loss_reduction).with_options(name, loss_fn, thresholds)


def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """For more than two classes, of logits [batch, n_classes] (tf.contrib.estimator.multi_class_head).

    Args:
        n_classes: How many classes there are.
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        label_vocabulary: The labels, if they are texts.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.
        loss_fn: Gives the losses of the rows, of labels and logits.
        name: Stands behind the names of metrics.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction).with_options(
        name, loss_fn
    )


def multi_label_head(
    n_classes: int,
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Sequence[Any] | None = None,
    name: str | None = None,
) -> Head:
    """For any number of classes of a row, of logits [batch, n_classes] (tf.contrib.estimator.multi_label_head).

    Labels are rows of zeros and ones, or a SparseTensor of the numbers or the names of the classes.

    Args:
        n_classes: How many classes there are.
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        thresholds: Probabilities from which on a class counts as told, for more metrics.
        label_vocabulary: The names of the classes, if labels are texts.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.
        loss_fn: Gives the losses of the rows, of labels and logits.
        classes_for_class_based_metrics: Numbers or names of classes that have metrics of their own.
        name: Stands behind the names of metrics.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    words = list(label_vocabulary or ())
    told = [
        words.index(each) if isinstance(each, str) else each for each in classes_for_class_based_metrics or ()
    ]
    head = MultiLabelHead(n_classes, weight_column, label_vocabulary, loss_reduction, told)
    return head.with_options(name, loss_fn, thresholds)


def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Head:
    """For numbers, of logits [batch, label_dimension] (tf.contrib.estimator.regression_head).

    Args:
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        label_dimension: How many numbers a label has.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.
        loss_fn: Gives the losses of the rows, of labels and logits.
        inverse_link_fn: Makes predictions of logits.
        name: Stands behind the names of metrics.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    if inverse_link_fn is None:
        plain = RegressionHead(label_dimension, weight_column, loss_reduction)
        return plain.with_options(name, loss_fn)
    linked = LinkedHead(inverse_link_fn, None, label_dimension, weight_column, loss_reduction)
    return linked.with_options(name, loss_fn)


def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _MEAN,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> Head:
    """For rates, of logits that are their logarithms (tf.contrib.estimator.poisson_regression_head).

    Args:
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        label_dimension: How many numbers a label has.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.
        compute_full_loss: Whether the loss has the terms that depend on labels alone.
        name: Stands behind the names of metrics.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return poisson_head(label_dimension, weight_column, loss_reduction, compute_full_loss).with_options(name)


def logistic_regression_head(
    weight_column: Any = None, loss_reduction: str = _MEAN, name: str | None = None
) -> Head:
    """For shares from 0 to 1, of logits [batch, 1] (tf.contrib.estimator.logistic_regression_head).

    Args:
        weight_column: The feature with the weights of the rows, by its name or a numeric column; None for 1.
        loss_reduction: How the losses of the rows become one, of gf.losses.Reduction.
        name: Stands behind the names of metrics.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return logistic_head(weight_column, loss_reduction).with_options(name)


def multi_head(heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> Head:
    """Several heads as one, whose labels are a dictionary by their names (tf.contrib.estimator.multi_head).

    Args:
        heads: Heads with names.
        head_weights: What their losses are multiplied by before they are added up; None for 1.

    Returns:
        A head, with create_loss and create_estimator_spec.
    """
    return MultiHead(heads, head_weights)
