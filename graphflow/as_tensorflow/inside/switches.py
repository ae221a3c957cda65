"""switch and merge of tensorflow.python.ops.control_flow_ops, with which programs choose between parts of their graph.

What follows from a side of a switch is built as it is; run for anything else than a merge, it fails if the other side
is taken, and its gradient is zeros. A merge builds it again in branches of a cond, so that only the side runs that is
taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphflow._core.graph import shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.slices import IndexedSlices, SparseTensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.shaping import identity, placeholder_with_default, stop_gradient
from graphflow._core.ops.control_flow.checking import assert_
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.invariants import components, recomposed
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math.comparison import logical_and, logical_not
from graphflow._core.ops.state.scopes import name_scope

_SIDES = "sides of switches"
"""What is attached to a graph: of the operation of each side its Side."""


class Side(NamedTuple):
    """A side of a switch: the predicate, whether it is the true one, and the value that goes in."""

    predicate: Tensor
    taken: bool
    value: Tensor


_DEAD = "Retval[0] does not have value: it follows from the side of a switch that is not taken"


class Merge(NamedTuple):
    """What merge gives: the value, and the number of the input that it is."""

    output: Any
    value_index: Tensor


def _sides(graph: Any) -> dict[Operation, Side]:
    found: dict[Operation, Side] = graph.attachments.setdefault(_SIDES, {})
    return found


def switch(
    data: Any, pred: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> tuple[Any, Any]:
    """A value for what is built if a predicate is false, and if it is true; parts of a sparse one each have theirs."""
    with name_scope(name or "Switch"):
        if isinstance(data, IndexedSlices | SparseTensor):
            sides_of_parts = [switch(part, pred, name="Part") for part in components(data)]
            return tuple(recomposed(data, side) for side in zip(*sides_of_parts, strict=True))
        value = convert_to_tensor(data, dtype=dtype, name="data")
        predicate = convert_to_tensor(pred, name="pred")
        with counted_as(1):
            false, true = (_side(Side(predicate, taken, value)) for taken in (False, True))
    return false, true


def _side(side: Side) -> Tensor:
    """What comes out on a side: the value, or an error if the other one is taken."""

    def dead() -> Tensor:
        with get_default_graph().control_dependencies([assert_(False, [_DEAD])]):
            return stop_gradient(side.value)

    def alive() -> Tensor:
        return identity(side.value)

    result: Tensor = cond(side.predicate, *((alive, dead) if side.taken else (dead, alive)), name="side")
    result = identity(result, name="output_true" if side.taken else "output_false")
    result.set_shape(side.value.shape)
    _sides(result.graph)[result.op] = side
    return result


def merge(inputs: Sequence[Any], name: str | None = None) -> Merge:
    """The first of some values that is there: whose sides of switches are all taken; ValueError if one is None."""
    if any(one is None for one in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs!r}.")
    if all(isinstance(one, IndexedSlices | SparseTensor) for one in inputs):
        parts = [merge(each, name) for each in zip(*map(components, inputs), strict=True)]
        return Merge(recomposed(inputs[0], [part.output for part in parts]), parts[0].value_index)
    values = [convert_to_tensor(one) for one in inputs]
    graph = get_default_graph()
    sides = _sides(graph)

    def chosen(number: int) -> tuple[Tensor, Tensor]:
        if number == len(values) - 1:
            return _Copies(graph, sides).of(values[number]), constant(number)
        there: Tensor | None = None
        for predicate, taken in _conditions(values[number].op, sides):
            one = predicate if taken else logical_not(predicate)
            there = one if there is None else logical_and(there, one)
        if there is None:
            return values[number], constant(number)
        found: tuple[Tensor, Tensor] = cond(
            there,
            lambda: (_Copies(graph, sides).of(values[number]), constant(number)),
            lambda: chosen(number + 1),
        )
        return found

    with name_scope(name or "Merge"):
        output, index = chosen(0)
        dims = values[0].dims
        for value in values[1:]:
            dims = shapes.relax(dims, value.dims)
        if dims != output.dims:  # What is known is what all of them have.
            output = placeholder_with_default(output, dims)
        return Merge(identity(output, name="output"), identity(index, name="value_index"))


def _conditions(op: Operation, sides: dict[Operation, Side]) -> list[tuple[Tensor, bool]]:
    """The sides that an operation follows from."""
    found: dict[tuple[Tensor, bool], None] = {}
    seen: set[Operation] = set()
    todo = [op]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            if one in sides:
                found[sides[one].predicate, sides[one].taken] = None
            todo += [tensor.op for tensor in one.inputs]
    return list(found)


class _Copies:
    """What follows from sides of switches, built again where it is asked for."""

    def __init__(self, graph: Any, sides: dict[Operation, Side]) -> None:
        self._graph, self._sides = graph, sides
        self._made: dict[Operation, Operation] = {}

    def of(self, tensor: Tensor) -> Tensor:
        """The copy of a tensor; itself if it follows from no side."""
        op = tensor.op
        if op in self._sides:
            return identity(self.of(self._sides[op].value))
        if op.control_flow_context is not None or not _conditions(op, self._sides):
            return tensor
        if op not in self._made:
            inputs = [self.of(one) for one in op.inputs]
            copy = self._graph.add(op.op_def, inputs, dict(op.attrs), op.name.rpartition("/")[2])
            copy.keep_line(op)
            self._made[op] = copy
        return self._made[op].outputs[tensor.value_index]
