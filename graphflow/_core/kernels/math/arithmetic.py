"""NumPy kernels of elementwise arithmetic.

NumPy's own functions wherever their results are TensorFlow's; the others say what differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.registry import Kernel, simple
from graphflow.errors import InvalidArgumentError

Array = Any
DIVISION_BY_ZERO: Final = "Integer division by zero. Keep zeros out of the divisor."


def _objects_too(function: Callable[..., Any]) -> Kernel:
    """NumPy returns bare Python objects for scalars of strings: they become arrays again."""

    def compute(x: Array, y: Array) -> Array:
        return function(x, y) if x.dtype != object else np.asarray(function(x, y), dtype=object)

    return compute


def _divided_as_integers(function: Callable[..., Any], otherwise: Callable[..., Any]) -> Kernel:
    """Integers by `function`, of which a zero divisor is an error, floats by `otherwise`."""

    def compute(x: Array, y: Array) -> Array:
        if x.dtype.kind not in "iu":
            return otherwise(x, y)
        if x.size and not np.all(y):
            raise InvalidArgumentError(None, None, DIVISION_BY_ZERO)
        return function(x, y)

    return compute


def _truncated_divide(x: Array, y: Array) -> Array:
    quotient = np.floor_divide(x, y)
    rounded_down = (np.remainder(x, y) != 0) & ((x < 0) != (y < 0))
    return np.add(quotient, rounded_down, dtype=x.dtype)


def _floor_divide(x: Array, y: Array) -> Array:
    # NumPy's floor_divide of floats differs from floor(x / y), which TensorFlow and the compiled tier compute.
    return np.floor(np.divide(x, y)) if x.dtype.kind == "f" else np.divide(x, y)


def _floor_modulo(x: Array, y: Array) -> Array:
    remainder = np.fmod(x, y)
    return np.where((remainder != 0) & ((remainder < 0) != (y < 0)), remainder + y, remainder)


def _power(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iu" and np.any(y < 0):
        raise InvalidArgumentError(
            None, None, "Integers to negative integer powers are not allowed. Cast to floats."
        )
    return np.power(x, y)


def zero_where(zero: Array, value: Array) -> Array:
    """The value, and 0 where `zero` says so."""
    return np.where(zero, value.dtype.type(0), value)


def _squared_difference(x: Array, y: Array) -> Array:
    difference = np.subtract(x, y)
    return np.multiply(difference, np.conjugate(difference))


divide = _divided_as_integers(_truncated_divide, np.divide)
"""x / y, of integers truncated; InvalidArgumentError if an integer is divided by 0."""
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Sub": np.subtract,
    "Mul": np.multiply,
    "RealDiv": divide,
    "Div": divide,
    "TruncateDiv": divide,
    "FloorDiv": _divided_as_integers(np.floor_divide, _floor_divide),
    "FloorMod": _divided_as_integers(np.remainder, _floor_modulo),
    "TruncateMod": _divided_as_integers(np.fmod, np.fmod),
    "DivNoNan": lambda x, y: zero_where(y == 0, np.divide(x, y)),
    "MulNoNan": lambda x, y: zero_where(y == 0, np.multiply(x, y)),
    "Xdivy": lambda x, y: zero_where(x == 0, np.divide(x, y)),
    "Xlogy": lambda x, y: zero_where(x == 0, x * np.log(y)),
    "Pow": _power,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "SquaredDifference": _squared_difference,
    "Add": _objects_too(np.add),
    "AddV2": np.add,
}
for _name, _function in _ARITHMETIC.items():
    simple(_name, _function)
