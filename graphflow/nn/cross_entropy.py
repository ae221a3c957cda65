"""Cross entropies and a loss of counts, composed from elementwise ops in the forms that do not overflow."""

from __future__ import annotations

import math as python_math
from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import text
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import math
from graphflow._core.ops.nn import nn
from graphflow._core.ops.nn.softmax import require_named
from graphflow._core.ops.rules import deprecated


def _check_same_shape(labels: Tensor, logits: Tensor, what: str) -> None:
    if not shapes.compatible(labels.dims, logits.dims):
        raise ValueError(
            f"logits and {what} must have the same shape ({text(logits.dims)} vs {text(labels.dims)})"
        )


def sigmoid_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The cross entropy of independent classes: max(x, 0) - x * z + log(1 + exp(-abs(x))).

    TensorFlow: tf.nn.sigmoid_cross_entropy_with_logits. Labels z and logits x are given by name and have one shape:
    ValueError otherwise.

    Args:
        _sentinel: Not to be given: it keeps the others from being given by place.
        labels: Numbers in [0, 1], of the logits' shape and dtype.
        logits: Unnormalised log-probabilities, a tensor of floats.
        name: A name for the operation.

    Returns:
        The loss of each element, of that shape.

    Examples:
        >>> losses = gf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0])
        >>> gf.Session().run(losses)
        array([0.6931472], dtype=float32)
    """
    require_named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    given: tuple[Any, Any] = (logits, labels)
    with op_scope(name, "logistic_loss", given) as scope:
        x = convert_to_tensor(given[0], name="logits")
        z = convert_to_tensor(given[1], name="labels", preferred_dtype=x.dtype)
        _check_same_shape(z, x, "labels")
        zeros = array.zeros_like(x)
        positive = x >= zeros
        return math.add(
            where(positive, x, zeros) - x * z, math.log1p(math.exp(where(positive, -x, x))), name=scope
        )


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: NumberLike | None = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """The sigmoid cross entropy with positive labels weighted by `pos_weight`.

    TensorFlow: tf.nn.weighted_cross_entropy_with_logits.

    Args:
        labels: Numbers in [0, 1], of the logits' shape.
        logits: Unnormalised log-probabilities, a tensor of floats.
        pos_weight: The factor of positive labels.
        name: A name for the operation.
        targets: The old name of `labels`.

    Returns:
        The loss of each element.
    """
    given: tuple[Any, Any, Any] = (logits, deprecated(labels, targets, "labels", "targets"), pos_weight)
    with op_scope(name, "logistic_loss", given[:2]) as scope:
        x = convert_to_tensor(given[0], name="logits")
        z = convert_to_tensor(given[1], name="labels", preferred_dtype=x.dtype)
        _check_same_shape(z, x, "labels")
        weight = 1 + (given[2] - 1) * z
        soft = math.log1p(math.exp(-math.abs_(x)))
        return math.add((1 - z) * x, weight * (soft + nn.relu(-x)), name=scope)


def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """exp(c) - c * z, with Stirling's approximation of log(z!) added for the full loss (tf.nn.log_poisson_loss).

    `log_input` c is the logarithm of the prediction, `targets` z are counts of the same shape.

    Args:
        targets: A tensor of floats.
        log_input: The logarithm of the predictions.
        compute_full_loss: Whether the term of Stirling's formula is added.
        name: A name for the operation.

    Returns:
        The loss of each element.
    """
    with op_scope(name, "log_poisson_loss", (log_input, targets)):
        c = convert_to_tensor(log_input, name="log_input")
        z = convert_to_tensor(targets, name="targets")
        _check_same_shape(z, c, "targets")
        result = math.exp(c) - c * z
        if compute_full_loss:
            half = constant(0.5, dtype=c.dtype)
            circle = constant(2 * python_math.pi, dtype=c.dtype)
            stirling = z * math.log(z) - z + half * math.log(circle * z)
            zeros, ones = array.zeros_like(z), array.ones_like(z)
            small = math.logical_and(z >= zeros, z <= ones)
            result = result + where(small, zeros, stirling)
        return result
