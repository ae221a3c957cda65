"""The loss of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.nn.softmax import sparse_softmax_cross_entropy_with_logits


def sequence_loss(
    logits: TensorLike,
    targets: TensorLike,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """The weighted cross entropy of sequences (tf.contrib.seq2seq.sequence_loss).

    An average divides by the sum of the weights, a sum by the number of those that are not zero; axes with
    neither stay.

    Args:
        logits: [batch, length, classes], unnormalised log-probabilities.
        targets: [batch, length] of integers.
        weights: [batch, length] of floats.
        average_across_timesteps: Whether the mean over the steps is taken.
        average_across_batch: Whether the mean over the batch is taken.
        sum_over_timesteps: Whether the sum over the steps is taken.
        sum_over_batch: Whether the sum over the batch is taken.
        softmax_loss_function: A function of labels and logits instead of the cross entropy.
        name: A name for the operation.

    Returns:
        The loss: a scalar, or of the axes that are left.

    Raises:
        ValueError: For other ranks, and if an axis is both averaged and summed over.
    """
    given = {"logits": (logits, 3), "targets": (targets, 2), "weights": (weights, 2)}
    tensors = {argument: convert_to_tensor(value) for argument, (value, _) in given.items()}
    for argument, (_, rank) in given.items():
        if tensors[argument].dims is None or len(tensors[argument].dims or ()) != rank:
            raise ValueError(f"{argument} must have {rank} axes, but its shape is {tensors[argument].shape}.")
    for axis, average, total in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if average and total:
            raise ValueError(f"average_across_{axis} and sum_over_{axis} cannot be set to True at same time.")
    x, y, w = tensors.values()
    with op_scope(name, "sequence_loss", (x, y, w)):
        flat, labels = array.reshape(x, [-1, array.shape(x)[2]]), array.reshape(y, [-1])
        loss = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        losses = loss(labels=labels, logits=flat) * array.reshape(w, [-1])

        def shared(values: Any, axis: Any, by_weight: bool) -> Tensor:
            if by_weight:
                size = reductions.reduce_sum(w, axis)
            else:
                size = math.cast(reductions.count_nonzero(w, axis), values.dtype)
            return math.div_no_nan(reductions.reduce_sum(values, axis), size)

        if average_across_timesteps and average_across_batch:
            return shared(losses, None, True)
        if sum_over_timesteps and sum_over_batch:
            return shared(losses, None, False)
        by_step = array.reshape(losses, array.shape(x)[0:2])
        if average_across_timesteps or average_across_batch:
            return shared(by_step, [0] if average_across_batch else [1], True)
        if sum_over_timesteps or sum_over_batch:
            return shared(by_step, [0] if sum_over_batch else [1], False)
        return by_step
