"""What a decoder's cell reads at each step: the words that are given, or those that it chose itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike, TensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import math, reductions, scans
from graphflow.contrib.seq2seq.decoder import swap_batch_and_time


class Helper(ABC):
    """What chooses the inputs of a BasicDecoder's steps, and ends its sequences (tf.contrib.seq2seq.Helper)."""

    @property
    @abstractmethod
    def batch_size(self) -> Any:
        """How many sequences there are, an int32 scalar."""
        raise NotImplementedError

    @property
    @abstractmethod
    def sample_ids_shape(self) -> Any:
        """The shape of what is chosen, a TensorShape without the batch."""
        raise NotImplementedError

    @property
    @abstractmethod
    def sample_ids_dtype(self) -> Any:
        """The dtype of what is chosen."""
        raise NotImplementedError

    @abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Which sequences have ended before the first step, bool [batch], and its inputs.

        Args:
            name: A name for the operations.
        """

    @abstractmethod
    def sample(
        self, time: IntTensorLike, outputs: TensorLike, state: TensorStructure, name: str | None = None
    ) -> Any:
        """What is chosen after a step.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            name: A name for the operations.
        """

    @abstractmethod
    def next_inputs(
        self,
        time: IntTensorLike,
        outputs: TensorLike,
        state: TensorStructure,
        sample_ids: TensorLike,
        name: str | None = None,
    ) -> tuple[Any, Any, Any]:
        """Which sequences end with a step, the inputs of the next one, and its state.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            sample_ids: What was chosen.
            name: A name for the operations.
        """


class CustomHelper(Helper):
    """A helper of three functions (tf.contrib.seq2seq.CustomHelper).

    Args:
        initialize_fn: A function without arguments to (finished, inputs).
        sample_fn: A function of time, outputs and state, by name, to the ids.
        next_inputs_fn: A function of time, outputs, state and sample_ids, by name, to (finished, inputs, state).
        sample_ids_shape: The shape of an id; a scalar by default.
        sample_ids_dtype: The dtype of the ids; int32 by default.
    """

    def __init__(
        self,
        initialize_fn: Callable[[], Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: ShapeLike = None,
        sample_ids_dtype: DTypeLike | None = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Tensor | None = None
        self._sample_ids_shape = TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or dtypes.int32

    @property
    def batch_size(self) -> Tensor:
        """The number of sequences that `initialize` gave; ValueError before."""
        if self._batch_size is None:
            raise ValueError("batch_size is known after initialize was called.")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape that was given."""
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype that was given."""
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """What initialize_fn gives.

        Args:
            name: A name for the operations.
        """
        with op_scope(name, f"{type(self).__name__}Initialize", []):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = array.size(finished)
        return finished, inputs

    def sample(
        self, time: IntTensorLike, outputs: TensorLike, state: TensorStructure, name: str | None = None
    ) -> Any:
        """What sample_fn gives.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            name: A name for the operations.
        """
        with op_scope(name, f"{type(self).__name__}Sample", [time, outputs]):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self,
        time: IntTensorLike,
        outputs: TensorLike,
        state: TensorStructure,
        sample_ids: TensorLike,
        name: str | None = None,
    ) -> tuple[Any, Any, Any]:
        """What next_inputs_fn gives.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            sample_ids: What was chosen.
            name: A name for the operations.
        """
        with op_scope(name, f"{type(self).__name__}NextInputs", [time, outputs]):
            chosen: tuple[Any, Any, Any] = self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )
            return chosen


class ChoosesIds(Helper):
    """A helper that chooses one int32 for each sequence."""

    @property
    def sample_ids_shape(self) -> TensorShape:
        """A scalar's."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> dtypes.DType:
        """int32."""
        return dtypes.int32


def rows_by_time(x: Tensor) -> TensorArray:
    """The steps of a tensor [time, ...], to be read one by one."""
    array_of_steps = TensorArray(x.dtype, size=array.shape(x)[0], element_shape=x.shape[1:])
    return array_of_steps.unstack(x)


class TrainingHelper(ChoosesIds):
    """Reads the inputs that are given, as in training (tf.contrib.seq2seq.TrainingHelper).

    What it chooses, the index of the largest output, has no effect.

    Args:
        inputs: [batch, time, ...].
        sequence_length: How many steps each sequence has, integers [batch].
        time_major: Whether the inputs are [time, batch, ...].
        name: A name for the operations.

    Raises:
        ValueError: If sequence_length is no vector.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: IntTensorLike,
        time_major: bool = False,
        name: str | None = None,
    ) -> None:
        with op_scope(name, "TrainingHelper", [inputs, sequence_length]):
            self._inputs = convert_to_tensor(inputs, name="inputs")
            steps = self._inputs if time_major else swap_batch_and_time(self._inputs)
            self._input_tas = rows_by_time(steps)
            self._sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(
                    f"sequence_length must be a vector, but its shape is {self._sequence_length.shape}."
                )
            self._zero_inputs = array.zeros_like(steps[0, :])
            self._batch_size = array.size(self._sequence_length)

    @property
    def inputs(self) -> Tensor:
        """The inputs as they were given."""
        return self._inputs

    @property
    def sequence_length(self) -> Tensor:
        """The lengths of the sequences, [batch]."""
        return self._sequence_length

    @property
    def batch_size(self) -> Tensor:
        """How many lengths there are."""
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any]:
        """Which sequences are empty, and the inputs of the first step.

        Args:
            name: A name for the operations.
        """
        with op_scope(name, "TrainingHelperInitialize", []):
            finished = math.equal(0, self._sequence_length)
            return finished, self._read_unless_all(finished, 0)

    def _read_unless_all(self, finished: Tensor, time: Any) -> Any:
        """The inputs of a step; zeros if all sequences have ended, since there may be no such step."""
        return cond(
            reductions.reduce_all(finished), lambda: self._zero_inputs, lambda: self._input_tas.read(time)
        )

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
        with op_scope(name, "TrainingHelperSample", [time, outputs]):
            return math.cast(scans.argmax(outputs, -1), dtypes.int32)

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
        with op_scope(name, "TrainingHelperNextInputs", [time, outputs]):
            following = math.add(time, 1)
            finished = math.greater_equal(following, self._sequence_length)
            return finished, self._read_unless_all(finished, following), state


class StartsWithInputs(Helper):
    """What helpers have in common that give the first step inputs of their own, one for each sequence."""

    _start_inputs: Any
    _batch_size: Tensor

    @property
    def batch_size(self) -> Tensor:
        """How many sequences begin."""
        return self._batch_size

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any]:
        """No sequence has ended, and the start inputs are read.

        Args:
            name: A name for the operations.
        """
        return array.tile([False], [self._batch_size]), self._start_inputs


class InferenceHelper(StartsWithInputs):
    """Reads what is chosen by a function of the outputs (tf.contrib.seq2seq.InferenceHelper).

    Args:
        sample_fn: A function of the outputs to what is chosen.
        sample_shape: The shape of what is chosen, without the batch.
        sample_dtype: Its dtype.
        start_inputs: The inputs of the first step, [batch, ...].
        end_fn: A function of what was chosen to bool [batch]: which sequences end.
        next_inputs_fn: A function of what was chosen to the next inputs; None for what was chosen itself.
    """

    def __init__(
        self,
        sample_fn: Callable[..., Any],
        sample_shape: ShapeLike,
        sample_dtype: DTypeLike,
        start_inputs: TensorLike,
        end_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._sample_shape = TensorShape(sample_shape)
        self._sample_dtype = sample_dtype
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = array.shape(self._start_inputs)[0]

    @property
    def sample_ids_shape(self) -> TensorShape:
        """The shape that was given."""
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The dtype that was given."""
        return self._sample_dtype

    def sample(
        self, time: IntTensorLike, outputs: TensorLike, state: TensorStructure, name: str | None = None
    ) -> Any:
        """What sample_fn gives.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            name: A name for the operations.
        """
        return self._sample_fn(outputs)

    def next_inputs(
        self,
        time: IntTensorLike,
        outputs: TensorLike,
        state: TensorStructure,
        sample_ids: TensorLike,
        name: str | None = None,
    ) -> tuple[Any, Any, Any]:
        """Which sequences end_fn ends, the next inputs, and the state.

        Args:
            time: The number of the step, an int32 scalar.
            outputs: The outputs of the step.
            state: The state after it.
            sample_ids: What was chosen.
            name: A name for the operations.
        """
        following = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        return self._end_fn(sample_ids), following, state
