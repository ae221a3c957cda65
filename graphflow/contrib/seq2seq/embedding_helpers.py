"""What a decoder's cell reads where the decoder itself chooses the words: the likeliest, or those that are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import math, reductions, scans
from graphflow._core.ops.nn.embedding import embedding_lookup
from graphflow._core.ops.random import multinomial
from graphflow.contrib.seq2seq.helpers import ChoosesIds, StartsWithInputs


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    """What makes inputs of ids: the function itself, or looking them up in a table."""
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def start_and_end(start_tokens: Any, end_token: Any) -> tuple[Tensor, Tensor]:
    """A vector and a scalar of int32; ValueError otherwise."""
    start = convert_to_tensor(start_tokens, dtype=dtypes.int32, name="start_tokens")
    end = convert_to_tensor(end_token, dtype=dtypes.int32, name="end_token")
    for argument, tensor, rank, what in (
        ("start_tokens", start, 1, "vector"),
        ("end_token", end, 0, "scalar"),
    ):
        if tensor.shape.ndims != rank:
            raise ValueError(f"{argument} must be a {what}, but its shape is {tensor.shape}.")
    return start, end


class GreedyEmbeddingHelper(StartsWithInputs, ChoosesIds):
    """Reads the id with the largest output of the step before (tf.contrib.seq2seq.GreedyEmbeddingHelper).

    Args:
        embedding: A table [ids, size], or a function from ids to inputs.
        start_tokens: The ids that the first step reads, int32 [batch].
        end_token: The id that ends a sequence, an int32 scalar.

    Raises:
        ValueError: For other shapes.
    """

    def __init__(
        self,
        embedding: TensorLike | Callable[..., Any],
        start_tokens: IntTensorLike,
        end_token: IntTensorLike,
    ) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens, self._end_token = start_and_end(start_tokens, end_token)
        self._batch_size = array.size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def sample(
        self, time: IntTensorLike, outputs: TensorLike, state: TensorStructure, name: str | None = None
    ) -> Tensor:
        """The index of the largest output of each sequence.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            name: A name for the operations.
        """
        return scans.argmax(_one_tensor(outputs), -1, output_type=dtypes.int32)

    def next_inputs(
        self,
        time: IntTensorLike,
        outputs: TensorLike,
        state: TensorStructure,
        sample_ids: TensorLike,
        name: str | None = None,
    ) -> tuple[Tensor, Any, Any]:
        """Which sequences chose the end, what they read next, and the state.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            sample_ids: What was chosen.
            name: A name for the operations.
        """
        finished = math.equal(sample_ids, self._end_token)
        following = cond(
            reductions.reduce_all(finished),
            lambda: self._start_inputs,
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, following, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Reads an id that is drawn, the outputs being unnormalised log-probabilities.

    TensorFlow: tf.contrib.seq2seq.SampleEmbeddingHelper.

    Args:
        embedding: A table [ids, size], or a function from ids to inputs.
        start_tokens: The ids that the first step reads, int32 [batch].
        end_token: The id that ends a sequence, an int32 scalar.
        softmax_temperature: What the outputs are divided by: below 1 likely ids become likelier; None for 1.
        seed: Of the draws.
    """

    def __init__(
        self,
        embedding: TensorLike | Callable[..., Any],
        start_tokens: IntTensorLike,
        end_token: IntTensorLike,
        softmax_temperature: TensorLike | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(
        self, time: IntTensorLike, outputs: TensorLike, state: TensorStructure, name: str | None = None
    ) -> Tensor:
        """Ids that are drawn.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            name: A name for the operations.
        """
        logits = _one_tensor(outputs)
        if self._softmax_temperature is not None:
            logits = math.divide(logits, self._softmax_temperature)
        return draw_ids(logits, self._seed)


def _one_tensor(outputs: Any) -> Tensor:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"The outputs that an id is chosen by must be one Tensor, got {outputs!r}.")
    return outputs


def draw_ids(logits: Tensor, seed: int | None) -> Tensor:
    """An int32 for each row of unnormalised log-probabilities [..., ids]."""
    rows = array.reshape(logits, [-1, array.shape(logits)[-1]])
    drawn = multinomial(rows, 1, seed=seed, output_dtype=dtypes.int32)
    return array.reshape(drawn, array.shape(logits)[:-1])
