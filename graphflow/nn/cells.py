"""Cells of recurrent networks: one step, from an input and a state to an output and the next state.

A cell makes its variables at its first call, in a variable scope of its own, and uses them at every later call: that
is how the steps of a loop, and only they, share weights. Names of variables are TensorFlow's, so that checkpoints fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import graphflow.nest as nest
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import (
    DTypeLike,
    Initializer,
    InitializerLike,
    IntTensorLike,
    ShapeLike,
    TensorLike,
)
from graphflow._core.ops.array import array
from graphflow._core.ops.core import constant, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math import clip, linalg, math
from graphflow._core.ops.nn import nn
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant, Zeros
from graphflow._core.ops.state.parts import attribute_parts
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.layers.arguments import activation_of
from graphflow.nn.cell_configs import (
    arguments_of,
    check_floating,
    configuration_of,
    set_values,
    subclasses_of,
    values_of,
)
from graphflow.nn.zero_states import zero_state_of

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable
    from graphflow._core.ops.state.variable_scope import VariableScope

Activation = Callable[[Any], Tensor]


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell: its memory c and its output h (tf.nn.rnn_cell.LSTMStateTuple)."""

    c: Any
    h: Any

    @property
    def dtype(self) -> DType | Any:
        """The dtype of both; TypeError if they differ."""
        if self.c.dtype is not self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class RNNCell:
    """A cell (tf.nn.rnn_cell.RNNCell).

    Subclasses give `state_size`, `output_size`, `call(inputs, state)`, perhaps `build`. Calling it gives (output, next
    state). `name` is the name of its variable scope, by default one made from the class's.

    Args:
        trainable: Whether its variables are among those that optimizers train.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
        _reuse: Whether to take variables that are there.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        _reuse: bool | None = None,
    ) -> None:
        self.trainable = trainable
        self.built: bool = False
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._base_name = name or _snake_case(type(self).__name__)
        self._reuse = _reuse
        self._scope: Any = None
        self._variables: list[Any] = []
        self._named: dict[str, Any] = {}

    _given: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A cell that knows what it was made with, which is its configuration."""
        made = super().__new__(cls)
        made._given = (args, kwargs)
        return made

    @property
    def state_size(self) -> Any:
        """The size of the state, or a nested structure of sizes."""
        raise TypeError(f"{type(self).__name__} must define state_size.")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise TypeError(f"{type(self).__name__} must define output_size.")

    @property
    def name(self) -> str:
        """The name of the cell's variable scope."""
        return self._base_name

    @property
    def dtype(self) -> str | None:
        """The name of the variables' dtype: that of the first input, None before it, unless it was given."""
        return None if self._dtype is None else self._dtype.name

    @property
    def variables(self) -> list[Variable]:
        """The variables that the cell made."""
        return list(self._variables)

    @property
    def trainable_variables(self) -> list[Variable]:
        """The variables of the cell that optimizers train."""
        return [v for v in self.variables if v.trainable] if self.trainable else []

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The variables of the cell that no optimizer trains."""
        trained = {id(v) for v in self.trainable_variables}
        return [v for v in self.variables if id(v) not in trained]

    @property
    def weights(self) -> list[Variable]:
        """`variables`."""
        return self.variables

    @property
    def trainable_weights(self) -> list[Variable]:
        """`trainable_variables`."""
        return self.trainable_variables

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """`non_trainable_variables`."""
        return self.non_trainable_variables

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a cell like it; functions of the library, as activations, by their names."""
        return configuration_of(self, *self._given)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Self:
        """A new cell of the arguments that get_config gave.

        Args:
            config: What get_config gave. A cell inside a wrapper may stand there itself.
            custom_objects: Classes of the program's own, by name, of the cells inside.

        Returns:
            A cell without variables.

        Raises:
            ValueError: If a cell inside is neither a cell nor of a class that is known.
        """
        library = {kind.__name__: kind for kind in subclasses_of(RNNCell)}
        return cls(**arguments_of(config, {**library, **(custom_objects or {})}))

    def checkpoint_parts(self) -> Iterator[tuple[str, Any]]:
        """What a checkpoint by objects holds of it: its variables, and the objects that are its attributes."""
        yield from self._named.items()
        yield from attribute_parts(self, [], {"_given", "_named"})

    def get_weights(self) -> list[Any]:
        """The values of the variables, arrays in the order of `weights`."""
        return values_of(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets the variables to arrays.

        Args:
            weights: Arrays in the order of `weights`.

        Raises:
            ValueError: If there is another number of arrays, or one has another shape than its variable.
        """
        set_values(self.name, self.weights, weights)

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the variables; called once, before the first `call`.

        Args:
            inputs_shape: The shape of the inputs.
        """

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.

        Raises:
            ValueError: If a subclass defines none.
        """
        raise ValueError(f"{type(self).__name__} must define call(inputs, state).")

    def zero_state(self, batch_size: IntTensorLike, dtype: DTypeLike) -> Any:
        """A state of zeros for a batch; `batch_size` is an int or a scalar tensor.

        Args:
            batch_size: How many rows, an int or a scalar tensor.
            dtype: The dtype of the state that is made of zeros.
        """
        with op_scope(None, type(self).__name__ + "ZeroState", (batch_size,)):
            return zero_state_of(self.state_size, batch_size, dtype)

    def get_initial_state(
        self,
        inputs: TensorLike | None = None,
        batch_size: IntTensorLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """A state of zeros for the batch of `inputs`, or for `batch_size` and `dtype`.

        Args:
            inputs: A tensor whose first axis is the batch's, or None.
            batch_size: How many rows, if there are no inputs.
            dtype: The state's dtype, if there are no inputs.

        Returns:
            Zeros in the structure of the state.

        Raises:
            ValueError: If there is neither, or if they contradict each other.
        """
        if inputs is not None:
            tensor = convert_to_tensor(inputs, name="inputs")
            rows = tensor.shape.as_list()[0]
            if batch_size is not None:
                asked: Any = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
                if rows != (asked if asked is None else int(asked)):
                    raise ValueError(
                        "batch size from input tensor is different from the input param: the inputs have "
                        f"{rows} rows, batch_size is {asked}."
                    )
            if dtype is not None and tensor.dtype != as_dtype(dtype):
                raise ValueError(
                    "dtype from input tensor is different from the input param: the inputs are "
                    f"{tensor.dtype.name}, dtype is {as_dtype(dtype).name}."
                )
            batch_size, dtype = rows or array.shape(tensor)[0], tensor.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}."
            )
        return self.zero_state(batch_size, dtype)

    def add_variable(
        self,
        name: str,
        shape: Sequence[int],
        initializer: InitializerLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Variable | Any:
        """A variable of the cell, in the cell's scope.

        Args:
            name: A name for the operation.
            shape: Its shape.
            initializer: What the variables begin with; None for the variable scope's.
            dtype: The dtype of the state that is made of zeros.
        """
        reuse = True if self.built or self._reuse else None
        with variable_scope(self._own_scope(None), reuse=reuse, auxiliary_name_scope=False):
            made = get_variable(
                name, shape, dtype=dtype or self._dtype, initializer=initializer, trainable=self.trainable
            )
        self._variables.append(made)
        self._named[name] = made
        return made

    add_weight = add_variable

    def _own_scope(self, scope: str | VariableScope | None) -> Any:
        """The cell's scope, which is found once, at the first call or variable."""
        if self._scope is None:
            named = self._base_name if self._reuse and scope is None else scope
            with variable_scope(named, default_name=self._base_name) as found:
                self._scope = found
        return self._scope

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """One step, with the variables of the cell's scope.

        Args:
            inputs: The inputs of the step, a tensor [batch, size] or a structure of them.
            state: The state before it, of the structure of `state_size`.
            scope: A variable scope, or its name; by default the cell's own.

        Returns:
            The output and the next state.
        """
        first = nest.flatten(inputs)[0]
        if self._dtype is None:
            self._dtype = convert_to_tensor(first).dtype
        reuse = True if self.built or self._reuse else None
        with variable_scope(self._own_scope(scope), reuse=reuse, auxiliary_name_scope=False) as own:
            graph = convert_to_tensor(first).graph
            with graph.name_scope(own.original_name_scope):
                if not self.built:
                    self.build(convert_to_tensor(first).shape)
                result = self.call(inputs, state)
                self.built = True
                return result


def _snake_case(name: str) -> str:
    words = re.sub("([a-z0-9])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)).lower()
    return words if words[0] != "_" else "private" + words


def _depth(inputs_shape: ShapeLike) -> int:
    inputs_shape = TensorShape(inputs_shape)
    depth = None if inputs_shape.ndims is None else inputs_shape.as_list()[-1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return depth


def _affine(inputs: Any, state: Any, kernel: Any, bias: Any) -> Tensor:
    return nn.bias_add(linalg.matmul(array.concat([inputs, state], 1), kernel), bias)


class BasicRNNCell(RNNCell):
    """activation([input, state] @ kernel + bias), tanh by default (tf.nn.rnn_cell.BasicRNNCell).

    Args:
        num_units: The size of state and output.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        check_floating(dtype)
        self._num_units = num_units
        self._activation = activation_of(activation) or math.tanh

    @property
    def state_size(self) -> int:
        """num_units."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """num_units."""
        return self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes kernel and bias.

        Args:
            inputs_shape: The shape of the inputs.
        """
        units = self._num_units
        self._kernel = self.add_variable("kernel", [_depth(inputs_shape) + units, units])
        self._bias = self.add_variable("bias", [units], Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
        """
        check_floating([inputs, state])
        output = self._activation(_affine(inputs, state, self._kernel, self._bias))
        return output, output


class GRUCell(RNNCell):
    """A gated recurrent unit (tf.nn.rnn_cell.GRUCell; Cho et al. 2014): gates reset and update, then a candidate.

    Args:
        num_units: The size of state and output.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        kernel_initializer: What the variables begin with; None for the variable scope's.
        bias_initializer: What the variables begin with; None for the variable scope's.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: bool | None = None,
        kernel_initializer: Initializer | None = None,
        bias_initializer: Initializer | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        check_floating(dtype)
        self._num_units = num_units
        self._activation = activation_of(activation) or math.tanh
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> int:
        """num_units."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """num_units."""
        return self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes the kernels and biases of gates and candidate.

        Args:
            inputs_shape: The shape of the inputs.
        """
        check_floating(self._dtype)
        units, rows = self._num_units, _depth(inputs_shape) + self._num_units
        gates = self._bias_initializer or Constant(1.0)
        candidate = self._bias_initializer or Zeros()
        self._gate_kernel = self.add_variable("gates/kernel", [rows, 2 * units], self._kernel_initializer)
        self._gate_bias = self.add_variable("gates/bias", [2 * units], gates)
        self._candidate_kernel = self.add_variable(
            "candidate/kernel", [rows, units], self._kernel_initializer
        )
        self._candidate_bias = self.add_variable("candidate/bias", [units], candidate)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the output is the state.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
        """
        check_floating([inputs, state])
        reset, update = array.split(
            math.sigmoid(_affine(inputs, state, self._gate_kernel, self._gate_bias)), 2, axis=1
        )
        candidate = self._activation(
            _affine(inputs, reset * state, self._candidate_kernel, self._candidate_bias)
        )
        output = update * state + (1 - update) * candidate
        return output, output


class LSTMCell(RNNCell):
    """A long short-term memory cell (tf.nn.rnn_cell.LSTMCell; Hochreiter and Schmidhuber 1997, Sak et al. 2014).

    With peepholes the gates see the memory; `num_proj` projects the output, which is then also what is fed back;
    `cell_clip` and `proj_clip` bound memory and projection. `forget_bias` is added to the forget gate.

    Args:
        num_units: The size of state and output.
        use_peepholes: Whether the gates see the memory.
        cell_clip: The bound of the memory, or None.
        initializer: What the variables begin with; None for the variable scope's.
        num_proj: The size of the projected output, or None.
        proj_clip: The bound of the projected output, or None.
        num_unit_shards: Not needed any more.
        num_proj_shards: Not needed any more.
        forget_bias: What is added to the bias of the forget gate.
        state_is_tuple: Whether the state is a tuple and not one tensor.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        check_floating(dtype)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation_of(activation) or math.tanh

    @property
    def state_size(self) -> Any:
        """LSTMStateTuple(num_units, output size), or their sum if the state is no tuple."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """num_proj, or num_units without a projection."""
        return self._num_proj or self._num_units

    def build(self, inputs_shape: TensorShape) -> None:
        """Makes kernel and bias, and what peepholes and projection need.

        Args:
            inputs_shape: The shape of the inputs.
        """
        units, rows = self._num_units, _depth(inputs_shape) + self.output_size
        self._kernel = self.add_variable("kernel", [rows, 4 * units], self._initializer)
        self._bias = self.add_variable("bias", [4 * units], Zeros())
        self._peepholes = [
            self.add_variable(f"w_{gate}_diag", [units], self._initializer)
            for gate in ("f", "i", "o")
            if self._use_peepholes
        ]
        if self._num_proj is not None:
            self._projection = self.add_variable(
                "projection/kernel", [units, self._num_proj], self._initializer
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step; the gates lie in the kernel as input, new value, forget, output.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
        """
        check_floating([inputs, state])
        if self._state_is_tuple:
            memory, fed_back = state
        else:
            with counted_as(self._of_splitting):
                memory, fed_back = array.split(state, [self._num_units, self.output_size], axis=1)
        gates = array.split(_affine(inputs, fed_back, self._kernel, self._bias), 4, axis=1)
        entering, value, forgetting, leaving = gates
        forgetting = math.add(forgetting, constant(self._forget_bias, dtype=forgetting.dtype))
        if self._peepholes:
            see_forget, see_input, see_output = self._peepholes
            forgetting = forgetting + see_forget * memory
            entering = entering + see_input * memory
        kept = math.multiply(memory, math.sigmoid(forgetting))
        memory = math.add(kept, math.multiply(math.sigmoid(entering), self._activation(value)))
        if self._cell_clip is not None:
            memory = self._clipped(memory, self._cell_clip)
        if self._peepholes:
            leaving = leaving + see_output * memory
        output = math.multiply(self._activation(memory), math.sigmoid(leaving))
        if self._num_proj is not None:
            output = linalg.matmul(output, self._projection)
            if self._proj_clip is not None:
                output = clip.clip_by_value(output, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return output, LSTMStateTuple(memory, output)
        return output, array.concat([memory, output], 1)

    _of_splitting = 6
    """How many operations TensorFlow takes a state apart with."""

    def _clipped(self, memory: Tensor, limit: float) -> Tensor:
        result: Tensor = clip.clip_by_value(memory, -limit, limit)
        return result


class BasicLSTMCell(LSTMCell):
    """An LSTM cell without options (tf.nn.rnn_cell.BasicLSTMCell).

    Args:
        num_units: The size of state and output.
        forget_bias: What is added to the bias of the forget gate.
        state_is_tuple: Whether the state is a tuple and not one tensor.
        activation: A function, or its name; tanh by default.
        reuse: Whether to take variables that are there.
        name: A name for the operation.
        dtype: The dtype of the state that is made of zeros.

    Examples:
        >>> cell = gf.nn.rnn_cell.BasicLSTMCell(4)
        >>> outputs, state = gf.nn.static_rnn(cell, [gf.zeros([2, 3])] * 5, dtype=gf.float32)
        >>> len(outputs), outputs[0].shape
        (5, TensorShape([2, 4]))
    """

    _of_splitting = 2

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Activation | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(
            num_units,
            forget_bias=forget_bias,
            state_is_tuple=state_is_tuple,
            activation=activation,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )
