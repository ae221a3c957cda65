"""The values of tensors that follow from constants while the graph is built, of any dtype and rank.

Shape rules need integers in scalars and vectors alone, which each op's definition tells (core.partial_value). This is
for those who ask for a value by gf.contrib.util.constant_value: it goes through the few ops that values are made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from graphflow._core.graph.elements import Operation, Tensor

Known = Callable[[Tensor, bool], Any]
"""What gives the value of an input, known in parts if the second argument is true; None if it is unknown."""

_MOST_ELEMENTS: Final = 1 << 20
"""Larger arrays are not made while the graph is built."""


def _cast(op: Operation, known: Known, partial: bool) -> Any:
    value = known(op.inputs[0], False)
    return None if value is None else np.asarray(value).astype(op.outputs[0].dtype.as_numpy_dtype)


def _fill(op: Operation, known: Known, partial: bool) -> Any:
    dims, value = op.outputs[0].dims, known(op.inputs[1], False)
    if dims is None or value is None:
        return None
    shape = [size for size in dims if size is not None]
    if len(shape) != len(dims) or math.prod(shape) > _MOST_ELEMENTS:
        return None
    return np.full(shape, value, op.outputs[0].dtype.as_numpy_dtype)


def _concat(op: Operation, known: Known, partial: bool) -> Any:
    *values, axis = [known(tensor, False) for tensor in op.inputs]
    return None if axis is None or any(v is None for v in values) else np.concatenate(values, int(axis))


def _pack(op: Operation, known: Known, partial: bool) -> Any:
    if op.attrs["axis"] != 0:
        return None
    values = [known(tensor, partial) for tensor in op.inputs]
    if all(v is not None for v in values):
        return np.stack(values)
    if not partial or all(v is None for v in values):
        return None
    result = np.empty(len(values), object)
    result[:] = values
    return result


def _compared(function: Callable[[Any, Any], Any]) -> Callable[[Operation, Known, bool], Any]:
    def compare(op: Operation, known: Known, partial: bool) -> Any:
        x, y = (known(tensor, False) for tensor in op.inputs)
        return None if x is None or y is None else function(x, y)

    return compare


_RULES: Final[Mapping[str, Callable[[Operation, Known, bool], Any]]] = {
    "Cast": _cast,
    "Fill": _fill,
    "ConcatV2": _concat,
    "Pack": _pack,
    "Equal": _compared(np.equal),
    "NotEqual": _compared(np.not_equal),
}


def followed(tensor: Tensor, known: Known, partial: bool) -> Any:
    """The value of a tensor from those of its operation's inputs, or None if it does not follow.

    Args:
        tensor: The tensor.
        known: Gives the values of the inputs.
        partial: Whether a value known in parts is given, an array of objects with None for the rest.
    """
    rule = _RULES.get(tensor.op.type)
    return None if rule is None else rule(tensor.op, known, partial)
