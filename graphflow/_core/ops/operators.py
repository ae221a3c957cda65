"""Python's operators on tensors: +, -, *, /, //, %, **, @, comparisons, logic, their reflected forms, and indexing.

The other operand becomes a tensor of this one's dtype. The names of the ops made are TensorFlow's ("add", "truediv",
...), which differ from those of the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.array.getitem import getitem
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, comparison, linalg, numeric

Function = Callable[..., Any]


def _add(x: Tensor, y: Tensor, name: str) -> Tensor:
    return (arithmetic.add if x.dtype is dtypes.string else arithmetic.add_v2)(x, y, name)


def _forward(function: Function, name: str) -> Function:
    def operator(x: Any, y: Any) -> Any:
        if isinstance(y, SparseTensor) and hasattr(y, f"__r{name}__"):
            return NotImplemented
        with op_scope(None, name, (x, y)) as scope:
            if not isinstance(y, Tensor):
                try:
                    # As in TensorFlow, an array is cast to the tensor's dtype.
                    cast = x.dtype if isinstance(y, np.ndarray | np.generic) else None
                    y = convert_to_tensor(y, cast, "y", preferred_dtype=x.dtype)
                except TypeError:
                    if hasattr(type(y), f"__r{name}__"):
                        return NotImplemented
                    raise
            return function(x, y, name=scope)

    return operator


def _reflected(function: Function, name: str) -> Function:
    def operator(y: Any, x: Any) -> Any:
        with op_scope(None, name, (y,)) as scope:
            return function(convert_to_tensor(x, dtype=y.dtype, name="x"), y, name=scope)

    return operator


def _direct(function: Function) -> Function:
    return lambda *operands: function(*operands)


_BINARY: dict[str, Function] = {
    "add": _add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "div": arithmetic.div,
    "truediv": arithmetic.truediv,
    "floordiv": arithmetic.floordiv,
    "mod": arithmetic.floormod,
    "pow": arithmetic.pow_,
    "matmul": linalg.matmul,
    "and": comparison.logical_and,
    "or": comparison.logical_or,
    "xor": comparison.logical_xor,
}
_DIRECT: dict[str, Function] = {
    "lt": comparison.less,
    "le": comparison.less_equal,
    "gt": comparison.greater,
    "ge": comparison.greater_equal,
    "neg": numeric.negative,
    "abs": numeric.abs_,
    "invert": comparison.logical_not,
}


def install() -> None:
    """Installs the operators on Tensor, once, when the library is imported."""
    Tensor.install_operator("__getitem__", getitem)
    for name, function in _BINARY.items():
        Tensor.install_operator(f"__{name}__", _forward(function, name))
        Tensor.install_operator(f"__r{name}__", _reflected(function, name))
    for name, function in _DIRECT.items():
        Tensor.install_operator(f"__{name}__", _direct(function))
