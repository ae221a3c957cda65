"""Losses over very many classes, on a few of them drawn at random (_core/kernels/candidates.py)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops import random
from graphflow._core.ops.array import array, creation, indexing
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import linalg, math, reductions
from graphflow._core.ops.nn.embedding import embedding_lookup
from graphflow._core.ops.nn.softmax import softmax_cross_entropy_with_logits_v2
from graphflow.nn.cross_entropy import sigmoid_cross_entropy_with_logits

Samples = tuple[Tensor, Tensor, Tensor]
"""Sampled classes, and the expected counts of the true and of the sampled classes."""


def _draw(
    definition: OpDef,
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    name: str | None,
    **others: Any,
) -> Samples:
    if unique and num_sampled > range_max:
        raise ValueError(f"Sampling {num_sampled} distinct classes from {range_max} is impossible.")
    return random.candidate_sampler(
        definition, true_classes, num_true, num_sampled, unique, range_max, seed, name, **others
    )


def log_uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Samples:
    """Classes drawn with probability log((class + 2) / (class + 1)) / log(range_max + 1).

    For classes sorted by falling frequency. TensorFlow: tf.nn.log_uniform_candidate_sampler, whose numbers they are
    for the same seeds.

    Args:
        true_classes: The true classes, [batch, num_true] of int64.
        num_true: How many true classes an example has.
        num_sampled: How many classes are drawn for a batch.
        unique: Whether no class is drawn twice for a batch.
        range_max: Classes are drawn below it.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.

    Raises:
        ValueError: If more distinct classes are asked for than there are.
    """
    return _draw(
        random.LOG_UNIFORM_SAMPLER, true_classes, num_true, num_sampled, unique, range_max, seed, name
    )


def uniform_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Samples:
    """Classes drawn with equal probability (tf.nn.uniform_candidate_sampler), TensorFlow's for the same seeds.

    Args:
        true_classes: The true classes, [batch, num_true] of int64.
        num_true: How many true classes an example has.
        num_sampled: How many classes are drawn for a batch.
        unique: Whether no class is drawn twice for a batch.
        range_max: Classes are drawn below it.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.
    """
    return _draw(random.UNIFORM_SAMPLER, true_classes, num_true, num_sampled, unique, range_max, seed, name)


def fixed_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Samples:
    """Classes drawn by given weights (tf.nn.fixed_unigram_candidate_sampler), TensorFlow's for the same seeds.

    Args:
        true_classes: The true classes, [batch, num_true] of int64.
        num_true: How many true classes an example has.
        num_sampled: How many classes are drawn for a batch.
        unique: Whether no class is drawn twice for a batch.
        range_max: How many classes there are, with the reserved ones.
        vocab_file: A file with a line for each class, which ends in a comma and its weight.
        distortion: The power to which the weights are raised.
        num_reserved_ids: So many classes, the first ones, have no weight in the list and are never drawn.
        num_shards: With `shard`: every so many-th class alone is drawn.
        shard: The first of these.
        unigrams: The weights, if there is no file.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.

    Raises:
        ValueError: Not exactly one of `vocab_file` and `unigrams` is given, there is no such shard, or more distinct
            classes are asked for than there are.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise ValueError("Must provide exactly one of vocab_file and unigrams.")
    if not 0 <= shard < num_shards:
        raise ValueError(f"shard must be in [0, num_shards), got {shard} of {num_shards}.")
    return _draw(
        random.FIXED_UNIGRAM_SAMPLER, true_classes, num_true, num_sampled, unique, range_max, seed, name,
        vocab_file=os.fspath(vocab_file), distortion=float(distortion), num_reserved_ids=int(num_reserved_ids),
        num_shards=int(num_shards), shard=int(shard), unigrams=[float(u) for u in unigrams],
    )  # fmt: skip


def learned_unigram_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Samples:
    """Classes drawn as often as they were true classes before, and once (tf.nn.learned_unigram_candidate_sampler).

    The counts begin anew with each session.

    Args:
        true_classes: The true classes, [batch, num_true] of int64.
        num_true: How many true classes an example has.
        num_sampled: How many classes are drawn for a batch.
        unique: Whether no class is drawn twice for a batch.
        range_max: Classes are drawn below it.
        seed: The op's own seed; with the graph's it decides what is drawn.
        name: A name for the operation.
    """
    return _draw(
        random.LEARNED_UNIGRAM_SAMPLER, true_classes, num_true, num_sampled, unique, range_max, seed, name
    )


def all_candidate_sampler(
    true_classes: TensorLike,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Samples:
    """All classes in their order, each of which is expected once (tf.nn.all_candidate_sampler).

    For tests, and for comparing with a loss over all classes.

    Args:
        true_classes: The true classes, [batch, num_true] of int64.
        num_true: How many true classes an example has.
        num_sampled: How many classes there are.
        unique: Accepted, and not needed.
        seed: Accepted, and not needed.
        name: A name for the scope of the operations.

    Returns:
        The classes [num_sampled], and ones for the true classes and for these.
    """
    with op_scope(name, "AllCandidateSampler", [true_classes]):
        classes = convert_to_tensor(true_classes, dtype=dtypes.int64, name="true_classes")
        if not shapes.compatible(classes.dims, (None, num_true)):
            raise ValueError(f"true_classes must be [batch, {num_true}], got {classes.shape}.")
        sampled = creation.range_(num_sampled, dtype=dtypes.int64)
        return (
            sampled,
            array.ones_like(classes, dtypes.float32),
            array.ones_like(sampled, dtypes.float32),
        )


def compute_accidental_hits(
    true_classes: TensorLike,
    sampled_candidates: TensorLike,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Where drawn classes are true ones (tf.nn.compute_accidental_hits).

    Args:
        true_classes: The true classes, [batch, num_true] of int64.
        sampled_candidates: The classes that were drawn, [sampled] of int64.
        num_true: How many true classes an example has.
        seed: Accepted, and not needed.
        name: A name for the scope of the operations.

    Returns:
        For each hit the example (int32) and the place among the drawn classes (int64), and the lowest float32, which
        added to a logit makes it never count.
    """
    with op_scope(name, "ComputeAccidentalHits", [true_classes, sampled_candidates]):
        classes = convert_to_tensor(true_classes, dtype=dtypes.int64, name="true_classes")
        if not shapes.compatible(classes.dims, (None, num_true)):
            raise ValueError(f"true_classes must be [batch, {num_true}], got {classes.shape}.")
        drawn = convert_to_tensor(sampled_candidates, dtype=dtypes.int64, name="sampled_candidates")
        hits = indexing.where(math.equal(array.expand_dims(classes, 2), drawn))
        weights = array.fill(array.shape(hits)[:1], float(np.finfo(np.float32).min))
        return math.cast(hits[:, 0], dtypes.int32), hits[:, 2], weights


def sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    subtract_log_q: bool = True,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Logits of the true classes followed by those of the sampled ones, and the labels that go with them.

    Args:
        weights: [classes, size], whole or in parts as for embedding_lookup.
        biases: [classes], whole or in parts.
        labels: The true classes, [batch, num_true].
        inputs: The activations, [batch, size].
        num_sampled: How many classes are drawn for a batch.
        num_classes: How many classes there are.
        num_true: How many true classes an example has.
        sampled_values: What a candidate sampler gave; None draws by log_uniform_candidate_sampler.
        subtract_log_q: Whether the logarithm of how often a class is expected is taken off its logits.
        remove_accidental_hits: Whether drawn classes that are true ones are left out.
        partition_strategy: "mod" or "div": how ids are spread over the parts.
        name: A name for the scope of the operations.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        Both of shape [batch, num_true + num_sampled].
    """
    with op_scope(name, "compute_sampled_logits", (labels, inputs)):
        true_ids = math.cast(convert_to_tensor(labels, name="labels"), dtypes.int64)
        flat_ids = array.reshape(true_ids, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                true_ids, num_true, num_sampled, True, num_classes, seed
            )
        sampled, true_expected, sampled_expected = (array.stop_gradient(value) for value in sampled_values)
        sampled = math.cast(sampled, dtypes.int64)
        ids = array.concat([flat_ids, sampled], 0)
        x = convert_to_tensor(inputs, name="inputs")
        rows = math.cast(embedding_lookup(weights, ids, partition_strategy), x.dtype)
        offsets = math.cast(embedding_lookup(biases, ids, partition_strategy), x.dtype)
        count = array.size(flat_ids)
        true_rows = array.reshape(rows[:count], array.stack([-1, num_true, array.shape(rows)[1]]))
        true_logits = reductions.reduce_sum(array.expand_dims(x, 1) * true_rows, 2)
        true_logits = true_logits + array.reshape(offsets[:count], [-1, num_true])
        drawn_logits: Tensor = linalg.matmul(x, rows[count:], transpose_b=True) + offsets[count:]
        if remove_accidental_hits:
            hits = reductions.reduce_any(math.equal(array.expand_dims(true_ids, 2), sampled), 1)
            drawn_logits = drawn_logits + math.cast(hits, x.dtype) * float(np.finfo(np.float32).min)
        if subtract_log_q:
            true_logits = true_logits - math.log(true_expected)
            drawn_logits = drawn_logits - math.log(sampled_expected)
        logits = array.concat([true_logits, drawn_logits], 1)
        shares = array.concat([array.ones_like(true_logits) / num_true, array.zeros_like(drawn_logits)], 1)
        return logits, shares


def nce_loss(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: one loss an example (tf.nn.nce_loss; Gutmann and Hyvärinen 2010).

    `weights` [classes, size] and `biases` [classes] may be in parts, as for embedding_lookup; `labels` are
    [batch, num_true] class numbers, `inputs` [batch, size].

    Args:
        weights: [classes, size], whole or in parts as for embedding_lookup.
        biases: [classes], whole or in parts.
        labels: The true classes, [batch, num_true] of int64.
        inputs: The activations, [batch, size].
        num_sampled: How many classes are drawn for a batch.
        num_classes: How many classes there are.
        num_true: How many true classes an example has.
        sampled_values: What a candidate sampler gave; None draws by log_uniform_candidate_sampler.
        remove_accidental_hits: Whether drawn classes that are true ones are left out.
        partition_strategy: "mod" or "div": how ids are spread over the parts.
        name: A name for the operation.
    """
    with op_scope(name, "nce_loss", (labels, inputs)):
        logits, shares = sampled_logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            True, remove_accidental_hits, partition_strategy,
        )  # fmt: skip
    losses = sigmoid_cross_entropy_with_logits(labels=shares, logits=logits, name="sampled_losses")
    return array.reshape(reductions.reduce_sum(losses, 1, keepdims=True), [-1])


def sampled_softmax_loss(
    weights: Any,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[TensorLike, TensorLike, TensorLike] | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """The softmax cross entropy over the true and a few sampled classes (tf.nn.sampled_softmax_loss; Jean et al. 2014).

    Arguments as for nce_loss. For training only: it underestimates the loss over all classes.

    Args:
        weights: [classes, size], whole or in parts as for embedding_lookup.
        biases: [classes], whole or in parts.
        labels: The true classes, [batch, num_true] of int64.
        inputs: The activations, [batch, size].
        num_sampled: How many classes are drawn for a batch.
        num_classes: How many classes there are.
        num_true: How many true classes an example has.
        sampled_values: What a candidate sampler gave; None draws by log_uniform_candidate_sampler.
        remove_accidental_hits: Whether drawn classes that are true ones are left out.
        partition_strategy: "mod" or "div": how ids are spread over the parts.
        name: A name for the operation.
        seed: The op's own seed; with the graph's it decides what is drawn.
    """
    with op_scope(name, "sampled_softmax_loss", (labels, inputs)):
        logits, shares = sampled_logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            True, remove_accidental_hits, partition_strategy, seed=seed,
        )  # fmt: skip
    fixed = array.stop_gradient(shares, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=fixed, logits=logits)
