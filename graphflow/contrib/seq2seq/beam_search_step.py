"""One step of a beam search: of all words that any beam may be extended by, the best are kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import constant_value, convert_to_tensor
from graphflow._core.ops.math import math, reductions, sorting
from graphflow._core.ops.nn.softmax import log_softmax
from graphflow.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from graphflow.contrib.seq2seq.beams import Beams, rank_of


class BeamSearchDecoderState(NamedTuple):
    """The state of BeamSearchDecoder (tf.contrib.seq2seq.BeamSearchDecoderState)."""

    cell_state: Any
    """The cell's, its tensors [batch, beams, ...]."""

    log_probs: Any
    """The logarithm of each beam's probability, [batch, beams]."""

    finished: Any
    """Which beams have ended, bool [batch, beams]."""

    lengths: Any
    """How many words they have, the end among them, int64 [batch, beams]."""

    accumulated_attention_probs: Any
    """The sum of each beam's alignments, [batch, beams, time of the memory]; () without a coverage penalty."""


class BeamSearchDecoderOutput(NamedTuple):
    """What a step of BeamSearchDecoder gives (tf.contrib.seq2seq.BeamSearchDecoderOutput)."""

    scores: Any
    """What the beams are chosen by, [batch, beams]."""

    predicted_ids: Any
    """The words, int32 [batch, beams]."""

    parent_ids: Any
    """The beams of the step before that they extend, int32 [batch, beams]."""


class Penalties(NamedTuple):
    """What a score is made of besides the probability.

    length: divides by ((5 + length) / 6) ** length (Wu et al., "Google's neural machine translation system", 2016).
    coverage: times the sum of the logarithms of attention below 1, over the memory, of beams that have ended.
    """

    length: Any
    coverage: Any

    @property
    def needs_attention(self) -> bool:
        """Whether the attention is to be kept."""
        return not (isinstance(self.coverage, int | float) and self.coverage == 0)

    def score(self, log_probs: Tensor, lengths: Tensor, finished: Tensor, attention: Tensor | None) -> Tensor:
        """The scores of each beam with each word, [batch, beams, words]."""
        scores = log_probs
        factor = convert_to_tensor(self.length, name="penalty_factor")
        if constant_value(factor) != 0:
            longer = (math.cast(lengths, dtypes.float32) + 5.0) ** factor
            scores = log_probs / math.cast(longer / 6.0**factor, log_probs.dtype)
        weight = convert_to_tensor(self.coverage, name="coverage_penalty_weight")
        if weight.shape.ndims != 0:
            raise ValueError(f"coverage_penalty_weight must be a scalar, but its shape is {weight.shape}.")
        if attention is None:
            return scores
        # A step of the memory that nothing looked at is not punished: it is padding, or the search has just begun.
        seen = array.where(
            math.equal(attention, 0.0), array.ones_like(attention), math.minimum(attention, 1.0)
        )
        coverage = reductions.reduce_sum(math.log(seen), 2) * math.cast(finished, dtypes.float32)
        return scores + array.expand_dims(coverage * weight, 2)


def attention_of(cell_state: Any, penalties: Penalties) -> Tensor | None:
    """Where a cell looks, [batch, beams, time], the mean over its attentions; None if nothing asks for it."""
    if not penalties.needs_attention:
        return None
    if isinstance(cell_state, AttentionWrapperState):
        states = [cell_state]
    else:
        parts = cell_state if isinstance(cell_state, tuple) else ()
        states = [part for part in parts if isinstance(part, AttentionWrapperState)]
    if not states:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return _mean([_mean(list(_as_tuple(state.alignments))) for state in states])


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _mean(tensors: list[Tensor]) -> Tensor:
    return tensors[0] if len(tensors) == 1 else reductions.reduce_mean(array.stack(tensors, -1), -1)


def search_step(
    logits: Tensor,
    cell_state: Any,
    before: BeamSearchDecoderState,
    beams: Beams,
    end_token: Tensor,
    penalties: Penalties,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """The step: its output, and the next state.

    Args:
        logits: The outputs of the cell, [batch, beams, words].
        cell_state: Its next state, the tensors [batch, beams, ...].
        before: The state before.
        beams: How many there are.
        end_token: The word that ends a sequence.
        penalties: What a score is made of.
    """
    running = math.logical_not(before.finished)
    words = array.shape(logits)[2]
    total = array.expand_dims(before.log_probs, 2) + _unless_ended(
        log_softmax(logits), end_token, before.finished
    )
    longer = array.one_hot(
        end_token,
        words,
        on_value=math.cast(0, dtypes.int64),
        off_value=math.cast(1, dtypes.int64),
        dtype=dtypes.int64,
    )
    lengths = array.expand_dims(before.lengths, 2) + longer * array.expand_dims(
        math.cast(running, dtypes.int64), 2
    )
    attention = attention_of(cell_state, penalties)
    if attention is not None:
        weights = array.expand_dims(math.cast(running, dtypes.float32), 2)
        attention = before.accumulated_attention_probs + attention * weights
    scores = penalties.score(total, lengths, before.finished, attention)

    best, places = sorting.top_k(_flat(scores, beams), k=beams.width)
    for tensor in (best, places):
        tensor.set_shape([beams.known_batch_size, beams.width])
    parents, ids = math.floordiv(places, words), math.floormod(places, words)
    ended = beams.chosen(before.finished, parents)
    more = math.cast(math.logical_not(ended), dtypes.int64)
    state = BeamSearchDecoderState(
        cell_state=nest.map_structure(lambda part: _chosen(part, parents, beams), cell_state),
        log_probs=beams.chosen(_flat(total, beams), places),
        finished=math.logical_or(ended, math.equal(ids, end_token)),
        lengths=beams.chosen(before.lengths, parents) + more,
        accumulated_attention_probs=() if attention is None else beams.chosen(attention, parents),
    )
    return BeamSearchDecoderOutput(best, ids, parents), state


def _flat(values: Tensor, beams: Beams) -> Tensor:
    """[batch, beams, words] as [batch, beams * words]."""
    return array.reshape(values, array.stack([beams.batch_size, -1]))


def _chosen(part: Any, parents: Tensor, beams: Beams) -> Any:
    if isinstance(part, TensorArray) or rank_of(part) < 2:
        return part
    return beams.chosen(part, parents)


def _unless_ended(log_probs: Tensor, end_token: Tensor, finished: Tensor) -> Tensor:
    """The log-probabilities [batch, beams, words]; a beam that has ended goes on with the end alone."""
    words = array.shape(log_probs)[2]
    lowest = log_probs.dtype.min
    row = array.one_hot(end_token, words, dtype=log_probs.dtype, on_value=0.0, off_value=lowest)
    shape = array.concat([array.shape(finished), [1]], 0)
    rows = array.tile(array.reshape(row, [1, 1, -1]), shape)
    mask = array.tile(array.expand_dims(finished, 2), array.stack([1, 1, words]))
    return array.where(mask, rows, log_probs)
