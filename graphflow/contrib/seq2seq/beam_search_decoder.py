"""A decoder that keeps several sequences for each example, those that are likeliest so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, NumberLike, TensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math import math, reductions
from graphflow._core.ops.nn.beam_search import gather_tree
from graphflow.contrib.seq2seq.basic_decoder import check_output_layer, size_behind
from graphflow.contrib.seq2seq.beam_search_step import (
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    Penalties,
    attention_of,
    search_step,
)
from graphflow.contrib.seq2seq.beams import Beams
from graphflow.contrib.seq2seq.decoder import Decoder
from graphflow.contrib.seq2seq.embedding_helpers import embedding_function, start_and_end
from graphflow.layers.base import Layer
from graphflow.nn.cells import RNNCell
from graphflow.nn.rnn import assert_like_rnncell


class FinalBeamSearchDecoderOutput(NamedTuple):
    """What dynamic_decode gives of a BeamSearchDecoder (tf.contrib.seq2seq.FinalBeamSearchDecoderOutput)."""

    predicted_ids: Any
    """The sequences, the best first, int32 [batch, time, beams]."""

    beam_search_decoder_output: Any
    """A BeamSearchDecoderOutput of all steps, [batch, time, beams]."""


class BeamSearchDecoder(Decoder):
    """Keeps the `beam_width` likeliest sequences of each example (tf.contrib.seq2seq.BeamSearchDecoder).

    The memory of an attention, its lengths and the initial state must have batch * beam_width rows, as tile_batch makes
    them.

    Args:
        cell: An RNNCell.
        embedding: A table [ids, size], or a function from ids to inputs.
        start_tokens: The ids that the first step reads, int32 [batch].
        end_token: The id that ends a sequence, an int32 scalar.
        initial_state: The cell's state before the first step, of batch * beam_width rows.
        beam_width: How many sequences are kept for each example.
        output_layer: A layer from the cell's output to the scores of the ids, or None.
        length_penalty_weight: How much longer sequences are preferred; 0 for not at all.
        coverage_penalty_weight: How much sequences are preferred that looked at all of the memory; 0 for not at all.
        reorder_tensor_arrays: Whether a TensorArray in the last state, such as an alignment_history, becomes a tensor
            [time, ...] in which each beam is one sequence.

    Raises:
        TypeError: If the cell is none, or the output layer.
        ValueError: For start tokens or an end token of another rank, and if the state has other rows.
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding: TensorLike | Callable[..., Any],
        start_tokens: IntTensorLike,
        end_token: IntTensorLike,
        initial_state: TensorStructure,
        beam_width: int,
        output_layer: Layer | None = None,
        length_penalty_weight: NumberLike = 0.0,
        coverage_penalty_weight: NumberLike = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        assert_like_rnncell("cell", cell)
        check_output_layer(output_layer)
        self._cell = cell
        self._output_layer = output_layer
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._penalties = Penalties(length_penalty_weight, coverage_penalty_weight)
        self._embedding_fn = embedding_function(embedding)
        start, self._end_token = start_and_end(start_tokens, end_token)
        self._batch_size = array.size(start)
        self._beam_width = beam_width
        self._beams = Beams(self._batch_size, beam_width)
        self._initial_cell_state = self._beams.split_state(initial_state, cell.state_size)
        self._start_tokens = array.tile(array.expand_dims(start, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(self._start_tokens)

    @property
    def batch_size(self) -> Tensor:
        """How many start tokens there are."""
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: a beam may be another sequence in the next step."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """The number of beams, of each part."""
        width = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(width, width, width)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """That of the state for the scores, int32 for the ids."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        size = size_behind(self._output_layer, self._cell.output_size)
        scores = nest.map_structure(lambda _: dtype, size)
        return BeamSearchDecoderOutput(scores, dtypes.int32, dtypes.int32)

    def _first_beam(self, first: Any, others: Any, dtype: Any) -> Tensor:
        """[batch, beams] with another value for the first beam.

        All beams begin equal: but for the first they are out of the search until it has extended that.
        """
        places = array.zeros(array.stack([self._batch_size]), dtype=dtypes.int32)
        return array.one_hot(places, self._beam_width, on_value=first, off_value=others, dtype=dtype)

    def initialize(self, name: str | None = None) -> tuple[Tensor, Any, BeamSearchDecoderState]:
        """One beam of each example, which reads the start token.

        Args:
            name: A name for the operations.

        Returns:
            Which beams have ended, bool [batch, beams], the inputs of the first step, and the state.
        """
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        attention = attention_of(self._initial_cell_state, self._penalties)
        finished = self._first_beam(False, True, dtypes.bool_)
        lengths = array.zeros(array.stack([self._batch_size, self._beam_width]), dtype=dtypes.int64)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=self._first_beam(0.0, -np.inf, dtype),
            finished=finished,
            lengths=lengths,
            accumulated_attention_probs=() if attention is None else attention,
        )
        return finished, self._start_inputs, state

    def step(
        self, time: IntTensorLike, inputs: TensorStructure, state: TensorStructure, name: str | None = None
    ) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState, Any, Tensor]:
        """A step of the cell for all beams, after which the best are kept.

        Args:
            time: The number of the step, an int32 scalar.
            inputs: The inputs, [batch, beams, ...].
            state: A BeamSearchDecoderState.
            name: A name for the operations.

        Returns:
            A BeamSearchDecoderOutput, the next state, the next inputs, and which beams have ended.
        """
        assert isinstance(state, BeamSearchDecoderState)
        beams, sizes = self._beams, self._cell.state_size
        with op_scope(name, "BeamSearchDecoderStep", [time, *nest.flatten(inputs)]):
            merged = nest.map_structure(lambda part: beams.merged(part, part.shape[2:]), inputs)
            outputs, cell_state = self._cell(merged, beams.merged_state(state.cell_state, sizes))
            outputs = nest.map_structure(lambda part: beams.split(part, part.shape[1:]), outputs)
            cell_state = beams.split_state(cell_state, sizes)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, following = search_step(
                outputs, cell_state, state, beams, self._end_token, self._penalties
            )
            next_inputs = cond(
                reductions.reduce_all(following.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, following, next_inputs, following.finished

    def finalize(
        self, outputs: TensorStructure, final_state: TensorStructure, sequence_lengths: Tensor
    ) -> tuple[FinalBeamSearchDecoderOutput, BeamSearchDecoderState]:
        """The sequences, followed back from their ends.

        Args:
            outputs: A BeamSearchDecoderOutput of all steps, [time, batch, beams].
            final_state: The state after the last step.
            sequence_lengths: Not needed: the state has the lengths.

        Returns:
            A FinalBeamSearchDecoderOutput, and the state.
        """
        assert isinstance(outputs, BeamSearchDecoderOutput) and isinstance(
            final_state, BeamSearchDecoderState
        )
        parents, lengths = outputs.parent_ids, final_state.lengths
        longest = math.cast(reductions.reduce_max(lengths, axis=1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, parents, longest, self._end_token)
        if self._reorder_tensor_arrays:
            cell_state = nest.map_structure(
                lambda part: self._beams.sorted_history(part, parents, lengths), final_state.cell_state
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state
