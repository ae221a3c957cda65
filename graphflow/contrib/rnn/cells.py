"""Cells and an unrolling that only tf.contrib.rnn has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import graphflow.nest as nest
import graphflow.nn as nn
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import count_more, counted_as
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import Activation, DTypeLike, IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import linalg, math, reductions
from graphflow._core.ops.math.contraction import tensordot
from graphflow._core.ops.nn.softmax import softmax
from graphflow._core.ops.state.initializers import Constant, Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.contrib.rnn.scoped import ScopedCell, last_size
from graphflow.layers.contrib import layer_norm
from graphflow.nn.cells import LSTMCell, LSTMStateTuple, RNNCell
from graphflow.nn.layers import dropout
from graphflow.nn.rnn import assert_like_rnncell, bidirectional_dynamic_rnn, static_bidirectional_rnn

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import VariableScope

_NORMALISED = ("input", "transform", "forget", "output", "state")


class LSTMBlockCell(LSTMCell):
    """An LSTM cell whose variables are in `lstm_cell` (tf.contrib.rnn.LSTMBlockCell).

    There it is one operation; here every cell that is run in a loop is compiled, so it is LSTMCell with its arguments.
    As there, gradients pass cell_clip as if it were not there.

    Args:
        num_units: The size of state and output.
        forget_bias: What is added to the bias of the forget gate.
        cell_clip: The bound of the memory; None or 0 for none.
        use_peephole: Whether the gates see the memory.
        dtype: The dtype of the state that is made of zeros.
        reuse: Whether to take variables that are there.
        name: A name for the operation.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(
            num_units, use_peephole, cell_clip, forget_bias=forget_bias, reuse=reuse, name=name, dtype=dtype
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; see LSTMCell.

        Args:
            inputs: A tensor [batch, size].
            state: The state before the step.
        """
        # TensorFlow's operation, and zeros for the peepholes that it does not have.
        with counted_as(1 if self._use_peepholes else 2):
            return super().call(inputs, state)

    def _clipped(self, memory: Tensor, limit: float) -> Tensor:
        beyond = super()._clipped(memory, limit) - memory
        return memory + array.stop_gradient(beyond)


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM cell with layer normalisation, and with dropout of what enters the memory.

    TensorFlow: tf.contrib.rnn.LayerNormBasicLSTMCell. The methods are those of Ba, Kiros and Hinton (2016) and of
    Semeniuta, Severyn and Barth (2016).

    Args:
        num_units: The size of state and output.
        forget_bias: What is added to the bias of the forget gate.
        input_size: Accepted, and not needed.
        activation: A function, or its name; tanh by default.
        layer_norm: Whether to normalise gates and memory, with norm_gain and norm_shift as first factors and
            offsets; otherwise there is a bias. input_size is accepted and not used.
        norm_gain: What gamma begins with.
        norm_shift: What beta begins with.
        dropout_keep_prob: The share of the new values that is kept.
        dropout_prob_seed: The seed of that.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[[Any], Tensor] = math.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: NumberLike = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._normalises = layer_norm
        self._gain, self._shift = norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> LSTMStateTuple:
        """LSTMStateTuple(num_units, num_units)."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """num_units."""
        return self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the kernel, and the bias or the factors and offsets of the normalisation.

        Args:
            inputs_shape: The shape of the inputs.
        """
        units = self._num_units
        rows = last_size(inputs_shape) + units
        count_more(2)  # TensorFlow joins inputs and state before it makes the kernel.
        self._kernel = self.add_variable("kernel", [rows, 4 * units])
        if not self._normalises:
            self._bias = self.add_variable("bias", [4 * units])
            return
        for part in _NORMALISED[:-1]:
            self._add_normalisation(part)

    def _add_normalisation(self, part: str) -> None:
        self.add_variable(f"{part}/gamma", [self._num_units], Constant(self._gain))
        self.add_variable(f"{part}/beta", [self._num_units], Constant(self._shift))

    def _normalised(self, value: Tensor, part: str) -> Tensor:
        result: Tensor = layer_norm(value, reuse=True, scope=part) if self._normalises else value
        return result

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
        """
        memory, fed_back = state
        with counted_as(2 if self.built else 0):
            joined = array.concat([inputs, fed_back], 1)
        gates = linalg.matmul(joined, self._kernel)
        if not self._normalises:
            gates = nn.bias_add(gates, self._bias)
        parts = array.split(gates, 4, axis=1)
        entering, value, forgetting, leaving = (
            self._normalised(gate, part) for gate, part in zip(parts, _NORMALISED, strict=False)
        )
        value = self._activation(value)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            value = dropout(value, self._keep_prob, seed=self._seed)
        kept = memory * math.sigmoid(forgetting + self._forget_bias)
        memory = kept + math.sigmoid(entering) * value
        if self._normalises and not self.built:
            self._add_normalisation("state")
        memory = self._normalised(memory, "state")
        output = self._activation(memory) * math.sigmoid(leaving)
        return output, LSTMStateTuple(memory, output)


class _Projection(RNNCell):
    """The common parts of the two wrappers: a cell, and a linear layer before or behind it."""

    def __init__(self, cell: Any, size: int, activation: Any, reuse: bool | None) -> None:
        super().__init__(_reuse=reuse)
        if size < 1:
            raise ValueError(f"{type(self).__name__}: the size must be above 0, got {size}.")
        self._cell = cell
        self._size = size
        self._activation = activation

    @property
    def state_size(self) -> Any:
        """The cell's."""
        return self._cell.state_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The cell's."""
        return self._cell.zero_state(batch_size, dtype)

    def _projected(self, x: Any) -> Tensor:
        if not self.built:
            rows = last_size(convert_to_tensor(x).shape)
            self._kernel = self.add_variable("kernel", [rows, self._size])
            self._bias = self.add_variable("bias", [self._size], Zeros(dtype=self._dtype))
        projected = nn.bias_add(linalg.matmul(x, self._kernel), self._bias)
        result: Tensor = projected if self._activation is None else self._activation(projected)
        return result


class InputProjectionWrapper(_Projection):
    """A cell whose inputs go through a linear layer first (tf.contrib.rnn.InputProjectionWrapper).

    Args:
        cell: An RNNCell.
        num_proj: The size of the projected inputs.
        activation: A function, or its name; tanh by default.
        input_size: Accepted, and not needed.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self,
        cell: RNNCell,
        num_proj: int,
        activation: Activation | None = None,
        input_size: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, num_proj, activation, reuse)

    @property
    def output_size(self) -> Any:
        """The cell's."""
        return self._cell.output_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
        """
        output, following = self._cell(self._projected(inputs), state)
        return output, following


class OutputProjectionWrapper(_Projection):
    """A cell whose outputs go through a linear layer (tf.contrib.rnn.OutputProjectionWrapper).

    Args:
        cell: An RNNCell.
        output_size: The size of the outputs.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, cell: RNNCell, output_size: int, activation: Activation | None = None, reuse: bool | None = None
    ) -> None:
        super().__init__(cell, output_size, activation, reuse)

    @property
    def output_size(self) -> int:
        """The size that was given."""
        return self._size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
        """
        output, following = self._cell(inputs, state)
        return self._projected(output), following


class AttentionCellWrapper(ScopedCell):
    """A cell that looks back at its last outputs (tf.contrib.rnn.AttentionCellWrapper).

    Cheng et al., "Long short-term memory-networks for machine reading", 2016. The state is (the cell's, what was seen
    [batch, attn_size], the last outputs [batch, attn_length * attn_size]).

    Args:
        cell: An RNNCell.
        attn_length: How many outputs it looks back at.
        attn_size: The size of the outputs; the cell's by default.
        attn_vec_size: The size of the layer that compares the state with them; attn_size by default.
        input_size: The size of the inputs, projected together with what was seen; the inputs' own by default.
        state_is_tuple: Whether the state is a tuple and not one tensor.
        reuse: Whether to take variables that are there.

    Raises:
        TypeError: If the cell is none.
        ValueError: If attn_length is not above 0, or the cell's state is a tuple and this one's is not.
    """

    def __init__(
        self,
        cell: RNNCell,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                f"The cell's state is a tuple, {cell.state_size}: state_is_tuple cannot be False."
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length must be above 0, got {attn_length}.")
        self._cell = cell
        self._length = attn_length
        self._size: int = attn_size or cell.output_size
        self._vector_size = attn_vec_size or self._size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The sizes of the cell's state, of what was seen, and of the last outputs."""
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """attn_size."""
        return self._size

    def call(self, inputs: TensorLike, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: The state before the step, as `state_size` describes it.
        """
        given, parts = convert_to_tensor(inputs), state
        if not self._state_is_tuple:
            sizes = [self._cell.state_size, self._size, self._size * self._length]
            parts = array.split(state, sizes, axis=1)
        cell_state, seen, before = parts
        outputs = array.reshape(before, [-1, self._length, self._size])
        projected = self.linear([given, seen], self._input_size or last_size(given.shape))
        output, cell_state = self._cell(projected, cell_state)
        seen = self._look(array.concat(nest.flatten(cell_state), 1), outputs)
        with variable_scope("attn_output_projection"):
            result = self.linear([output, seen], self._size)
        with counted_as(0):  # TensorFlow has sliced it where it looked at the outputs.
            later = outputs[:, 1:]
        kept = array.concat([later, array.expand_dims(result, 1)], 1)
        following = (cell_state, seen, array.reshape(kept, [-1, self._length * self._size]))
        return result, following if self._state_is_tuple else array.concat(list(following), 1)

    def _look(self, query: Tensor, outputs: Tensor) -> Tensor:
        """What is seen of the last outputs, [batch, length, size]: [batch, size]."""
        with variable_scope("attention"):
            weights = self.get("attn_w", [1, 1, self._size, self._vector_size])
            factors = self.get("attn_v", [self._vector_size])
            # A convolution by one is a product; the variable has its shape, so that checkpoints fit.
            with counted_as(3):
                kernel = weights[0, 0]
            wanted = array.expand_dims(self.linear([query], self._vector_size), 1)
            with counted_as(0):
                keys = tensordot(outputs, kernel, [[2], [0]])
            score = reductions.reduce_sum(factors * math.tanh(keys + wanted), [2])
            count_more(-1)  # TensorFlow reshapes and slices the outputs here.
            return reductions.reduce_sum(array.expand_dims(softmax(score), 2) * outputs, [1])


def _check_layers(cells_fw: Any, cells_bw: Any, initial_states_fw: Any, initial_states_bw: Any) -> None:
    """ValueError unless there is a cell for each layer and direction, and a state if states are given."""
    for argument, given in (
        ("cells_fw", cells_fw), ("cells_bw", cells_bw), ("initial_states_fw", initial_states_fw),
        ("initial_states_bw", initial_states_bw),
    ):  # fmt: skip
        if given is None and argument.startswith("initial"):
            continue
        if not isinstance(given, list) or not given or len(given) != len(cells_fw):
            raise ValueError(f"{argument} must be a list with one element a layer, got {given!r}.")


def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Sequence[Any],
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: IntTensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], tuple[Any, ...], tuple[Any, ...]]:
    """Layers of gf.nn.static_bidirectional_rnn, each taking the outputs of the one below.

    TensorFlow: tf.contrib.rnn.stack_bidirectional_rnn.

    Args:
        cells_fw: RNNCells, one for each layer.
        cells_bw: As many.
        inputs: A list of tensors [batch, ...], one for each step.
        initial_states_fw: The forward state of each layer before the first step; None for zeros.
        initial_states_bw: The backward state of each layer before the first step; None for zeros.
        dtype: The dtype of the state that is made of zeros.
        sequence_length: How many steps each row has, a vector [batch] of int32 or int64; None for all.
        scope: The variable scope.

    Returns:
        The outputs of the last layer, both sides side by side, one for each step; the states forward, by layer; the
        states backward.

    Raises:
        ValueError: If the lists are empty, no lists, or of different lengths.
    """
    _check_layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    outputs = list(inputs)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for layer, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{layer}") as own:
                outputs, state_fw, state_bw = static_bidirectional_rnn(
                    forward,
                    backward,
                    outputs,
                    initial_states_fw[layer] if initial_states_fw else None,
                    initial_states_bw[layer] if initial_states_bw else None,
                    dtype,
                    sequence_length,
                    own,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return outputs, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: list[Any] | None = None,
    initial_states_bw: list[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: IntTensorLike | None = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
    swap_memory: bool = False,
) -> tuple[Tensor, tuple[Any, ...], tuple[Any, ...]]:
    """Layers of gf.nn.bidirectional_dynamic_rnn, each taking both outputs of the one below.

    Returns (outputs of the last layer side by side, states forward, states backward), the states by layer. ValueError
    if the lists are empty, no lists, or of different lengths. TensorFlow:
    tf.contrib.rnn.stack_bidirectional_dynamic_rnn.

    Args:
        cells_fw: RNNCells, one for each layer.
        cells_bw: As many.
        inputs: A tensor, or structure of tensors, [batch, time, ...].
        initial_states_fw: The forward state before the first step; None for zeros.
        initial_states_bw: The backward state before the first step; None for zeros.
        dtype: The dtype of the state that is made of zeros.
        sequence_length: How many steps each row has, a vector [batch] of int32 or int64; None for all.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        time_major: Whether the first axis is that of time, and the second the batch's.
        scope: The variable scope.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
    """
    _check_layers(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    outputs = inputs
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for layer, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with variable_scope(f"cell_{layer}"):
                both, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    forward,
                    backward,
                    outputs,
                    sequence_length,
                    initial_states_fw[layer] if initial_states_fw else None,
                    initial_states_bw[layer] if initial_states_bw else None,
                    dtype,
                    parallel_iterations,
                    swap_memory,
                    time_major,
                )
                outputs = array.concat(both, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return outputs, tuple(states_fw), tuple(states_bw)
