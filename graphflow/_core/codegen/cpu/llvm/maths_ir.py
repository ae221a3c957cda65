# mypy: disable-error-code="import-untyped, import-not-found"
"""Transcendental functions of one scalar as LLVM instructions that the loop vectoriser widens.

A call of the C library inside a loop stops vectorisation (a tanh over a million floats takes twenty times as
long), so for float32 exp, expm1, log, log1p, tanh, sigmoid, softplus and erf are polynomials here, with fused
multiply-adds written out, the same in vector body and remainder, so that results do not depend on how a range
is cut. Everything else, and float64, calls the C library. Methods: Cody and Waite's reduction for exp;
coefficients of the classical minimax forms of Cephes (S. Moshier) and of N. Juffa's published erff; tanh and
sigmoid through expm1 and exp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

_F32, _F64, _I32 = ir.FloatType(), ir.DoubleType(), ir.IntType(32)


def intrinsic_call(builder: Any, name: str, *args: Any) -> Any:
    """Call an LLVM intrinsic overloaded on its first argument's type."""
    kind = args[0].type
    function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * len(args)))
    return builder.call(function, args)


def fma(builder: Any, first: Any, second: Any, addend: Any) -> Any:
    """first * second + addend with one rounding."""
    return intrinsic_call(builder, "llvm.fma", first, second, addend)


def _constant(like: Any, value: float) -> Any:
    return ir.Constant(like.type, value)


def _polynomial(builder: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """Horner's rule, highest power first."""
    value = _constant(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = fma(builder, value, x, _constant(x, coefficient))
    return value


def _is_nan(builder: Any, x: Any) -> Any:
    return builder.fcmp_unordered("uno", x, x)


def _clamp(builder: Any, x: Any, low: float, high: float) -> Any:
    """x within [low, high]; NaN passes."""
    x = builder.select(builder.fcmp_ordered("<", _constant(x, high), x), _constant(x, high), x)
    return builder.select(builder.fcmp_ordered(">", _constant(x, low), x), _constant(x, low), x)


def _power_of_two(builder: Any, exponent: Any) -> Any:
    """2**exponent for an int32 within [-126, 127]."""
    biased = builder.add(exponent, ir.Constant(_I32, 127))
    return builder.bitcast(builder.shl(biased, ir.Constant(_I32, 23)), _F32)


@cache
def _has_scale_instruction() -> bool:
    """Whether the vector form of ldexp is an instruction (AVX-512); the results are the same without it."""
    return bool(llvm.get_host_cpu_features().get("avx512f"))


def _reduce(builder: Any, x: Any) -> tuple[Any, Any]:
    """Write x as n * log(2) + r with |r| <= log(2) / 2; n comes as an int32.

    Adding 1.5 * 2**23 rounds to an integer and leaves it in the low bits, which costs less than a conversion.
    """
    shifted = fma(builder, x, _constant(x, 1.4426950408889634), _constant(x, 12582912.0))
    whole = builder.sub(builder.bitcast(shifted, _I32), ir.Constant(_I32, 0x4B400000))
    n = builder.fsub(shifted, _constant(x, 12582912.0))
    r = fma(builder, n, _constant(x, -0.693359375), x)
    return whole, fma(builder, n, _constant(x, 2.12194440e-4), r)


# (exp(r) - 1 - r) / r**2 on |r| <= log(2) / 2
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)


def exp32(builder: Any, x: Any) -> Any:
    """exp of a float32: 1.2 ulp; gradual underflow, infinity above 88.72."""
    whole, r = _reduce(builder, _clamp(builder, x, -104.0, 89.0))
    p = _polynomial(builder, r, _EXP)
    y = builder.fadd(fma(builder, builder.fmul(r, r), p, r), _constant(x, 1.0))
    if _has_scale_instruction():
        kinds = [_F32, _I32]
        scale = builder.module.declare_intrinsic("llvm.ldexp", kinds, ir.FunctionType(_F32, kinds))
        return builder.call(scale, [y, whole])
    half = builder.ashr(whole, ir.Constant(_I32, 1))  # in two steps neither factor leaves float32's range
    y = builder.bitcast(builder.add(builder.bitcast(y, _I32), builder.shl(half, ir.Constant(_I32, 23))), _F32)
    y = builder.fmul(y, _power_of_two(builder, builder.sub(whole, half)))
    return builder.select(_is_nan(builder, x), x, y)


def expm1_32(builder: Any, x: Any) -> Any:
    """exp(x) - 1 of a float32 without cancellation near zero."""
    whole, r = _reduce(builder, _clamp(builder, x, -40.0, 89.0))
    p = _polynomial(builder, r, _EXP)
    m = fma(builder, builder.fmul(r, r), p, r)
    half = _power_of_two(builder, builder.sub(whole, ir.Constant(_I32, 1)))
    y = fma(builder, m, half, builder.fsub(half, _constant(x, 0.5)))
    y = builder.fmul(y, _constant(x, 2.0))
    tiny = builder.fcmp_ordered("<", intrinsic_call(builder, "llvm.fabs", x), _constant(x, 1e-10))
    return builder.select(builder.or_(tiny, _is_nan(builder, x)), x, y)


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
    small = builder.fcmp_ordered("<", x, _constant(x, 1.17549435e-38))
    scaled = builder.select(small, builder.fmul(x, _constant(x, 8388608.0)), x)
    bits = builder.bitcast(scaled, _I32)
    # the exponent is taken relative to sqrt(1/2), so that the mantissa lies around one
    shifted = builder.sub(bits, ir.Constant(_I32, 0x3F3504F3))
    exponent = builder.ashr(shifted, ir.Constant(_I32, 23))
    mantissa = builder.bitcast(builder.sub(bits, builder.shl(exponent, ir.Constant(_I32, 23))), _F32)
    e = builder.sitofp(exponent, _F32)
    e = builder.fadd(e, builder.select(small, _constant(x, -23.0), _constant(x, 0.0)))
    m = builder.fsub(mantissa, _constant(x, 1.0))
    square = builder.fmul(m, m)
    y = builder.fmul(builder.fmul(m, square), _polynomial(builder, m, _LOG))
    y = fma(builder, e, _constant(x, -2.12194440e-4), y)
    y = fma(builder, square, _constant(x, -0.5), y)
    y = fma(builder, e, _constant(x, 0.693359375), builder.fadd(m, y))
    y = builder.select(builder.fcmp_ordered("==", x, _constant(x, 0.0)), _constant(x, float("-inf")), y)
    y = builder.select(builder.fcmp_unordered("<", x, _constant(x, 0.0)), _constant(x, float("nan")), y)
    return builder.select(builder.fcmp_ordered("==", x, _constant(x, float("inf"))), x, y)


def log1p32(builder: Any, x: Any) -> Any:
    """log(1 + x) of a float32 without cancellation near zero (Kahan's correction of the rounded sum)."""
    one = _constant(x, 1.0)
    u = builder.fadd(x, one)
    lost = builder.fsub(x, builder.fsub(u, one))
    y = builder.fadd(log32(builder, u), builder.fdiv(lost, u))
    tiny = builder.fcmp_ordered("<", intrinsic_call(builder, "llvm.fabs", x), _constant(x, 1e-10))
    y = builder.select(builder.fcmp_ordered("==", u, _constant(x, 0.0)), _constant(x, float("-inf")), y)
    same = builder.or_(tiny, builder.fcmp_ordered("==", x, _constant(x, float("inf"))))
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
    limited = _clamp(builder, x, -_TANH_LIMIT, _TANH_LIMIT)
    square = builder.fmul(limited, limited)
    numerator = _polynomial(builder, square, _TANH_NUMERATOR)
    ratio = builder.fdiv(numerator, _polynomial(builder, square, _TANH_DENOMINATOR))
    y = builder.fmul(limited, ratio)
    outside = builder.fcmp_ordered(">", intrinsic_call(builder, "llvm.fabs", x), _constant(x, _TANH_LIMIT))
    return builder.select(outside, intrinsic_call(builder, "llvm.copysign", _constant(x, 1.0), x), y)


def sigmoid(builder: Any, x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    one = _constant(x, 1.0)
    return builder.fdiv(one, builder.fadd(one, FUNCTIONS["exp"](builder, builder.fneg(x))))


def softplus(builder: Any, x: Any) -> Any:
    """log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which neither overflows nor loses small results."""
    positive = intrinsic_call(builder, "llvm.fabs", x)
    tail = FUNCTIONS["log1p"](builder, FUNCTIONS["exp"](builder, builder.fneg(positive)))
    zero = _constant(x, 0.0)
    return builder.fadd(builder.select(builder.fcmp_unordered(">", x, zero), x, zero), tail)


def erf32(builder: Any, x: Any) -> Any:
    """Error function of a float32; minimax forms of N. Juffa (1 ulp)."""
    t = intrinsic_call(builder, "llvm.fabs", x)
    s = builder.fmul(x, x)
    limited = builder.select(builder.fcmp_ordered("<", t, _constant(x, 4.0)), t, _constant(x, 4.0))
    square = builder.fmul(limited, limited)
    r = fma(builder, _constant(x, -1.72853470e-5), limited, _constant(x, 3.83197126e-4))
    u = fma(builder, _constant(x, -3.88396438e-3), limited, _constant(x, 2.42546219e-2))
    r = fma(builder, r, square, u)
    for coefficient in (-1.06777877e-1, -6.34846687e-1, -1.28717512e-1):
        r = fma(builder, r, limited, _constant(x, coefficient))
    r = fma(builder, r, limited, builder.fneg(limited))
    far = builder.fsub(_constant(x, 1.0), exp32(builder, r))
    far = intrinsic_call(builder, "llvm.copysign", far, x)
    near = _polynomial(
        builder,
        s,
        (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1),
    )
    near = fma(builder, near, x, x)
    y = builder.select(builder.fcmp_ordered(">", t, _constant(x, 0.921875)), far, near)
    return builder.select(_is_nan(builder, x), x, y)


def _library(name: str, count: int = 1) -> Callable[..., Any]:
    """The C library's function, with the suffix f for float32; LLVM is not to put another in its place where an
    argument is known, since the bits are not to depend on that.
    """

    def emit(builder: Any, *args: Any) -> Any:
        kind = args[0].type
        symbol = name + ("f" if kind == _F32 else "")
        module = builder.module
        function = module.globals.get(symbol)
        if function is None:
            function = ir.Function(module, ir.FunctionType(kind, [kind] * count), symbol)
            function.attributes.add("nounwind")
            function.attributes.add("nobuiltin")
        return builder.call(function, args)

    return emit


def _by_type(single: Callable[..., Any], name: str) -> Callable[..., Any]:
    double = _library(name)

    def emit(builder: Any, x: Any) -> Any:
        return single(builder, x) if x.type == _F32 else double(builder, x)

    return emit


def _instruction(name: str) -> Callable[..., Any]:
    def emit(builder: Any, x: Any) -> Any:
        return intrinsic_call(builder, name, x)

    return emit


def _rsqrt(builder: Any, x: Any) -> Any:
    return builder.fdiv(_constant(x, 1.0), intrinsic_call(builder, "llvm.sqrt", x))


def _sign(builder: Any, x: Any) -> Any:
    """-1, 0 or 1; NaN stays NaN, as does the sign of zero."""
    signed = intrinsic_call(builder, "llvm.copysign", _constant(x, 1.0), x)
    return builder.select(
        builder.fcmp_unordered("one", x, _constant(x, 0.0)), builder.select(_is_nan(builder, x), x, signed), x
    )


def _floor_modulo(builder: Any, x: Any, y: Any) -> Any:
    """The remainder with the divisor's sign (NumPy's remainder, but for the sign of a zero)."""
    remainder, zero = FUNCTIONS["fmod"](builder, x, y), _constant(x, 0.0)
    below = (builder.fcmp_ordered("<", remainder, zero), builder.fcmp_ordered("<", y, zero))
    adjust = builder.and_(builder.fcmp_unordered("!=", remainder, zero), builder.xor(*below))
    return builder.select(adjust, builder.fadd(remainder, y), remainder)


_LIBRARY = (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "asinh",
    "acosh",
    "atanh",
    "erfc",
    "lgamma",
    "exp2",
    "log2",
    "log10",
)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": _by_type(exp32, "exp"),
    "expm1": _by_type(expm1_32, "expm1"),
    "log": _by_type(log32, "log"),
    "log1p": _by_type(log1p32, "log1p"),
    "tanh": _by_type(tanh32, "tanh"),
    "erf": _by_type(erf32, "erf"),
    "sigmoid": sigmoid,
    "softplus": softplus,
    "sqrt": _instruction("llvm.sqrt"),
    "rsqrt": _rsqrt,
    "abs": _instruction("llvm.fabs"),
    "floor": _instruction("llvm.floor"),
    "ceil": _instruction("llvm.ceil"),
    "trunc": _instruction("llvm.trunc"),
    "round": _instruction("llvm.roundeven"),
    "sign": _sign,
    "pow": _library("pow", 2),
    "atan2": _library("atan2", 2),
    "fmod": _library("fmod", 2),
    "floor_modulo": _floor_modulo,
    **{name: _library(name) for name in _LIBRARY},
}
