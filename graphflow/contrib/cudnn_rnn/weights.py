"""The one variable of a cuDNN layer: where each matrix and bias lies in it, and what cells make of them.

All matrices come first, layer after layer and in each forwards before backwards, those of the inputs before those of
the state; then all biases. Checkpoints hold the weights of cells, by the names of their variables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.ops.array import array
from graphflow._core.ops.state.state import assign
from graphflow.train.saving.saveables import SaveableObject, SaveSpec

GATES: Final[Mapping[str, int]] = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""How many matrices of inputs there are, and as many of the state, for each layer and direction."""
_CELLS: Final = {"lstm": "cudnn_compatible_lstm_cell", "gru": "cudnn_compatible_gru_cell"}


@dataclass(frozen=True)
class Layout:
    """What a layer is: the kind of its cells, and its sizes."""

    mode: str
    layers: int
    units: int
    inputs: int
    directions: int

    def matrices(self) -> list[tuple[int, int]]:
        """The shapes of all matrices."""
        shapes: list[tuple[int, int]] = []
        for layer in range(self.layers):
            width = self.inputs if layer == 0 else self.directions * self.units
            of_one = [(self.units, width)] * GATES[self.mode] + [(self.units, self.units)] * GATES[self.mode]
            shapes += of_one * self.directions
        return shapes

    def biases(self) -> list[tuple[int]]:
        """The shapes of all biases, one for each matrix."""
        return [(self.units,)] * len(self.matrices())

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """The variable's value, of all matrices and biases."""
        return array.concat([array.reshape(part, [-1]) for part in parts], 0)

    def cells(self, opaque: Any) -> list[list[Tensor]]:
        """The weights of each cell, as a cell of the kind has them: matrices of inputs times these, then biases."""
        shapes = [*self.matrices(), *self.biases()]
        flat = array.split(opaque, [math.prod(shape) for shape in shapes], 0)
        parts = [array.reshape(part, shape) for part, shape in zip(flat, shapes, strict=True)]
        half, step = len(parts) // 2, 2 * GATES[self.mode]
        return [
            _TO_CELLS[self.mode](parts[at : at + step], parts[half + at : half + at + step])
            for at in range(0, half, step)
        ]

    def of_cells(self, cells: Sequence[Sequence[Tensor]]) -> Tensor:
        """The variable's value that gives such cells. Of two biases that are added each is the half."""
        both = [_FROM_CELLS[self.mode](list(cell), self.units) for cell in cells]
        return self.joined([*(m for ms, _ in both for m in ms), *(b for _, bs in both for b in bs)])

    def names(self, cell: int) -> list[str]:
        """The names of a cell's weights in checkpoints, matrices first."""
        layer, direction = divmod(cell, self.directions)
        kind = _CELLS.get(self.mode, "basic_rnn_cell")
        place = f"rnn/multi_rnn_cell/cell_{layer}/{kind}"
        if self.directions == 2:
            way = ("fw", "bw")[direction]
            place = f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn/{way}/{kind}"
        parts = ("gates", "candidate/input_projection", "candidate/hidden_projection")
        inner = [f"{part}/" for part in parts] if self.mode == "gru" else [""]
        return [f"{place}/{part}{word}" for word in ("kernel", "bias") for part in inner]


def _side_by_side(matrices: Sequence[Tensor], order: Sequence[int]) -> Tensor:
    """The kernel of some gates, for inputs and state side by side, from their matrices."""
    count = len(matrices) // 2
    rows = [array.concat([matrices[gate], matrices[count + gate]], 1) for gate in order]
    return array.transpose(array.concat(rows, 0))


def _taken_apart(kernel: Tensor, units: int, order: Sequence[int]) -> list[Tensor]:
    """The matrices of the gates, by their places in `order`: those of the inputs, then those of the state."""
    rows = array.split(array.transpose(kernel), len(order), 0)
    inputs: list[Any] = [None] * len(order)
    states: list[Any] = [None] * len(order)
    for gate, row in zip(order, rows, strict=True):
        inputs[gate], states[gate] = array.split(row, [int(row.shape.as_list()[1] or 0) - units, units], 1)
    return [*inputs, *states]


_LSTM: Final = (0, 2, 1, 3)
"""cuDNN has the gates input, forget, memory, output; cells have input, memory, forget, output."""


def _plain_cells(order: Sequence[int]) -> Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]]:
    def made(matrices: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
        sums = [biases[gate] + biases[len(order) + gate] for gate in order]
        return [_side_by_side(matrices, order), array.concat(sums, 0)]

    return made


def _of_plain_cells(order: Sequence[int]) -> Callable[[list[Tensor], int], tuple[list[Any], list[Any]]]:
    def taken(cell: list[Tensor], units: int) -> tuple[list[Any], list[Any]]:
        kernel, bias = cell
        halves: list[Any] = [None] * len(order)
        for gate, part in zip(order, array.split(bias, len(order), 0), strict=True):
            halves[gate] = part * 0.5
        return _taken_apart(kernel, units, order), halves * 2

    return taken


def _gru_cells(matrices: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
    gates = _side_by_side([*matrices[:2], *matrices[3:5]], (0, 1))
    bias = array.concat([biases[0] + biases[3], biases[1] + biases[4]], 0)
    return [gates, array.transpose(matrices[2]), array.transpose(matrices[5]), bias, biases[2], biases[5]]


def _of_gru_cells(cell: list[Tensor], units: int) -> tuple[list[Any], list[Any]]:
    gates, of_inputs, of_state, bias, input_bias, state_bias = cell
    first, second, third, fourth = _taken_apart(gates, units, (0, 1))
    halves = [part * 0.5 for part in array.split(bias, 2, 0)]
    matrices = [first, second, array.transpose(of_inputs), third, fourth, array.transpose(of_state)]
    return matrices, [*halves, input_bias, *halves, state_bias]


_TO_CELLS: Final[Mapping[str, Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]]]] = {
    "lstm": _plain_cells(_LSTM),
    "gru": _gru_cells,
    "rnn_tanh": _plain_cells((0,)),
    "rnn_relu": _plain_cells((0,)),
}
_FROM_CELLS: Final[Mapping[str, Callable[[list[Tensor], int], tuple[list[Any], list[Any]]]]] = {
    "lstm": _of_plain_cells(_LSTM),
    "gru": _of_gru_cells,
    "rnn_tanh": _of_plain_cells((0,)),
    "rnn_relu": _of_plain_cells((0,)),
}


class CellWeights(SaveableObject):
    """A layer's variable as checkpoints hold it: as the weights of cells, which such cells can take."""

    def __init__(self, opaque: Any, layout: Layout, scope: str) -> None:
        self._opaque = opaque
        self._layout = layout
        cells = layout.cells(opaque)
        names = [layout.names(cell) for cell in range(len(cells))]
        prefix = f"{scope}/" if scope else ""
        specs = [
            SaveSpec(weight, "", prefix + name)
            for cell, those in zip(cells, names, strict=True)
            for weight, name in zip(cell, those, strict=True)
        ]
        super().__init__(array.identity(opaque), specs, f"{opaque.op.name}_saveable")

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """An operation that sets the variable."""
        layout = self._layout
        count = len(restored_tensors) // (layout.layers * layout.directions)
        shaped = [
            array.reshape(value, spec.tensor.shape)
            for value, spec in zip(restored_tensors, self.specs, strict=True)
        ]
        cells = [shaped[at : at + count] for at in range(0, len(shaped), count)]
        return assign(self._opaque, layout.of_cells(cells)).op
