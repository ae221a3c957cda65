"""The error function, the gamma function and their kin.

Gradients with regard to the parameters of igamma and betainc, and to the order of polygamma and zeta, are not
computed, as in TensorFlow 1 before 1.13.
"""

from __future__ import annotations

import math
from typing import Any, overload

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, Signature, op_def
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, comparison, numeric, reductions, transcendental
from graphflow._core.ops.math.broadcasting import unbroadcast
from graphflow._core.ops.math.elementwise import binary, sparse_unary, unary
from graphflow._core.ops.rules import broadcast_binary, same_as_input

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)


def _bell(x: Tensor, height: float) -> Tensor:
    """height * exp(-x * x)."""
    return arithmetic.multiply(transcendental.exp(numeric.negative(transcendental.square(x))), height)


def _function(name: str, slope: Any, scalar: str | None) -> OpDef:
    def rule(op: Operation, g: Tensor) -> tuple[Tensor]:
        return (arithmetic.multiply(g, slope(op.inputs[0], op.outputs[0])),)

    return op_def(name, ("x: T=float",), infer=same_as_input, gradient=rule, scalar=scalar)


def _trigamma(x: Tensor) -> Tensor:
    # Polygamma takes no float16.
    wide = x if x.dtype is not dtypes.float16 else casting.cast(x, dtypes.float32)
    trigamma: Tensor = casting.cast(polygamma(1, wide), x.dtype)
    return trigamma


def _bessel_i1_slope(x: Tensor, y: Tensor) -> Tensor:
    # The limit at 0 is 1/2.

    zero = comparison.equal(x, array.zeros_like(x))
    safe = array.where(zero, array.ones_like(x), x)
    slope = arithmetic.subtract(
        bessel_i0e(safe),
        arithmetic.multiply(y, arithmetic.add(numeric.sign(safe), transcendental.reciprocal(safe))),
    )
    return array.where(zero, arithmetic.multiply(array.ones_like(x), 0.5), slope)


ERF = _function("Erf", lambda x, y: _bell(x, _TWO_OVER_SQRT_PI), "erf({x})")
ERFC = _function("Erfc", lambda x, y: _bell(x, -_TWO_OVER_SQRT_PI), "erfc({x})")
LGAMMA = _function("Lgamma", lambda x, y: digamma(x), "lgamma({x})")
DIGAMMA = _function("Digamma", lambda x, y: _trigamma(x), None)
BESSEL_I0E = _function(
    "BesselI0e",
    lambda x, y: arithmetic.subtract(bessel_i1e(x), arithmetic.multiply(numeric.sign(x), y)),
    None,
)
BESSEL_I1E = _function("BesselI1e", _bessel_i1_slope, None)


def _polygamma_gradient(op: Operation, g: Tensor) -> tuple[None, Tensor]:
    order, x = op.inputs
    return None, unbroadcast(arithmetic.multiply(g, polygamma(arithmetic.add(order, 1), x)), x)


def _zeta_gradient(op: Operation, g: Tensor) -> tuple[None, Tensor]:
    x, q = op.inputs
    slope = arithmetic.multiply(numeric.negative(x), zeta(arithmetic.add(x, 1), q))
    return None, unbroadcast(arithmetic.multiply(g, slope), q)


def _igamma_slope(op: Operation) -> Tensor:
    a, x = op.inputs
    power = arithmetic.multiply(arithmetic.subtract(a, 1), transcendental.log(x))
    return transcendental.exp(arithmetic.subtract(arithmetic.subtract(power, x), lgamma(a)))


def slope_in_shape(a: Tensor, x: Tensor) -> Tensor:
    """The slope of igamma(a, x) in a, in float64.

    It has no closed form: it is a central difference, of that tail of the distribution which x is in, so that no digits
    are lost.
    """
    alpha, at = casting.cast(a, dtypes.float64), casting.cast(x, dtypes.float64)
    step = arithmetic.multiply(1e-4, arithmetic.minimum(alpha, transcendental.sqrt(alpha)))
    higher, lower = arithmetic.add(alpha, step), arithmetic.subtract(alpha, step)
    left = arithmetic.subtract(igamma(higher, at), igamma(lower, at))
    right = arithmetic.subtract(igammac(lower, at), igammac(higher, at))
    difference = array.where_v2(comparison.less(at, alpha), left, right)
    return arithmetic.realdiv(difference, arithmetic.multiply(2.0, step))


def _igamma_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    a, x = op.inputs
    shape_slope = casting.cast(slope_in_shape(a, x), g.dtype)
    return (
        unbroadcast(arithmetic.multiply(g, shape_slope), a),
        unbroadcast(arithmetic.multiply(g, _igamma_slope(op)), x),
    )


def _igammac_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    a, x = _igamma_gradient(op, g)
    return numeric.negative(a), numeric.negative(x)


def _betainc_gradient(op: Operation, g: Tensor) -> tuple[None, None, Tensor]:
    a, b, x = op.inputs
    log_beta = arithmetic.subtract(arithmetic.add(lgamma(a), lgamma(b)), lgamma(arithmetic.add(a, b)))
    powers = arithmetic.add(
        arithmetic.multiply(arithmetic.subtract(b, 1), transcendental.log1p(numeric.negative(x))),
        arithmetic.multiply(arithmetic.subtract(a, 1), transcendental.log(x)),
    )
    slope = transcendental.exp(arithmetic.subtract(powers, log_beta))
    return None, None, unbroadcast(arithmetic.multiply(g, slope), x)


def _next_after_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    x1, x2 = op.inputs
    return unbroadcast(g, x1), array.zeros_like(x2)


def _betainc_infer(op: Operation) -> Signature:
    a, b, x = op.inputs
    dims = shapes.broadcast(shapes.broadcast(a.dims, b.dims), x.dims)
    return [(a.dtype, dims)]


def _binary(name: str, first: str, second: str, gradient: Any, preferred: str = "") -> OpDef:
    inputs = (f"{first}: T=float32|float64{preferred}", f"{second}: T")
    return op_def(name, inputs, infer=broadcast_binary, gradient=gradient)


POLYGAMMA = _binary("Polygamma", "a", "x", _polygamma_gradient)
ZETA = _binary("Zeta", "x", "q", _zeta_gradient)
IGAMMA = _binary("Igamma", "a", "x", _igamma_gradient)
IGAMMAC = _binary("Igammac", "a", "x", _igammac_gradient)
NEXT_AFTER = _binary("NextAfter", "x1", "x2", _next_after_gradient, "(float32)")
BETAINC = op_def(
    "Betainc", ("a: T=float32|float64", "b: T", "x: T"), infer=_betainc_infer, gradient=_betainc_gradient
)


@overload
def erf(x: TensorLike, name: str | None = None) -> Tensor: ...
@overload
def erf(x: SparseTensor, name: str | None = None) -> SparseTensor: ...
def erf(x: TensorLike | SparseTensor, name: str | None = None) -> Tensor | SparseTensor:
    """The Gauss error function elementwise (tf.erf).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return sparse_unary(ERF, x, name)


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """1 - erf(x) without loss of digits (tf.erfc).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(ERFC, x, name)


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function (tf.lgamma); infinite at 0, -1, -2, ...

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(LGAMMA, x, name)


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of lgamma (tf.digamma).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return unary(DIGAMMA, x, name)


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of digamma of order a, a whole number (tf.polygamma).

    Args:
        a: A tensor of numbers.
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(POLYGAMMA, a, x, name)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Hurwitz's zeta function: the sum of (q + n) ** -x (tf.zeta).

    Args:
        x: A tensor of numbers.
        q: A tensor of the same dtype.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(ZETA, x, q, name)


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The lower regularised incomplete gamma function (tf.igamma).

    Args:
        a: A tensor of numbers.
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(IGAMMA, a, x, name)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The upper regularised incomplete gamma function (tf.igammac).

    Args:
        a: A tensor of numbers.
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype, of the shape that both broadcast to.
    """
    return binary(IGAMMAC, a, x, name)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function (tf.betainc).

    Args:
        a: A tensor of numbers.
        b: A tensor of the same dtype.
        x: A tensor of numbers.
        name: A name for the operation.
    """
    return apply(BETAINC, (a, b, x), name=name).outputs[0]


def bessel_i0e(x: TensorLike, name: str | None = None) -> Any:
    """exp(-abs(x)) times the modified Bessel function of order 0 (tf.math.bessel_i0e).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return sparse_unary(BESSEL_I0E, x, name)


def bessel_i1e(x: TensorLike, name: str | None = None) -> Any:
    """exp(-abs(x)) times the modified Bessel function of order 1 (tf.math.bessel_i1e).

    Args:
        x: A tensor of floats.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    return sparse_unary(BESSEL_I1E, x, name)


def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0 (tf.math.bessel_i0).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    with op_scope(name, "bessel_i0", (x,)):
        return arithmetic.multiply(transcendental.exp(numeric.abs_(x)), bessel_i0e(x), "mul")


def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1 (tf.math.bessel_i1).

    Args:
        x: A tensor of numbers.
        name: A name for the operation.

    Returns:
        A tensor of the same shape and dtype.
    """
    with op_scope(name, "bessel_i1", (x,)):
        return arithmetic.multiply(transcendental.exp(numeric.abs_(x)), bessel_i1e(x), "mul")


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the multivariate beta function of vectors in the last axis (tf.lbeta).

    Args:
        x: Vectors in the last axis.
        name: A name for the operation.

    Returns:
        A tensor of one axis less.
    """
    with op_scope(name, "lbeta", (x,)):
        x = convert_to_tensor(x, name="x")
        log_gammas = reductions.reduce_sum(lgamma(x), [-1])
        return arithmetic.subtract(log_gammas, lgamma(reductions.reduce_sum(x, [-1])), "sub")


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """The next float after x1 in the direction of x2 (tf.math.nextafter).

    Args:
        x1: A tensor of floats.
        x2: A tensor of the same dtype.
        name: A name for the operation.

    Returns:
        A tensor of the same dtype.
    """
    return binary(NEXT_AFTER, x1, x2, name)
