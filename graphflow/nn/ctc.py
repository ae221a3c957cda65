"""Labels as dense tensors with lengths, for the losses of sequences whose frames are not aligned with them."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array, creation, indexing
from graphflow._core.ops.array.compositions import boolean_mask, sequence_mask
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import casting, comparison, reductions, scans
from graphflow._core.ops.nn.ctc import ctc_beam_search_decoder, ctc_loss


def ctc_loss_v2(
    labels: TensorLike | SparseTensor,
    logits: TensorLike,
    label_length: IntTensorLike | None,
    logit_length: IntTensorLike,
    logits_time_major: bool = True,
    unique: tuple[Tensor, Tensor] | None = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """-log of the probability that the scores of a sequence say its labels (tf.nn.ctc_loss_v2).

    Args:
        labels: Labels [batch, most labels] of integers, or a SparseTensor of int32 as ctc_loss takes.
        logits: Scores before any softmax, [frames, batch, classes] of float32 or float64.
        label_length: How many labels each sequence has, [batch]; None if they are sparse.
        logit_length: How many frames each sequence has, [batch].
        logits_time_major: Whether logits are [frames, batch, classes], and not [batch, frames, classes].
        unique: What ctc_unique_labels gives; accepted, and not needed.
        blank_index: The class that says nothing, from the end if negative; by default 0. Sparse labels need it.
        name: A name for the scope of the operations.

    Returns:
        The loss of each sequence, [batch].

    Raises:
        ValueError: The labels are sparse and blank_index is not given, or shapes do not fit.
    """
    if isinstance(labels, SparseTensor):
        if blank_index is None:
            raise ValueError("blank_index must be given when using SparseTensor labels.")
        return _with_blank_last(labels, logits, logit_length, logits_time_major, blank_index)
    return ctc_loss_dense(
        labels, logits, label_length, logit_length, logits_time_major, unique, blank_index or 0, name
    )


def ctc_loss_dense(
    labels: TensorLike,
    logits: TensorLike,
    label_length: IntTensorLike | None,
    logit_length: IntTensorLike,
    logits_time_major: bool = True,
    unique: tuple[Tensor, Tensor] | None = None,
    blank_index: int = 0,
    name: str | None = None,
) -> Tensor:
    """ctc_loss_v2 of labels that are a dense tensor.

    Args:
        labels: Labels [batch, most labels] of integers.
        logits: Scores before any softmax, [frames, batch, classes] of float32 or float64.
        label_length: How many labels each sequence has, [batch].
        logit_length: How many frames each sequence has, [batch].
        logits_time_major: Whether logits are [frames, batch, classes], and not [batch, frames, classes].
        unique: Accepted, and not needed.
        blank_index: The class that says nothing, from the end if negative.
        name: A name for the scope of the operations.

    Returns:
        The loss of each sequence, [batch].
    """
    with op_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        lengths: Any = label_length
        sparse = dense_labels_to_sparse(labels, lengths)
        return _with_blank_last(sparse, logits, logit_length, logits_time_major, blank_index)


def _with_blank_last(
    labels: SparseTensor, logits: TensorLike, lengths: IntTensorLike, time_major: bool, blank: int
) -> Tensor:
    """ctc_loss, whose blank is the last class, for one that is another."""
    scores = convert_to_tensor(logits, name="logits")
    place: Any = blank
    if blank < 0:
        classes = None if scores.dims is None else scores.dims[2]
        place = blank + (array.shape(scores)[2] if classes is None else classes)
    moved = array.concat(
        [scores[:, :, :place], scores[:, :, place + 1 :], scores[:, :, place : place + 1]], axis=2
    )
    values = labels.values
    values = indexing.where(comparison.less(values, place), values, values - 1)
    return ctc_loss(
        SparseTensor(labels.indices, casting.cast(values, dtypes.int32), labels.dense_shape),
        moved,
        casting.cast(convert_to_tensor(lengths), dtypes.int32),
        time_major=time_major,
    )


def dense_labels_to_sparse(dense: TensorLike, length: IntTensorLike) -> SparseTensor:
    """The first labels of each sequence as a SparseTensor of int32.

    Args:
        dense: Labels [batch, most labels].
        length: How many labels each sequence has, [batch].
    """
    labels = convert_to_tensor(dense, name="dense")
    lengths = convert_to_tensor(length, name="length")
    mask = sequence_mask(lengths, array.shape(labels)[1])
    return SparseTensor(
        indexing.where(mask),
        casting.cast(boolean_mask(labels, mask), dtypes.int32),
        casting.cast(
            array.stack([array.shape(labels)[0], casting.cast(reductions.reduce_max(lengths), dtypes.int32)]),
            dtypes.int64,
        ),
    )


def collapse_repeated(
    labels: TensorLike, seq_length: IntTensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Leaves out labels that are equal to the one before (tf.nn.collapse_repeated).

    Args:
        labels: Labels [batch, most labels].
        seq_length: How many labels each sequence has, [batch].
        name: A name for the scope of the operations.

    Returns:
        The labels [batch, most that are left], with 0 behind those of a sequence, and how many are left of each.
    """
    with op_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        values = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        first = array.ones_like(values[:, :1], dtypes.bool_)
        kept = array.concat([first, comparison.not_equal(values[:, 1:], values[:, :-1])], 1)
        kept = comparison.logical_and(kept, sequence_mask(lengths, array.shape(values)[1]))
        counts = reductions.reduce_sum(casting.cast(kept, dtypes.int32), 1)
        places = indexing.where(sequence_mask(counts, reductions.reduce_max(counts)))
        shape = array.stack([array.shape(values)[0], reductions.reduce_max(counts)])
        collapsed = indexing.scatter_nd(places, boolean_mask(values, kept), casting.cast(shape, dtypes.int64))
        return collapsed, casting.cast(counts, lengths.dtype)


def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each sequence, and which of them each label is (tf.nn.ctc_unique_labels).

    Args:
        labels: Labels [batch, most labels].
        name: A name for the scope of the operations.

    Returns:
        The labels in the order in which they come first, with 0 behind them, int64 of the shape of `labels`, and the
        place of each label among them, int32.
    """
    with op_scope(name, "ctc_unique_labels", [labels]):
        values = convert_to_tensor(labels, name="labels")
        count = array.shape(values)[1]
        same = comparison.equal(array.expand_dims(values, 2), array.expand_dims(values, 1))
        # For each label the place where it comes first, and whether that is its own.
        first = scans.argmax(casting.cast(same, dtypes.int32), 2, output_type=dtypes.int32)
        own = casting.cast(comparison.equal(first, creation.range_(count)), dtypes.int32)
        rank = scans.cumsum(own, 1) - 1
        places = indexing.gather(rank, first, batch_dims=1)
        wide = array.one_hot(rank, count, dtype=dtypes.int64)
        chosen = casting.cast(values * casting.cast(own, values.dtype), dtypes.int64)
        return reductions.reduce_sum(wide * array.expand_dims(chosen, 2), 1), places


def ctc_beam_search_decoder_v2(
    inputs: TensorLike, sequence_length: IntTensorLike, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """The likeliest labels, found by a search with beams that leaves repeats (tf.nn.ctc_beam_search_decoder_v2).

    Args:
        inputs: Scores before any softmax, [frames, batch, classes] of float32 or float64.
        sequence_length: int32 [batch], how many frames each sequence has.
        beam_width: How many candidates are kept.
        top_paths: How many of them are returned.

    Returns:
        A SparseTensor of int64 for each path, and their logarithmic probabilities [batch, top_paths].

    Raises:
        ValueError: More paths are asked for than are kept.
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)
