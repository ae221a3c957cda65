"""A cell that looks at a memory: what it saw is a part of its next inputs and, as a rule, its output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntsLike, IntTensorLike, TensorStructure
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.assertions import assert_equal
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import linalg
from graphflow.contrib.seq2seq.attention import AttentionMechanism, extent
from graphflow.layers.base import Layer
from graphflow.layers.core import Dense
from graphflow.nn.cells import RNNCell
from graphflow.nn.rnn import assert_like_rnncell
from graphflow.nn.zero_states import zero_state_of


class AttentionWrapperState(NamedTuple):
    """The state of AttentionWrapper (tf.contrib.seq2seq.AttentionWrapperState).

    With several mechanisms, alignments, alignment_history and attention_state are tuples.
    """

    cell_state: Any
    """The state of the cell inside."""

    attention: Any
    """What was seen in the step before, [batch, size]."""

    time: Any
    """The number of the step, an int32 scalar."""

    alignments: Any
    """Where it was seen, [batch, time of the memory]."""

    alignment_history: Any
    """The alignments of all steps, a TensorArray; () unless it was asked for."""

    attention_state: Any
    """What the mechanism keeps."""

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """The state with some parts replaced, such as cell_state by the last state of an encoder.

        Args:
            **kwargs: The parts, which must have the structures and shapes of those that they replace.

        Returns:
            The new state.

        Raises:
            ValueError: If a shape is another one; if it is known only when it runs, InvalidArgumentError then.
        """
        replaced: AttentionWrapperState = nest.map_structure(_of_that_shape, self, self._replace(**kwargs))
        return replaced


def _of_that_shape(old: Any, new: Any) -> Any:
    """The new tensor, checked to have the shape of the old one."""
    if not isinstance(old, Tensor) or not isinstance(new, Tensor):
        return new
    if not new.shape.is_compatible_with(old.shape):
        raise ValueError(f"{new.name} of shape {new.shape} replaces {old.name} of shape {old.shape}.")
    if old.shape.is_fully_defined() and new.shape.is_fully_defined():
        return new
    with op_scope(None, "with_same_shape", [old, new]):
        message = f"{new.name} must have the shape of {old.name}, which it replaces."
        checks = [assert_equal(array.shape(old), array.shape(new), message=message)]
        with get_default_graph().control_dependencies(checks):
            checked = array.identity(new)
        checked.set_shape(old.shape)
        return checked


def _attend(mechanism: Any, query: Tensor, state: Any, layer: Any) -> tuple[Tensor, Tensor, Any]:
    """What is seen, behind a layer if there is one, [batch, size]; where, [batch, time]; the mechanism's state."""
    alignments, following = mechanism(query, state=state)
    weights = array.expand_dims(alignments, 1)
    seen = array.squeeze(linalg.matmul(weights, mechanism.values), [1])
    if layer is not None:
        seen = layer(array.concat([query, seen], 1))
    return seen, alignments, following


def _side_by_side(inputs: Any, attention: Any) -> Tensor:
    return array.concat([inputs, attention], -1)


class AttentionWrapper(RNNCell):
    """A cell around a cell that looks at a memory (tf.contrib.seq2seq.AttentionWrapper).

    A step gives the cell the inputs and what was seen before, asks the mechanism where to look with the cell's output,
    and gives what is seen there: with `attention_layer_size` that and the cell's output, projected.

    Args:
        cell: An RNNCell.
        attention_mechanism: An AttentionMechanism, or a list of them.
        attention_layer_size: The size of the projection, or one for each mechanism; None for no projection.
        alignment_history: Whether the state keeps the alignments of all steps.
        cell_input_fn: A function of inputs and attention to the cell's inputs; None for both side by side.
        output_attention: Whether the output is what is seen, and not the cell's output.
        initial_cell_state: The cell's state in zero_state; None for the cell's own.
        name: A name for its variable scope.
        attention_layer: A layer, or one for each mechanism, in place of attention_layer_size.
        attention_fn: A function of mechanism, cell output, attention state and layer to attention, alignments and next
            attention state; None for the usual one.
        dtype: The dtype of the state that is made of zeros.

    Raises:
        TypeError: If the cell is none, or a mechanism is none.
        ValueError: If the number of layers is not that of the mechanisms, or both kinds of layers are given.
    """

    def __init__(
        self,
        cell: RNNCell,
        attention_mechanism: AttentionMechanism | Sequence[AttentionMechanism],
        attention_layer_size: IntsLike | None = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[..., Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: TensorStructure | None = None,
        name: str | None = None,
        attention_layer: Layer | Sequence[Layer] | None = None,
        attention_fn: Callable[..., Any] | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        mechanisms: tuple[Any, ...] = _as_tuple(attention_mechanism)
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    f"attention_mechanism must be an AttentionMechanism or a list of them, got {mechanism!r}."
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(f"cell_input_fn must be callable, got {cell_input_fn!r}.")
        self._cell = cell
        self._attention_mechanisms = mechanisms
        self._attention_layers = _layers(attention_layer_size, attention_layer, mechanisms)
        self._attention_layer_size: int = _attention_size(cell, self._attention_layers, mechanisms)
        self._attention_fn = attention_fn or _attend
        self._cell_input_fn = cell_input_fn or _side_by_side
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._initial_cell_state: Any = None
        if initial_cell_state is not None:
            with op_scope(name, "AttentionWrapperInit", nest.flatten(initial_cell_state)):
                state = nest.map_structure(convert_to_tensor, initial_cell_state)
                size = extent(nest.flatten(state)[-1], 0)
                self._initial_cell_state = self._checked(state, size, "initial_cell_state has")

    def _batch_size_checks(self, batch_size: Any, error_message: str) -> list[Operation]:
        return [
            assert_equal(batch_size, mechanism.batch_size, message=error_message)
            for mechanism in self._attention_mechanisms
        ]

    def _checked(self, values: Any, batch_size: Any, what: str) -> Any:
        """The values, if the memory has as many rows as they have."""
        message = (
            f"AttentionWrapper {self._base_name}: {what} another batch size than the memory of the attention "
            "mechanism. A BeamSearchDecoder needs memory, its lengths and initial state tiled by "
            "gf.contrib.seq2seq.tile_batch(..., beam_width), and zero_state(batch_size * beam_width)."
        )
        with get_default_graph().control_dependencies(self._batch_size_checks(batch_size, message)):
            return nest.map_structure(array.identity, values)

    def _item_or_tuple(self, items: Sequence[Any]) -> Any:
        return tuple(items) if self._is_multi else items[0]

    @property
    def variables(self) -> list[Any]:
        """Those of the cell inside and of the layers."""
        layers = [layer for layer in self._attention_layers or () if layer.built]
        inside = [v for part in (self._cell, *layers) for v in getattr(part, "variables", [])]
        return [*self._variables, *inside]

    @property
    def output_size(self) -> Any:
        """The size of what is seen, or the cell's."""
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """The sizes of the parts of the state."""
        steps = [mechanism.alignments_size for mechanism in self._attention_mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(steps),
            attention_state=self._item_or_tuple([m.state_size for m in self._attention_mechanisms]),
            alignment_history=self._item_or_tuple(steps if self._alignment_history else [() for _ in steps]),
        )

    def zero_state(self, batch_size: IntTensorLike, dtype: DTypeLike) -> AttentionWrapperState:
        """The state before the first step: the initial cell state, and nothing seen.

        Args:
            batch_size: How many rows, an int or a scalar tensor: those of the memory.
            dtype: The dtype of the state.

        Raises:
            InvalidArgumentError: If the memory has another number of rows.
        """
        with op_scope(None, f"{type(self).__name__}ZeroState", [batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            first = [m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms]
            states = [m.initial_state(batch_size, dtype) for m in self._attention_mechanisms]
            return AttentionWrapperState(
                cell_state=self._checked(cell_state, batch_size, "zero_state was asked for"),
                time=array.zeros([], dtype=dtypes.int32),
                attention=zero_state_of(self._attention_layer_size, batch_size, dtype),
                alignments=self._item_or_tuple(first),
                attention_state=self._item_or_tuple(states),
                alignment_history=self._item_or_tuple([self._history(part, dtype) for part in first]),
            )

    def _history(self, alignments: Tensor, dtype: Any) -> Any:
        if not self._alignment_history:
            return ()
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=alignments.shape)

    def call(self, inputs: TensorStructure, state: TensorStructure) -> tuple[Any, AttentionWrapperState]:
        """One step.

        Args:
            inputs: The inputs of the step, [batch, size].
            state: An AttentionWrapperState.

        Returns:
            What is seen, or the cell's output, and the next state.

        Raises:
            TypeError: If it is another state.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(f"Expected state to be an AttentionWrapperState, got {state!r}.")
        output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention), state.cell_state)
        output = self._checked(output, extent(output, 0), "the cell's output has")
        count = len(self._attention_mechanisms)
        before, histories = state.attention_state, state.alignment_history
        if not self._is_multi:
            before, histories = [before], [histories]
        layers = self._attention_layers or [None] * count
        seen, alignments, following = zip(
            *(
                self._attention_fn(mechanism, output, own, layer)
                for mechanism, own, layer in zip(self._attention_mechanisms, before, layers, strict=True)
            ),
            strict=True,
        )
        if self._alignment_history:
            histories = [
                history.write(state.time, part) for history, part in zip(histories, alignments, strict=True)
            ]
        attention = array.concat(list(seen), 1)
        next_state = AttentionWrapperState(
            cell_state=cell_state,
            attention=attention,
            time=state.time + 1,
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(histories),
            attention_state=self._item_or_tuple(following),
        )
        return (attention if self._output_attention else output), next_state


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, list | tuple) else (values,)


def _layers(sizes: Any, layers: Any, mechanisms: Sequence[Any]) -> tuple[Any, ...] | None:
    """The layer of each mechanism, or None."""
    if sizes is not None and layers is not None:
        raise ValueError("Only one of attention_layer_size and attention_layer should be set.")
    if sizes is None and layers is None:
        return None
    given = _as_tuple(layers if sizes is None else sizes)
    if len(given) != len(mechanisms):
        raise ValueError(
            "attention_layer_size or attention_layer must have one item for each attention mechanism: "
            f"{len(given)} for {len(mechanisms)}."
        )
    if sizes is None:
        return given
    return tuple(
        Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
        for size, mechanism in zip(given, mechanisms, strict=True)
    )


def _attention_size(cell: Any, layers: tuple[Any, ...] | None, mechanisms: Sequence[Any]) -> int:
    """The size of what all mechanisms see together, behind their layers."""
    seen = [mechanism.values.shape.as_list()[-1] for mechanism in mechanisms]
    if layers is None:
        return sum(seen)
    return sum(
        layer.compute_output_shape([None, cell.output_size + size]).as_list()[-1]
        for layer, size in zip(layers, seen, strict=True)
    )
