"""Cells made of cells: stacks, dropout around a cell, a shortcut past it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import graphflow.nest as nest
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import count_more, counted_as
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DeviceLike, DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import constant_value, convert_to_tensor
from graphflow._core.ops.math import math
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.state.scopes import device as device_scope
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.nn.cells import LSTMStateTuple, RNNCell
from graphflow.nn.layers import dropout

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable
    from graphflow._core.ops.state.variable_scope import VariableScope


class MultiRNNCell(RNNCell):
    """Cells one on top of the other (tf.nn.rnn_cell.MultiRNNCell): each takes the output of the one below.

    The state is a tuple of their states, or these side by side if `state_is_tuple` is false.

    Args:
        cells: A list of RNNCells, the lowest first.
        state_is_tuple: Whether the state is a tuple and not one tensor.

    Raises:
        ValueError: For no cell.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but got: {cells!r}")
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is not set.")

    @property
    def state_size(self) -> Any:
        """The cells' state sizes."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The output size of the cell on top."""
        return self._cells[-1].output_size

    @property
    def variables(self) -> list[Variable]:
        """The variables of all cells."""
        return [v for cell in self._cells for v in getattr(cell, "variables", [])]

    def checkpoint_parts(self) -> Iterator[tuple[str, Any]]:
        """The cells, the lowest first."""
        for position, cell in enumerate(self._cells):
            yield f"cell-{position}", cell

    def zero_state(self, batch_size: IntTensorLike, dtype: DTypeLike) -> Any:
        """The cells' own states for the beginning.

        Args:
            batch_size: How many rows, an int or a scalar tensor.
            dtype: The dtype of the state that is made of zeros.
        """
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """One step of every cell, from the bottom.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
        """
        if self._state_is_tuple:
            if not nest.is_nested(state):
                raise ValueError(
                    f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
                )
            states = list(state)
        else:
            with counted_as(0):
                states = array.split(state, [cell.state_size for cell in self._cells], axis=1)
        output, following = inputs, []
        for position, (cell, own) in enumerate(zip(self._cells, states, strict=True)):
            with variable_scope(f"cell_{position}"):
                count_more(0 if self._state_is_tuple else 3)  # TensorFlow slices the state here.
                output, new_state = cell(output, own)
                following.append(new_state)
        return output, tuple(following) if self._state_is_tuple else array.concat(following, 1)


class _Wrapper(RNNCell):
    """A cell that shares scope, variables and sizes with the one inside."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        if not (hasattr(cell, "state_size") and hasattr(cell, "output_size") and callable(cell)):
            raise TypeError(f"The parameter cell is not an RNNCell: {cell!r}")
        self._cell = cell

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self._cell

    @property
    def state_size(self) -> Any:
        """That of the cell inside."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the cell inside."""
        return self._cell.output_size

    @property
    def variables(self) -> list[Any]:
        """Those of the cell inside."""
        return list(getattr(self._cell, "variables", []))

    @property
    def cell(self) -> Any:
        """The cell inside."""
        return self._cell

    def checkpoint_parts(self) -> Iterator[tuple[str, Any]]:
        """The cell inside."""
        yield "cell", self._cell

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the cell inside."""
        return self._cell.zero_state(batch_size, dtype)

    def _step(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        result: tuple[Any, Any] = (
            self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope=scope)
        )
        return result


def _drop_state(substate: Any) -> Any:
    """Which parts of a state are dropped: all but the memory of an LSTM."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not hasattr(substate, "flow")


class DropoutWrapper(_Wrapper):
    """Dropout on the inputs, outputs and states of a cell (tf.nn.rnn_cell.DropoutWrapper; Gal and Ghahramani 2016).

    Probabilities are of keeping; they are numbers in (0, 1] or scalar tensors. With `variational_recurrent` the same
    elements are dropped at every step, which needs `dtype`, and `input_size` if inputs are dropped.

    Args:
        cell: An RNNCell.
        input_keep_prob: Of the inputs.
        output_keep_prob: Of the outputs.
        state_keep_prob: Of the states that are handed on.
        variational_recurrent: Whether each step drops the same elements.
        input_size: The inputs' shape behind the batch; needed if they are dropped so.
        dtype: The dtype of the state that is made of zeros.
        seed: The op's own seed; with the graph's it decides what is drawn.
        dropout_state_filter_visitor: Says of which parts of a state to drop.
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(cell)
        self._keep = {
            "input": _probability("input_keep_prob", input_keep_prob),
            "state": _probability("state_keep_prob", state_keep_prob),
            "output": _probability("output_keep_prob", output_keep_prob),
        }
        count_more(
            sum(not isinstance(keep, Tensor) for keep in (input_keep_prob, state_keep_prob, output_keep_prob))
        )
        self._seed = seed
        self._dropout_state_filter = dropout_state_filter_visitor or _drop_state
        self._masks: dict[str, list[Any]] | None = None
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            if input_size is None and not _is_one(self._keep["input"]):
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes = {"input": input_size, "state": cell.state_size, "output": cell.output_size}
            self._masks = {
                kind: [
                    self._noise(kind, position, size, dtype)
                    for position, size in enumerate(nest.flatten(size_of))
                ]
                for kind, size_of in sizes.items()
                if not _is_one(self._keep[kind])
            }

    def _noise(self, kind: str, position: int, size: Any, dtype: Any) -> Tensor:
        rest = TensorShape(size).as_list() if isinstance(size, TensorShape | list) else [int(size)]
        count_more(3)  # TensorFlow puts the shape together in the graph.
        return random_uniform([1, *rest], seed=self._seed_for(kind, position), dtype=dtype)

    def _seed_for(self, kind: str, position: int) -> int | None:
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{kind}_{position}".encode(), usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF

    def _dropped(self, kind: str, values: Any) -> Any:
        keep = self._keep[kind]
        if _is_one(keep):
            return values
        flat = nest.flatten(values)
        chosen = self._chosen(values) if kind == "state" else [True] * len(flat)
        pairs = enumerate(zip(flat, chosen, strict=True))
        return nest.pack_sequence_as(
            values, [self._drop(kind, i, value, keep) if drop else value for i, (value, drop) in pairs]
        )

    def _chosen(self, state: Any) -> list[bool]:
        """For each part of a state whether it is dropped."""
        verdict = self._dropout_state_filter(state)
        if not nest.is_nested(state):
            return [bool(verdict)]
        verdicts = [verdict] * len(state) if isinstance(verdict, bool) else list(verdict)
        return [
            flag
            for part, drop in zip(state, verdicts, strict=True)
            for flag in (self._chosen(part) if drop else [False] * len(nest.flatten(part)))
        ]

    def _drop(self, kind: str, position: int, value: Any, keep: Any) -> Tensor:
        if self._masks is None:
            return dropout(value, keep_prob=keep, seed=self._seed_for(kind, position))
        noise = self._masks[kind][position]
        dropped: Tensor = math.divide(value, keep) * math.floor(keep + noise)
        dropped.set_shape(value.shape)
        return dropped

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """One step of the cell inside, with dropout around it.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
            scope: The variable scope.
        """
        output, following = self._step(self._dropped("input", inputs), state, scope)
        return self._dropped("output", output), self._dropped("state", following)


def _probability(name: str, value: Any) -> Any:
    if hasattr(value, "_as_graph_element"):  # A variable.
        value = convert_to_tensor(value)
    known = constant_value(value) if isinstance(value, Tensor) else value
    if known is not None and not 0 < float(known) <= 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {float(known):g}")
    return value if known is None else float(known)


def _is_one(keep: Any) -> bool:
    return isinstance(keep, float) and keep >= 1


class ResidualWrapper(_Wrapper):
    """Adds a cell's inputs to its outputs (tf.nn.rnn_cell.ResidualWrapper).

    `residual_fn(inputs, outputs)` replaces the addition.

    Args:
        cell: An RNNCell.
        residual_fn: From inputs and outputs to the sum; by default their sum.
    """

    def __init__(self, cell: RNNCell, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """One step of the cell inside.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
            scope: The variable scope.

        Raises:
            ValueError: If inputs and outputs differ in shape.
        """
        output, following = self._step(inputs, state, scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), following
        nest.assert_same_structure(inputs, output)
        for given, made in zip(nest.flatten(inputs), nest.flatten(output), strict=True):
            convert_to_tensor(given).shape.assert_is_compatible_with(made.shape)
        return nest.map_structure(math.add, inputs, output), following


class DeviceWrapper(_Wrapper):
    """A cell that runs on a device (tf.nn.rnn_cell.DeviceWrapper).

    Args:
        cell: An RNNCell.
        device: The device, as gf.device takes it.
    """

    def __init__(self, cell: RNNCell, device: DeviceLike) -> None:
        super().__init__(cell)
        self._device = device

    def zero_state(self, batch_size: IntTensorLike, dtype: DTypeLike) -> Any:
        """A state of zeros of the cell inside, on the device.

        Args:
            batch_size: How many rows, an int or a scalar tensor.
            dtype: The dtype of the zeros.
        """
        with device_scope(self._device):
            return super().zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: str | VariableScope | None = None) -> tuple[Any, Any]:
        """One step of the cell inside, on the device.

        Args:
            inputs: A tensor, or structure of tensors, [batch, time, ...].
            state: The state before the step, as `state_size` describes it.
            scope: The variable scope.
        """
        with device_scope(self._device):
            return self._step(inputs, state, scope)
