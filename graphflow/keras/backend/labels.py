"""Sequences of labels, aligned with outputs of each time (tf.keras.backend)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.backend.settings import epsilon


def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> Any:
    """Labels [batch, length] as a SparseTensor (tf.keras.backend.ctc_label_dense_to_sparse).

    Args:
        labels: Ints [batch, length].
        label_lengths: How many labels of each row count, ints [batch].

    Returns:
        A SparseTensor of the labels that count.
    """
    dense = ops.convert_to_tensor(labels)
    there = ops.sequence_mask(ops.reshape(label_lengths, [-1]), ops.shape(dense)[1])
    places = ops.where(there)
    return ops.SparseTensor(places, ops.gather_nd(dense, places), ops.cast(ops.shape(dense), "int64"))


def ctc_batch_cost(
    y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike
) -> Any:
    """The CTC loss of each example [batch, 1] (tf.keras.backend.ctc_batch_cost).

    Args:
        y_true: The labels, ints [batch, most labels].
        y_pred: The probabilities of softmax, floats [batch, steps, classes]; the last class is the blank.
        input_length: How many steps each example has, ints [batch, 1].
        label_length: How many labels each example has, ints [batch, 1].

    Returns:
        A tensor [batch, 1] of floats.
    """
    lengths = ops.cast(ops.reshape(label_length, [-1]), "int32")
    steps = ops.cast(ops.reshape(input_length, [-1]), "int32")
    labels = ops.cast(ctc_label_dense_to_sparse(y_true, lengths), "int32")
    scores = ops.log(ops.transpose(y_pred, [1, 0, 2]) + epsilon())
    return ops.expand_dims(ops.ctc_loss(inputs=scores, labels=labels, sequence_length=steps), 1)


def ctc_decode(
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
) -> Any:
    """The likeliest labels, -1 where there are none, and their log-probabilities (tf.keras.backend.ctc_decode).

    Args:
        y_pred: The probabilities of softmax, floats [batch, steps, classes]; the last class is the blank.
        input_length: How many steps each example has, ints [batch].
        greedy: Whether the likeliest class of each step is taken, rather than a beam searched.
        beam_width: How many prefixes the search keeps.
        top_paths: How many of the likeliest the search gives.

    Returns:
        A list of int tensors [batch, labels], one for each path, and the log-probabilities [batch, paths].
    """
    scores = ops.log(ops.transpose(y_pred, [1, 0, 2]) + epsilon())
    steps = ops.cast(input_length, "int32")
    if greedy:
        decoded, probability = ops.ctc_greedy_decoder(inputs=scores, sequence_length=steps)
    else:
        decoded, probability = ops.ctc_beam_search_decoder(
            inputs=scores, sequence_length=steps, beam_width=beam_width, top_paths=top_paths
        )
    return [
        ops.sparse_to_dense(d.indices, d.dense_shape, d.values, default_value=-1) for d in decoded
    ], probability
