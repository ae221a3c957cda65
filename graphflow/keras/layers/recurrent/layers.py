"""Recurrent layers: a cell, step by step over time (tf.keras.layers)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.state.variable import Variable
from graphflow.keras import ops, regularizers
from graphflow.keras.backend import settings, state
from graphflow.keras.backend.recurrence import rnn
from graphflow.keras.backend.values import batch_set_value
from graphflow.keras.engine.node import history_of
from graphflow.keras.layers.arguments import config_of
from graphflow.keras.layers.base import ConfiguredLayer
from graphflow.keras.layers.recurrent.cells import (
    GRUCell,
    LSTMCell,
    SimpleRNNCell,
    StackedRNNCells,
    dims_of,
    zero_states,
)
from graphflow.keras.typing import Config, Named, Objects, Phase, Shapes, Tensors
from graphflow.keras.utils import registry
from graphflow.layers.input_spec import InputSpec
from graphflow.nn.cells import RNNCell


class RNN(ConfiguredLayer):
    """A cell step by step over [batch, time, ...] (tf.keras.layers.RNN).

    Args:
        cell: The cell, or a list of cells, one on the other: call(inputs, states) gives (output, new states).
        return_sequences: Whether the outputs of all steps are given, not the last one's.
        return_state: Whether the last states are given, too.
        go_backwards: Whether the last step comes first.
        stateful: Whether a batch begins with the states of the batch before.
        unroll: Whether each step has operations of its own.
        time_major: Whether time is the first axis.
        **kwargs: As those of Layer.
    """

    supports_masking = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(cell, list | tuple):
            cell = StackedRNNCells(cell)
        for what in ("call", "state_size"):
            if not hasattr(cell, what):
                raise ValueError(f"The cell of a recurrent layer should have {what}, but {cell!r} has none.")
        self.zero_output_for_mask: Any = kwargs.pop("zero_output_for_mask", False)
        length, size = kwargs.pop("input_length", None), kwargs.get("input_dim")
        if size is not None and "input_shape" not in kwargs:
            kwargs.pop("input_dim")
            kwargs["input_shape"] = (length, size)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences: bool = return_sequences
        self.return_state: bool = return_state
        self.go_backwards: bool = go_backwards
        self.stateful: bool = stateful
        self.unroll: bool = unroll
        self.time_major = time_major
        self.input_spec: Any = None
        self._states: Any = None
        self._constants = 0

    # ---- states ---------------------------------------------------------------------------------------------------

    @property
    def states(self) -> list[Any]:
        """The variables of a stateful layer's states; None for each that is not there."""
        count = len(nest.flatten(self.cell.state_size))
        return [None] * count if self._states is None else list(self._states)

    def build(self, input_shape: Shapes) -> None:
        """Builds the cell for the inputs of one step.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.
        """
        first = input_shape[0] if isinstance(input_shape, list) else input_shape
        sizes = shapes.as_shape(first).as_list()
        step = shapes.TensorShape([sizes[1 if self.time_major else 0], *sizes[2:]])
        if not getattr(self.cell, "built", not hasattr(self.cell, "build")):
            if getattr(self.cell, "_dtype", self) is None:
                self.cell._dtype = self._dtype
            self.cell.build(step)
            self.cell.built = True
        if self.stateful and self._states is None:
            self._make_states([sizes[1], sizes[0], *sizes[2:]] if self.time_major else sizes)
        self.built = True

    def _state_shapes(self, sizes: list[Any]) -> list[list[Any]]:
        """The shapes of the states for inputs of sizes [batch, time, ...]."""
        return [[sizes[0], *dims_of(n)] for n in nest.flatten(self.cell.state_size)]

    def _make_states(self, sizes: list[Any]) -> None:
        if sizes[0] is None:
            raise ValueError(
                f"The stateful layer {self.name!r} needs to know its batch size: give the first layer "
                "batch_input_shape=(batch, ...), or Input a batch_shape."
            )
        kind = settings.floatx()
        self._states = [
            Variable(ops.zeros(shape, kind), trainable=False, name=f"state_{i}", use_resource=True)
            for i, shape in enumerate(self._state_shapes(sizes))
        ]
        for variable in self._states:
            state.track_variable(variable)

    def _own_weights(self) -> tuple[list[Any], list[Any]]:
        trained, others = super()._own_weights()
        if isinstance(self.cell, RNNCell):
            trained = [*trained, *self.cell.trainable_variables]
            others = [*others, *self.cell.non_trainable_variables]
        kept = {id(v) for v in self._states or ()}
        return trained, [v for v in others if id(v) not in kept]

    def reset_states(self, states: Any = None) -> None:
        """Sets the states of a stateful layer.

        Args:
            states: Arrays, one for each state; by default zeros.

        Raises:
            AttributeError: The layer is not stateful.
            ValueError: It has no states yet.
        """
        if not self.stateful:
            raise AttributeError(f"The layer {self.name!r} must be stateful to be reset.")
        if self._states is None:
            raise ValueError(f"The stateful layer {self.name!r} has no states yet: call it first.")
        values = (
            [np.zeros(v.shape.as_list()) for v in self._states] if states is None else nest.flatten(states)
        )
        batch_set_value(zip(self._states, values, strict=True))

    def get_initial_state(self, inputs: Tensors) -> list[Any]:
        """Zeros for the states.

        Args:
            inputs: A tensor [batch, steps, ...], or [steps, batch, ...] if `time_major`.

        Returns:
            A list of tensors.
        """
        first = inputs[:, 0] if not self.time_major else inputs[0]
        if hasattr(self.cell, "get_initial_state"):
            found = self.cell.get_initial_state(inputs=first, batch_size=None, dtype=None)
        else:
            found = zero_states(self.cell.state_size, ops.shape(first)[0], first.dtype)
        return list(nest.flatten(found))

    def _check_states(self, initial: list[Any]) -> None:
        """ValueError if states to begin with are not what the cell has; those of convolutions depend on the inputs."""
        if type(self)._state_shapes is not RNN._state_shapes:
            return
        sizes = nest.flatten(self.cell.state_size)
        found = [getattr(one, "shape", None) for one in initial]
        fits = [
            not isinstance(shape, shapes.TensorShape) or shape.is_compatible_with([None, *dims_of(size)])
            for shape, size in zip(found, sizes, strict=False)
        ]
        if initial and not (len(initial) == len(sizes) and all(fits)):
            raise ValueError(
                f"An `initial_state` was passed to {self.name!r} that is not compatible with `cell.state_size`. It has "
                f"the shapes {found}; however `cell.state_size` is {self.cell.state_size}"
            )

    # ---- calling --------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Tensors, *args: Any, **kwargs: Any) -> Any:
        """Steps over the inputs.

        Args:
            inputs: A tensor [batch, steps, ...]; or a list of it, the states to begin with, and constants.
            *args: The states to begin with may come first.
            **kwargs: `initial_state`: the states to begin with; `constants`: tensors that each step is handed; and
                the arguments of `call`.

        Returns:
            The output, or a list of it and the last states.
        """
        initial = args[0] if args and not isinstance(args[0], bool) else kwargs.pop("initial_state", None)
        constants = kwargs.pop("constants", None)
        if isinstance(inputs, list | tuple) and initial is None and len(inputs) > 1:
            inputs, *rest = inputs
            split = len(rest) - self._constants
            initial, constants = rest[:split] or None, rest[split:] or None
        if initial is None and constants is None:
            return super().__call__(inputs, **kwargs)
        initial = [] if initial is None else nest.flatten(initial)
        self._check_states(initial)
        constants = [] if constants is None else nest.flatten(constants)
        self._constants = len(constants)
        every = [inputs, *initial, *constants]
        symbolic = [history_of(t) is not None for t in every if isinstance(t, Tensor)]
        if all(symbolic):
            return super().__call__(every, **kwargs)
        return super().__call__(inputs, initial_state=initial or None, constants=constants or None, **kwargs)

    def call(
        self,
        inputs: Tensors,
        mask: Tensors = None,
        training: Phase = None,
        initial_state: Tensors = None,
        constants: Tensors = None,
    ) -> Any:
        """The output, or outputs, and the last states if they are asked for.

        Args:
            inputs: A tensor [batch, steps, ...], or [steps, batch, ...] if `time_major`.
            mask: Which steps count, a bool tensor [batch, steps]; by default all.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.
            initial_state: The states to begin with; by default zeros, or those that a stateful layer kept.
            constants: Tensors that each step is handed.

        Returns:
            A tensor [batch, units], or [batch, steps, units] with `return_sequences`; with `return_state` a list of
            it and the states.
        """
        if isinstance(inputs, list | tuple):
            inputs, *rest = inputs
            split = len(rest) - self._constants
            initial_state, constants = rest[:split] or None, rest[split:]
        if isinstance(mask, list | tuple):
            mask = mask[0]
        begin = list(nest.flatten(initial_state)) if initial_state else None
        if begin is None:
            begin = (
                [v.read_value() for v in self._states] if self.stateful else self.get_initial_state(inputs)
            )
        self._prepare(inputs, begin, training)
        takes = "training" in getattr(self.cell, "_call_parameters", ())
        count = len(begin)

        def step(at: Any, states: Any) -> Any:
            own = nest.pack_sequence_as(self.cell.state_size, states[:count])
            if not isinstance(self.cell, RNNCell):  # A cell of gf.nn.rnn_cell takes one state as it is.
                own = list(own) if isinstance(own, list | tuple) else [own]
            if isinstance(self.cell, StackedRNNCells):
                own = nest.pack_sequence_as(self.cell.state_size, states[:count])
            arguments = {"training": training} if takes and training is not None else {}
            if states[count:]:
                arguments["constants"] = states[count:]
            output, new = self.cell.call(at, own, **arguments)
            return output, list(nest.flatten(new))

        last, every, states = rnn(
            step, inputs, begin, self.go_backwards, mask, constants, self.unroll, None, self.time_major,
            self.zero_output_for_mask,
        )  # fmt: skip
        if isinstance(self.cell, RNNCell):
            for variable in self.cell.variables:
                state.track_variable(variable)
        if self.stateful:
            self.add_update([ops.assign(v, s) for v, s in zip(self._states, states, strict=True)])
        output = every if self.return_sequences else last
        return [output, *states] if self.return_state else output

    def _prepare(self, inputs: Any, begin: list[Any], training: Phase) -> None:
        """Draws the cells' masks of dropout outside of the loop."""
        first = inputs[0] if self.time_major else inputs[:, 0]
        cells = self.cell.cells if isinstance(self.cell, StackedRNNCells) else [self.cell]
        at = 0
        for cell in cells:
            if hasattr(cell, "prepare_dropout"):
                cell.reset_dropout_mask()
                cell.prepare_dropout(first, begin[at], training)
            at += len(nest.flatten(cell.state_size))
            first = begin[at - 1] if len(cells) > 1 else first

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The inputs' mask if there are outputs of all steps.

        Args:
            inputs: A tensor [batch, steps, ...], or [steps, batch, ...] if `time_major`.
            mask: The inputs' mask, a bool tensor, or None.

        Returns:
            A bool tensor, None, or a list of one for each output.
        """
        one = mask[0] if isinstance(mask, list | tuple) else mask
        found = one if self.return_sequences else None
        return [found, *[None] * len(nest.flatten(self.cell.state_size))] if self.return_state else found

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of the output, or of it and the states.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            A shape, or a list of them.
        """
        first = input_shape[0] if isinstance(input_shape, list) else input_shape
        sizes = shapes.as_shape(first).as_list()
        size = getattr(self.cell, "output_size", None) or nest.flatten(self.cell.state_size)[0]
        output = shapes.TensorShape([*sizes[: 2 if self.return_sequences else 1], *dims_of(size)])
        states = [shapes.TensorShape([sizes[0], *dims_of(n)]) for n in nest.flatten(self.cell.state_size)]
        return [output, *states] if self.return_state else output

    # ---- configuration --------------------------------------------------------------------------------------------

    def _own_config(self) -> dict[str, Any]:
        names = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")
        zeros = {"zero_output_for_mask": True} if self.zero_output_for_mask else {}
        return {name: getattr(self, name) for name in names} | zeros

    def get_config(self) -> Config:
        """The cell, and the other arguments."""
        cell = registry.serialize_keras_object(self.cell)
        constants = {"num_constants": self._constants} if self._constants else {}
        return {**super().get_config(), **self._own_config(), **constants, "cell": cell}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The layer of a configuration that get_config gave.

        Args:
            config: What get_config gave.
            custom_objects: Classes and functions of the program's own, by name.

        Returns:
            A new layer.

        Raises:
            ValueError: The class of the cell is not known.
        """
        given = dict(config)
        constants = given.pop("num_constants", 0)
        cell = registry.deserialize(given.pop("cell"), "graphflow.keras.layers", "layer", custom_objects)
        made = cls(cell, **given)
        made._constants = constants
        return made


class LayerOfCell(RNN):
    """A recurrent layer of one of keras's cells, whose arguments it takes."""

    _cell_class: Any = SimpleRNNCell
    _axes = 3
    _of_layer = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")

    def __init__(self, units: int, *args: Any, **kwargs: Any) -> None:
        of_layer = {name: kwargs.pop(name) for name in self._of_layer if name in kwargs}
        regularizer = kwargs.pop("activity_regularizer", None)
        names = (
            "name", "trainable", "dtype", "input_shape", "batch_input_shape", "input_dim", "input_length", "weights",
            "batch_size", "zero_output_for_mask", "dynamic",
        )  # fmt: skip
        more = {name: kwargs.pop(name) for name in names if name in kwargs}
        cell = self._cell_class(units, *args, **kwargs, name=f"{more.get('name') or 'recurrent'}_cell",
                                dtype=more.get("dtype"), trainable=more.get("trainable", True))  # fmt: skip
        super().__init__(cell, **of_layer, activity_regularizer=regularizer, **more)
        self.input_spec = None

    def __getattr__(self, name: str) -> Any:
        if (
            not name.startswith("_")
            and "cell" in self.__dict__
            and name in self.cell.__dict__.get("_config_names", ())
        ):
            return getattr(self.cell, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def build(self, input_shape: Shapes) -> None:
        """Builds the cell; ValueError if the inputs are no sequences."""
        first = input_shape[0] if isinstance(input_shape, list) else input_shape
        dims = shapes.as_dims(first)
        if dims is None or len(dims) != self._axes:
            raise ValueError(
                f"Input 0 of layer {self.name} is incompatible with the layer: expected ndim={self._axes}, "
                f"[batch, time, ...], found the shape {first}."
            )
        super().build(input_shape)

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        config = {k: v for k, v in super().get_config().items() if k != "cell"}
        return {
            **config,
            **config_of(self.cell),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
        }

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The layer of a configuration that get_config gave."""
        given = dict(config)
        if given.get("implementation") == 0:
            given["implementation"] = 1
        return cls(**given)


class SimpleRNN(LayerOfCell):
    """A simple recurrent layer (tf.keras.layers.SimpleRNN); the arguments of SimpleRNNCell and RNN."""


class GRU(LayerOfCell):
    """Gated recurrent units (tf.keras.layers.GRU); the arguments of GRUCell and RNN."""

    _cell_class = GRUCell


class LSTM(LayerOfCell):
    """Long short-term memories (tf.keras.layers.LSTM); the arguments of LSTMCell and RNN."""

    _cell_class = LSTMCell


class CuDNNLSTM(LSTM):
    """An LSTM with the sigmoid as cuDNN has it (tf.keras.layers.CuDNNLSTM); it runs anywhere.

    Args:
        units: The size of the output and of each state.
        kernel_initializer: What makes the initial value of the inputs' kernel: an initializer, its name or
            configuration.
        **kwargs: The other arguments of the layer without cuDNN.
    """

    def __init__(self, units: int, kernel_initializer: Named = "glorot_uniform", **kwargs: Any) -> None:
        kwargs = {"recurrent_activation": "sigmoid", **kwargs}
        super().__init__(units, kernel_initializer=kernel_initializer, **kwargs)


class CuDNNGRU(GRU):
    """A GRU with the sigmoid and the reset gate as cuDNN has them (tf.keras.layers.CuDNNGRU); it runs anywhere.

    Args:
        units: The size of the output and of each state.
        kernel_initializer: What makes the initial value of the inputs' kernel: an initializer, its name or
            configuration.
        **kwargs: The other arguments of the layer without cuDNN.
    """

    def __init__(self, units: int, kernel_initializer: Named = "glorot_uniform", **kwargs: Any) -> None:
        kwargs = {"recurrent_activation": "sigmoid", "reset_after": True, **kwargs}
        super().__init__(units, kernel_initializer=kernel_initializer, **kwargs)


class AbstractRNNCell(ConfiguredLayer):
    """What cells of programs are derived from (tf.keras.layers.AbstractRNNCell): state_size, output_size and call."""

    @property
    def state_size(self) -> Any:
        """The size of the state, or a list of sizes."""
        raise NotImplementedError(f"{type(self).__name__} does not say its state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError(f"{type(self).__name__} does not say its output_size.")

    def get_initial_state(self, inputs: Tensors = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for the state.

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


def cells_of(layers: Sequence[Any]) -> list[Any]:
    """The cells of recurrent layers."""
    return [layer.cell for layer in layers]


__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "AbstractRNNCell",
    "CuDNNGRU",
    "CuDNNLSTM",
    "InputSpec",
    "SimpleRNN",
    "cells_of",
]
