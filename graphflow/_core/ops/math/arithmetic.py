"""Elementwise arithmetic of two operands with broadcasting.

One definition an op, from which both tiers' code comes.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, op_def
from graphflow._core.ops import core
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import comparison, numeric, transcendental
from graphflow._core.ops.math.elementwise import (
    ARITHMETIC,
    MODULAR,
    NARROW,
    binary,
    partial_arithmetic,
    unbroadcast,
    unbroadcast_pair,
)
from graphflow._core.ops.rules import broadcast_binary


def _add_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return unbroadcast_pair(op, g, g)


def _subtract_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return unbroadcast_pair(op, g, numeric.negative(g))


def _multiply_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    return unbroadcast_pair(op, multiply(g, y), multiply(x, g))


def _divide_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    return unbroadcast_pair(op, realdiv(g, y), multiply(g, realdiv(realdiv(numeric.negative(x), y), y)))


def _div_no_nan_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    slope = div_no_nan(div_no_nan(numeric.negative(x), y), y)
    return unbroadcast_pair(op, div_no_nan(g, y), multiply(g, slope))


def _floormod_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = op.inputs
    return unbroadcast_pair(op, g, multiply(g, numeric.negative(binary(FLOOR_DIV, x, y, None))))


def _truncatemod_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = op.inputs
    quotient = realdiv(subtract(x, op.outputs[0]), y)
    return unbroadcast_pair(op, g, multiply(g, numeric.negative(quotient)))


def _power_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor | None]:
    x, y = map(numeric.conj, op.inputs)
    exponent = core.constant_value(y)
    if exponent is not None and exponent.ndim == 0 and exponent == 2:
        x_gradient = multiply(g, multiply(y, x))
    else:
        x_gradient = multiply(multiply(g, y), pow_(x, subtract(y, 1)))
    if y.op.type == "Const":
        return unbroadcast(x_gradient, op.inputs[0], y), None
    # log(x) where it exists; the other elements stay out of log, whose gradient would be NaN there.
    zero = array.zeros_like(x)
    usable = comparison.not_equal(x, zero) if x.dtype.is_complex else comparison.greater(x, zero)
    safe = array.where(usable, x, array.ones_like(x))
    logarithm = array.where(usable, transcendental.log(safe), zero)
    y_gradient = multiply(multiply(g, numeric.conj(op.outputs[0])), logarithm)
    return unbroadcast_pair(op, x_gradient, y_gradient)


def _extremum_gradient(op: Operation, g: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
    zeros = array.zeros_like(g)
    return unbroadcast_pair(op, array.where(first, g, zeros), array.where(first, zeros, g))


def _squared_difference_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = op.inputs
    if g.dtype.is_complex:  # The op is abs(x - y) ** 2, whose imaginary part is always 0.
        g = numeric.cast(numeric.real(g), g.dtype)
    slope = multiply(multiply(g, 2), subtract(x, y))
    return unbroadcast_pair(op, slope, numeric.negative(slope))


def _xlogy_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    nonzero = numeric.cast(comparison.not_equal(x, array.zeros_like(x)), x.dtype)
    return unbroadcast_pair(op, multiply(g, xlogy(nonzero, y)), multiply(g, xdivy(x, y)))


def _xdivy_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x, y = map(numeric.conj, op.inputs)
    nonzero = numeric.cast(comparison.not_equal(x, array.zeros_like(x)), x.dtype)
    slope = xdivy(numeric.negative(x), transcendental.square(y))
    return unbroadcast_pair(op, multiply(g, xdivy(nonzero, y)), multiply(g, slope))


def _define(name: str, types: str, gradient: Any, scalar: str | None, partial: Any = None) -> OpDef:
    rule = None if partial is None else partial_arithmetic(partial)
    return op_def(
        name,
        (f"x: T={types}", "y: T"),
        infer=broadcast_binary,
        gradient=gradient,
        scalar=scalar,
        partial_value=rule,
    )


def _plus(x: int, y: int) -> int:
    return x + y


ADD = _define("Add", "float|complex|uint8|int8|int16|int32|int64|string", _add_gradient, "{x} + {y}", _plus)
ADD_V2 = _define("AddV2", "float|complex|uint8|int8|int16|int32|int64", _add_gradient, "{x} + {y}", _plus)
SUB = _define("Sub", ARITHMETIC, _subtract_gradient, "{x} - {y}", lambda x, y: x - y)
MUL = _define("Mul", ARITHMETIC, _multiply_gradient, "{x} * {y}", lambda x, y: x * y)
REAL_DIV = _define("RealDiv", ARITHMETIC, _divide_gradient, "{x} / {y}")
DIV = _define("Div", ARITHMETIC, _divide_gradient, "{x} / {y}")
FLOOR_DIV = _define("FloorDiv", ARITHMETIC, NOT_DIFFERENTIABLE, "{x} // {y}", lambda x, y: x // y)
TRUNCATE_DIV = _define("TruncateDiv", ARITHMETIC, NOT_DIFFERENTIABLE, None)
DIV_NO_NAN = _define("DivNoNan", "float|complex", _div_no_nan_gradient, "{x} / {y} if {y} != 0 else 0")
FLOOR_MOD = _define("FloorMod", MODULAR, _floormod_gradient, "{x} % {y}", lambda x, y: x % y)
TRUNCATE_MOD = _define("TruncateMod", MODULAR, _truncatemod_gradient, "truncatemod({x}, {y})")
POW = _define("Pow", NARROW, _power_gradient, "pow({x}, {y})")
MAXIMUM = _define(
    "Maximum",
    "float|int32|int64",
    lambda op, g: _extremum_gradient(op, g, comparison.greater_equal(*op.inputs)),
    "max({x}, {y})",
    max,
)
MINIMUM = _define(
    "Minimum",
    "float|int32|int64",
    lambda op, g: _extremum_gradient(op, g, comparison.less_equal(*op.inputs)),
    "min({x}, {y})",
    min,
)
SQUARED_DIFFERENCE = _define(
    "SquaredDifference", NARROW, _squared_difference_gradient, "({x} - {y}) * ({x} - {y})"
)
XLOGY = _define("Xlogy", "float|complex", _xlogy_gradient, "{x} * log({y}) if {x} != 0 else 0")
XDIVY = _define("Xdivy", "float|complex", _xdivy_gradient, "{x} / {y} if {x} != 0 else 0")


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y elementwise, with broadcasting; strings are joined (tf.add)."""
    return binary(ADD, x, y, name)


def add_v2(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y of numbers, as the operator + builds it (TensorFlow's AddV2)."""
    return binary(ADD_V2, x, y, name)


def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y elementwise, with broadcasting (tf.subtract)."""
    return binary(SUB, x, y, name)


def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * y elementwise, with broadcasting (tf.multiply)."""
    return binary(MUL, x, y, name)


def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y of real or complex numbers, elementwise (tf.realdiv); integers are truncated."""
    return binary(REAL_DIV, x, y, name)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y of integers, rounded towards zero (tf.truncatediv); InvalidArgumentError where y is zero."""
    return binary(TRUNCATE_DIV, x, y, name)


def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded down (tf.floor_div); InvalidArgumentError where an integer y is zero."""
    return binary(FLOOR_DIV, x, y, name)


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of x / y with the sign of y (tf.floormod); InvalidArgumentError where an integer y is zero."""
    return binary(FLOOR_MOD, x, y, name)


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of x / y with the sign of x (tf.truncatemod)."""
    return binary(TRUNCATE_MOD, x, y, name)


def pow_(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power of y, elementwise (tf.pow); InvalidArgumentError on an integer to a negative power."""
    return binary(POW, x, y, name)


def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of x and y; NaN where either is (tf.maximum)."""
    return binary(MAXIMUM, x, y, name)


def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of x and y; NaN where either is (tf.minimum)."""
    return binary(MINIMUM, x, y, name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y) squared, elementwise (tf.squared_difference)."""
    return binary(SQUARED_DIFFERENCE, x, y, name)


def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log(y), and 0 where x is 0 whatever y is (tf.math.xlogy)."""
    return binary(XLOGY, x, y, name)


def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, and 0 where x is 0 whatever y is (tf.math.xdivy)."""
    return binary(XDIVY, x, y, name)


# ---- division as Python means it -----------------------------------------------------------------------------------

_QUOTIENT = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
}


def _operands(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors of the first one's dtype."""
    x = convert_to_tensor(x, preferred_dtype=getattr(y, "dtype", None), name="x")
    y = convert_to_tensor(y, preferred_dtype=x.dtype, name="y")
    return x, y


def quotient_operands(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both operands of a true division: integers as floats; TypeError where the dtypes differ or are not numbers."""
    if x.dtype is not y.dtype:
        raise TypeError(
            f"x and y must have the same dtype, got {x.dtype.name} != {y.dtype.name}. Use gf.cast."
        )
    if (
        x.dtype.is_integer
        and x.dtype not in _QUOTIENT
        or not (x.dtype.is_integer or x.dtype.is_floating or x.dtype.is_complex)
    ):
        raise TypeError(f"Invalid dtype {x.dtype.name} in truediv. Expected numbers.")
    if x.dtype.is_integer:
        return numeric.cast(x, _QUOTIENT[x.dtype]), numeric.cast(y, _QUOTIENT[y.dtype])
    return x, y


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, of integers as floats (tf.truediv): float32 for up to 16 bits, float64 beyond.

    TypeError where the dtypes differ or are not numbers.
    """
    with op_scope(name, "truediv", (x, y)) as scope:
        x, y = quotient_operands(*_operands(x, y))
        return binary(REAL_DIV, x, y, scope)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y as Python's operator means it (tf.divide): a Python number where both are."""
    return x / y if name is None else truediv(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y as in Python 2 (tf.div): integers are rounded down."""
    with op_scope(name, "div", (x, y)) as scope:
        x, y = _operands(x, y)
        floating = x.dtype.is_floating or x.dtype.is_complex
        return binary(REAL_DIV if floating else FLOOR_DIV, x, y, scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded down (tf.floordiv); InvalidArgumentError where an integer y is zero."""
    with op_scope(name, "floordiv", (x, y)) as scope:
        return binary(FLOOR_DIV, x, y, scope)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, and 0 where y is 0 (tf.div_no_nan)."""
    with op_scope(name, "div_no_nan", (x, y)) as scope:
        x, y = _operands(x, y)
        return binary(DIV_NO_NAN, x, y, scope)
