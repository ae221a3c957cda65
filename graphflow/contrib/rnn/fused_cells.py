"""Cells that take a whole sequence at once, time first, and what reverses or adapts them (tf.contrib.rnn)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike
from graphflow._core.ops.array.joining import stack, unstack
from graphflow._core.ops.array.layout import reverse, reverse_sequence
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.variable_scope import VariableScope, variable_scope
from graphflow.contrib.rnn.cells import LSTMBlockCell
from graphflow.nn.cells import LSTMStateTuple, RNNCell
from graphflow.nn.rnn import dynamic_rnn, static_rnn


def _sequence(inputs: Any) -> tuple[Tensor, bool]:
    """Inputs as one tensor, time first, and whether they were a list of steps."""
    if isinstance(inputs, list | tuple):
        return stack(list(inputs)), True
    return convert_to_tensor(inputs, name="inputs"), False


class FusedRNNCell:
    """What takes a sequence, time first, and gives its outputs and the last state (tf.contrib.rnn.FusedRNNCell)."""

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: IntTensorLike | None = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Runs over a sequence.

        Args:
            inputs: A tensor [time, batch, size], or a list of [batch, size], one for each step.
            initial_state: The state before the first step; zeros by default, and then `dtype` is needed.
            dtype: The dtype of those zeros.
            sequence_length: How many steps each row has, [batch]; all by default.
            scope: A variable scope, or its name.

        Returns:
            The outputs in the form of the inputs, zeros past the end of a row, and the state after the last step.

        Raises:
            NotImplementedError: If a subclass defines none.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__.")


class FusedRNNCellAdaptor(FusedRNNCell):
    """An ordinary cell, unrolled, in the form of one that takes a sequence (tf.contrib.rnn.FusedRNNCellAdaptor).

    Args:
        cell: The cell.
        use_dynamic_rnn: Whether a loop runs it; otherwise it is built for each step, whose number has to be known.
    """

    def __init__(self, cell: RNNCell, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: IntTensorLike | None = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """As of FusedRNNCell.

        Args:
            inputs: A tensor [time, batch, size], or a list of [batch, size], one for each step.
            initial_state: The state before the first step; zeros by default, and then `dtype` is needed.
            dtype: The dtype of those zeros.
            sequence_length: How many steps each row has, [batch]; all by default.
            scope: A variable scope, or its name.

        Returns:
            The outputs in the form of the inputs, and the state after each row's last step.
        """
        sequence, listed = _sequence(inputs)
        outputs: Any
        if self._use_dynamic_rnn:
            outputs, state = dynamic_rnn(
                self._cell, sequence, sequence_length, initial_state, dtype, time_major=True, scope=scope
            )
            return (unstack(outputs) if listed else outputs), state
        steps = list(inputs) if listed else unstack(sequence)
        outputs, state = static_rnn(self._cell, steps, initial_state, dtype, sequence_length, scope)
        return (outputs if listed else stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A cell that takes a sequence, from each row's last step to its first (tf.contrib.rnn.TimeReversedFusedRNN).

    Args:
        cell: The cell, a FusedRNNCell.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: IntTensorLike | None = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """As of FusedRNNCell; the outputs lie where their inputs lie.

        Args:
            inputs: A tensor [time, batch, size], or a list of [batch, size], one for each step.
            initial_state: The state before the first step; zeros by default, and then `dtype` is needed.
            dtype: The dtype of those zeros.
            sequence_length: How many steps each row has, [batch]; all by default.
            scope: A variable scope, or its name.

        Returns:
            The outputs in the form of the inputs, and the state after each row's first step.
        """
        sequence, listed = _sequence(inputs)

        def turned(steps: Any) -> Tensor:
            if sequence_length is None:
                return reverse(steps, [0])
            return reverse_sequence(steps, sequence_length, seq_axis=0, batch_axis=1)

        named = {} if scope is None else {"scope": scope}
        outputs, state = self._cell(turned(sequence), initial_state, dtype, sequence_length, **named)
        outputs = turned(outputs)
        return (unstack(outputs) if listed else outputs), state


class _BlockCell(LSTMBlockCell):
    """The cell of LSTMBlockFusedCell, whose scope is that in which the whole is called, not that of the loop."""

    def find_scope(self, scope: Any) -> VariableScope:
        """The scope of its variables, made at the first call."""
        if self._scope is None:
            named = self._base_name if self._reuse and scope is None else scope
            with variable_scope(named, default_name=self._base_name) as self._scope:
                pass
        found: VariableScope = self._scope
        return found


class LSTMBlockFusedCell(FusedRNNCell):
    """An LSTM that takes a whole sequence (tf.contrib.rnn.LSTMBlockFusedCell).

    There it is one operation; here a loop, which is compiled, runs LSTMBlockCell.

    Args:
        num_units: The size of state and output.
        forget_bias: What is added to the bias of the forget gate.
        cell_clip: The bound of the memory; None or 0 for none.
        use_peephole: Whether the gates see the memory.
        reuse: Whether to take variables that are there.
        dtype: The dtype of the variables, by default that of the inputs.
        name: The name of its variable scope.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: DTypeLike | None = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        self._cell = _BlockCell(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)

    @property
    def num_units(self) -> int:
        """The size of state and output."""
        return self._cell.output_size

    @property
    def variables(self) -> list[Any]:
        """Its variables, once it was called."""
        return self._cell.variables

    weights = trainable_variables = trainable_weights = variables

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: IntTensorLike | None = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """As of FusedRNNCell; the state is an LSTMStateTuple of [batch, num_units] each.

        Args:
            inputs: A tensor [time, batch, size], or a list of [batch, size], one for each step.
            initial_state: The state before the first step; zeros by default, and then `dtype` is needed.
            dtype: The dtype of those zeros.
            sequence_length: How many steps each row has, [batch]; all by default.
            scope: A variable scope, or its name; by default that which is open.

        Returns:
            The outputs in the form of the inputs, zeros past the end of a row, and the state after the last step.
        """
        sequence, listed = _sequence(inputs)
        outputs: Any
        outputs, state = dynamic_rnn(
            self._cell,
            sequence,
            sequence_length,
            None if initial_state is None else LSTMStateTuple(*initial_state),
            dtype,
            time_major=True,
            scope=self._cell.find_scope(scope),
        )
        return (unstack(outputs) if listed else outputs), state
