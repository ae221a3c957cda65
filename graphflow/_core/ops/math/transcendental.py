"""Elementwise functions of one float: roots, exponential, trigonometric and hyperbolic functions, rounding.

Functions whose derivative follows from their value (sqrt, tanh, sigmoid, ...) have a gradient op of their own, as in
TensorFlow: the backward pass then needs the result and not the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, op_def
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import creation
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, numeric
from graphflow._core.ops.math.elementwise import NARROW, binary, sparse_unary, unary
from graphflow._core.ops.rules import MATH_GRADIENTS, broadcast_binary, same_as_input

Slope = Callable[[Tensor, Tensor], Tensor]
"""The derivative of a function, from its input x and its value y."""


def _function(
    name: str, slope: Slope | None, scalar: str | None, types: str = "continuous", gradient: Any = None
) -> OpDef:
    def chain(op: Operation, g: Tensor) -> tuple[Tensor]:
        assert slope is not None
        x, y = numeric.conj(op.inputs[0]), numeric.conj(op.outputs[0])
        return (arithmetic.multiply(g, slope(x, y)),)

    rule = gradient or (NOT_DIFFERENTIABLE if slope is None else chain)
    return op_def(name, (f"x: T={types}",), infer=same_as_input, gradient=rule, scalar=scalar)


def _from_value(name: str, definition: OpDef, scalar: str, types: str = "continuous") -> OpDef:
    """A function whose gradient is computed by an op of its value and the gradient."""

    def rule(op: Operation, g: Tensor) -> tuple[Tensor]:
        return (binary(definition, op.outputs[0], g, None),)

    return op_def(name, (f"x: T={types}",), infer=same_as_input, gradient=rule, scalar=scalar)


def _value_gradient(name: str, scalar: str, gradient: Any) -> OpDef:
    return op_def(
        name, ("y: T=continuous", "dy: T"), infer=broadcast_binary, gradient=gradient, scalar=scalar
    )


def _reciprocal(x: Tensor) -> Tensor:
    return unary(RECIPROCAL, x, None)


def _one_minus_square(x: Tensor) -> Tensor:
    return arithmetic.subtract(1, square(x))


# Second order. Each of these ops is dy * h(conj(y)), so its gradient is conj(g) * dy * h'(conj(y)) in y and
# g * h(y) in dy; of real numbers the conjugates are the numbers themselves.


def _sqrt_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    ratio = arithmetic.realdiv(g, op.inputs[0])
    negated = numeric.negative(numeric.conj(ratio))
    return arithmetic.multiply(negated, op.outputs[0]), arithmetic.multiply(ratio, 0.5)


def _rsqrt_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    y, product = _conjugated(op, g)
    slope = arithmetic.multiply(arithmetic.multiply(product, -1.5), square(y))
    return slope, binary(RSQRT_GRAD, y, g, None)


def _reciprocal_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    y, product = _conjugated(op, g)
    return arithmetic.multiply(arithmetic.multiply(product, -2), y), binary(RECIPROCAL_GRAD, y, g, None)


def _tanh_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    y, product = _conjugated(op, g)
    return arithmetic.multiply(arithmetic.multiply(product, -2), y), binary(TANH_GRAD, y, g, None)


def _sigmoid_grad_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    y, product = _conjugated(op, g)
    slope = arithmetic.subtract(product, arithmetic.multiply(arithmetic.multiply(product, 2), y))
    return slope, binary(SIGMOID_GRAD, y, g, None)


def _conjugated(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    """conj(y), and conj(g) * dy."""
    return numeric.conj(op.inputs[0]), arithmetic.multiply(numeric.conj(g), op.inputs[1])


SQRT_GRAD = _value_gradient("SqrtGrad", "{dy} * 0.5 / {y}", _sqrt_grad_gradient)
RSQRT_GRAD = _value_gradient("RsqrtGrad", "{dy} * -0.5 * ({y} * {y} * {y})", _rsqrt_grad_gradient)
RECIPROCAL_GRAD = _value_gradient("ReciprocalGrad", "-{y} * {y} * {dy}", _reciprocal_grad_gradient)
TANH_GRAD = _value_gradient("TanhGrad", "{dy} * (1 - {y} * {y})", _tanh_grad_gradient)
SIGMOID_GRAD = _value_gradient("SigmoidGrad", "{dy} * {y} * (1 - {y})", _sigmoid_grad_gradient)

SQRT = _from_value("Sqrt", SQRT_GRAD, "sqrt({x})")
RSQRT = _from_value("Rsqrt", RSQRT_GRAD, "rsqrt({x})")
RECIPROCAL = _from_value("Reciprocal", RECIPROCAL_GRAD, "1 / {x}", NARROW)
TANH = _from_value("Tanh", TANH_GRAD, "tanh({x})")
SIGMOID = _from_value("Sigmoid", SIGMOID_GRAD, "sigmoid({x})")
SQUARE = _function("Square", lambda x, y: arithmetic.multiply(x, 2), "{x} * {x}", types=NARROW)
EXP = _function("Exp", lambda x, y: y, "exp({x})")
EXPM1 = _function("Expm1", lambda x, y: exp(x), "expm1({x})")
LOG = _function("Log", lambda x, y: _reciprocal(x), "log({x})")
LOG1P = _function("Log1p", lambda x, y: _reciprocal(arithmetic.add(1, x)), "log1p({x})")
SIN = _function("Sin", lambda x, y: cos(x), "sin({x})")
COS = _function("Cos", lambda x, y: numeric.negative(sin(x)), "cos({x})")
TAN = _function("Tan", lambda x, y: square(_reciprocal(cos(x))), "tan({x})")
ASIN = _function("Asin", lambda x, y: rsqrt(_one_minus_square(x)), "asin({x})")
ACOS = _function("Acos", lambda x, y: numeric.negative(rsqrt(_one_minus_square(x))), "acos({x})")
ATAN = _function("Atan", lambda x, y: _reciprocal(arithmetic.add(1, square(x))), "atan({x})")
SINH = _function("Sinh", lambda x, y: cosh(x), "sinh({x})")
COSH = _function("Cosh", lambda x, y: sinh(x), "cosh({x})")
ASINH = _function("Asinh", lambda x, y: _reciprocal(cosh(y)), "asinh({x})")
ACOSH = _function("Acosh", lambda x, y: _reciprocal(sinh(y)), "acosh({x})")
ATANH = _function("Atanh", lambda x, y: _reciprocal(_one_minus_square(x)), "atanh({x})")
FLOOR = _function("Floor", None, "floor({x})", "float")
CEIL = _function("Ceil", None, "ceil({x})", "float")
RINT = _function("Rint", None, "rint({x})", "float")
ROUND = _function("Round", None, "round({x})", NARROW)


SOFTPLUS = op_def(
    "Softplus",
    ("features: T=float",),
    infer=same_as_input,
    gradient=lambda op, g: (arithmetic.multiply(g, sigmoid(op.inputs[0])),),
    scalar="softplus({features})",
    outputs=("activations",),
)
ATAN2 = op_def(
    "Atan2",
    ("y: T=float", "x: T"),
    infer=broadcast_binary,
    gradient=MATH_GRADIENTS,
    scalar="atan2({y}, {x})",
)


@overload
def square(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def square(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
def square(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor | SparseTensor:
    """x * x elementwise (tf.square).

    Args:
        x: A tensor of numbers, or a SparseTensor, of which only the values are taken.
        name: A name for the operation.

    Returns:
        What was given, of the same dtype and shape.

    Examples:
        >>> gf.Session().run(gf.square([2.0, -3.0]))
        array([4., 9.], dtype=float32)
    """
    return sparse_unary(SQUARE, x, name)


@overload
def sqrt(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def sqrt(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
def sqrt(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor | SparseTensor:
    """The square root elementwise; NaN of negative numbers (tf.sqrt).

    Args:
        x: A tensor of floats or complex numbers, or a SparseTensor, of which only the values are taken.
        name: A name for the operation.

    Returns:
        What was given, of the same dtype and shape.

    Examples:
        >>> gf.Session().run(gf.sqrt([4.0, 9.0]))
        array([2., 3.], dtype=float32)
    """
    return sparse_unary(SQRT, x, name)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / sqrt(x) elementwise (tf.rsqrt).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(RSQRT, x, name)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x elementwise (tf.math.reciprocal); of integers, truncated.

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(RECIPROCAL, x, name)


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """e to the power x elementwise (tf.exp).

    Args:
        x: A tensor of floats or complex numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Examples:
        >>> gf.Session().run(gf.exp([0.0, 1.0]))
        array([1.      , 2.718282], dtype=float32)
    """
    return unary(EXP, x, name)


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """exp(x) - 1 without loss of digits near 0 (tf.math.expm1).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(EXPM1, x, name)


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """The natural logarithm elementwise; -inf of 0, NaN of negative numbers (tf.log).

    Args:
        x: A tensor of floats or complex numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Examples:
        >>> gf.Session().run(gf.log([1.0, 2.718281828]))
        array([0., 1.], dtype=float32)
    """
    return unary(LOG, x, name)


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """log(1 + x) without loss of digits near 0 (tf.log1p).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(LOG1P, x, name)


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """The sine of x radians (tf.sin).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(SIN, x, name)


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """The cosine of x radians (tf.cos).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(COS, x, name)


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """The tangent of x radians (tf.tan).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(TAN, x, name)


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """The arc sine, in radians; NaN outside [-1, 1] (tf.asin).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(ASIN, x, name)


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """The arc cosine, in radians; NaN outside [-1, 1] (tf.acos).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(ACOS, x, name)


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """The arc tangent, in radians (tf.atan).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(ATAN, x, name)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The angle of the point (x, y) in radians, in [-pi, pi] (tf.atan2).

    Args:
        y: A tensor of the same dtype, whose shape broadcasts with that of `x`.
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(ATAN2, y, x, name)


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic sine (tf.sinh).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(SINH, x, name)


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """The hyperbolic cosine (tf.cosh).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(COSH, x, name)


@overload
def tanh(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def tanh(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
def tanh(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor | SparseTensor:
    """The hyperbolic tangent (tf.tanh).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.

    Examples:
        >>> gf.Session().run(gf.tanh([0.0]))
        array([0.], dtype=float32)
    """
    return sparse_unary(TANH, x, name)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine (tf.asinh).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(ASINH, x, name)


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic cosine; NaN below 1 (tf.acosh).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(ACOSH, x, name)


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse hyperbolic tangent; NaN outside [-1, 1] (tf.atanh).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(ATANH, x, name)


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)) elementwise (tf.sigmoid).

    Args:
        x: A tensor of floats or complex numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype and shape.

    Examples:
        >>> gf.Session().run(gf.nn.sigmoid([0.0]))
        array([0.5], dtype=float32)
    """
    return unary(SIGMOID, x, name)


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """log(exp(features) + 1) elementwise, without overflow (tf.nn.softplus).

    Args:
        features: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.

    Examples:
        >>> gf.Session().run(gf.nn.softplus([0.0]))
        array([0.6931472], dtype=float32)
    """
    return unary(SOFTPLUS, features, name)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), computed as -softplus(-x) (tf.log_sigmoid).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    with op_scope(name, "LogSigmoid", (x,)) as scope:
        x = convert_to_tensor(x, name="x")
        result: Tensor = numeric.negative(softplus(numeric.negative(x)), name=scope)
        return result


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """The largest integer not above x, as a float (tf.floor).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(FLOOR, x, name)


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """The smallest integer not below x, as a float (tf.ceil).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(CEIL, x, name)


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """The nearest integer as a float; halves go to the even one (tf.rint).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(RINT, x, name)


def round_(x: TensorLike, name: str | None = None) -> Tensor:
    """The nearest integer as a float; halves go to the even one, integers are left as they are (tf.round).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else unary(ROUND, x, name)


def polyval(coeffs: Sequence[TensorLike], x: TensorLike, name: str | None = None) -> Tensor:
    """A polynomial by Horner's rule, coefficients from the highest power down (tf.math.polyval).

    Args:
        coeffs: The coefficients, the highest power first.
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor like `x`.
    """
    with op_scope(name, "polyval", (*coeffs, x)) as scope:
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return creation.zeros_like(x, name=scope)
        terms = [convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        total = terms[0]
        for term in terms[1:]:
            total = arithmetic.add_v2(term, arithmetic.multiply(total, x, "mul"), "add")
        return total
