"""Random numbers on a GPU: the same Philox blocks, and the same arithmetic on them, as the CPU's (kernels/philox.py).

The host keeps the state of each random op and sends the key and the counter with the feeds, so that it does not matter
for the numbers where a run happens. A thread makes one block of four words, so four numbers.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from graphflow._core.common.philox import bits

WORDS: Final = 6
"""Of int64: the two halves of the key, the four of the counter, 32 bits each."""
_MASK: Final = "uint64(0xFFFFFFFF)"


def _block(place: str = "i") -> list[str]:
    """Lines that make the words w0 to w3 of a block."""
    lines = [
        f"w0 = uint64(words[2]) + uint64({place})",
        "w1 = uint64(words[3]) + (w0 >> uint64(32))",
        "w2 = uint64(words[4]) + (w1 >> uint64(32))",
        "w3 = uint64(words[5]) + (w2 >> uint64(32))",
        *(f"w{k} = w{k} & {_MASK}" for k in range(4)),
        "k0 = uint64(words[0])",
        "k1 = uint64(words[1])",
        f"for turn in range({bits.ROUNDS}):",
        f"    first = w0 * uint64({bits.MULTIPLIERS[0]})",
        f"    second = w2 * uint64({bits.MULTIPLIERS[1]})",
        "    w0 = (second >> uint64(32)) ^ w1 ^ k0",
        f"    w1 = second & {_MASK}",
        "    w2 = (first >> uint64(32)) ^ w3 ^ k1",
        f"    w3 = first & {_MASK}",
        f"    k0 = (k0 + uint64({bits.KEY_STEPS[0]})) & {_MASK}",
        f"    k1 = (k1 + uint64({bits.KEY_STEPS[1]})) & {_MASK}",
    ]
    return lines


def _kernel(parameters: str, before: list[str], names: list[str]) -> str:
    """A kernel that stores the `names` of each block, four or two, as far as there are so many numbers."""
    stores = [
        line
        for k, name in enumerate(names)
        for line in (f"if {len(names)}*i + {k} < size:", f"    y[{len(names)}*i + {k}] = {name}")
    ]
    return _walk(parameters, [*_block(), *before, *stores])


def _walk(parameters: str, body: list[str]) -> str:
    """A kernel whose threads walk i = 0, 1, ... count - 1 with the stride of the grid."""
    return "\n".join(
        [
            f"def kernel({parameters}):",
            "    i = cuda.grid(1)",
            "    step = cuda.gridsize(1)",
            "    while i < count:",
            *(f"        {line}" for line in body),
            "        i += step",
            "",
        ]
    )


@cache
def uniform_source() -> str:
    """Uniform float32 numbers in [0, 1): kernel(count, words, y, size); `count` blocks give `size` numbers."""
    scale = 2.0**-23
    names = [f"float32(int64(w{k} & uint64(0x7FFFFF))) * float32({scale!r})" for k in range(4)]
    return _kernel("count, words, y, size", [], names)


def _uniform64(high: str, low: str) -> str:
    """A uniform float64 number in [0, 1) of two words."""
    return f"float64(int64((({high} & uint64(0xFFFFF)) << uint64(32)) | {low})) * {2.0**-52!r}"


@cache
def uniform64_source() -> str:
    """Uniform float64 numbers in [0, 1): kernel(count, words, y, size); `count` blocks give `size` numbers."""
    return _kernel("count, words, y, size", [], [_uniform64("w0", "w1"), _uniform64("w2", "w3")])


@cache
def uniform_int64_source() -> str:
    """Integers in [low, low + span) of int64: kernel(count, words, y, size, low, span)."""
    names = [
        f"int64((({high} << uint64(32)) | {low}) % uint64(span)) + low"
        for low, high in (("w0", "w1"), ("w2", "w3"))
    ]
    return _kernel("count, words, y, size, low, span", [], names)


@cache
def uniform_int_source() -> str:
    """Integers in [low, low + span) of int32: kernel(count, words, y, size, low, span)."""
    # uint32 arithmetic: the sum wraps, and what is stored is its bits.
    names = []
    lines = []
    for k in range(4):
        lines.append(f"r{k} = int64(w{k}) % span + low")
        names.append(f"int32(r{k})")
    return _kernel("count, words, y, size, low, span", lines, names)


def _normal(sine: str, cosine: str, radius: str, angle: str) -> list[str]:
    """Lines that make two normals of two words, by the C library's logf and sincosf in float64 (philox/bits)."""
    p, c, s = bits.LOG_POLYNOMIAL, bits.COS_POLYNOMIAL, bits.SIN_POLYNOMIAL
    scale = 2.0**-23
    return [
        f"u = float64(int64({radius} & uint64(0x7FFFFF))) * {scale!r}",
        f"u = max(u, {bits.SMALLEST_UNIFORM!r})",
        f"index = (bits_float64(u) - {int(bits.LOG_ORIGIN)}) >> {int(bits.LOG_INDEX_SHIFT)}",
        "rest = inverses[index] * u - 1.0",
        "leading = logarithms[index] + rest",
        "square = rest * rest",
        f"logarithm = float32((rest * {p[1]!r} + {p[2]!r} + square * {p[0]!r}) * square + leading)",
        "length = sqrt_float32(logarithm * float32(-2.0))",
        f"u = float64(int64({angle} & uint64(0x7FFFFF))) * {scale!r}",
        f"u = float64(float32(u * {bits.TWO_PI!r}))",
        f"turns = rint_float64(u * {2.0 / np.pi!r})",
        f"u = u - turns * {np.pi / 2.0!r}",
        "quadrant = int64(turns)",
        "square = u * u",
        "cube = square * u",
        f"sin_u = float32(cube * {s[0]!r} + u + (square * {s[2]!r} + {s[1]!r}) * (cube * square))",
        "fourth = square * square",
        f"tail = (square * {c[3]!r} + {c[2]!r}) * (fourth * square)",
        f"cos_u = float32(square * {c[0]!r} + 1.0 + fourth * {c[1]!r} + tail)",
        "swap = sin_u",
        "if quadrant & 1:",
        "    sin_u = cos_u",
        "    cos_u = swap",
        "if quadrant & 2:",
        "    sin_u = -sin_u",
        "if (quadrant + 1) & 2:",
        "    cos_u = -cos_u",
        f"{sine} = sin_u * length",
        f"{cosine} = cos_u * length",
    ]


@cache
def normal_source() -> str:
    """Standard normals of float32: kernel(count, words, y, size, inverses, logarithms), with the tables below."""
    lines = [*_normal("z0", "z1", "w0", "w1"), *_normal("z2", "z3", "w2", "w3")]
    return _kernel("count, words, y, size, inverses, logarithms", lines, ["z0", "z1", "z2", "z3"])


@cache
def truncated_normal_source() -> str:
    """Standard normals of magnitude under two, float32, with the arguments of `normal_source`.

    Four results take the first that are small enough from a stretch of their own.
    """
    per_group = 4 * bits.RESERVED_PER_OUTPUT // 4
    accepted = [
        line
        for k in range(4)
        for line in (
            f"if filled < 4 and abs(z{k}) < float32(2.0):",
            "    if 4 * i + filled < size:",
            f"        y[4 * i + filled] = z{k}",
            "    filled += 1",
        )
    ]
    draw = [
        *_block(f"i * {per_group} + attempt"),
        *_normal("z0", "z1", "w0", "w1"),
        *_normal("z2", "z3", "w2", "w3"),
        *accepted,
        "attempt += 1",
    ]
    body = ["filled = 0", "attempt = 0", "while filled < 4:", *(f"    {line}" for line in draw)]
    return _walk("count, words, y, size, inverses, logarithms", body)


@cache
def classes_source(dtype: str) -> str:
    """Classes by their rising weights: kernel(count, words, y, size, cumulative, classes, samples).

    y [rows, samples] of `dtype`; cumulative [rows, classes], float64. A class is the number of weights up to a uniform
    part of the last one, so that a row that is all zero gives `classes`.
    """
    lines = [
        "for half in range(2):",
        "    place = 2 * i + half",
        "    if place < size:",
        "        high = w2 if half == 1 else w0",
        "        low = w3 if half == 1 else w1",
        "        first = quotient(place, samples) * classes",
        f"        wanted = {_uniform64('high', 'low')} * cumulative[first + classes - 1]",
        "        begin = 0",
        "        end = classes",
        "        while begin < end:",
        "            middle = (begin + end) >> 1",
        "            if cumulative[first + middle] <= wanted:",
        "                begin = middle + 1",
        "            else:",
        "                end = middle",
        f"        y[place] = {dtype}(begin)",
    ]
    return _walk("count, words, y, size, cumulative, classes, samples", [*_block(), *lines])


def normal_tables() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The tables of the logarithm, float64."""
    return bits.LOG_SCALED_INVERSES, bits.LOG_TABLE
