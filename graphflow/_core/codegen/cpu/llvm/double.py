# mypy: disable-error-code="import-untyped, import-not-found"
"""Functions of a float64 as polynomials: exp, expm1, log, log1p, tanh, erf; and the power of float32s by way of them.

Methods: Cody and Waite's reduction and a Taylor polynomial for exp; the series of log((1 + s) / (1 - s)) with the
coefficients of fdlibm (Sun Microsystems) for log; Kahan's correction of a rounded sum for log1p; polynomials through
Chebyshev's nodes of erf(x) / x - 1 by x**2 up to 1, and from there to 6 of log(1 - erf(x)), for erf.
"""

from __future__ import annotations

import math
from typing import Any, Final

from llvmlite import ir

from graphflow._core.codegen.cpu.llvm.pieces import (
    F32,
    F64,
    I32,
    I64,
    clamp,
    constant,
    fma,
    intrinsic_call,
    is_nan,
    polynomial,
)

_ROUNDER: Final = 6755399441055744.0
"""1.5 * 2**52: added to a number below 2**51 it leaves the nearest integer in the low bits."""
_ROUNDER_BITS: Final = 0x4338000000000000
_EXP: Final = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
"""(exp(r) - 1 - r) / r**2."""
_LOG: Final = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
_ERF_NEAR: Final = (
    5.957176147748911e-11,
    -1.1372848856791674e-09,
    1.4659775274047436e-08,
    -1.6350312701054695e-07,
    1.6461000484121368e-06,
    -1.4925595266831182e-05,
    1.205533111164271e-04,
    -8.54832698083379e-04,
    5.2239776248180145e-03,
    -2.6866170645076792e-02,
    1.1283791670954879e-01,
    -3.761263890318375e-01,
    1.283791670955126e-01,
)
"""erf(x) / x - 1, by powers of x**2."""
_ERF_FAR: Final = (
    -5.038175090820216e-18,
    3.213950386575977e-16,
    -9.691465054328285e-15,
    1.837898289962346e-13,
    -2.459764005017919e-12,
    2.470337254501987e-11,
    -1.9306769041530837e-10,
    1.1993313226526883e-09,
    -5.9695484096523654e-09,
    2.3570812642171107e-08,
    -7.014356561785236e-08,
    1.2585035591399704e-07,
    1.1028561509522453e-07,
    -2.033159780146731e-06,
    9.595006509513527e-06,
    -2.7156334221864213e-05,
    2.6279862858634217e-05,
    2.373204631306626e-04,
    -1.9779016975242304e-03,
    1.0033825160920953e-02,
    -4.15610980121353e-02,
    -8.431072563607669e-01,
    -2.6389675142347313e00,
    -1.8496055099332485e00,
)
"""log(1 - erf(x)), by powers of x - 1."""
_ROOT_OF_HALF: Final = 0x3FE6A09E667F3BCD


def _whole(value: int) -> Any:
    return ir.Constant(I64, value)


def _magnitude(builder: Any, x: Any) -> Any:
    return intrinsic_call(builder, "llvm.fabs", x)


def _reduce(builder: Any, x: Any) -> tuple[Any, Any]:
    """Write x as n * log(2) + r with |r| <= log(2) / 2: n as an int64, and exp(r) - 1."""
    shifted = fma(builder, x, constant(x, 1.4426950408889634), constant(x, _ROUNDER))
    whole = builder.sub(builder.bitcast(shifted, I64), _whole(_ROUNDER_BITS))
    n = builder.fsub(shifted, constant(x, _ROUNDER))
    r = fma(builder, n, constant(x, -0.6931471805599453), x)
    r = fma(builder, n, constant(x, -2.3190468138462996e-17), r)
    return whole, fma(builder, builder.fmul(r, r), polynomial(builder, r, _EXP), r)


def _power_of_two(builder: Any, exponent: Any) -> Any:
    """2**exponent for an int64 within [-1022, 1023]."""
    return builder.bitcast(builder.shl(builder.add(exponent, _whole(1023)), _whole(52)), F64)


def exp64(builder: Any, x: Any) -> Any:
    """exp of a float64; gradual underflow, infinity above 709.78."""
    whole, m = _reduce(builder, clamp(builder, x, -746.0, 710.0))
    y = builder.fadd(m, constant(x, 1.0))
    half = builder.ashr(whole, _whole(1))  # in two steps neither factor leaves float64's range
    y = builder.bitcast(builder.add(builder.bitcast(y, I64), builder.shl(half, _whole(52))), F64)
    y = builder.fmul(y, _power_of_two(builder, builder.sub(whole, half)))
    return builder.select(is_nan(builder, x), x, y)


def expm1_64(builder: Any, x: Any) -> Any:
    """exp(x) - 1 of a float64 without cancellation near zero."""
    whole, m = _reduce(builder, clamp(builder, x, -60.0, 710.0))
    half = _power_of_two(builder, builder.sub(whole, _whole(1)))
    y = builder.fmul(fma(builder, m, half, builder.fsub(half, constant(x, 0.5))), constant(x, 2.0))
    tiny = builder.fcmp_ordered("<", _magnitude(builder, x), constant(x, 1e-20))
    return builder.select(builder.or_(tiny, is_nan(builder, x)), x, y)


def log64(builder: Any, x: Any) -> Any:
    """Natural logarithm of a float64, denormals included; log(0) = -inf, NaN below zero."""
    small = builder.fcmp_ordered("<", x, constant(x, 2.2250738585072014e-308))
    scaled = builder.select(small, builder.fmul(x, constant(x, 2.0**54)), x)
    bits = builder.bitcast(scaled, I64)
    # the exponent is taken relative to sqrt(1/2), so that the mantissa lies around one
    exponent = builder.ashr(builder.sub(bits, _whole(_ROOT_OF_HALF)), _whole(52))
    mantissa = builder.bitcast(builder.sub(bits, builder.shl(exponent, _whole(52))), F64)
    e = builder.sitofp(builder.trunc(exponent, I32), F64)
    e = builder.fadd(e, builder.select(small, constant(x, -54.0), constant(x, 0.0)))
    f = builder.fsub(mantissa, constant(x, 1.0))
    s = builder.fdiv(f, builder.fadd(f, constant(x, 2.0)))
    z = builder.fmul(s, s)
    halved = builder.fmul(builder.fmul(f, f), constant(x, 0.5))
    rest = builder.fadd(halved, builder.fmul(z, polynomial(builder, z, _LOG)))
    tail = fma(builder, s, rest, builder.fmul(e, constant(x, 1.90821492927058770002e-10)))
    y = fma(
        builder,
        e,
        constant(x, 6.93147180369123816490e-01),
        builder.fsub(f, builder.fsub(halved, tail)),
    )
    y = builder.select(builder.fcmp_ordered("==", x, constant(x, 0.0)), constant(x, float("-inf")), y)
    y = builder.select(builder.fcmp_unordered("<", x, constant(x, 0.0)), constant(x, float("nan")), y)
    return builder.select(builder.fcmp_ordered("==", x, constant(x, float("inf"))), x, y)


def log1p64(builder: Any, x: Any) -> Any:
    """log(1 + x) of a float64 without cancellation near zero."""
    one = constant(x, 1.0)
    u = builder.fadd(x, one)
    lost = builder.fsub(x, builder.fsub(u, one))
    y = builder.fadd(log64(builder, u), builder.fdiv(lost, u))
    tiny = builder.fcmp_ordered("<", _magnitude(builder, x), constant(x, 1e-20))
    y = builder.select(builder.fcmp_ordered("==", u, constant(x, 0.0)), constant(x, float("-inf")), y)
    same = builder.or_(tiny, builder.fcmp_ordered("==", x, constant(x, float("inf"))))
    return builder.select(same, x, y)


def tanh64(builder: Any, x: Any) -> Any:
    """tanh of a float64: -m / (m + 2) with m = exp(-2 |x|) - 1."""
    m = expm1_64(builder, builder.fmul(_magnitude(builder, x), constant(x, -2.0)))
    y = builder.fdiv(builder.fneg(m), builder.fadd(m, constant(x, 2.0)))
    return intrinsic_call(builder, "llvm.copysign", y, x)


def erf64(builder: Any, x: Any) -> Any:
    """Error function of a float64: 1 ulp, exactly 1 beyond 6."""
    one = constant(x, 1.0)
    size = _magnitude(builder, x)
    square = builder.fmul(x, x)
    near = fma(builder, polynomial(builder, square, _ERF_NEAR), x, x)
    beyond = builder.fsub(clamp(builder, size, 1.0, 6.0), one)
    far = builder.fsub(one, exp64(builder, polynomial(builder, beyond, _ERF_FAR)))
    far = intrinsic_call(builder, "llvm.copysign", far, x)
    y = builder.select(builder.fcmp_ordered(">", size, one), far, near)
    return builder.select(is_nan(builder, x), x, y)


def pow32(builder: Any, base: Any, power: Any) -> Any:
    """base ** power of float32s: exp(power * log |base|) in float64, with the sign and the exceptions of C's pow."""
    x, y = builder.fpext(base, F64), builder.fpext(power, F64)
    zero, one = constant(x, 0.0), constant(x, 1.0)
    size = _magnitude(builder, x)
    result = exp64(builder, builder.fmul(y, log64(builder, size)))
    # An infinite power of one is one, and so is the zeroth power of anything.
    of_one = builder.or_(
        builder.fcmp_ordered("==", y, zero),
        builder.or_(
            builder.fcmp_ordered("==", x, one),
            builder.and_(
                builder.fcmp_ordered("==", size, one),
                builder.fcmp_ordered("==", _magnitude(builder, y), constant(x, float("inf"))),
            ),
        ),
    )
    result = builder.select(of_one, one, result)
    whole = builder.fcmp_ordered("==", intrinsic_call(builder, "llvm.trunc", y), y)
    halved = builder.fmul(y, constant(x, 0.5))
    odd = builder.and_(
        whole, builder.fcmp_ordered("!=", intrinsic_call(builder, "llvm.trunc", halved), halved)
    )
    result = builder.select(odd, intrinsic_call(builder, "llvm.copysign", result, x), result)
    finite = builder.fcmp_ordered("<", size, constant(x, float("inf")))
    negative = builder.and_(builder.fcmp_ordered("<", x, zero), finite)
    nowhere = builder.and_(negative, builder.fcmp_ordered("!=", intrinsic_call(builder, "llvm.trunc", y), y))
    return builder.fptrunc(builder.select(nowhere, constant(x, float("nan")), result), F32)
