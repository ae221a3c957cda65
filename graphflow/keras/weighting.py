"""Losses and metrics with weights: how weights meet values of other ranks, and how a batch is reduced."""

from __future__ import annotations

from typing import Any, Final

from graphflow.keras import ops

AUTO: Final = "auto"
NONE: Final = "none"
SUM: Final = "sum"
SUM_OVER_BATCH_SIZE: Final = "sum_over_batch_size"


def rank_of(tensor: Any) -> int | None:
    """The number of axes, None if it is not known."""
    dims = tensor.shape.dims
    return None if dims is None else len(dims)


def fit_weights(values: Any, weights: Any) -> Any:
    """Weights with an axis more or less, where their rank differs by one from the values'."""
    rank, own = rank_of(values), rank_of(weights)
    if own in (0, None) or rank is None:
        return weights
    if own - rank == 1:
        return ops.squeeze(weights, [-1])
    return ops.expand_dims(weights, -1) if rank - own == 1 else weights


def weighted(losses: Any, sample_weight: Any, reduction: str) -> Any:
    """Losses times weights, and their sum, mean, or neither.

    Args:
        losses: A tensor.
        sample_weight: Weights of a shape that broadcasts to it; None for 1.
        reduction: One of gf.keras.losses.Reduction.

    Returns:
        A scalar, or a tensor of the shape of the losses.
    """
    found = ops.convert_to_tensor(losses)
    dtype = found.dtype
    if sample_weight is not None:
        weights = ops.cast(sample_weight, dtype)
        found = found * fit_weights(found, weights)
    return reduced(found, reduction)


def reduced(losses: Any, reduction: str) -> Any:
    """The sum of losses, their mean, or the losses themselves."""
    if reduction == NONE:
        return losses
    total = ops.reduce_sum(losses)
    if reduction == SUM:
        return total
    return ops.div_no_nan(total, ops.cast(ops.size(losses), losses.dtype))
