"""The common parts of elementwise ops: the dtypes they take, how one is added, what is known of its value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import graphflow._core.ops.core as core
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, PartialRule
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.core import apply, op_scope

ARITHMETIC = "float|complex|uint8|int8|uint16|int16|int32|int64"
MODULAR = "int32|int64|float"
NARROW = "float|complex|int32|int64"


def unary(definition: OpDef, x: Any, name: str | None) -> Tensor:
    """Adds an operation of one input and one output."""
    return apply(definition, (x,), name=name).outputs[0]


def binary(definition: OpDef, x: Any, y: Any, name: str | None) -> Tensor:
    """Adds an operation of two inputs and one output."""
    return apply(definition, (x, y), name=name).outputs[0]


def sparse_unary(definition: OpDef, x: Any, name: str | None) -> Tensor | SparseTensor:
    """Adds an operation of one input; of a SparseTensor it takes the values, so the op must map 0 to 0."""
    if isinstance(x, SparseTensor):
        with op_scope(name, definition.name, (x.values,)) as scope:
            return SparseTensor(x.indices, unary(definition, x.values, scope), x.dense_shape)
    return unary(definition, x, name)


def partial_arithmetic(function: Callable[..., int]) -> PartialRule:
    """The partial value of elementwise arithmetic, comparison or choice of integers and truth values (0 or 1)."""

    def rule(op: Operation) -> int | list[int | None] | None:
        known = [core.partial_value(x) for x in op.inputs]
        if any(value is None for value in known):
            return None
        lengths = {len(value) for value in known if isinstance(value, list)} - {1}
        if len(lengths) > 1:
            return None
        if all(isinstance(value, int) for value in known):
            return _computed(op, function, known)
        length = lengths.pop() if lengths else 1
        rows = [value * length if len(value) == 1 else value for value in map(_as_list, known)]
        return [_computed(op, function, items) for items in zip(*rows)]

    return rule


def _as_list(value: Any) -> list[int | None]:
    return value if isinstance(value, list) else [value]


def _computed(op: Operation, function: Callable[..., int], items: Any) -> int | None:
    if None in items:
        return None
    try:
        result = function(*items)
    except ZeroDivisionError:
        return None
    dtype = op.outputs[0].dtype
    if dtype.is_bool:
        return int(bool(result))
    return result if dtype.is_integer and dtype.min <= result <= dtype.max else None
