"""Cells with gates other than those of LSTM and GRU (tf.contrib.rnn)."""

from __future__ import annotations

from typing import Any

import graphflow.nest as nest
import graphflow.nn as nn
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import Activation, DTypeLike, Initializer
from graphflow._core.ops.array import array
from graphflow._core.ops.math import linalg, math
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant, RandomUniform, Zeros
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.contrib.rnn.scoped import ScopedCell, last_size
from graphflow.nn.cell_wrappers import ResidualWrapper
from graphflow.nn.cells import GRUCell, LSTMStateTuple, RNNCell


class GRUBlockCellV2(GRUCell):
    """A gated recurrent unit under the name of TensorFlow's operation (tf.contrib.rnn.GRUBlockCellV2).

    There it is one operation; here every cell that is run in a loop is compiled, so it is GRUCell.

    Args:
        num_units: The size of state and output.
        cell_size: The former name of num_units.
        reuse: Whether to take variables that are there.
        name: A name for the operation.

    Raises:
        ValueError: If both sizes are given, or none.
    """

    def __init__(
        self, num_units: int | None = None, cell_size: int | None = None, reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:  # fmt: skip
        size = cell_size if num_units is None else num_units
        if size is None or (cell_size is not None and num_units is not None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        super().__init__(size, reuse=reuse, name=name)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; see GRUCell.

        Args:
            inputs: A tensor [batch, size].
            state: The state before the step.
        """
        with counted_as(1):  # TensorFlow's operation.
            return super().call(inputs, state)


class GRUBlockCell(GRUBlockCellV2):
    """GRUBlockCellV2 with other names of variables (tf.contrib.rnn.GRUBlockCell).

    Args:
        num_units: The size of state and output.
        cell_size: The former name of num_units.
        reuse: Whether to take variables that are there.
        name: A name for the operation.

    Raises:
        ValueError: If both sizes are given, or none.
    """

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the kernels and biases of gates and candidate.

        Args:
            inputs_shape: The shape of the inputs.
        """
        units = self._num_units
        rows = last_size(inputs_shape) + units
        self._gate_kernel = self.add_variable("w_ru", [rows, 2 * units])
        self._gate_bias = self.add_variable("b_ru", [2 * units], Constant(1.0))
        self._candidate_kernel = self.add_variable("w_c", [rows, units])
        self._candidate_bias = self.add_variable("b_c", [units], Constant(0.0))
        self.built = True


class _Plain(ScopedCell):
    """What cells have in common whose state and output have num_units columns.

    Args:
        num_units: The size of state and output.
        activation: A function, or its name.
        reuse: Whether to take variables that are there.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
        **kwargs: trainable, as for any cell.
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: bool | None = None, name: str | None = None,
        dtype: DTypeLike | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._activation = activation or math.tanh

    @property
    def state_size(self) -> Any:
        """num_units."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """num_units."""
        return self._num_units

    def _between(self) -> Any:
        """What the factors of each unit's own state begin with."""
        return RandomUniform(-1.0, 1.0)


class UGRNNCell(_Plain):
    """A cell with one gate, which chooses between old and new (tf.contrib.rnn.UGRNNCell).

    Source: Collins, Sohl-Dickstein and Sussillo, "Capacity and Trainability in Recurrent Neural Networks", ICLR 2017.

    Args:
        num_units: The size of state and output.
        initializer: What the kernel begins with; None for the variable scope's.
        forget_bias: What is added to the gate.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, num_units: int, initializer: Initializer | None = None, forget_bias: float = 1.0,
        activation: Activation | None = None, reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse)
        self._initializer, self._forget_bias = initializer, forget_bias

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: [batch, size].
            state: [batch, num_units].
        """
        both = self.linear([inputs, state], 2 * self._num_units, self._initializer, joined_first=True)
        gate, candidate = array.split(both, 2, axis=1)
        kept = math.sigmoid(gate + self._forget_bias)
        following = kept * state + (1.0 - kept) * self._activation(candidate)
        return following, following


class IntersectionRNNCell(_Plain):
    """A cell with a gate in time and one in depth (tf.contrib.rnn.IntersectionRNNCell).

    Source: Collins, Sohl-Dickstein and Sussillo, "Capacity and Trainability in Recurrent Neural Networks", ICLR 2017.

    Args:
        num_units: The size of state and output, and of the inputs if num_in_proj is None.
        num_in_proj: If it is given, inputs of another size are projected to num_units.
        initializer: What the kernels begin with; None for the variable scope's.
        forget_bias: What is added to both gates.
        y_activation: What the output's candidate goes through; relu by default.
        reuse: Whether to take variables that are there.
    """

    def __init__(
        self, num_units: int, num_in_proj: int | None = None, initializer: Initializer | None = None,
        forget_bias: float = 1.0, y_activation: Activation = nn.relu, reuse: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, y_activation, reuse)
        self._projects, self._initializer, self._forget_bias = num_in_proj, initializer, forget_bias

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: [batch, num_units].

        Raises:
            ValueError: If the inputs have another size than num_units and are not projected.
        """
        units = self._num_units
        if last_size(inputs.shape) != units:
            if not self._projects:
                raise ValueError(
                    "Must have input size == output size for Intersection RNN. To fix, num_in_proj should be set "
                    f"to num_units at cell init. The inputs have {last_size(inputs.shape)} columns, num_units is "
                    f"{units}."
                )
            with variable_scope("in_projection"):
                inputs = self.linear([inputs], units, self._initializer)
        gates = self.linear([inputs, state], 4 * units, self._initializer, joined_first=True)
        with counted_as(16):  # TensorFlow slices four times.
            in_time, new, in_depth, output = array.split(gates, 4, axis=1)
        in_time, in_depth = (math.sigmoid(gate + self._forget_bias) for gate in (in_time, in_depth))
        following = in_time * state + (1.0 - in_time) * math.tanh(new)
        return in_depth * inputs + (1.0 - in_depth) * self._activation(output), following


class SRUCell(_Plain):
    """A cell whose state meets no matrix (tf.contrib.rnn.SRUCell).

    Source: Lei, Zhang and Artzi, "Training RNNs as Fast as CNNs", 2017, arXiv:1709.02755.

    Args:
        num_units: The size of state and output.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        name: A name for the operation.
        **kwargs: dtype and trainable, as for any cell.
    """

    def __init__(
        self, num_units: int, activation: Activation | None = None, reuse: bool | None = None,
        name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, **kwargs)

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes kernel and bias.

        Args:
            inputs_shape: The shape of the inputs.
        """
        self._kernel = self.add_variable("kernel", [last_size(inputs_shape), 4 * self._num_units])
        self._bias = self.add_variable("bias", [2 * self._num_units], Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: [batch, num_units].
        """
        new, forget, reset, direct = array.split(linalg.matmul(inputs, self._kernel), 4, axis=1)
        gates = math.sigmoid(nn.bias_add(array.concat([forget, reset], 1), self._bias))
        forget, reset = array.split(gates, 2, axis=1)
        following = forget * state + (1.0 - forget) * new
        return reset * self._activation(following) + (1.0 - reset) * direct, following


class IndRNNCell(_Plain):
    """A cell whose units each see their own state alone (tf.contrib.rnn.IndRNNCell).

    Source: Li et al., "Independently Recurrent Neural Network (IndRNN)", 2018, arXiv:1803.04831.

    Args:
        num_units: The size of state and output.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
    """

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the kernels and the bias.

        Args:
            inputs_shape: The shape of the inputs.
        """
        units = self._num_units
        self._kernel = self.add_variable("kernel_w", [last_size(inputs_shape), units])
        self._own = self.add_variable("kernel_u", [1, units], self._between())
        self._bias = self.add_variable("bias", [units], Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: [batch, size].
            state: [batch, num_units].
        """
        summed = nn.bias_add(linalg.matmul(inputs, self._kernel) + state * self._own, self._bias)
        output = self._activation(summed)
        return output, output


class IndyGRUCell(_Plain):
    """A gated recurrent unit whose units each see their own state alone (tf.contrib.rnn.IndyGRUCell).

    Source: Li et al., "Independently Recurrent Neural Network (IndRNN)", 2018, arXiv:1803.04831.

    Args:
        num_units: The size of state and output.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        kernel_initializer: What the kernels begin with; None for the variable scope's.
        bias_initializer: What the biases begin with; None for 1 for the gates and 0 for the candidate.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
    """

    def __init__(
        self, num_units: int, activation: Activation | None = None, reuse: bool | None = None,
        kernel_initializer: Initializer | None = None, bias_initializer: Initializer | None = None,
        name: str | None = None, dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype)
        self._kernels, self._biases = kernel_initializer, bias_initializer

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the kernels and biases.

        Args:
            inputs_shape: The shape of the inputs.
        """
        rows, units = last_size(inputs_shape), self._num_units
        parts = {
            "gates": ("kernel_w", 2 * units, Constant(1.0)),
            "candidate": ("kernel", units, Zeros()),
        }
        self._parts = {
            part: (
                self.add_variable(f"{part}/{kernel}", [rows, size], self._kernels),
                self.add_variable(f"{part}/kernel_u", [1, size], self._between()),
                self.add_variable(f"{part}/bias", [size], self._biases or bias),
            )
            for part, (kernel, size, bias) in parts.items()
        }
        self.built = True

    def _sum(self, part: str, inputs: Any, state: Any) -> Tensor:
        kernel, own, bias = self._parts[part]
        return nn.bias_add(linalg.matmul(inputs, kernel) + state * own, bias)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: [batch, size].
            state: [batch, num_units].
        """
        gates = math.sigmoid(self._sum("gates", inputs, array.tile(state, [1, 2])))
        reset, update = array.split(gates, 2, axis=1)
        candidate = self._activation(self._sum("candidate", inputs, reset * state))
        output = update * state + (1 - update) * candidate
        return output, output


class IndyLSTMCell(_Plain):
    """An LSTM cell whose units each see their own state alone (tf.contrib.rnn.IndyLSTMCell).

    Source: Gonnet and Deselaers, "IndyLSTMs: Independently Recurrent LSTMs", 2019, arXiv:1903.08023.

    Args:
        num_units: The size of state and output.
        forget_bias: What is added to the forget gate.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        kernel_initializer: What the kernel begins with; None for the variable scope's.
        bias_initializer: What the bias begins with; None for 0.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
    """

    def __init__(
        self, num_units: int, forget_bias: float = 1.0, activation: Activation | None = None,
        reuse: bool | None = None, kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer | None = None, name: str | None = None, dtype: DTypeLike | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, name, dtype)
        self._forget_bias = forget_bias
        self._kernels, self._biases = kernel_initializer, bias_initializer

    @property
    def state_size(self) -> LSTMStateTuple:
        """LSTMStateTuple(num_units, num_units)."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the kernels and the bias.

        Args:
            inputs_shape: The shape of the inputs.
        """
        size = 4 * self._num_units
        self._kernel = self.add_variable("kernel_w", [last_size(inputs_shape), size], self._kernels)
        self._own = self.add_variable("kernel_u", [1, size], self._between())
        self._bias = self.add_variable("bias", [size], self._biases or Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: [batch, size].
            state: The memory and the last output.
        """
        memory, last = state
        summed = linalg.matmul(inputs, self._kernel) + array.tile(last, [1, 4]) * self._own
        entering, value, forgetting, leaving = array.split(nn.bias_add(summed, self._bias), 4, axis=1)
        kept = memory * math.sigmoid(forgetting + self._forget_bias)
        memory = kept + math.sigmoid(entering) * self._activation(value)
        output = self._activation(memory) * math.sigmoid(leaving)
        return output, LSTMStateTuple(memory, output)


class HighwayWrapper(ResidualWrapper):
    """A cell whose inputs and outputs are mixed by gates (tf.contrib.rnn.HighwayWrapper).

    Source: Srivastava, Greff and Schmidhuber, "Highway Networks", 2015, arXiv:1505.00387.

    Args:
        cell: An RNNCell, whose outputs have the size of its inputs.
        couple_carry_transform_gates: Whether as much is taken of the outputs as is not of the inputs.
        carry_bias_init: What the bias of the inputs' gate begins with.
    """

    def __init__(
        self, cell: RNNCell, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell, self._mixed)
        self._coupled, self._bias = couple_carry_transform_gates, carry_bias_init

    def _mixed(self, inputs: Any, outputs: Any) -> Any:
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(self._mix, inputs, outputs)

    def _mix(self, inputs: Any, output: Any) -> Tensor:
        inputs.shape.assert_is_compatible_with(output.shape)
        carried = self._gate("carry", inputs, self._bias)
        taken = 1 - carried if self._coupled else self._gate("transform", inputs, -self._bias)
        mixed: Tensor = inputs * carried + output * taken
        return mixed

    def _gate(self, name: str, inputs: Tensor, start: float) -> Tensor:
        size = last_size(inputs.shape)
        weights = get_variable(f"{name}_w", [size, size])
        bias = get_variable(f"{name}_b", [size], initializer=Constant(start))
        return math.sigmoid(nn.xw_plus_b(inputs, weights, bias))
