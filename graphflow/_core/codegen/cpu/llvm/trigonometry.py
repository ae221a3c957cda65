# mypy: disable-error-code="import-untyped, import-not-found"
"""Sine and cosine of a float32, of any size.

An angle is taken modulo a quarter turn by the method of M. Payne and R. Hanek: of 2 / pi only those bits count that the
exponent of the angle leaves, which a table has for each exponent, as two float64s; their product with the angle's 24
bits is exact to a hundred bits. No angle needs another way than its neighbours, so loops become vectors. The
polynomials are those of Cephes (S. Moshier) on an eighth of a turn.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, Final

from llvmlite import ir

from graphflow._core.codegen.cpu.llvm.pieces import (
    F32,
    F64,
    I32,
    I64,
    annotate,
    constant,
    fma,
    intrinsic_call,
    polynomial,
)

_PI: Final = int(
    "3243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89"
    "452821E638D01377BE5466CF34E90C6CC0AC29B7C97C50DD3F84D5B5B5470917",
    16,
)
_PI_BITS: Final = 4 * 128
"""pi in fixed point, and the bits behind its point: more than the longest exponent and the table's bits together."""
_SIN: Final = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS: Final = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_BITS: Final = 320
_TINY: Final = 1e-30
_ROUNDER: Final = 6755399441055744.0
"""1.5 * 2**52: added to a number below 2**51 it leaves the nearest integer in the low bits."""


@cache
def _table() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """For each biased exponent e the number 2 / pi * 2**(e - 150) modulo 4, as the sum of two float64s.

    An angle is m * 2**(e - 150) with a whole m below 2**24, so that m times this is the angle in quarter turns.
    """
    high, low = [], []
    two_over_pi = (1 << (_PI_BITS + _BITS + 1)) // _PI  # with _BITS bits behind the point
    for exponent in range(256):
        shift = exponent - 150
        found = Fraction(two_over_pi, 1 << _BITS) * Fraction(2) ** shift % 4
        high.append(float(found))
        low.append(float(found - Fraction(high[-1])))
    return tuple(high), tuple(low)


def _look_up(builder: Any, position: int, index: Any) -> Any:
    """A float64 of the table."""
    name = f"graphflow_quarter_turns_{position}"
    values = _table()[position]
    table = builder.module.globals.get(name)
    if table is None:
        kind = ir.ArrayType(F64, len(values))
        table = ir.GlobalVariable(builder.module, kind, name)
        table.linkage, table.global_constant = "internal", True
        table.initializer = ir.Constant(kind, [ir.Constant(F64, value) for value in values])
    value = builder.load(builder.gep(table, [ir.Constant(I32, 0), index], inbounds=True))
    annotate(builder, value, 0)
    return value


def _reduced(builder: Any, x: Any) -> tuple[Any, Any]:
    """The angle |x| as quarter turns, an int32 of which two bits count, and the rest, at most an eighth of a turn."""
    bits = builder.bitcast(x, I32)
    exponent = builder.and_(builder.lshr(bits, ir.Constant(I32, 23)), ir.Constant(I32, 255))
    mantissa = builder.or_(builder.and_(bits, ir.Constant(I32, 0x7FFFFF)), ir.Constant(I32, 0x800000))
    m = builder.sitofp(mantissa, F64)
    high = _look_up(builder, 0, exponent)
    turns = builder.fmul(m, high)
    lost = fma(builder, m, high, builder.fneg(turns))
    shifted = builder.fadd(turns, constant(turns, _ROUNDER))
    quarter = builder.trunc(builder.bitcast(shifted, I64), I32)
    rest = builder.fsub(turns, builder.fsub(shifted, constant(turns, _ROUNDER)))
    rest = builder.fadd(rest, fma(builder, m, _look_up(builder, 1, exponent), lost))
    rest = builder.fptrunc(builder.fmul(rest, constant(rest, math.pi / 2)), F32)
    size = intrinsic_call(builder, "llvm.fabs", x)  # A denormal has no leading one, and zero has none either.
    return quarter, builder.select(builder.fcmp_ordered("<", size, constant(x, _TINY)), size, rest)


def _of_angle(builder: Any, x: Any, quarter: Any, r: Any) -> Any:
    """The sine of so many quarter turns and r; no number for an angle that is none."""
    square = builder.fmul(r, r)
    sine = fma(builder, builder.fmul(square, r), polynomial(builder, square, _SIN), r)
    cosine = fma(builder, square, constant(x, -0.5), constant(x, 1.0))
    cosine = fma(builder, builder.fmul(square, square), polynomial(builder, square, _COS), cosine)
    one = ir.Constant(I32, 1)
    odd = builder.icmp_unsigned("!=", builder.and_(quarter, one), ir.Constant(I32, 0))
    y = builder.bitcast(builder.select(odd, cosine, sine), I32)
    sign = builder.shl(builder.and_(quarter, ir.Constant(I32, 2)), ir.Constant(I32, 30))
    y = builder.bitcast(builder.xor(y, sign), F32)
    size = intrinsic_call(builder, "llvm.fabs", x)
    return builder.select(builder.fcmp_ordered("<", size, constant(x, float("inf"))), y, builder.fsub(x, x))


def sin32(builder: Any, x: Any) -> Any:
    """Sine of a float32: 1.5 ulp."""
    y = _of_angle(builder, x, *_reduced(builder, x))
    sign = builder.and_(builder.bitcast(x, I32), ir.Constant(I32, 0x80000000))
    return builder.bitcast(builder.xor(builder.bitcast(y, I32), sign), F32)


def cos32(builder: Any, x: Any) -> Any:
    """Cosine of a float32: 1.5 ulp."""
    quarter, r = _reduced(builder, x)
    return _of_angle(builder, x, builder.add(quarter, ir.Constant(I32, 1)), r)
