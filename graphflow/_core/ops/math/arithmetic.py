"""Elementwise arithmetic of two operands with broadcasting.

One definition an op, from which both tiers' code comes.
"""

from __future__ import annotations

from typing import Any, overload

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, op_def
from graphflow._core.graph.types import SupportsTensor, TensorLike
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import casting
from graphflow._core.ops.math.elementwise import ARITHMETIC, MODULAR, NARROW, binary, partial_arithmetic
from graphflow._core.ops.rules import MATH_GRADIENTS, broadcast_binary


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


ADD = _define("Add", "float|complex|uint8|int8|int16|int32|int64|string", MATH_GRADIENTS, "{x} + {y}", _plus)
ADD_V2 = _define("AddV2", "float|complex|uint8|int8|int16|int32|int64", MATH_GRADIENTS, "{x} + {y}", _plus)
SUB = _define("Sub", ARITHMETIC, MATH_GRADIENTS, "{x} - {y}", lambda x, y: x - y)
MUL = _define("Mul", ARITHMETIC, MATH_GRADIENTS, "{x} * {y}", lambda x, y: x * y)
REAL_DIV = _define("RealDiv", ARITHMETIC, MATH_GRADIENTS, "{x} / {y}")
DIV = _define("Div", ARITHMETIC, MATH_GRADIENTS, "{x} / {y}")
FLOOR_DIV = _define("FloorDiv", ARITHMETIC, NOT_DIFFERENTIABLE, "{x} // {y}", lambda x, y: x // y)
TRUNCATE_DIV = _define("TruncateDiv", ARITHMETIC, NOT_DIFFERENTIABLE, None)
DIV_NO_NAN = _define("DivNoNan", "float|complex", MATH_GRADIENTS, "{x} / {y} if {y} != 0 else 0")
MUL_NO_NAN = _define("MulNoNan", "float|complex", MATH_GRADIENTS, "{x} * {y} if {y} != 0 else 0")
FLOOR_MOD = _define("FloorMod", MODULAR, MATH_GRADIENTS, "{x} % {y}", lambda x, y: x % y)
TRUNCATE_MOD = _define("TruncateMod", MODULAR, MATH_GRADIENTS, "truncatemod({x}, {y})")
POW = _define("Pow", NARROW, MATH_GRADIENTS, "pow({x}, {y})")
MAXIMUM = _define(
    "Maximum",
    "float|int32|int64",
    MATH_GRADIENTS,
    "max({x}, {y})",
    max,
)
MINIMUM = _define(
    "Minimum",
    "float|int32|int64",
    MATH_GRADIENTS,
    "min({x}, {y})",
    min,
)
SQUARED_DIFFERENCE = _define("SquaredDifference", NARROW, MATH_GRADIENTS, "({x} - {y}) * ({x} - {y})")
XLOGY = _define("Xlogy", "float|complex", MATH_GRADIENTS, "{x} * log({y}) if {x} != 0 else 0")
XDIVY = _define("Xdivy", "float|complex", MATH_GRADIENTS, "{x} / {y} if {x} != 0 else 0")


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x + y elementwise, with broadcasting; strings are joined (tf.add).

    Args:
        x: A tensor of numbers or strings.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of that dtype, of the shape that both are broadcast to.

    Raises:
        ValueError: The shapes do not broadcast.
        TypeError: The dtypes differ.

    Examples:
        >>> gf.Session().run(gf.add([1, 2], [[10], [20]]))
        array([[11, 12],
               [21, 22]], dtype=int32)
    """
    return binary(ADD, x, y, name)


def add_v2(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y of numbers, as the operator + builds it (TensorFlow's AddV2)."""
    return binary(ADD_V2, x, y, name)


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x - y elementwise, with broadcasting (tf.subtract).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of that dtype, of the shape that both are broadcast to.

    Raises:
        ValueError: The shapes do not broadcast.
        TypeError: The dtypes differ.

    Examples:
        >>> gf.Session().run(gf.subtract([5, 6], 1))
        array([4, 5], dtype=int32)
    """
    return binary(SUB, x, y, name)


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * y elementwise, with broadcasting (tf.multiply).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of that dtype, of the shape that both are broadcast to.

    Raises:
        ValueError: The shapes do not broadcast.
        TypeError: The dtypes differ.

    Examples:
        >>> gf.Session().run(gf.multiply([1.0, 2.0], 3.0))
        array([3., 6.], dtype=float32)
    """
    return binary(MUL, x, y, name)


def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y of real or complex numbers, elementwise (tf.realdiv); integers are truncated.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(REAL_DIV, x, y, name)


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y of integers, rounded towards zero (tf.truncatediv).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.

    Raises:
        InvalidArgumentError: If y is zero.
    """
    return binary(TRUNCATE_DIV, x, y, name)


def floor_div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y rounded down (tf.floor_div).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.

    Raises:
        InvalidArgumentError: If an integer y is zero.
    """
    return binary(FLOOR_DIV, x, y, name)


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of x / y with the sign of y (tf.floormod).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.

    Raises:
        InvalidArgumentError: If an integer y is zero.
    """
    return binary(FLOOR_MOD, x, y, name)


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The remainder of x / y with the sign of x (tf.truncatemod).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(TRUNCATE_MOD, x, y, name)


def pow_(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x to the power of y, elementwise (tf.pow); InvalidArgumentError on an integer to a negative power.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.

    Examples:
        >>> gf.Session().run(gf.pow([2.0, 3.0], 2.0))
        array([4., 9.], dtype=float32)
    """
    return binary(POW, x, y, name)


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The larger of x and y elementwise; NaN if one of them is (tf.maximum).

    Args:
        x: A tensor of real numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of that dtype, of the shape that both are broadcast to.

    Raises:
        ValueError: The shapes do not broadcast.
        TypeError: The dtypes differ.

    Examples:
        >>> gf.Session().run(gf.maximum([1, 5], [3, 2]))
        array([3, 5], dtype=int32)
    """
    return binary(MAXIMUM, x, y, name)


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The smaller of x and y elementwise; NaN if one of them is (tf.minimum).

    Args:
        x: A tensor of real numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of that dtype, of the shape that both are broadcast to.

    Raises:
        ValueError: The shapes do not broadcast.
        TypeError: The dtypes differ.

    Examples:
        >>> gf.Session().run(gf.minimum([1, 5], [3, 2]))
        array([1, 2], dtype=int32)
    """
    return binary(MINIMUM, x, y, name)


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """(x - y) squared, elementwise (tf.squared_difference).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(SQUARED_DIFFERENCE, x, y, name)


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * log(y), and 0 if x is 0 whatever y is (tf.math.xlogy).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(XLOGY, x, y, name)


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, and 0 if x is 0 whatever y is (tf.math.xdivy).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
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
    """Both operands of a true division: integers as floats; TypeError if the dtypes differ or are not numbers."""
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
        return casting.cast(x, _QUOTIENT[x.dtype]), casting.cast(y, _QUOTIENT[y.dtype])
    return x, y


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, of integers as floats (tf.truediv): float32 for up to 16 bits, float64 beyond.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Raises:
        TypeError: If the dtypes differ or are not numbers.
    """
    with op_scope(name, "truediv", (x, y)) as scope:
        x, y = quotient_operands(*_operands(x, y))
        return binary(REAL_DIV, x, y, scope)


@overload
def divide(x: Tensor | SupportsTensor, y: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def divide(x: TensorLike, y: Tensor | SupportsTensor, name: str | None = None) -> Tensor: ...
@overload
def divide(x: Any, y: Any, name: str | None = None) -> Any: ...
def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y as Python's operator means it (tf.divide): a Python number if both are.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return x / y if name is None else truediv(x, y, name)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y as in Python 2 (tf.div): integers are rounded down.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.

    Examples:
        >>> gf.Session().run(gf.div([7, -7], 2))
        array([ 3, -4], dtype=int32)
    """
    with op_scope(name, "div", (x, y)) as scope:
        x, y = _operands(x, y)
        floating = x.dtype.is_floating or x.dtype.is_complex
        return binary(REAL_DIV if floating else FLOOR_DIV, x, y, scope)


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y rounded down (tf.floordiv).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.

    Raises:
        InvalidArgumentError: If an integer y is zero.
    """
    with op_scope(name, "floordiv", (x, y)) as scope:
        return binary(FLOOR_DIV, x, y, scope)


def div_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, and 0 if y is 0 (tf.div_no_nan).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    with op_scope(name, "div_no_nan", (x, y)) as scope:
        x, y = _operands(x, y)
        return binary(DIV_NO_NAN, x, y, scope)


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * y, and 0 if y is 0, even if x is infinite or no number (tf.math.multiply_no_nan).

    Args:
        x: A tensor of floats or complex numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    with op_scope(name, "multiply_no_nan", (x, y)) as scope:
        x, y = _operands(x, y)
        return binary(MUL_NO_NAN, x, y, scope)


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, and 0 if x is 0 (tf.math.reciprocal_no_nan).

    Args:
        x: A tensor of floats or complex numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.
    """
    with op_scope(name, "reciprocal_no_nan", (x,)) as scope:
        given = convert_to_tensor(x, name="x")
        return binary(DIV_NO_NAN, convert_to_tensor(1, dtype=given.dtype, name="one"), given, scope)
