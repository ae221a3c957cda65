"""How the losses of single elements become one number, and the collection that losses are gathered in.

TensorFlow builds some thirty ops for this, most of them to check at each run what is known beforehand. Here a weight
that is a Python number and shapes that are known cost no op; what is not known is checked by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.shapes import text
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.math.broadcasting import check_broadcastable


class Reduction:
    """How losses are reduced (tf.losses.Reduction)."""

    NONE: Final = "none"
    SUM: Final = "weighted_sum"
    SUM_OVER_BATCH_SIZE: Final = "weighted_sum_over_batch_size"
    MEAN: Final = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS: Final = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS: Final = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All ways, in TensorFlow's order."""
        return (
            cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )  # fmt: skip

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError if the key is no way of reducing.

        Args:
            key: One of its values.
        """
        if key not in cls.all():
            raise ValueError(
                f"Invalid ReductionKey {key!r}. It must be one of {', '.join(sorted(set(cls.all())))}."
            )


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection; None adds it nowhere (tf.losses.add_loss).

    Args:
        loss: The loss, a tensor.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
    """
    if loss_collection:
        loss.graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses of a collection whose names match `scope` (tf.losses.get_losses).

    Args:
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
    """
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """The regularisation losses whose names match `scope` (tf.losses.get_regularization_losses).

    Args:
        scope: A name scope for the operations.
    """
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the regularisation losses, 0 if there is none (tf.losses.get_regularization_loss).

    Args:
        scope: A name scope for the operations.
        name: A name for the operation.
    """
    found = get_regularization_losses(scope)
    return math.add_n(found, name=name) if found else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of the collected losses and regularisation losses (tf.losses.get_total_loss).

    Args:
        add_regularization_losses: Whether these are added.
        name: A name for the operation.
        scope: A name scope for the operations.

    Returns:
        The loss, a scalar of floats.

    Raises:
        ValueError: If there is none.
    """
    found = get_losses(scope)
    if add_regularization_losses:
        found += get_regularization_losses(scope)
    return math.add_n(found, name=name)


class Weights:
    """The weights of a loss: a number known while the graph is built, or a tensor.

    Args:
        value: The weights.
    """

    def __init__(self, value: TensorLike) -> None:
        is_number = (
            isinstance(value, int | float | np.number) or isinstance(value, np.ndarray) and value.ndim == 0
        )
        given: Any = value
        self.number: float | None = float(np.float32(given)) if is_number else None
        self._value: Any = given if is_number else math.cast(convert_to_tensor(given), dtypes.float32)

    @property
    def tensor(self) -> Tensor:
        """The weights as a float32 tensor."""
        return self._value if isinstance(self._value, Tensor) else constant(self._value, dtype=dtypes.float32)

    def checks(self, values: Tensor) -> Sequence[Operation]:
        """What must run before the weights are used on `values`.

        Weights are a scalar, or have the values' rank and in each axis their size or 1.

        Args:
            values: The losses, a tensor.

        Returns:
            Operations.

        Raises:
            ValueError: They cannot fit.
        """
        if self.number is not None or self.tensor.dims == ():
            return []
        weights, against = self.tensor.dims, values.dims
        if weights is not None and against is not None:
            same_rank = len(weights) == len(against)
            if not same_rank or any(
                None not in (w, v) and w not in (1, v) for w, v in zip(weights, against, strict=True)
            ):
                raise ValueError(
                    f"weights can not be broadcast to values. values.rank={len(against)}. weights.rank={len(weights)}. "
                    f"values.shape={text(against)}. weights.shape={text(weights)}."
                )
            if all(w == 1 or (w is not None and w == v) for w, v in zip(weights, against, strict=True)):
                return []
        return [check_broadcastable(self.tensor, values)]

    def apply(self, values: Tensor) -> Tensor:
        """The values times the weights.

        Args:
            values: The losses, a tensor.

        Returns:
            A tensor of the shape of the values.
        """
        return math.multiply(values, self.tensor)

    def total(self, values: Tensor) -> Tensor:
        """The sum of the weights over all elements of `values`.

        Args:
            values: The losses, a tensor.

        Returns:
            A scalar.
        """
        count = count_elements(values)
        if self.number is not None or self.tensor.dims == ():
            return math.multiply(count, self.tensor)
        return reductions.reduce_sum(math.multiply(array.ones_like(values), self.tensor))

    def present(self, values: Tensor, per_row: bool = False) -> Tensor:
        """The number of elements of `values` whose weight is not zero, or that of each row of the first axis.

        Args:
            values: The losses, a tensor.
            per_row: Whether each row of the first axis is counted by itself.

        Returns:
            A scalar, or a tensor [rows, 1, ...].
        """
        if self.number is not None and self.number != 0 and not per_row:
            return count_elements(values)
        with op_scope(None, "num_present", (values,)) as scope:
            nonzero = math.cast(math.not_equal(self.tensor, 0.0), dtypes.float32)
            if nonzero.dims == () and not per_row:
                return math.multiply(nonzero, count_elements(values), name=scope)
            spread = math.multiply(nonzero, array.ones_like(values))
            if per_row:
                return reductions.reduce_sum(spread, rows_axes(values), keepdims=True, name=scope)
            return reductions.reduce_sum(spread, name=scope)


def rows_axes(values: Tensor) -> Any:
    """All axes but the first, for a reduction.

    Args:
        values: The losses, a tensor.

    Returns:
        A list of ints, or a vector if the rank is not known.
    """
    return array.range_(1, array.rank(values)) if values.dims is None else list(range(1, len(values.dims)))


def count_elements(values: Tensor) -> Tensor:
    """The number of elements as a float32 scalar, a constant if it is known."""
    known = shapes.size_of(values.dims)
    if known is not None:
        return constant(float(known), dtype=dtypes.float32, name="num_elements")
    count: Tensor = math.cast(array.size(values, name="num_elements"), dtypes.float32)
    return count


def safe_mean(total: Tensor, count: Tensor) -> Tensor:
    """total / count, 0 if the count is 0.

    Args:
        total: A sum.
        count: What it is divided by.

    Returns:
        A tensor of the shape of `total`.
    """
    return math.div_no_nan(total, count, name="value")


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The losses times the weights, reduced to a scalar and collected (tf.losses.compute_weighted_loss).

    `weights` are a scalar, or have the losses' rank and in each axis their size or 1: ValueError if they cannot,
    InvalidArgumentError when run if they do not. Computed in float32, returned in the losses' dtype.

    Args:
        losses: The losses of the elements, a tensor of floats.
        weights: A scalar, or a tensor of the rank of the labels with their size or 1 in each axis.
        scope: A name scope for the operations.
        loss_collection: The collection that the loss is added to; None adds it nowhere.
        reduction: How the elements become the loss, of gf.losses.Reduction.

    Returns:
        The loss, a tensor of floats: a scalar unless `reduction` leaves the elements.
    """
    Reduction.validate(reduction)
    get_default_graph().scopes.loss_reduction = reduction
    with op_scope(scope, "weighted_loss", (losses, weights)):
        given = convert_to_tensor(losses)
        values = math.cast(given, dtypes.float32)
        factors = Weights(weights)
        with given.graph.control_dependencies(factors.checks(values)):
            if factors.number != 1.0 or reduction == Reduction.NONE:
                values = factors.apply(values)
            loss = values if reduction == Reduction.NONE else _reduced(values, factors, reduction)
            result: Tensor = math.cast(loss, given.dtype)
        add_loss(result, loss_collection)
        return result


def _reduced(values: Tensor, weights: Weights, reduction: str) -> Tensor:
    total = reductions.reduce_sum(values)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        return safe_mean(total, weights.total(values))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return safe_mean(total, count_elements(values))
    return safe_mean(total, weights.present(values))


def squeeze_to_rank_difference(
    labels: TensorLike, predictions: TensorLike, difference: int
) -> tuple[Tensor, Tensor]:
    """Labels and predictions, one without a last axis of size 1 if that makes their ranks differ as asked.

    If a rank is not known while the graph is built, the run decides.
    """
    with op_scope(None, "remove_squeezable_dimensions", (labels, predictions)):
        y, p = convert_to_tensor(labels), convert_to_tensor(predictions)
        if y.dims is not None and p.dims is not None:
            found = len(p.dims) - len(y.dims)
            if found == difference + 1:
                p = array.squeeze(p, [-1])
            elif found == difference - 1:
                y = array.squeeze(y, [-1])
            return y, p
        if difference == 1 and y.dims is None and p.dims is not None:
            return array.reshape(y, array.shape(p)[:-1]), p
        surplus = array.rank(p) - array.rank(y) - difference
        if p.dims is None or (p.dims and p.dims[-1] in (1, None)):
            shorter = _without_last_axes(p, math.maximum(surplus, 0))
        else:
            shorter = p
        if y.dims is None or (y.dims and y.dims[-1] in (1, None)):
            y = _without_last_axes(y, math.maximum(-surplus, 0))
        return y, shorter


def _without_last_axes(tensor: Tensor, surplus: Tensor) -> Tensor:
    """A tensor without its last axis if the surplus, at least 0, is 1."""
    count = math.cast(math.equal(surplus, 1), dtypes.int32)
    return array.reshape(tensor, array.shape(tensor)[: array.rank(tensor) - count])


def squeeze_weights(weights: TensorLike, labels: Tensor) -> Any:
    """The weights without a last axis of size 1 if they have one axis more than the labels; the run may decide it."""
    if isinstance(weights, int | float):
        return weights
    w = convert_to_tensor(weights)
    if w.dims is not None and labels.dims is not None:
        return array.squeeze(w, [-1]) if len(w.dims) == len(labels.dims) + 1 else w
    if w.dims is None or (w.dims and w.dims[-1] in (1, None)):
        return _without_last_axes(w, math.maximum(array.rank(w) - array.rank(labels), 0))
    return w
