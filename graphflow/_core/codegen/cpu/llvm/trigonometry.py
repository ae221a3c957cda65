# mypy: disable-error-code="import-untyped, import-not-found"
"""Sine and cosine of a float32, of any size.

An angle is taken modulo a quarter turn by the method of M. Payne and R. Hanek: of 2 / pi only those bits count that the
exponent of the angle leaves, as two float64s; their product with the angle is exact to sixty bits behind the point at
least. Some twenty exponents have them together, so that a few comparisons choose them: no angle needs another
way than its neighbours, and loops become vectors, without a table in memory. The polynomials are those of Cephes
(S. Moshier) on an eighth of a turn.
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
_FIRST: Final = 26
"""Angles below two to this power are of one group."""
_WIDTH: Final = 22
"""So many exponents are of a group of larger angles, whose turns keep six bits behind their point."""
_TINY: Final = 1e-30
_ROUNDER: Final = 6755399441055744.0
"""1.5 * 2**52: added to a number below 2**51 it leaves the nearest integer in the low bits."""


@cache
def _table() -> tuple[tuple[float, float, float], ...]:
    """From which size on an angle has which number of quarter turns to its unit, modulo 4, as the sum of two float64s.

    An angle of the group that begins at 2**t is a multiple of 2**(t - 23), since it has 24 bits. Of the quarter turns
    of that, all that is a multiple of 4 may go.
    """
    found = []
    two_over_pi = Fraction((1 << (_PI_BITS + _BITS + 1)) // _PI, 1 << _BITS)
    for start in (None, *range(_FIRST, 128, _WIDTH)):
        unit = Fraction(1) if start is None else Fraction(2) ** (start - 23)
        turns = two_over_pi * unit if start is None else two_over_pi * unit % 4
        high = float(turns)
        low = float(turns - Fraction(high))
        scale = float(1 / unit)
        found.append((0.0 if start is None else 2.0**start, high * scale, low * scale))
    return tuple(found)


def _turns_of_unit(builder: Any, size: Any, position: int) -> Any:
    """One of the two float64s for an angle."""
    value = ir.Constant(F64, _table()[0][position])
    for start, *numbers in _table()[1:]:
        reached = builder.fcmp_ordered(">=", size, constant(size, start))
        value = builder.select(reached, ir.Constant(F64, numbers[position - 1]), value)
    return value


def _reduced(builder: Any, x: Any) -> tuple[Any, Any]:
    """The angle |x| as quarter turns, an int32 of which two bits count, and the rest, an eighth of a turn or so."""
    size = intrinsic_call(builder, "llvm.fabs", x)
    angle = builder.fpext(size, F64)
    high, low = (_turns_of_unit(builder, size, position) for position in (1, 2))
    turns = builder.fmul(angle, high)
    lost = fma(builder, angle, high, builder.fneg(turns))
    shifted = builder.fadd(turns, constant(turns, _ROUNDER))
    quarter = builder.trunc(builder.bitcast(shifted, I64), I32)
    rest = builder.fsub(turns, builder.fsub(shifted, constant(turns, _ROUNDER)))
    rest = builder.fadd(rest, fma(builder, angle, low, lost))
    rest = builder.fptrunc(builder.fmul(rest, constant(rest, math.pi / 2)), F32)
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
