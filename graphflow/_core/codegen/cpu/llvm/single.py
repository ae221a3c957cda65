# mypy: disable-error-code="import-untyped, import-not-found"
"""Functions of a float32 as polynomials: exp, expm1, log, log1p, tanh, erf.

Methods: Cody and Waite's reduction for exp; coefficients of the classical minimax forms of Cephes (S. Moshier) and of
N. Juffa's published erff.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from graphflow._core.codegen.cpu.llvm.pieces import (
    F32,
    I32,
    clamp,
    constant,
    fma,
    has_scale_instruction,
    intrinsic_call,
    is_nan,
    polynomial,
)


def _power_of_two(builder: Any, exponent: Any) -> Any:
    """2**exponent for an int32 within [-126, 127]."""
    biased = builder.add(exponent, ir.Constant(I32, 127))
    return builder.bitcast(builder.shl(biased, ir.Constant(I32, 23)), F32)


def _reduce(builder: Any, x: Any) -> tuple[Any, Any]:
    """Write x as n * log(2) + r with |r| <= log(2) / 2; n comes as an int32.

    Adding 1.5 * 2**23 rounds to an integer and leaves it in the low bits, which costs less than a conversion.
    """
    shifted = fma(builder, x, constant(x, 1.4426950408889634), constant(x, 12582912.0))
    whole = builder.sub(builder.bitcast(shifted, I32), ir.Constant(I32, 0x4B400000))
    n = builder.fsub(shifted, constant(x, 12582912.0))
    r = fma(builder, n, constant(x, -0.693359375), x)
    return whole, fma(builder, n, constant(x, 2.12194440e-4), r)


# (exp(r) - 1 - r) / r**2 on |r| <= log(2) / 2
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)


def exp32(builder: Any, x: Any) -> Any:
    """exp of a float32: 1.2 ulp; gradual underflow, infinity above 88.72."""
    whole, r = _reduce(builder, clamp(builder, x, -104.0, 89.0))
    p = polynomial(builder, r, _EXP)
    y = builder.fadd(fma(builder, builder.fmul(r, r), p, r), constant(x, 1.0))
    if has_scale_instruction():
        kinds = [F32, I32]
        scale = builder.module.declare_intrinsic("llvm.ldexp", kinds, ir.FunctionType(F32, kinds))
        return builder.call(scale, [y, whole])
    half = builder.ashr(whole, ir.Constant(I32, 1))  # in two steps neither factor leaves float32's range
    y = builder.bitcast(builder.add(builder.bitcast(y, I32), builder.shl(half, ir.Constant(I32, 23))), F32)
    y = builder.fmul(y, _power_of_two(builder, builder.sub(whole, half)))
    return builder.select(is_nan(builder, x), x, y)


def expm1_32(builder: Any, x: Any) -> Any:
    """exp(x) - 1 of a float32 without cancellation near zero."""
    whole, r = _reduce(builder, clamp(builder, x, -40.0, 89.0))
    p = polynomial(builder, r, _EXP)
    m = fma(builder, builder.fmul(r, r), p, r)
    half = _power_of_two(builder, builder.sub(whole, ir.Constant(I32, 1)))
    y = fma(builder, m, half, builder.fsub(half, constant(x, 0.5)))
    y = builder.fmul(y, constant(x, 2.0))
    tiny = builder.fcmp_ordered("<", intrinsic_call(builder, "llvm.fabs", x), constant(x, 1e-10))
    return builder.select(builder.or_(tiny, is_nan(builder, x)), x, y)


# (log(1 + m) - m + m**2 / 2) / m**3 on sqrt(1/2) - 1 <= m <= sqrt(2) - 1
_LOG: tuple[float, ...] = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
)
_LOG += (-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)


def log32(builder: Any, x: Any) -> Any:
    """Natural logarithm of a float32, denormals included; log(0) = -inf, NaN below zero."""
    small = builder.fcmp_ordered("<", x, constant(x, 1.17549435e-38))
    scaled = builder.select(small, builder.fmul(x, constant(x, 8388608.0)), x)
    bits = builder.bitcast(scaled, I32)
    # the exponent is taken relative to sqrt(1/2), so that the mantissa lies around one
    shifted = builder.sub(bits, ir.Constant(I32, 0x3F3504F3))
    exponent = builder.ashr(shifted, ir.Constant(I32, 23))
    mantissa = builder.bitcast(builder.sub(bits, builder.shl(exponent, ir.Constant(I32, 23))), F32)
    e = builder.sitofp(exponent, F32)
    e = builder.fadd(e, builder.select(small, constant(x, -23.0), constant(x, 0.0)))
    m = builder.fsub(mantissa, constant(x, 1.0))
    square = builder.fmul(m, m)
    y = builder.fmul(builder.fmul(m, square), polynomial(builder, m, _LOG))
    y = fma(builder, e, constant(x, -2.12194440e-4), y)
    y = fma(builder, square, constant(x, -0.5), y)
    y = fma(builder, e, constant(x, 0.693359375), builder.fadd(m, y))
    y = builder.select(builder.fcmp_ordered("==", x, constant(x, 0.0)), constant(x, float("-inf")), y)
    y = builder.select(builder.fcmp_unordered("<", x, constant(x, 0.0)), constant(x, float("nan")), y)
    return builder.select(builder.fcmp_ordered("==", x, constant(x, float("inf"))), x, y)


def log1p32(builder: Any, x: Any) -> Any:
    """log(1 + x) of a float32 without cancellation near zero (Kahan's correction of the rounded sum)."""
    one = constant(x, 1.0)
    u = builder.fadd(x, one)
    lost = builder.fsub(x, builder.fsub(u, one))
    y = builder.fadd(log32(builder, u), builder.fdiv(lost, u))
    tiny = builder.fcmp_ordered("<", intrinsic_call(builder, "llvm.fabs", x), constant(x, 1e-10))
    y = builder.select(builder.fcmp_ordered("==", u, constant(x, 0.0)), constant(x, float("-inf")), y)
    same = builder.or_(tiny, builder.fcmp_ordered("==", x, constant(x, float("inf"))))
    return builder.select(same, x, y)


# numerator (odd powers of x, highest first) and denominator of tanh on |x| <= _TANH_LIMIT; beyond it tanh is 1 - 2.5e-7
_TANH_LIMIT = 7.90531110763549805
_TANH_NUMERATOR: tuple[float, ...] = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
)
_TANH_NUMERATOR += (1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)
_TANH_DENOMINATOR = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)


def tanh32(builder: Any, x: Any) -> Any:
    """tanh of a float32 as a rational function: 4 ulp, exactly 1 beyond 7.9."""
    limited = clamp(builder, x, -_TANH_LIMIT, _TANH_LIMIT)
    square = builder.fmul(limited, limited)
    numerator = polynomial(builder, square, _TANH_NUMERATOR)
    ratio = builder.fdiv(numerator, polynomial(builder, square, _TANH_DENOMINATOR))
    y = builder.fmul(limited, ratio)
    outside = builder.fcmp_ordered(">", intrinsic_call(builder, "llvm.fabs", x), constant(x, _TANH_LIMIT))
    return builder.select(outside, intrinsic_call(builder, "llvm.copysign", constant(x, 1.0), x), y)


def erf32(builder: Any, x: Any) -> Any:
    """Error function of a float32; minimax forms of N. Juffa (1 ulp)."""
    t = intrinsic_call(builder, "llvm.fabs", x)
    s = builder.fmul(x, x)
    limited = builder.select(builder.fcmp_ordered("<", t, constant(x, 4.0)), t, constant(x, 4.0))
    square = builder.fmul(limited, limited)
    r = fma(builder, constant(x, -1.72853470e-5), limited, constant(x, 3.83197126e-4))
    u = fma(builder, constant(x, -3.88396438e-3), limited, constant(x, 2.42546219e-2))
    r = fma(builder, r, square, u)
    for coefficient in (-1.06777877e-1, -6.34846687e-1, -1.28717512e-1):
        r = fma(builder, r, limited, constant(x, coefficient))
    r = fma(builder, r, limited, builder.fneg(limited))
    far = builder.fsub(constant(x, 1.0), exp32(builder, r))
    far = intrinsic_call(builder, "llvm.copysign", far, x)
    near = polynomial(
        builder,
        s,
        (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1),
    )
    near = fma(builder, near, x, x)
    y = builder.select(builder.fcmp_ordered(">", t, constant(x, 0.921875)), far, near)
    return builder.select(is_nan(builder, x), x, y)
