"""A decoder of a cell, whose helper chooses the inputs of each step."""

from __future__ import annotations

from typing import Any, NamedTuple

import graphflow.nest as nest
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, TensorStructure
from graphflow._core.ops.core import op_scope
from graphflow.contrib.seq2seq.decoder import Decoder
from graphflow.contrib.seq2seq.helpers import Helper
from graphflow.layers.base import Layer
from graphflow.nn.cells import RNNCell
from graphflow.nn.rnn import assert_like_rnncell


class BasicDecoderOutput(NamedTuple):
    """What a step of BasicDecoder gives (tf.contrib.seq2seq.BasicDecoderOutput)."""

    rnn_output: Any
    """The output of the cell, or of the layer behind it."""

    sample_id: Any
    """What the helper chose."""


def check_output_layer(layer: Any) -> None:
    """TypeError if it is neither None nor a layer."""
    if layer is not None and not (callable(layer) and hasattr(layer, "compute_output_shape")):
        raise TypeError(f"output_layer must be a Layer, received: {layer!r}.")


def size_behind(layer: Any, size: Any) -> Any:
    """The size of the output of a cell after a layer, or after none: ints or TensorShapes, without the batch."""
    if layer is None:
        return size
    inputs = nest.map_structure(lambda part: TensorShape([None]).concatenate(part), size)
    return nest.map_structure(lambda shape: shape[1:], layer.compute_output_shape(inputs))


class BasicDecoder(Decoder):
    """Runs a cell, a layer behind it if one is given, and a helper (tf.contrib.seq2seq.BasicDecoder).

    Args:
        cell: An RNNCell.
        helper: A Helper: what each step reads, and when a sequence ends.
        initial_state: The state of the cell before the first step.
        output_layer: A layer from the cell's output to what the helper sees, such as gf.layers.Dense; or None.

    Raises:
        TypeError: If one of them is of another kind.
    """

    def __init__(
        self,
        cell: RNNCell,
        helper: Helper,
        initial_state: TensorStructure,
        output_layer: Layer | None = None,
    ) -> None:
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {helper!r}.")
        check_output_layer(output_layer)
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        """The helper's."""
        return self._helper.batch_size

    @property
    def output_size(self) -> BasicDecoderOutput:
        """The size of the cell's output, behind the layer, and of the ids."""
        size = size_behind(self._output_layer, self._cell.output_size)
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """The dtype of the state's first part, for all parts of the cell's output, and that of the ids."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        size = size_behind(self._output_layer, self._cell.output_size)
        return BasicDecoderOutput(nest.map_structure(lambda _: dtype, size), self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """What the helper begins with, and the initial state.

        Args:
            name: A name for the operations.

        Returns:
            Which sequences have ended, the inputs of the first step, and the state.
        """
        finished, inputs = self._helper.initialize()
        return finished, inputs, self._initial_state

    def step(
        self, time: IntTensorLike, inputs: TensorStructure, state: TensorStructure, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """A step of the cell, after which the helper chooses the next inputs.

        Args:
            time: The number of the step, an int32 scalar.
            inputs: The inputs of the cell.
            state: Its state.
            name: A name for the operations.

        Returns:
            A BasicDecoderOutput, the next state, the next inputs, and which sequences have ended.
        """
        with op_scope(name, "BasicDecoderStep", [time, *nest.flatten(inputs), *nest.flatten(state)]):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), next_state, next_inputs, finished
