"""Recurrent layers with the arguments and the one variable of cuDNN's, built of loops that run on any device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import graphflow.nn as nn
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import DTypeLike, Initializer, ShapeLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math import math
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.state.initializers import GlorotUniform, Zeros
from graphflow._core.ops.state.variable_scope import get_variable_scope
from graphflow.contrib.cudnn_rnn.cells import gru_step
from graphflow.contrib.cudnn_rnn.weights import CellWeights, Layout
from graphflow.layers.base import Layer
from graphflow.layers.input_spec import InputSpec
from graphflow.nn.cells import LSTMStateTuple, RNNCell

_DIRECTIONS = {"unidirectional": 1, "bidirectional": 2}
_MODES = ("linear_input", "skip_input", "auto_select")


class _Step(RNNCell):
    """A cell of weights that are there."""

    def __init__(self, mode: str, units: int, weights: Sequence[Tensor]) -> None:
        super().__init__()
        self._mode, self._units, self._parts = mode, units, weights
        self.built = True

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._units, self._units) if self._mode == "lstm" else self._units

    @property
    def output_size(self) -> int:
        return self._units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        if self._mode == "gru":
            gates, of_inputs, of_state, bias, input_bias, state_bias = self._parts
            weights = (gates, bias, of_inputs, of_state, input_bias, state_bias)
            output: Any = gru_step(inputs, state, weights, math.tanh)
            return output, output
        kernel, bias = self._parts
        last = state[1] if self._mode == "lstm" else state
        both = nn.bias_add(matmul(array.concat([inputs, last], 1), kernel), bias)
        if self._mode != "lstm":
            output = math.tanh(both) if self._mode == "rnn_tanh" else nn.relu(both)
            return output, output
        entering, value, kept, leaving = array.split(both, 4, axis=1)
        memory = math.sigmoid(kept) * state[0] + math.sigmoid(entering) * math.tanh(value)
        output = math.sigmoid(leaving) * math.tanh(memory)
        return output, LSTMStateTuple(memory, output)


class _CudnnRNN(Layer):
    _mode: ClassVar[str]

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if direction not in _DIRECTIONS:
            raise ValueError(f"Invalid direction: {direction}, expecting unidirectional or bidirectional")
        if input_mode not in _MODES:
            raise ValueError(f"Invalid input_mode: {input_mode}, expect one of {_MODES}")
        if dtypes.as_dtype(dtype) not in (dtypes.float16, dtypes.float32, dtypes.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self.num_layers: int = num_layers
        self.num_units: int = num_units
        self.input_mode: str = input_mode
        self.direction: str = direction
        self._dropout = dropout
        self._seed = seed
        self._kernel_initializer = kernel_initializer or GlorotUniform(seed)
        self._bias_initializer = bias_initializer or Zeros()
        self._layout: Layout | None = None
        self.saveable: CellWeights | None = None

    @property
    def num_dirs(self) -> int:
        """In how many directions it runs, 1 or 2."""
        return _DIRECTIONS[self.direction]

    @property
    def rnn_mode(self) -> str:
        """The kind of its cells: "lstm", "gru", "rnn_tanh" or "rnn_relu"."""
        return self._mode

    @property
    def input_size(self) -> int:
        """The size of the inputs; ValueError before it is built."""
        return self._built_layout.inputs

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of the matrices in its variable."""
        return self._built_layout.matrices()

    @property
    def canonical_bias_shapes(self) -> list[tuple[int]]:
        """The shapes of the biases in its variable."""
        return self._built_layout.biases()

    @property
    def _built_layout(self) -> Layout:
        if self._layout is None:
            raise ValueError(f"'input_size' is unknown since the layer {self.name!r} has not been built.")
        return self._layout

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """The shapes of a state for so many examples.

        Args:
            batch_size: How many examples.

        Returns:
            [layers * directions, batch_size, units]: two of an LSTM, one of the others.
        """
        shape = [self.num_layers * self.num_dirs, batch_size, self.num_units]
        return (shape, list(shape)) if self._mode == "lstm" else (shape,)

    def build(self, input_shape: ShapeLike) -> None:
        """Makes the variable, opaque_kernel.

        Args:
            input_shape: The shape of the inputs.
        """
        if self.built:
            return
        sizes = shapes.as_shape(input_shape).as_list()
        if len(sizes) != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {len(sizes)}")
        if sizes[-1] is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        if self.input_mode == "skip_input" or (self.input_mode, sizes[-1]) == ("auto_select", self.num_units):
            raise ValueError(
                f"The layer {self.name!r} takes its inputs through matrices: say input_mode='linear_input'."
            )
        layout = Layout(self._mode, self.num_layers, self.num_units, sizes[-1], self.num_dirs)
        self._layout = layout
        self.input_spec: InputSpec = InputSpec(ndim=3, axes={-1: sizes[-1]})

        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
            matrices = [self._kernel_initializer(shape, dtype) for shape in layout.matrices()]
            return layout.joined(
                matrices + [self._bias_initializer(shape, dtype) for shape in layout.biases()]
            )

        length = sum(rows * columns + rows for rows, columns in layout.matrices())
        self._set_scope(None)
        outer = get_variable_scope()
        self.kernel: Any = self.add_weight("opaque_kernel", [length], initializer=initial)
        self.built = True
        if not outer.reuse:
            place = self.scope_name.rpartition("/")[0]
            self.saveable = CellWeights(self.kernel, layout, place)
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self.saveable)

    def call(
        self,
        inputs: Any,
        initial_state: tuple[TensorLike, ...] | None = None,
        sequence_lengths: TensorLike | None = None,
        time_major: bool = True,
        training: TensorLike = True,
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Runs all layers over sequences.

        Args:
            inputs: [time, batch, size], or [batch, time, size] if not time_major.
            initial_state: The state before the first step, as state_shape says, with batch and layers exchanged if not
                time_major; by default zeros.
            sequence_lengths: The length of each sequence; by default all are of the whole.
            time_major: Whether time is the first axis.
            training: Whether there is dropout between layers, a bool or a scalar bool tensor.

        Returns:
            The outputs of the last layer, [time, batch, directions * units] or with the first two exchanged, and the
            last state, a tuple.

        Raises:
            TypeError: If the initial state is no tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        given = convert_to_tensor(inputs, dtype=self._dtype)
        first = self._first_states(given, initial_state, time_major)
        cells = self._built_layout.cells(self.kernel)
        layers = [cells[at : at + self.num_dirs] for at in range(0, len(cells), self.num_dirs)]
        last: list[Any] = []
        outputs = given
        for number, weights in enumerate(layers):
            if number and self._dropout:
                outputs = smart_cond(
                    training, partial(self._dropped, outputs), partial(array.identity, outputs)
                )
            steps = [_Step(self._mode, self.num_units, each) for each in weights]
            starts = first[len(last) : len(last) + self.num_dirs]
            outputs, states = _run(steps, outputs, sequence_lengths, starts, time_major)
            last += states
        axis = 0 if time_major else 1
        if self._mode != "lstm":
            return outputs, (array.stack(last, axis),)
        return outputs, (
            array.stack([state.h for state in last], axis), array.stack([state.c for state in last], axis),
        )  # fmt: skip

    def _dropped(self, outputs: Tensor) -> Tensor:
        return nn.dropout(outputs, rate=self._dropout, seed=self._seed)

    def _first_states(self, inputs: Tensor, state: tuple[Any, ...] | None, time_major: bool) -> list[Any]:
        """The state of each cell before the first step."""
        count = self.num_layers * self.num_dirs
        if state is None:
            batch = array.shape(inputs)[1 if time_major else 0]
            zero = array.zeros([batch, self.num_units], inputs.dtype)
            parts = [[zero] * count for _ in self.state_shape(None)]
        else:
            tensors = [convert_to_tensor(part, dtype=inputs.dtype) for part in state]
            parts = [array.unstack(part, count, 0 if time_major else 1) for part in tensors]
        if self._mode != "lstm":
            return list(parts[0])
        return [LSTMStateTuple(c, h) for h, c in zip(*parts, strict=True)]


def _run(
    steps: list[_Step], inputs: Tensor, lengths: Any, starts: list[Any], time_major: bool
) -> tuple[Tensor, list[Any]]:
    """The outputs of one layer, and its last states."""
    if len(steps) == 1:
        outputs, state = nn.dynamic_rnn(steps[0], inputs, lengths, starts[0], time_major=time_major)
        return outputs, [state]
    forwards, backwards = steps
    both, states = nn.bidirectional_dynamic_rnn(
        forwards, backwards, inputs, lengths, starts[0], starts[1], time_major=time_major
    )
    return array.concat(both, 2), list(states)


class CudnnLSTM(_CudnnRNN):
    """Layers of long short-term memories as cuDNN has them (tf.contrib.cudnn_rnn.CudnnLSTM).

    Called with inputs [time, batch, size] it gives outputs [time, batch, directions * units] and the last state. Its
    variable, opaque_kernel, holds all matrices and biases; checkpoints have them as the weights of
    CudnnCompatibleLSTMCells
    as well, which such cells can take.

    Args:
        num_layers: How many layers, one upon the other.
        num_units: The size of state and output, of one direction.
        input_mode: "linear_input", or "auto_select", which is that for inputs of another size than num_units.
        direction: "unidirectional" or "bidirectional".
        dropout: The share of a layer's outputs that the next does not see, in training.
        seed: Of initial values and dropout.
        dtype: Of its variable.
        kernel_initializer: What each matrix begins with; by default Glorot's.
        bias_initializer: What each bias begins with; by default zeros.
        name: Of its variable and operations; by default that of the class in small letters, made unique.

    Raises:
        ValueError: For another direction, input_mode or dtype.
    """

    _mode = "lstm"


class CudnnGRU(_CudnnRNN):
    """Layers of gated recurrent units as cuDNN has them (tf.contrib.cudnn_rnn.CudnnGRU).

    Called with inputs [time, batch, size] it gives outputs [time, batch, directions * units] and the last state. Its
    variable, opaque_kernel, holds all matrices and biases; checkpoints have them as the weights of
    CudnnCompatibleGRUCells
    as well, which such cells can take.

    Args:
        num_layers: How many layers, one upon the other.
        num_units: The size of state and output, of one direction.
        input_mode: "linear_input", or "auto_select", which is that for inputs of another size than num_units.
        direction: "unidirectional" or "bidirectional".
        dropout: The share of a layer's outputs that the next does not see, in training.
        seed: Of initial values and dropout.
        dtype: Of its variable.
        kernel_initializer: What each matrix begins with; by default Glorot's.
        bias_initializer: What each bias begins with; by default zeros.
        name: Of its variable and operations; by default that of the class in small letters, made unique.

    Raises:
        ValueError: For another direction, input_mode or dtype.
    """

    _mode = "gru"


class CudnnRNNTanh(_CudnnRNN):
    """Layers of plain recurrent units with tanh (tf.contrib.cudnn_rnn.CudnnRNNTanh).

    Called with inputs [time, batch, size] it gives outputs [time, batch, directions * units] and the last state. Its
    variable, opaque_kernel, holds all matrices and biases; checkpoints have them as the weights of
    BasicRNNCells
    as well, which such cells can take.

    Args:
        num_layers: How many layers, one upon the other.
        num_units: The size of state and output, of one direction.
        input_mode: "linear_input", or "auto_select", which is that for inputs of another size than num_units.
        direction: "unidirectional" or "bidirectional".
        dropout: The share of a layer's outputs that the next does not see, in training.
        seed: Of initial values and dropout.
        dtype: Of its variable.
        kernel_initializer: What each matrix begins with; by default Glorot's.
        bias_initializer: What each bias begins with; by default zeros.
        name: Of its variable and operations; by default that of the class in small letters, made unique.

    Raises:
        ValueError: For another direction, input_mode or dtype.
    """

    _mode = "rnn_tanh"


class CudnnRNNRelu(_CudnnRNN):
    """Layers of plain recurrent units with relu (tf.contrib.cudnn_rnn.CudnnRNNRelu).

    Called with inputs [time, batch, size] it gives outputs [time, batch, directions * units] and the last state. Its
    variable, opaque_kernel, holds all matrices and biases; checkpoints have them as the weights of
    BasicRNNCells
    as well, which such cells can take.

    Args:
        num_layers: How many layers, one upon the other.
        num_units: The size of state and output, of one direction.
        input_mode: "linear_input", or "auto_select", which is that for inputs of another size than num_units.
        direction: "unidirectional" or "bidirectional".
        dropout: The share of a layer's outputs that the next does not see, in training.
        seed: Of initial values and dropout.
        dtype: Of its variable.
        kernel_initializer: What each matrix begins with; by default Glorot's.
        bias_initializer: What each bias begins with; by default zeros.
        name: Of its variable and operations; by default that of the class in small letters, made unique.

    Raises:
        ValueError: For another direction, input_mode or dtype.
    """

    _mode = "rnn_relu"
