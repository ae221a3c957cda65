"""What a decoder is, and the loop that runs one until every sequence has ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import constant, constant_value, convert_to_tensor
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.nn.rnn import keep_finished
from graphflow.nn.zero_states import zero_state_of

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope


class Decoder(ABC):
    """What writes sequences step by step (tf.contrib.seq2seq.Decoder): to be derived from, and run by dynamic_decode.

    A batch of sequences is written together; `finished`, bool [batch], says which have ended.
    """

    @property
    def batch_size(self) -> Any:
        """How many sequences there are: an int, or an int32 scalar."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of what a step gives: ints or TensorShapes, in the structure of the outputs."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The dtypes of what a step gives, in the structure of the outputs."""
        raise NotImplementedError

    @abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """What the first step begins with.

        Args:
            name: A name for the operations.

        Returns:
            Which sequences have ended, the inputs of the first step, and the state.
        """
        raise NotImplementedError

    @abstractmethod
    def step(
        self, time: IntTensorLike, inputs: TensorStructure, state: TensorStructure, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """One step.

        Args:
            time: The number of the step, an int32 scalar.
            inputs: The inputs of the step, [batch, ...].
            state: The state before it.
            name: A name for the operations.

        Returns:
            The outputs, the next state, the inputs of the next step, and which sequences have ended.
        """
        raise NotImplementedError

    def finalize(
        self, outputs: TensorStructure, final_state: TensorStructure, sequence_lengths: Tensor
    ) -> tuple[Any, Any]:
        """What becomes of the outputs and the state after the last step.

        Args:
            outputs: The outputs of all steps, [time, batch, ...].
            final_state: The state after the last step.
            sequence_lengths: int32 [batch].

        Returns:
            The outputs and the state that dynamic_decode gives.

        Raises:
            NotImplementedError: If they stay as they are.
        """
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `step` says of each sequence that it has ended whenever it has; by default only when it ends.

        A beam search exchanges the sequences of a batch, so that only it knows which have ended.
        """
        return False


def swap_batch_and_time(x: Tensor) -> Tensor:
    """The first two axes exchanged; what has fewer stays as it is."""
    if x.dims is None:
        rest = array.range_(2, array.rank(x))
        return array.transpose(x, array.concat([[1, 0], rest], 0))
    return x if len(x.dims) < 2 else array.transpose(x, [1, 0, *range(2, len(x.dims))])


def _element_shape(batch_size: Any, size: Any) -> TensorShape | None:
    """What is known of the shape of an output of that size: of an int nothing before it is written."""
    if not isinstance(size, TensorShape) or size.ndims == 0:
        return None
    known = constant_value(convert_to_tensor(batch_size, name="batch_size"))
    return TensorShape([None if known is None else int(known)]).concatenate(size)


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: IntTensorLike | None = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Tensor]:
    """Runs a decoder until all sequences have ended (tf.contrib.seq2seq.dynamic_decode).

    Args:
        decoder: A Decoder.
        output_time_major: Whether the outputs are [time, batch, ...] and not [batch, time, ...].
        impute_finished: Whether sequences that have ended give zeros and keep their state; they go on otherwise.
        maximum_iterations: The most steps, an int32 scalar; None for no bound.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        scope: The variable scope, `decoder` by default.

    Returns:
        The outputs in the decoder's structure, the last state, and the lengths of the sequences, int32 [batch].

    Raises:
        TypeError: If it is no Decoder.
        ValueError: If maximum_iterations is no scalar.

    Examples:
        >>> cell, table = gf.nn.rnn_cell.GRUCell(4), gf.ones([6, 3])
        >>> helper = gf.contrib.seq2seq.GreedyEmbeddingHelper(table, start_tokens=[0, 0], end_token=5)
        >>> start = cell.zero_state(2, gf.float32)
        >>> decoder = gf.contrib.seq2seq.BasicDecoder(cell, helper, start, output_layer=gf.layers.Dense(6))
        >>> outputs, state, lengths = gf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=7)
        >>> outputs.rnn_output.shape, outputs.sample_id.shape
        (TensorShape([2, None, 6]), TensorShape([2, None]))
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be a Decoder, but saw: {decoder!r}.")
    with variable_scope(scope, "decoder"):
        limit = None
        if maximum_iterations is not None:
            limit = convert_to_tensor(maximum_iterations, dtype=dtypes.int32, name="maximum_iterations")
            if limit.dims not in (None, ()):
                raise ValueError(f"maximum_iterations must be a scalar, but its shape is {limit.shape}.")
        finished, inputs, state = decoder.initialize()
        if limit is not None:
            finished = math.logical_or(finished, math.greater_equal(0, limit))
        outputs, final_state, lengths = _loop(
            decoder, finished, inputs, state, impute_finished, limit, parallel_iterations, swap_memory
        )
        with suppress(NotImplementedError):
            outputs, final_state = decoder.finalize(outputs, final_state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(swap_batch_and_time, outputs)
    return outputs, final_state, lengths


def _loop(
    decoder: Decoder,
    finished: Any,
    inputs: Any,
    state: Any,
    impute_finished: bool,
    limit: Tensor | None,
    parallel_iterations: int,
    swap_memory: bool,
) -> tuple[Any, Any, Tensor]:
    """The outputs of all steps, [time, batch, ...], the last state, and the lengths."""
    batch_size, sizes, kinds = decoder.batch_size, decoder.output_size, decoder.output_dtype
    silent = nest.map_structure(lambda size, dtype: zero_state_of(size, batch_size, dtype), sizes, kinds)

    def empty(size: Any, dtype: Any) -> TensorArray:
        shape = _element_shape(batch_size, size)
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)

    def step(
        time: Tensor, written: Any, current: Any, given: Any, ended: Tensor, lengths: Tensor
    ) -> tuple[Any, ...]:
        output, following, next_inputs, next_ended = decoder.step(time, given, current)
        if not decoder.tracks_own_finished:
            next_ended = math.logical_or(next_ended, ended)
        next_lengths = array.where(ended, lengths, array.fill(array.shape(lengths), time + 1))
        for before, after in ((current, following), (written, output), (given, next_inputs)):
            nest.assert_same_structure(before, after)
        if impute_finished:
            output = keep_finished(ended, silent, output)
            following = keep_finished(ended, current, following)
        written = nest.map_structure(lambda sink, value: sink.write(time, value), written, output)
        return time + 1, written, following, next_inputs, next_ended, next_lengths

    _, written, final_state, _, _, lengths = while_loop(
        lambda time, written, current, given, ended, lengths: math.logical_not(reductions.reduce_all(ended)),
        step,
        (
            constant(0, dtype=dtypes.int32),
            nest.map_structure(empty, sizes, kinds),
            state,
            inputs,
            finished,
            array.zeros_like(finished, dtype=dtypes.int32),
        ),
        parallel_iterations=parallel_iterations,
        swap_memory=swap_memory,
        maximum_iterations=limit,
    )
    return nest.map_structure(lambda sink: sink.stack(), written), final_state, lengths
