"""Sequences as lists with a tensor for each step: their losses and a decoder; public in gf.contrib.legacy_seq2seq."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array import array
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.nn.softmax import sparse_softmax_cross_entropy_with_logits
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope
    from graphflow.nn.cells import RNNCell

_LossFunction = Callable[..., Any] | None


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: _LossFunction = None,
    name: str | None = None,
) -> Tensor:
    """The weighted cross entropy of each example's sequence (tf.contrib.legacy_seq2seq.sequence_loss_by_example).

    Args:
        logits: A list of [batch, classes] of floats, one for each step.
        targets: A list of [batch] of integers.
        weights: A list of [batch] of floats.
        average_across_timesteps: Divides by the sum of the weights.
        softmax_loss_function: A function of labels and logits, instead of the cross entropy.
        name: A name for the operation.

    Returns:
        [batch] of floats.

    Raises:
        ValueError: If the lists' lengths differ.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            f"Lengths of logits, weights, and targets must be the same: {len(logits)}, {len(weights)}, {len(targets)}."
        )
    with op_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        steps = []
        for logit, target, weight in zip(logits, targets, weights, strict=True):
            if softmax_loss_function is None:
                flat = array.reshape(target, [-1])
                loss = sparse_softmax_cross_entropy_with_logits(labels=flat, logits=logit)
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            steps.append(loss * weight)
        total: Tensor = math.add_n(steps)
        # As TensorFlow's, so that a sequence whose weights are all 0 has a loss of 0.
        return total / (math.add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: _LossFunction = None,
    name: str | None = None,
) -> Tensor:
    """The sum of sequence_loss_by_example, over the number of examples unless average_across_batch is false.

    TensorFlow: tf.contrib.legacy_seq2seq.sequence_loss.

    Args:
        logits: A list of [batch, classes].
        targets: A list of [batch] of integers.
        weights: A list of [batch] of floats.
        average_across_timesteps: Whether the sum is divided by the weights.
        average_across_batch: Whether it is divided by the examples.
        softmax_loss_function: A function of labels and logits; by default the softmax cross entropy.
        name: A name for the operation.

    Returns:
        A scalar.
    """
    with op_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        by_example = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        cost: Tensor = reductions.reduce_sum(by_example)
        return cost / math.cast(array.shape(targets[0])[0], cost.dtype) if average_across_batch else cost


def rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: RNNCell,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """(outputs, last state) of a cell run over inputs [batch, size] (tf.contrib.legacy_seq2seq.rnn_decoder).

    Args:
        decoder_inputs: A list of [batch, size].
        initial_state: [batch, state size].
        cell: An RNNCell.
        loop_function: Makes each input but the first from the previous output and the number of the step.
        scope: The variable scope.
    """
    with variable_scope(scope or "rnn_decoder"):
        state = initial_state
        outputs: list[Any] = []
        for number, given in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(outputs[-1], number)
            if number > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
        return outputs, state
