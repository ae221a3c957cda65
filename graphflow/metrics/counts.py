"""Counts of right and wrong decisions, and what is made of them: precision, recall (tf.metrics)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from graphflow._core.common.shown.docstrings import document
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.assertions import assert_greater_equal, assert_less_equal
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.state.state import assign_add
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.metrics.averages import (
    Measure,
    broadcast_weights,
    collected,
    metric_variable,
    ranked_weights,
    same_ranks,
)

KINDS: Final = ("true_positives", "false_negatives", "true_negatives", "false_positives")
"""In the order in which their variables are made."""


def _decisions(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Tensor, Any]:
    return same_ranks(
        math.cast(convert_to_tensor(predictions), dtypes.bool_),
        math.cast(convert_to_tensor(labels), dtypes.bool_),
        weights,
    )


def _is(kind: str, predictions: Tensor, labels: Tensor) -> Tensor:
    """Where a decision is of that kind."""
    decided = predictions if kind.endswith("positives") else math.logical_not(predictions)
    positive = kind in ("true_positives", "false_negatives")
    return math.logical_and(labels if positive else math.logical_not(labels), decided)


def _count(
    kind: str, labels: Any, predictions: Any, weights: Any, to_metrics: Any, to_updates: Any, name: str | None
) -> Measure:
    with variable_scope(name, kind, [predictions, labels, weights]):
        p, y, factors = _decisions(predictions, labels, weights)
        count = metric_variable([], dtypes.float32, "count")
        found = math.cast(_is(kind, p, y), dtypes.float32)
        if factors is not None:
            found = math.multiply(found, broadcast_weights(factors, found))
        value = array.identity(count)
        return collected(value, assign_add(count, reductions.reduce_sum(found)), to_metrics, to_updates)


def true_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The sum of the weights of predictions rightly not 0 (tf.metrics.true_positives): (value, update).

    Labels and predictions are taken as bool. For the other arguments see gf.metrics.mean; the variable is `count`.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    return _count(
        "true_positives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def false_positives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The sum of the weights of predictions wrongly not 0 (tf.metrics.false_positives); see true_positives.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    return _count(
        "false_positives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def true_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The sum of the weights of predictions rightly 0 (tf.metrics.true_negatives); see true_positives.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    return _count(
        "true_negatives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def false_negatives(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """The sum of the weights of predictions wrongly 0 (tf.metrics.false_negatives); see true_positives.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    return _count(
        "false_negatives", labels, predictions, weights, metrics_collections, updates_collections, name
    )


def _share(right: Tensor, wrong: Tensor, name: str) -> Tensor:
    """right / (right + wrong), 0 if both are."""
    return math.div_no_nan(right, right + wrong, name=name)


def precision(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """true positives / all that were predicted, 0 if there are none (tf.metrics.precision); see true_positives.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "precision", [predictions, labels, weights]):
        p, y, factors = _decisions(predictions, labels, weights)
        right, moved_right = true_positives(y, p, factors)
        wrong, moved_wrong = false_positives(y, p, factors)
        value = _share(right, wrong, "value")
        update = _share(moved_right, moved_wrong, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def recall(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: CollectionNames | None = None,
    updates_collections: CollectionNames | None = None,
    name: str | None = None,
) -> Measure:
    """true positives / all that are labelled, 0 if there are none (tf.metrics.recall); see true_positives.

    Args:
        labels: The true values, a tensor of the shape of the predictions.
        predictions: What the model gives, a tensor.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis; 0 leaves
            elements out.
        metrics_collections: Collections that the value is added to.
        updates_collections: Collections that the update is added to.
        name: A name for the operation.

    Returns:
        The value, and the operation that adds a batch to it and gives the new value.
    """
    with variable_scope(name, "recall", [predictions, labels, weights]):
        p, y, factors = _decisions(predictions, labels, weights)
        right, moved_right = true_positives(y, p, factors)
        missed, moved_missed = false_negatives(y, p, factors)
        value = _share(right, missed, "value")
        update = _share(moved_right, moved_missed, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


# ---- at thresholds ------------------------------------------------------------------------------------------------


def counts_at_thresholds(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None,
    kinds: Sequence[str] = KINDS,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """For each kind the counts at each threshold, above which a prediction is a yes: variables, and their updates.

    InvalidArgumentError if a prediction is not in [0, 1].
    """
    given = convert_to_tensor(predictions)
    limits = "predictions must be in [0, 1]"
    checks = [
        assert_greater_equal(given, math.cast(0.0, given.dtype), message=limits),
        assert_less_equal(given, math.cast(1.0, given.dtype), message=limits),
    ]
    with given.graph.control_dependencies(checks):
        p, y, factors = same_ranks(
            math.cast(given, dtypes.float32), math.cast(convert_to_tensor(labels), dtypes.bool_), weights
        )
        # Without checks that hang on it, a cast of float32 would be no operation.
        p = array.identity(p, name="checked")
    above = array.reshape(p, [1, -1]) > array.reshape(
        convert_to_tensor(list(thresholds), dtypes.float32), [-1, 1]
    )
    positive = array.reshape(y, [1, -1])
    spread = None
    if factors is not None:
        spread = array.reshape(broadcast_weights(ranked_weights(factors, p), p), [1, -1])
    values: dict[str, Any] = {}
    updates: dict[str, Tensor] = {}
    for kind in kinds:
        values[kind] = metric_variable([len(thresholds)], dtypes.float32, kind)
        found = math.cast(_is(kind, above, positive), dtypes.float32)
        found = found if spread is None else found * spread
        updates[kind] = assign_add(values[kind], reductions.reduce_sum(found, 1))
    return values, updates


class _AtThresholds(Protocol):
    """A metric that is computed at each of several thresholds."""

    def __call__(
        self,
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: CollectionNames | None = None,
        updates_collections: CollectionNames | None = None,
        name: str | None = None,
    ) -> Measure: ...


_ARGUMENTS: Final = {
    "labels": "The true values, a tensor that is taken as bools.",
    "predictions": "Floats in [0, 1], of the shape of the labels.",
    "thresholds": "Numbers in [0, 1].",
    "weights": "A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.",
    "metrics_collections": "Collections that the value is added to.",
    "updates_collections": "Collections that the update is added to.",
    "name": "A name for the operations and variables.",
}
_RETURNS: Final = "The values, a vector, and the operation that adds a batch to them and gives the new ones."


def _counts(kind: str) -> _AtThresholds:
    def function(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: CollectionNames | None = None,
        updates_collections: CollectionNames | None = None,
        name: str | None = None,
    ) -> Measure:
        with variable_scope(name, kind, [predictions, labels, weights]):
            values, updates = counts_at_thresholds(labels, predictions, thresholds, weights, (kind,))
            value = array.identity(values[kind])
            return collected(value, updates[kind], metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = f"{kind}_at_thresholds"
    sentence = f"{kind} at each of `thresholds`, predictions in [0, 1] (tf.metrics.{function.__name__})."
    function.__doc__ = document(sentence, _ARGUMENTS, _ARGUMENTS, _RETURNS)
    return function


_EPSILON: Final = 1e-7


def _shares(kind: str, default: str, word: str) -> _AtThresholds:
    def function(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
        metrics_collections: CollectionNames | None = None,
        updates_collections: CollectionNames | None = None,
        name: str | None = None,
    ) -> Measure:
        with variable_scope(name, default, [predictions, labels, weights]):
            # The variables are made in the order of KINDS.
            kinds = [k for k in KINDS if k in ("true_positives", kind)]
            values, updates = counts_at_thresholds(labels, predictions, thresholds, weights, kinds)

            def share(counts: dict[str, Any], last: str) -> Tensor:
                right = counts["true_positives"]
                return math.truediv(right, right + _EPSILON + counts[kind], name=f"{word}_{last}")

            value = share(values, "value")
            return collected(value, share(updates, "update_op"), metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = default
    sentence = f"The {word} at each of `thresholds`, predictions in [0, 1] (tf.metrics.{default})."
    function.__doc__ = document(sentence, _ARGUMENTS, _ARGUMENTS, _RETURNS)
    return function


precision_at_thresholds: Final[_AtThresholds] = _shares(
    "false_positives", "precision_at_thresholds", "precision"
)
recall_at_thresholds: Final[_AtThresholds] = _shares("false_negatives", "recall_at_thresholds", "recall")

true_positives_at_thresholds: Final[_AtThresholds] = _counts("true_positives")
false_negatives_at_thresholds: Final[_AtThresholds] = _counts("false_negatives")
true_negatives_at_thresholds: Final[_AtThresholds] = _counts("true_negatives")
false_positives_at_thresholds: Final[_AtThresholds] = _counts("false_positives")
