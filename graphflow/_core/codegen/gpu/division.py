"""Whole division by what a kernel is given: a multiplication and a shift.

A GPU takes seventy instructions to divide 64-bit numbers and twenty for 32-bit ones, where it copies an element in
fewer. In the text of a kernel `quotient(index, n)` is index // n for an index that is not negative, and
`remainder(index, q, n)` is index - q * n for that quotient; n is one of the kernel's parameters. It gets two more for
each of these at its end, so that the text holds for all sizes.

Source: Granlund and Montgomery, "Division by invariant integers using multiplication" (1994).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

_LIMIT: Final = 2**31
"""What an index must be below; in larger spaces the text divides."""
_BITS: Final = 31
_HEAD: Final = re.compile(r"def kernel\(([^)]*)\):")
_QUOTIENT: Final = re.compile(r"\bquotient\(([^(),]+), (\w+)\)")
_REMAINDER: Final = re.compile(r"\bremainder\(([^(),]+), ([^(),]+), (\w+)\)")
_LOW: Final = "4294967295"
"""A mask that tells the compiler that a number has 32 bits: one instruction multiplies two of these to 64."""


def with_divisions(source: str, arguments: Sequence[Any], bound: int) -> tuple[str, tuple[Any, ...]]:
    """A kernel's text and arguments as they are launched, if all indices that it divides are below `bound`."""
    if "quotient(" not in source:
        return source, tuple(arguments)
    names, fast, plain = _texts(source)
    divisors = [max(1, int(arguments[k])) for k in names]
    if max(bound, *divisors) > _LIMIT:
        return plain, tuple(arguments)
    return fast, (*arguments, *(number for divisor in divisors for number in factor_and_shift(divisor)))


def factor_and_shift(divisor: int) -> tuple[int, int]:
    """The numbers with which (index * factor) >> shift is index // divisor, for each index below 2**31."""
    shift = _BITS + (divisor - 1).bit_length()
    return -(-(1 << shift) // divisor), shift


@cache
def _texts(source: str) -> tuple[tuple[int, ...], str, str]:
    """Where the divisors are among a text's parameters; the text that multiplies, and the one that divides."""
    head = _HEAD.search(source)
    assert head is not None
    parameters = [name.strip() for name in head[1].split(",")]
    divisors = list(dict.fromkeys(match[2] for match in _QUOTIENT.finditer(source)))
    plain = _REMAINDER.sub(r"(\1 - \2 * \3)", _QUOTIENT.sub(r"(\1 // \2)", source))
    more = ", ".join([*parameters, *(f"{n}_{what}" for n in divisors for what in ("factor", "shift"))])
    fast = _HEAD.sub(f"def kernel({more}):", source)
    fast = _QUOTIENT.sub(rf"(((\1) & {_LOW}) * (\2_factor & {_LOW}) >> \2_shift)", fast)
    fast = _REMAINDER.sub(rf"(\1 - (\2 & {_LOW}) * (\3 & {_LOW}))", fast)
    return tuple(parameters.index(n) for n in divisors), fast, plain
