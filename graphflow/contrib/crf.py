"""Conditional random fields over chains of tags (tf.contrib.crf).

A sequence of tags is worth the sum of its unary potentials, one for each step and tag, and of its transitions, one for
each pair of neighbouring tags. Training needs the logarithm of the sum over all sequences (forward algorithm), decoding
the sequence that is worth most (Viterbi). Both are loops over the steps of a batch, which end for each example at its
length; they are written as cells, so that dynamic_rnn runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.array.compositions import sequence_mask
from graphflow._core.ops.array.layout import reverse_sequence
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import math, reductions, scans
from graphflow._core.ops.state.get_variable import get_variable
from graphflow.nn.cells import RNNCell
from graphflow.nn.rnn import dynamic_rnn

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope


def _has_one_step(x: Tensor) -> Any:
    """Whether [batch, time, tags] has one step: a bool if it is known while the graph is built."""
    known = None if x.dims is None else x.dims[1]
    return math.equal(array.shape(x)[1], 1) if known is None else known == 1


def _first_and_rest(x: Tensor) -> tuple[Tensor, Tensor]:
    """The first step, [batch, tags], and what follows, [batch, time - 1, tags]."""
    first = array.squeeze(array.slice_(x, [0, 0, 0], [-1, 1, -1]), [1])
    return first, array.slice_(x, [0, 1, 0], [-1, -1, -1])


def _one_less(lengths: Tensor) -> Tensor:
    """The number of transitions of sequences of these lengths; none are there if the length is 0."""
    return math.maximum(lengths - 1, array.zeros_like(lengths))


def _without_empty(lengths: Tensor, values: Tensor) -> Tensor:
    return array.where(math.less_equal(lengths, 0), array.zeros_like(values), values)


class _ChainCell(RNNCell):
    """A cell whose step adds the transitions to the state of the step before, [batch, tags]."""

    def __init__(self, transition_params: TensorLike) -> None:
        super().__init__()
        transitions = convert_to_tensor(transition_params)
        self._transition_params = array.expand_dims(transitions, 0)
        self._num_tags = transitions.shape.as_list()[0]

    @property
    def state_size(self) -> Any:
        """The number of tags."""
        return self._num_tags

    @property
    def output_size(self) -> Any:
        """The number of tags."""
        return self._num_tags

    def _scores(self, state: Tensor) -> Tensor:
        """[batch, tags before, tags]: what a tag is worth after another one."""
        return array.expand_dims(state, 2) + self._transition_params


class CrfForwardRnnCell(_ChainCell):
    """A step of the forward algorithm (tf.contrib.crf.CrfForwardRnnCell).

    The state and the output are [batch, tags]: the logarithm of the sum over all sequences that end in a tag.
    """

    def __call__(
        self, inputs: Tensor, state: Tensor, scope: str | VariableScope | None = None
    ) -> tuple[Any, Any]:
        """The step.

        Args:
            inputs: The scores of a step, floats [batch, tags].
            state: The state before it.
            scope: Changes nothing.

        Returns:
            The output and the next state, which are the same.
        """
        summed = inputs + reductions.reduce_logsumexp(self._scores(state), [1])
        return summed, summed


class CrfDecodeForwardRnnCell(_ChainCell):
    """A step of Viterbi's algorithm (tf.contrib.crf.CrfDecodeForwardRnnCell).

    The state is [batch, tags]: the worth of the best sequence that ends in a tag. The output is int32: its last tag but
    one.
    """

    def __call__(
        self, inputs: Tensor, state: Tensor, scope: str | VariableScope | None = None
    ) -> tuple[Any, Any]:
        """The step.

        Args:
            inputs: The scores of a step, floats [batch, tags].
            state: The state before it.
            scope: Changes nothing.

        Returns:
            The output and the next state.
        """
        scores = self._scores(state)
        before = math.cast(scans.argmax(scores, 1), dtypes.int32)
        return before, inputs + reductions.reduce_max(scores, [1])


class CrfDecodeBackwardRnnCell(RNNCell):
    """A step back along the pointers of CrfDecodeForwardRnnCell (tf.contrib.crf.CrfDecodeBackwardRnnCell).

    The state and the output are a tag of each example, [batch, 1] int32; the inputs the pointers, [batch, tags] int32.

    Args:
        num_tags: How many tags there are.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> Any:
        """One tag."""
        return 1

    @property
    def output_size(self) -> Any:
        """One tag."""
        return 1

    def __call__(
        self, inputs: Tensor, state: Tensor, scope: str | VariableScope | None = None
    ) -> tuple[Any, Any]:
        """The step.

        Args:
            inputs: The pointers of a step, ints [batch, tags].
            state: The state before it.
            scope: Changes nothing.

        Returns:
            The output and the next state, which are the same.
        """
        rows = array.range_(array.shape(inputs)[0])
        places = array.stack([rows, array.squeeze(state, [1])], axis=1)
        tags = array.expand_dims(array.gather_nd(inputs, places), -1)
        return tags, tags


def crf_unary_score(
    tag_indices: IntTensorLike, sequence_lengths: IntTensorLike, inputs: TensorLike
) -> Tensor:
    """The sum of the unary potentials of given tags, [batch] (tf.contrib.crf.crf_unary_score).

    A tag out of range is an InvalidArgumentError of the run, also behind the end of its sequence.

    Args:
        tag_indices: The tags, [batch, time] of int32 or int64.
        sequence_lengths: How long each sequence is, [batch] of integers.
        inputs: Scores of the tags, [batch, length, tags] of floats.
    """
    tags, potentials = convert_to_tensor(tag_indices), convert_to_tensor(inputs)
    batch, time, count = array.unstack(array.shape(potentials), 3)
    rows = array.expand_dims(array.range_(batch) * time * count, 1)
    places = math.cast(rows + array.expand_dims(array.range_(time) * count, 0), tags.dtype) + tags
    picked = array.gather(array.reshape(potentials, [-1]), array.reshape(places, [-1]))
    mask = sequence_mask(sequence_lengths, maxlen=array.shape(tags)[1], dtype=potentials.dtype)
    return reductions.reduce_sum(array.reshape(picked, [batch, time]) * mask, 1)


def crf_binary_score(
    tag_indices: IntTensorLike, sequence_lengths: IntTensorLike, transition_params: TensorLike
) -> Tensor:
    """The sum of the transitions between given tags, [batch] (tf.contrib.crf.crf_binary_score).

    Args:
        tag_indices: The tags, [batch, time] of int32 or int64.
        sequence_lengths: How long each sequence is, [batch] of integers.
        transition_params: Scores of a tag after another, [tags, tags].
    """
    tags, transitions = convert_to_tensor(tag_indices), convert_to_tensor(transition_params)
    pairs = array.shape(tags)[1] - 1
    before, after = array.slice_(tags, [0, 0], [-1, pairs]), array.slice_(tags, [0, 1], [-1, pairs])
    count = math.cast(array.shape(transitions)[0], tags.dtype)
    picked = array.gather(array.reshape(transitions, [-1]), before * count + after)
    mask = sequence_mask(sequence_lengths, maxlen=array.shape(tags)[1], dtype=transitions.dtype)
    return reductions.reduce_sum(picked * array.slice_(mask, [0, 1], [-1, -1]), 1)


def crf_sequence_score(
    inputs: TensorLike,
    tag_indices: IntTensorLike,
    sequence_lengths: IntTensorLike,
    transition_params: TensorLike,
) -> Tensor:
    """The worth of given sequences of tags, [batch], not normalized (tf.contrib.crf.crf_sequence_score).

    An empty sequence is worth 0.

    Args:
        inputs: Scores of the tags, [batch, time, tags] of floats.
        tag_indices: The tags, [batch, length] of integers.
        sequence_lengths: How long each sequence is, [batch] of integers.
        transition_params: Scores of a tag after another, [tags, tags].
    """
    potentials, tags, lengths = (convert_to_tensor(x) for x in (inputs, tag_indices, sequence_lengths))

    def one_step() -> Tensor:
        rows = array.expand_dims(array.range_(array.shape(potentials, out_type=tags.dtype)[0]), 1)
        picked = array.gather_nd(array.squeeze(potentials, [1]), array.concat([rows, tags], 1))
        return _without_empty(lengths, picked)

    def steps() -> Tensor:
        return crf_unary_score(tags, lengths, potentials) + crf_binary_score(tags, lengths, transition_params)

    found: Tensor = smart_cond(_has_one_step(potentials), one_step, steps)
    return found


def crf_multitag_sequence_score(
    inputs: TensorLike, tag_bitmap: TensorLike, sequence_lengths: IntTensorLike, transition_params: TensorLike
) -> Tensor:
    """The log of the summed worth of all allowed sequences, [batch] (tf.contrib.crf.crf_multitag_sequence_score).

    Args:
        inputs: Scores of the tags, [batch, length, tags] of floats.
        tag_bitmap: [batch, time, tags] bool, the allowed tags of each step; the others as in
            crf_sequence_score.
        sequence_lengths: How long each sequence is, [batch] of integers.
        transition_params: Scores of a tag after another, [tags, tags].
    """
    potentials, lengths = convert_to_tensor(inputs), convert_to_tensor(sequence_lengths)
    never = array.fill(array.shape(potentials), float("-inf"))
    allowed = array.where(tag_bitmap, potentials, never)
    found: Tensor = smart_cond(
        _has_one_step(potentials),
        lambda: reductions.reduce_logsumexp(allowed, axis=[1, 2]),
        lambda: crf_log_norm(allowed, lengths, transition_params),
    )
    return found


def crf_log_norm(
    inputs: TensorLike, sequence_lengths: IntTensorLike, transition_params: TensorLike
) -> Tensor:
    """The log of the summed worth of all sequences of tags, [batch] (tf.contrib.crf.crf_log_norm).

    It is 0 for an empty sequence.

    Args:
        inputs: Scores of the tags, [batch, time, tags] of floats.
        sequence_lengths: How long each sequence is, [batch] of integers.
        transition_params: Scores of a tag after another, [tags, tags].
    """
    potentials, lengths = convert_to_tensor(inputs), convert_to_tensor(sequence_lengths)
    first, rest = _first_and_rest(potentials)

    def steps() -> Tensor:
        _, last = dynamic_rnn(
            CrfForwardRnnCell(transition_params),
            rest,
            sequence_length=_one_less(lengths),
            initial_state=first,
            dtype=first.dtype,
        )
        return _without_empty(lengths, reductions.reduce_logsumexp(last, [1]))

    def one_step() -> Tensor:
        return _without_empty(lengths, reductions.reduce_logsumexp(first, [1]))

    found: Tensor = smart_cond(_has_one_step(potentials), one_step, steps)
    return found


def crf_log_likelihood(
    inputs: TensorLike,
    tag_indices: IntTensorLike,
    sequence_lengths: IntTensorLike,
    transition_params: TensorLike | None = None,
) -> tuple[Tensor, Any]:
    """The log-likelihood of given sequences of tags, [batch], and the transitions (tf.contrib.crf.crf_log_likelihood).

    Args:
        inputs: Scores of the tags, [batch, time, tags] of floats.
        tag_indices: The tags, [batch, length] of integers.
        sequence_lengths: How long each sequence is, [batch] of integers.
        transition_params: [tags, tags]; without them a variable "transitions" is made in the current scope.
    """
    potentials = convert_to_tensor(inputs)
    if transition_params is None:
        count = potentials.shape.as_list()[2]
        transition_params = get_variable("transitions", [count, count])
    score = crf_sequence_score(potentials, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(potentials, sequence_lengths, transition_params), transition_params


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[Any], Any]:
    """The best sequence of tags and its worth, in NumPy (tf.contrib.crf.viterbi_decode).

    Args:
        score: [time, tags] array, the unary potentials of one sequence without padding.
        transition_params: [tags, tags].
    """
    potentials, transitions = np.asarray(score), np.asarray(transition_params)
    worth = potentials[0]
    pointers = []
    for step in potentials[1:]:
        scores = worth[:, None] + transitions
        pointers.append(scores.argmax(0).astype(np.int32))
        worth = step + scores.max(0)
    tags = [worth.argmax()]
    for pointer in reversed(pointers):
        tags.append(pointer[tags[-1]])
    return tags[::-1], worth.max()


def crf_decode(
    potentials: TensorLike, transition_params: TensorLike, sequence_length: IntTensorLike
) -> tuple[Tensor, Tensor]:
    """The best sequences of tags, [batch, time] int32, and their worth, [batch] (tf.contrib.crf.crf_decode).

    Tags behind the end of a sequence are 0.

    Args:
        potentials: Scores of the tags, [batch, time, tags] of floats.
        transition_params: Scores of a tag after another, [tags, tags].
        sequence_length: How long each sequence is, [batch] of integers.
    """
    inputs, lengths = convert_to_tensor(potentials), convert_to_tensor(sequence_length)

    def one_step() -> tuple[Tensor, Tensor]:
        only = array.squeeze(inputs, [1])
        tags = math.cast(array.expand_dims(scans.argmax(only, 1), 1), dtypes.int32)
        return tags, reductions.reduce_max(only, 1)

    def steps() -> tuple[Tensor, Tensor]:
        first, rest = _first_and_rest(inputs)
        shorter = _one_less(lengths)
        pointers, last = dynamic_rnn(
            CrfDecodeForwardRnnCell(transition_params),
            rest,
            sequence_length=shorter,
            initial_state=first,
            dtype=dtypes.int32,
        )
        final = array.expand_dims(math.cast(scans.argmax(last, 1), dtypes.int32), -1)
        backward, _ = dynamic_rnn(
            CrfDecodeBackwardRnnCell(inputs.shape.as_list()[2]),
            reverse_sequence(pointers, shorter, seq_axis=1),
            sequence_length=shorter,
            initial_state=final,
            dtype=dtypes.int32,
        )
        tags = array.concat([final, array.squeeze(backward, [2])], 1)
        return reverse_sequence(tags, lengths, seq_axis=1), reductions.reduce_max(last, 1)

    tags, worth = smart_cond(_has_one_step(inputs), one_step, steps)
    return tags, worth


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.contrib.crf", globals())
