"""Recurrent networks over sequences that are cut into pieces: what keeps the states from piece to piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow.nn.rnn import static_rnn

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope
    from graphflow.nn.cells import RNNCell


class StateSaver(Protocol):
    """What keeps states by their names."""

    def state(self, name: str) -> TensorLike:
        """The state of a name, for the rows of the present piece."""

    def save_state(self, name: str, value: Tensor) -> Tensor | Operation:
        """The operation that keeps it for the next piece."""


def static_state_saving_rnn(
    cell: RNNCell,
    inputs: Sequence[TensorLike],
    state_saver: StateSaver,
    state_name: Any,
    sequence_length: IntTensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """gf.nn.static_rnn from states that are kept, and kept again (tf.nn.static_state_saving_rnn).

    The last output and the states that are returned wait until the states are kept.

    Args:
        cell: An RNNCell.
        inputs: A list of tensors [batch, ...], one for each step.
        state_saver: Has `state(name)` and `save_state(name, value)`.
        state_name: The name of the state, or names in the structure of the cell's `state_size`.
        sequence_length: How many steps each row has, a vector [batch] of int32 or int64; None for all.
        scope: The variable scope.

    Returns:
        The outputs, one for each step, and the last state.

    Raises:
        ValueError: If the names are not as many as the parts of the state.
    """
    nested = nest.is_nested(cell.state_size)
    if nested != nest.is_nested(state_name):
        raise ValueError(
            f"state_name should be the same type as cell.state_size. state_name: {state_name}, "
            f"cell.state_size: {cell.state_size}"
        )
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(cell.state_size)):
        raise ValueError(
            f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(nest.flatten(cell.state_size))}"
        )
    start = nest.pack_sequence_as(cell.state_size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, start, sequence_length=sequence_length, scope=scope)
    kept = [state_saver.save_state(name, part) for name, part in zip(names, nest.flatten(state), strict=True)]
    with get_default_graph().control_dependencies(kept):
        outputs[-1] = nest.map_structure(array.identity, outputs[-1])
        return outputs, nest.map_structure(array.identity, state)
