"""Training on what the model chose itself, now and then, in place of what was given.

Bengio et al., "Scheduled sampling for sequence prediction with recurrent neural networks", 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.random import random_uniform
from graphflow.contrib.seq2seq.decoder import swap_batch_and_time
from graphflow.contrib.seq2seq.embedding_helpers import draw_ids, embedding_function
from graphflow.contrib.seq2seq.helpers import TrainingHelper, rows_by_time


def _probability(value: Any) -> Tensor:
    probability = convert_to_tensor(value, name="sampling_probability")
    if probability.shape.ndims not in (0, 1):
        raise ValueError(
            f"sampling_probability must be a scalar or a vector, but its shape is {probability.shape}."
        )
    return probability


def _draw_flags(probability: Tensor, batch_size: Tensor, seed: int | None) -> Tensor:
    """bool [batch]: True with the probability."""
    shape = array.concat([[batch_size], array.shape(probability)], 0)
    return math.less(random_uniform(shape, seed=seed, dtype=probability.dtype), probability)


def _merged(chosen: Tensor, of_chosen: Callable[[Tensor], Any], given: Tensor) -> Tensor:
    """The rows of `given`, those that are chosen replaced by what a function of their places, [count, 1], gives."""
    here, elsewhere = (
        math.cast(array.where(flags), dtypes.int32) for flags in (chosen, math.logical_not(chosen))
    )
    shape = array.shape(given)
    replaced = array.scatter_nd(here, of_chosen(here), shape)
    return replaced + array.scatter_nd(elsewhere, array.gather_nd(given, elsewhere), shape)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads the given inputs, or with some probability an id that is drawn by the outputs.

    TensorFlow: tf.contrib.seq2seq.ScheduledEmbeddingTrainingHelper.

    Args:
        inputs: [batch, time, ...].
        sequence_length: How many steps each sequence has, integers [batch].
        embedding: A table [ids, size], or a function from ids to inputs.
        sampling_probability: The probability that what was drawn is read, a float scalar.
        time_major: Whether the inputs are [time, batch, ...].
        seed: Of the draws of ids.
        scheduling_seed: Of the draws that say where they are read.
        name: A name for the operations.

    Raises:
        ValueError: If the probability or the lengths have another rank.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: IntTensorLike,
        embedding: TensorLike | Callable[..., Any],
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        with op_scope(name, "ScheduledEmbeddingSamplingWrapper", [embedding, sampling_probability]):
            self._embedding_fn = embedding_function(embedding)
            self._sampling_probability = _probability(sampling_probability)
            self._seed = seed
            self._scheduling_seed = scheduling_seed
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(
        self, time: IntTensorLike, outputs: TensorLike, state: TensorStructure, name: str | None = None
    ) -> Tensor:
        """Ids that are drawn; -1 where the given input is read.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            name: A name for the operations.
        """
        with op_scope(name, "ScheduledEmbeddingTrainingHelperSample", [time, outputs]):
            drawn = _draw_flags(self._sampling_probability, self.batch_size, self._scheduling_seed)
            ids = draw_ids(convert_to_tensor(outputs), self._seed)
            return array.where(drawn, ids, array.fill([self.batch_size], -1))

    def next_inputs(
        self,
        time: IntTensorLike,
        outputs: TensorLike,
        state: TensorStructure,
        sample_ids: TensorLike | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Any, Any]:
        """Which sequences have no further step, the inputs of the next step, and the state.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            sample_ids: What was chosen.
            name: A name for the operations.
        """
        with op_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", [time, outputs]):
            finished, given, state = super().next_inputs(time, outputs, state)
            assert sample_ids is not None
            ids = convert_to_tensor(sample_ids)

            def embedded(places: Tensor) -> Any:
                return self._embedding_fn(array.gather_nd(ids, places))

            following = cond(
                reductions.reduce_all(finished),
                lambda: given,
                lambda: _merged(math.greater(ids, -1), embedded, given),
            )
            return finished, following, state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Reads the given inputs, or with some probability the outputs of the step before.

    TensorFlow: tf.contrib.seq2seq.ScheduledOutputTrainingHelper.

    Args:
        inputs: [batch, time, ...].
        sequence_length: How many steps each sequence has, integers [batch].
        sampling_probability: The probability that the outputs are read, a float scalar.
        time_major: Whether the inputs are [time, batch, ...].
        seed: Of the draws.
        next_inputs_fn: A function of the outputs to inputs; None for the outputs themselves.
        auxiliary_inputs: What is read beside both, [batch, time, ...]; None for nothing.
        name: A name for the operations.

    Raises:
        ValueError: If the probability or the lengths have another rank.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: IntTensorLike,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[..., Any] | None = None,
        auxiliary_inputs: TensorLike | None = None,
        name: str | None = None,
    ) -> None:
        given = [inputs, auxiliary_inputs, sampling_probability]
        with op_scope(name, "ScheduledOutputTrainingHelper", given):
            self._sampling_probability = _probability(sampling_probability)
            self._auxiliary_input_tas = None
            if auxiliary_inputs is not None:
                beside = convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = array.concat([convert_to_tensor(inputs, name="inputs"), beside], -1)
                self._auxiliary_input_tas = rows_by_time(
                    beside if time_major else swap_batch_and_time(beside)
                )
            self._seed = seed
            self._next_inputs_fn = next_inputs_fn
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(
        self, time: IntTensorLike, outputs: TensorLike, state: TensorStructure, name: str | None = None
    ) -> Tensor:
        """1 where the outputs are read, 0 where the given inputs are.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            name: A name for the operations.
        """
        with op_scope(name, "ScheduledOutputTrainingHelperSample", [time, outputs]):
            drawn = _draw_flags(self._sampling_probability, self.batch_size, self._seed)
            return math.cast(drawn, dtypes.int32)

    def next_inputs(
        self,
        time: IntTensorLike,
        outputs: TensorLike,
        state: TensorStructure,
        sample_ids: TensorLike | None = None,
        name: str | None = None,
    ) -> tuple[Tensor, Any, Any]:
        """Which sequences have no further step, the inputs of the next step, and the state.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            sample_ids: What was chosen.
            name: A name for the operations.
        """
        with op_scope(name, "ScheduledOutputTrainingHelperNextInputs", [time, outputs]):
            finished, given, state = super().next_inputs(time, outputs, state)
            assert sample_ids is not None
            chosen = math.cast(convert_to_tensor(sample_ids), dtypes.bool_)
            own, make = convert_to_tensor(outputs), self._next_inputs_fn

            def with_auxiliary(values: Any, places: Tensor | None) -> Any:
                if self._auxiliary_input_tas is None:
                    return values
                beside = self._auxiliary_input_tas.read(math.add(time, 1))
                return array.concat(
                    [values, beside if places is None else array.gather_nd(beside, places)], -1
                )

            def merged() -> Tensor:
                if make is None:
                    return array.where(chosen, with_auxiliary(own, None), given)
                return _merged(chosen, lambda at: with_auxiliary(make(array.gather_nd(own, at)), at), given)

            nothing = math.logical_or(
                reductions.reduce_all(finished), math.logical_not(reductions.reduce_any(chosen))
            )
            return finished, cond(nothing, lambda: given, merged), state
