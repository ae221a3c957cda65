"""Attention that moves forward only: a step looks at where the last one looked, or later.

Raffel et al., "Online and linear-time attention by enforcing monotonic alignments", 2017.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.functional import scan
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import clip, math, scans
from graphflow._core.ops.random import random_normal
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.contrib.seq2seq.attention import (
    BaseAttentionMechanism,
    bahdanau_score,
    bahdanau_weights,
    extent,
    luong_factor,
    luong_score,
    projection,
)


def safe_cumprod(x: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
    """The cumulative product of probabilities by sums of logarithms (tf.contrib.seq2seq.safe_cumprod).

    It is above 0 where the product would underflow, so that it may be divided by.

    Args:
        x: Floats from 0 to 1.
        *args: As of gf.cumsum.
        **kwargs: As of gf.cumsum.

    Returns:
        A tensor of the same shape.
    """
    with op_scope(None, "SafeCumprod", [x]):
        tensor = convert_to_tensor(x, name="x")
        tiny = tensor.dtype.finfo.tiny
        logarithms = math.log(clip.clip_by_value(tensor, tiny, 1))
        return math.exp(scans.cumsum(logarithms, *args, **kwargs))


def monotonic_attention(p_choose_i: TensorLike, previous_attention: TensorLike, mode: str) -> Tensor:
    """Where a step looks, by where the step before did (tf.contrib.seq2seq.monotonic_attention).

    Args:
        p_choose_i: The probability that a step of the memory is chosen when it is come to, floats [batch, time].
        previous_attention: Where the step before looked, floats [batch, time] of sum 1, or less.
        mode: "recursive", step by step and exact; "parallel", faster, and inexact where probabilities are near 0 or 1;
            "hard", for probabilities and attention of 0 and 1.

    Returns:
        The probabilities that the step looks at, [batch, time].

    Raises:
        ValueError: For another mode.
    """
    choose = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        return choose * _reached(choose, previous)
    if mode == "parallel":
        passed = safe_cumprod(1 - choose, axis=1, exclusive=True)
        share = previous / clip.clip_by_value(passed, 1e-10, 1.0)
        return choose * passed * scans.cumsum(share, axis=1)
    if mode == "hard":
        choose *= scans.cumsum(previous, axis=1)
        return choose * scans.cumprod(1 - choose, axis=1, exclusive=True)
    raise ValueError(f"mode must be 'recursive', 'parallel', or 'hard', got {mode!r}.")


def _reached(choose: Tensor, previous: Tensor) -> Tensor:
    """The probability that each step of the memory is come to, [batch, time]."""
    batch = extent(choose, 0)
    passing = array.concat([array.ones([batch, 1]), 1 - choose[:, :-1]], 1)
    reached = scan(
        lambda before, now: array.reshape(now[0] * before + now[1], [batch]),
        [array.transpose(passing), array.transpose(previous)],
        array.zeros([batch]),
    )
    return array.transpose(reached)


def monotonic_probability_fn(
    score: Tensor, previous_alignments: Tensor, sigmoid_noise: float, mode: str, seed: int | None = None
) -> Tensor:
    """Where a step looks, by scores [batch, time], with noise of that deviation, and where the last one did."""
    if sigmoid_noise > 0:
        score += sigmoid_noise * random_normal(array.shape(score), dtype=score.dtype, seed=seed)
    choose = math.cast(math.greater(score, 0), score.dtype) if mode == "hard" else math.sigmoid(score)
    return monotonic_attention(choose, previous_alignments, mode)


class BaseMonotonicAttentionMechanism(BaseAttentionMechanism):
    """A mechanism whose first step begins at the first step of the memory."""

    def initial_alignments(self, batch_size: IntTensorLike, dtype: DTypeLike) -> Tensor:
        """1 at the first step of the memory, 0 elsewhere, [batch, time].

        Args:
            batch_size: How many rows.
            dtype: The dtype.
        """
        first = array.zeros(array.stack([batch_size]), dtype=dtypes.int32)
        return array.one_hot(first, self._alignments_size, dtype=dtype)


def _biased(score: Tensor, start: float) -> Tensor:
    return score + get_variable("attention_score_bias", dtype=score.dtype, initializer=start)


class BahdanauMonotonicAttention(BaseMonotonicAttentionMechanism):
    """BahdanauAttention that moves forward only (tf.contrib.seq2seq.BahdanauMonotonicAttention).

    Variables: those of BahdanauAttention, and attention_score_bias.

    Args:
        num_units: The size of keys and projected queries.
        memory: The outputs of an encoder, [batch, time, size].
        memory_sequence_length: How many steps of the memory each row has, integers [batch]; None for all.
        normalize: Whether attention_v is weight normalised.
        score_mask_value: The score of what is past the end; minus infinity by default.
        sigmoid_noise: The standard deviation of noise on the scores, which makes training prefer clear choices.
        sigmoid_noise_seed: Of the noise.
        score_bias_init: What the bias of the scores begins with.
        mode: See monotonic_attention.
        dtype: Of the variables; float32 by default.
        name: A name for the operations.
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorStructure,
        memory_sequence_length: IntTensorLike | None = None,
        normalize: bool = False,
        score_mask_value: TensorLike | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str | None = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=projection(num_units, "query_layer", dtype),
            memory_layer=projection(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=partial(
                monotonic_probability_fn, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._score_bias_init = score_bias_init
        self._name = name
        self._normalize = normalize

    def __call__(self, query: Tensor, state: TensorStructure) -> tuple[Any, Any]:
        """The alignments, and the next state, which are the same.

        Args:
            query: [batch, size].
            state: The alignments of the step before, [batch, time].
        """
        with variable_scope(None, "bahdanau_monotonic_attention", [query]):
            projected = self.query_layer(query) if self.query_layer else query
            weights = bahdanau_weights(self._num_units, query.dtype, self._normalize)
            score = _biased(bahdanau_score(projected, self._keys, *weights), self._score_bias_init)
        alignments = self._probability_fn(score, state)
        return alignments, alignments


class LuongMonotonicAttention(BaseMonotonicAttentionMechanism):
    """LuongAttention that moves forward only (tf.contrib.seq2seq.LuongMonotonicAttention).

    Variables: those of LuongAttention, and attention_score_bias.

    Args:
        num_units: The size of the keys, which must be that of the queries.
        memory: The outputs of an encoder, [batch, time, size].
        memory_sequence_length: How many steps of the memory each row has, integers [batch]; None for all.
        scale: Whether the scores have a factor that is trained.
        score_mask_value: The score of what is past the end; minus infinity by default.
        sigmoid_noise: The standard deviation of noise on the scores, which makes training prefer clear choices.
        sigmoid_noise_seed: Of the noise.
        score_bias_init: What the bias of the scores begins with.
        mode: See monotonic_attention.
        dtype: Of the variables; float32 by default.
        name: A name for the operations.
    """

    def __init__(
        self,
        num_units: int,
        memory: TensorStructure,
        memory_sequence_length: IntTensorLike | None = None,
        scale: bool = False,
        score_mask_value: TensorLike | None = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: DTypeLike | None = None,
        name: str | None = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory_layer=projection(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=partial(
                monotonic_probability_fn, sigmoid_noise=sigmoid_noise, mode=mode, seed=sigmoid_noise_seed
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._score_bias_init = score_bias_init
        self._name = name
        self._scale = scale

    def __call__(self, query: Tensor, state: TensorStructure) -> tuple[Any, Any]:
        """The alignments, and the next state, which are the same.

        Args:
            query: [batch, num_units].
            state: The alignments of the step before, [batch, time].
        """
        with variable_scope(None, "luong_monotonic_attention", [query]):
            score = luong_score(query, self._keys, luong_factor(query.dtype, self._scale))
            score = _biased(score, self._score_bias_init)
        alignments = self._probability_fn(score, state)
        return alignments, alignments
