"""One step of a recurrent layer: simple, GRU, LSTM, and several on one another (tf.keras.layers)."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import shapes
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow.keras import initializers, ops
from graphflow.keras.layers.base import ConfiguredLayer, phase_of
from graphflow.keras.typing import Config, Named, Objects, Phase, Shapes, Tensors
from graphflow.keras.utils import registry


def dims_of(size: Any) -> list[Any]:
    """The sizes of a state, or of an output, for one example: a cell says a number, or a shape."""
    return list(size.as_list()) if isinstance(size, shapes.TensorShape) else [size]


def zero_states(sizes: Any, batch: Any, dtype: Any) -> Any:
    """Zeros in the structure of a cell's `state_size`, for so many examples."""
    return nest.map_structure(lambda n: ops.zeros([batch, *dims_of(n)], dtype), sizes)


class Cell(ConfiguredLayer):
    """What the cells share: a kernel for inputs, one for the state, a bias, and dropout of both.

    Masks of dropout are drawn once for all steps of a call of the layer.
    """

    _gates = 1

    def __init__(
        self,
        units: int,
        activation: Named = "tanh",
        use_bias: bool = True,
        kernel_initializer: Named = "glorot_uniform",
        recurrent_initializer: Named = "orthogonal",
        bias_initializer: Named = "zeros",
        kernel_regularizer: Named = None,
        recurrent_regularizer: Named = None,
        bias_regularizer: Named = None,
        kernel_constraint: Named = None,
        recurrent_constraint: Named = None,
        bias_constraint: Named = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._keep(
            units=units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer, bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer, recurrent_regularizer=recurrent_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
            recurrent_constraint=recurrent_constraint, bias_constraint=bias_constraint,
            dropout=min(1.0, max(0.0, dropout)), recurrent_dropout=min(1.0, max(0.0, recurrent_dropout)),
        )  # fmt: skip
        self.units = units
        self._drops: dict[str, Any] = {}

    @property
    def state_size(self) -> Any:
        """The size of the state, or a list of sizes."""
        return self.units

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self.units

    def get_initial_state(self, inputs: Tensors = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for the state."""
        if inputs is not None:
            batch_size, dtype = ops.shape(inputs)[0], inputs.dtype
        return zero_states(self.state_size, batch_size, dtype)

    def _bias_shape(self) -> tuple[int, ...]:
        return (self.units * self._gates,)

    def _bias_begin(self) -> Any:
        return self.__dict__["bias_initializer"]

    def build(self, input_shape: Shapes) -> None:
        """Makes kernels and bias."""
        own: Any = self
        size = shapes.as_shape(input_shape).as_list()[-1]
        self.kernel: Any = self.add_weight(
            "kernel", (size, self.units * self._gates), initializer=own.kernel_initializer,
            regularizer=own.kernel_regularizer, constraint=own.kernel_constraint,
        )  # fmt: skip
        self.recurrent_kernel: Any = self.add_weight(
            "recurrent_kernel", (self.units, self.units * self._gates), initializer=own.recurrent_initializer,
            regularizer=own.recurrent_regularizer, constraint=own.recurrent_constraint,
        )  # fmt: skip
        self.bias: Any = None if not own.use_bias else self.add_weight(
            "bias", self._bias_shape(), initializer=self._bias_begin(), regularizer=own.bias_regularizer,
            constraint=own.bias_constraint,
        )  # fmt: skip
        self.built = True

    # ---- dropout --------------------------------------------------------------------------------------------------

    def reset_dropout_mask(self) -> None:
        """Forgets the masks, before a layer's call."""
        self._drops = {}

    def prepare_dropout(self, inputs: Any, state: Any, training: Phase) -> None:
        """Draws the masks outside of the loop over time: for one step's inputs, and the state."""
        own: Any = self
        for name, tensor, rate in (("input", inputs, own.dropout), ("state", state, own.recurrent_dropout)):
            if rate > 0.0:
                self._drops[name] = [self._drawn(tensor, rate, training) for _ in range(self._gates)]

    @staticmethod
    def _drawn(tensor: Any, rate: float, training: Phase) -> Any:
        ones = ops.ones_like(tensor)
        return smart_cond(
            phase_of(training), lambda: ops.dropout(ones, rate=rate), lambda: ops.identity(ones)
        )

    def _masked(self, name: str, tensor: Any, training: Phase) -> list[Any]:
        """The tensor for each gate, with that gate's mask."""
        own: Any = self
        rate = own.dropout if name == "input" else own.recurrent_dropout
        if rate <= 0.0:
            return [tensor] * self._gates
        if name not in self._drops:
            self._drops[name] = [self._drawn(tensor, rate, training) for _ in range(self._gates)]
        return [tensor * mask for mask in self._drops[name]]

    def _products(self, name: str, tensor: Any, kernel: Any, training: Phase) -> list[Any]:
        """The tensor times each gate's part of a kernel."""
        given = self._masked(name, tensor, training)
        if all(one is tensor for one in given):
            return (
                ops.split(ops.matmul(tensor, kernel), self._gates, axis=1)
                if self._gates > 1
                else [ops.matmul(tensor, kernel)]
            )
        parts = ops.split(kernel, self._gates, axis=1) if self._gates > 1 else [kernel]
        return [ops.matmul(one, part) for one, part in zip(given, parts, strict=True)]


class SimpleRNNCell(Cell):
    """activation(inputs @ kernel + state @ recurrent_kernel + bias) (tf.keras.layers.SimpleRNNCell)."""

    def call(self, inputs: Tensors, states: Tensors, training: Phase = None) -> Any:
        """The output and the new states.

        Args:
            inputs: The inputs of one step, a tensor [batch, size].
            states: The states before it, a list of tensors [batch, units].
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            The output [batch, units], and a list of the new states.
        """
        own: Any = self
        previous = states[0] if isinstance(states, list | tuple) else states
        (found,) = self._products("input", inputs, self.kernel, training)
        if self.bias is not None:
            found = ops.bias_add(found, self.bias)
        (more,) = self._products("state", previous, self.recurrent_kernel, training)
        output = own.activation(found + more)
        return output, [output]


class GRUCell(Cell):
    """A gated recurrent unit (tf.keras.layers.GRUCell; Cho et al. 2014).

    Args:
        units: The size of the output and of each state.
        activation: A function of tensors, or its name; that of the new values.
        recurrent_activation: The function of the gates, or its name.
        use_bias: Whether a bias is added.
        kernel_initializer: What makes the initial value of the inputs' kernel: an initializer, its name or
            configuration.
        recurrent_initializer: What makes the initial value of the states' kernel.
        bias_initializer: What makes the bias's initial value.
        kernel_regularizer: A function of the inputs' kernel whose result is added to the loss, or its name; None for
            none.
        recurrent_regularizer: The same of the states' kernel.
        bias_regularizer: The same of the bias.
        kernel_constraint: A function that gives the inputs' kernel its value after each step of training, or its
            name.
        recurrent_constraint: The same of the states' kernel.
        bias_constraint: The same of the bias.
        dropout: The share of the inputs that is dropped in training.
        recurrent_dropout: The share of the states that is dropped in training.
        implementation: Changes nothing: 1 or 2.
        reset_after: Whether the reset gate works after the product, as cuDNN's does.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    _gates = 3

    def __init__(
        self, units: int, activation: Named = "tanh", recurrent_activation: Named = "hard_sigmoid",
        use_bias: bool = True, kernel_initializer: Named = "glorot_uniform",
        recurrent_initializer: Named = "orthogonal", bias_initializer: Named = "zeros",
        kernel_regularizer: Named = None, recurrent_regularizer: Named = None, bias_regularizer: Named = None,
        kernel_constraint: Named = None, recurrent_constraint: Named = None, bias_constraint: Named = None,
        dropout: float = 0.0, recurrent_dropout: float = 0.0, implementation: int = 1, reset_after: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
            kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, dropout, recurrent_dropout, **kwargs,
        )  # fmt: skip
        _keep_gated(self, recurrent_activation, implementation)
        self.reset_after = reset_after
        self._keep(reset_after=reset_after)

    def _bias_shape(self) -> tuple[int, ...]:
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, inputs: Tensors, states: Tensors, training: Phase = None) -> Any:
        """The output and the new states.

        Args:
            inputs: The inputs of one step, a tensor [batch, size].
            states: The states before it, a list of tensors [batch, units].
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            The output [batch, units], and a list of the new states.
        """
        own: Any = self
        previous = states[0] if isinstance(states, list | tuple) else states
        update, reset, new = self._products("input", inputs, self.kernel, training)
        biases: Any = [0.0] * 3
        recurrent_biases: Any = [0.0] * 3
        if self.bias is not None:
            given = ops.unstack(self.bias, 2) if self.reset_after else [self.bias]
            biases = ops.split(given[0], 3)
            recurrent_biases = ops.split(given[-1], 3) if self.reset_after else recurrent_biases
        update, reset, new = update + biases[0], reset + biases[1], new + biases[2]
        masked = self._masked("state", previous, training)
        kernels = ops.split(self.recurrent_kernel, 3, axis=1)
        sums = [ops.matmul(masked[i], kernels[i]) + recurrent_biases[i] for i in range(2)]
        z, r = own.recurrent_activation(update + sums[0]), own.recurrent_activation(reset + sums[1])
        if self.reset_after:
            inner = r * (ops.matmul(masked[2], kernels[2]) + recurrent_biases[2])
        else:
            inner = ops.matmul(r * masked[2], kernels[2])
        output = z * previous + (1 - z) * own.activation(new + inner)
        return output, [output]


class LSTMCell(Cell):
    """A long short-term memory (tf.keras.layers.LSTMCell; Hochreiter and Schmidhuber 1997).

    Args:
        units: The size of the output and of each state.
        activation: A function of tensors, or its name; that of the new values.
        recurrent_activation: The function of the gates, or its name.
        use_bias: Whether a bias is added.
        kernel_initializer: What makes the initial value of the inputs' kernel: an initializer, its name or
            configuration.
        recurrent_initializer: What makes the initial value of the states' kernel.
        bias_initializer: What makes the bias's initial value.
        unit_forget_bias: Whether the forget gate's bias begins with 1.
        kernel_regularizer: A function of the inputs' kernel whose result is added to the loss, or its name; None for
            none.
        recurrent_regularizer: The same of the states' kernel.
        bias_regularizer: The same of the bias.
        kernel_constraint: A function that gives the inputs' kernel its value after each step of training, or its
            name.
        recurrent_constraint: The same of the states' kernel.
        bias_constraint: The same of the bias.
        dropout: The share of the inputs that is dropped in training.
        recurrent_dropout: The share of the states that is dropped in training.
        implementation: Changes nothing: 1 or 2.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    _gates = 4

    def __init__(
        self, units: int, activation: Named = "tanh", recurrent_activation: Named = "hard_sigmoid",
        use_bias: bool = True, kernel_initializer: Named = "glorot_uniform",
        recurrent_initializer: Named = "orthogonal", bias_initializer: Named = "zeros", unit_forget_bias: bool = True,
        kernel_regularizer: Named = None, recurrent_regularizer: Named = None, bias_regularizer: Named = None,
        kernel_constraint: Named = None, recurrent_constraint: Named = None, bias_constraint: Named = None,
        dropout: float = 0.0, recurrent_dropout: float = 0.0, implementation: int = 1, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
            kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, dropout, recurrent_dropout, **kwargs,
        )  # fmt: skip
        _keep_gated(self, recurrent_activation, implementation)
        self.unit_forget_bias = unit_forget_bias
        self._keep(unit_forget_bias=unit_forget_bias)

    @property
    def state_size(self) -> Any:
        """The sizes of the output and of the memory."""
        return [self.units, self.units]

    def _bias_begin(self) -> Any:
        plain = self.__dict__["bias_initializer"]
        if not self.unit_forget_bias:
            return plain

        def begin(shape: Any, dtype: Any = None) -> Any:
            sizes = (self.units, self.units, self.units * 2)
            first, _, rest = (initializers.initial_value(plain, [n], dtype) for n in sizes)
            return ops.concat([first, ops.ones([self.units], dtype), rest], 0)

        return begin

    def _with_bias(self, products: list[Any]) -> list[Any]:
        return [p + b for p, b in zip(products, ops.split(self.bias, self._gates), strict=True)]

    def call(self, inputs: Tensors, states: Tensors, training: Phase = None) -> Any:
        """The output and the new states, output and memory.

        Args:
            inputs: The inputs of one step, a tensor [batch, size].
            states: The states before it, a list of tensors [batch, units].
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            The output [batch, units], and a list of the new states.
        """
        own: Any = self
        previous, memory = states
        given = self._products("input", inputs, self.kernel, training)
        if self.bias is not None:
            given = self._with_bias(given)
        more = self._products("state", previous, self.recurrent_kernel, training)
        enters, forgets, new, shows = (a + b for a, b in zip(given, more, strict=True))
        gate = own.recurrent_activation
        kept = gate(self._seen(forgets, "forget", memory)) * memory
        kept += gate(self._seen(enters, "input", memory)) * own.activation(new)
        output = gate(self._seen(shows, "output", kept)) * own.activation(kept)
        return output, [output, kept]

    def _seen(self, sums: Any, gate: str, memory: Any) -> Any:
        """What a gate takes; it does not see the memory."""
        return sums


class PeepholeLSTMCell(LSTMCell):
    """An LSTMCell whose gates see the memory, too (tf.keras.experimental.PeepholeLSTMCell; Gers et al. 2002)."""

    def build(self, input_shape: Shapes) -> None:
        """Makes kernels, bias, and a vector for each gate.

        Args:
            input_shape: The shape of the inputs of one step.
        """
        super().build(input_shape)
        begin = self.__dict__["kernel_initializer"]
        self._peepholes = {
            gate: self.add_weight(f"{gate}_gate_peephole_weights", (self.units,), initializer=begin)
            for gate in ("input", "forget", "output")
        }

    def _seen(self, sums: Any, gate: str, memory: Any) -> Any:
        return sums + self._peepholes[gate] * memory


def _keep_gated(cell: Any, recurrent_activation: Named, implementation: int) -> None:
    cell._keep(recurrent_activation=recurrent_activation, implementation=implementation)


class StackedRNNCells(ConfiguredLayer):
    """Cells on one another, as one (tf.keras.layers.StackedRNNCells).

    Args:
        cells: The cells, from the inputs to the output.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells: list[Any] = list(cells)

    @property
    def state_size(self) -> Any:
        """The sizes of the cells' states, in a tuple."""
        return tuple(cell.state_size for cell in self.cells)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return getattr(self.cells[-1], "output_size", nest.flatten(self.cells[-1].state_size)[0])

    def get_initial_state(self, inputs: Tensors = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for the states.

        Args:
            inputs: The inputs, whose batch and dtype the states have.
            batch_size: The batch's size, if there are no inputs.
            dtype: The dtype, if there are no inputs.

        Returns:
            Tensors of the structure of `state_size`.
        """
        if inputs is not None:
            batch_size, dtype = ops.shape(inputs)[0], inputs.dtype
        return zero_states(self.state_size, batch_size, dtype)

    def build(self, input_shape: Shapes) -> None:
        """Builds the cells.

        Args:
            input_shape: The shape of the inputs of one step.
        """
        size = shapes.as_shape(input_shape).as_list()
        for cell in self.cells:
            if not getattr(cell, "built", not hasattr(cell, "build")):
                cell._dtype = getattr(cell, "_dtype", None) or self._dtype
                cell.build(shapes.TensorShape(size))
                cell.built = True
            size = [size[0], *dims_of(getattr(cell, "output_size", None) or nest.flatten(cell.state_size)[0])]
        self.built = True

    def call(self, inputs: Tensors, states: Tensors, **kwargs: Any) -> Any:
        """The last cell's output and the new states.

        Args:
            inputs: The inputs of one step, a tensor [batch, size].
            states: The states of all cells, in a list or as `state_size` is structured.
            **kwargs: `training` and `constants`, for the cells that take them.

        Returns:
            The output, and a tuple with the new states of each cell.
        """
        nested = nest.pack_sequence_as(self.state_size, nest.flatten(states))
        new = []
        for cell, state in zip(self.cells, nested, strict=True):
            given = state if isinstance(state, list | tuple) else [state]
            taken = inspect.signature(cell.call).parameters
            arguments = {name: value for name, value in kwargs.items() if name in taken}
            inputs, after = cell.call(inputs, given, **arguments)
            new.append(after if isinstance(state, list | tuple) else nest.flatten(after)[0])
        return inputs, tuple(new)

    def get_config(self) -> Config:
        """The cells."""
        return {**super().get_config(), "cells": [registry.serialize_keras_object(c) for c in self.cells]}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The cells of a configuration that get_config gave.

        Args:
            config: What get_config gave.
            custom_objects: Classes and functions of the program's own, by name.

        Returns:
            The cells, with new weights.

        Raises:
            ValueError: The class of a cell is not known.
        """
        given = dict(config)
        cells = [
            registry.deserialize(c, "graphflow.keras.layers", "layer", custom_objects)
            for c in given.pop("cells")
        ]
        return cls(cells, **given)
