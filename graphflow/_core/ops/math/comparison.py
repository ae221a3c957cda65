"""Comparisons, logic, and tests of floats.

As in TensorFlow 1, == between tensors is identity (so that tensors can be keys); `equal` compares values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.math.elementwise import binary, partial_arithmetic, unary
from graphflow._core.ops.rules import broadcast_bool, same_shape

EQUATABLE = "float|complex|integer|string|bool"


def _comparison(name: str, types: str, scalar: str, compare: Callable[..., bool] | None = None) -> OpDef:
    return op_def(
        name,
        (f"x: T={types}", "y: T"),
        infer=broadcast_bool,
        gradient=NOT_DIFFERENTIABLE,
        scalar=scalar,
        partial_value=None if compare is None else partial_arithmetic(compare),
    )


def _logic(name: str, scalar: str, combine: Callable[..., bool]) -> OpDef:
    return op_def(
        name,
        ("x: bool", "y: bool"),
        infer=broadcast_bool,
        gradient=NOT_DIFFERENTIABLE,
        scalar=scalar,
        partial_value=partial_arithmetic(combine),
    )


def _test(name: str, scalar: str) -> OpDef:
    return op_def(
        name, ("x: T=float",), infer=same_shape(dtypes.bool_), gradient=NOT_DIFFERENTIABLE, scalar=scalar
    )


EQUAL = _comparison("Equal", EQUATABLE, "{x} == {y}", operator.eq)
NOT_EQUAL = _comparison("NotEqual", EQUATABLE, "{x} != {y}", operator.ne)
LESS = _comparison("Less", "real", "{x} < {y}", operator.lt)
LESS_EQUAL = _comparison("LessEqual", "real", "{x} <= {y}", operator.le)
GREATER = _comparison("Greater", "real", "{x} > {y}", operator.gt)
GREATER_EQUAL = _comparison("GreaterEqual", "real", "{x} >= {y}", operator.ge)
APPROXIMATE_EQUAL = _comparison("ApproximateEqual", "number", "abs({x} - {y}) < {@tolerance}")
LOGICAL_AND = _logic("LogicalAnd", "{x} and {y}", operator.and_)
LOGICAL_OR = _logic("LogicalOr", "{x} or {y}", operator.or_)
LOGICAL_NOT = op_def(
    "LogicalNot",
    ("x: bool",),
    infer=same_shape(dtypes.bool_),
    gradient=NOT_DIFFERENTIABLE,
    scalar="not {x}",
    partial_value=partial_arithmetic(operator.not_),
)
IS_NAN = _test("IsNan", "isnan({x})")
IS_INF = _test("IsInf", "isinf({x})")
IS_FINITE = _test("IsFinite", "isfinite({x})")


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x equals y, for each element; NaN equals nothing (tf.equal).

    Args:
        x: A tensor of numbers, truth values or strings.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bool, of the shape that both are broadcast to.

    Raises:
        ValueError: The shapes do not broadcast.
        TypeError: The dtypes differ.

    Examples:
        >>> gf.Session().run(gf.equal([1, 2, 3], [1, 0, 3]))
        array([ True, False,  True])
    """
    return binary(EQUAL, x, y, name)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x differs from y, for each element (tf.not_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return binary(NOT_EQUAL, x, y, name)


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x < y, for each element (tf.less).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return binary(LESS, x, y, name)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x <= y, for each element (tf.less_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return binary(LESS_EQUAL, x, y, name)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x > y, for each element (tf.greater).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return binary(GREATER, x, y, name)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether x >= y, for each element (tf.greater_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return binary(GREATER_EQUAL, x, y, name)


def approximate_equal(
    x: TensorLike, y: TensorLike, tolerance: float = 1e-5, name: str | None = None
) -> Tensor:
    """Whether x and y are less than `tolerance` apart, for each element (tf.approximate_equal).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        tolerance: The largest difference.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return apply(APPROXIMATE_EQUAL, (x, y), {"tolerance": float(tolerance)}, name).outputs[0]


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether both are true, for each element (tf.logical_and).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return binary(LOGICAL_AND, x, y, name)


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether either is true, for each element (tf.logical_or).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return binary(LOGICAL_OR, x, y, name)


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether x is false, for each element (tf.logical_not).

    Args:
        x: A tensor of bools.
        name: A name for the operation.

    Returns:
        A tensor of bools of the same shape.
    """
    return unary(LOGICAL_NOT, x, name)


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Tensor:
    """Whether exactly one is true, for each element; made of and, or and not as in TensorFlow (tf.logical_xor).

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        name: A name for the operation.

    Returns:
        A tensor of bools of the shape that both broadcast to.
    """
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether x is not a number, for each element (tf.is_nan).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of bools of the same shape.
    """
    return unary(IS_NAN, x, name)


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether x is infinite, for each element (tf.is_inf).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of bools of the same shape.
    """
    return unary(IS_INF, x, name)


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether x is neither NaN nor infinite, for each element (tf.is_finite).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of bools of the same shape.
    """
    return unary(IS_FINITE, x, name)
