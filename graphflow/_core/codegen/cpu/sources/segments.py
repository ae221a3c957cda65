"""Kernels of rows whose places are constants, of which it is known beforehand who comes from where.

So each row of a result is made once, whole, and threads share the rows. Where places follow from values, they can be
counted: threads share the values, and each of their parts has counts of its own.
"""

from __future__ import annotations

from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step

_GRAIN_ELEMENTS: Final = 16384
_MOST_PARTS: Final = 16
_WORDS: Final = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
"""Integers of so many bytes, as which any element is copied."""
_COMBINED: Final = {
    "add": "old + value",
    "mul": "old * value",
    "min": "minimum(old, value)",
    "max": "maximum(old, value)",
}


def segments_source(dtype: str, operation: str, neutral: str) -> str:
    """Source of the sums (products, ...) of rows that follow each other, added in their order; unit: a segment.

    Arguments: rows, for each segment its first row and one more number, the result, elements of a row. neutral: what a
    segment begins with, as text.
    """
    combined = f"to_{dtype}({_COMBINED[operation]})"
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    starts = pointer_int64(args[1])
    y = pointer_{dtype}(args[2])
    columns = args[3]
    for unit in range(begin, end):
        first = load(starts, unit, 1)
        last = load(starts, unit + 1, 1)
        if columns == 1:
            old = to_{dtype}({neutral})
            for row in range(first, last):
                value = load(x, row, 0)
                old = {combined}
            store(y, unit, old, 2)
            continue
        place = unit * columns
        for j in range(columns):
            store(y, place + j, to_{dtype}({neutral}), 2)
        row = first
        while row + 4 <= last:
            from_0 = row * columns
            from_1 = from_0 + columns
            from_2 = from_1 + columns
            from_3 = from_2 + columns
            for j in range(columns):
                old = load(y, place + j, 2)
                value = load(x, from_0 + j, 0)
                old = {combined}
                value = load(x, from_1 + j, 0)
                old = {combined}
                value = load(x, from_2 + j, 0)
                old = {combined}
                value = load(x, from_3 + j, 0)
                store(y, place + j, {combined}, 2)
            row += 4
        while row < last:
            source = row * columns
            for j in range(columns):
                old = load(y, place + j, 2)
                value = load(x, source + j, 0)
                store(y, place + j, {combined}, 2)
            row += 1
"""


def segments_steps(
    kernel: int, x: int, starts: int, target: int, columns: int, segments: int, rows: int
) -> list[Step]:
    """Steps for so many segments of contiguous rows."""
    work = max(1, columns * (1 + rows // segments))
    return [Step(kernel, [x, starts, target, columns], 0, segments, max(1, _GRAIN_ELEMENTS // work))]


def placed_source(item: int) -> str:
    """Source of rows that are copied to places of their own; unit: one of them.

    Arguments: rows, which of them are copied, to which place each, the result, elements of a row, of `item` bytes each.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{_WORDS[item]}(args[0])
    rows = pointer_int64(args[1])
    places = pointer_int64(args[2])
    y = pointer_{_WORDS[item]}(args[3])
    columns = args[4]
    for unit in range(begin, end):
        source = load(rows, unit, 1) * columns
        place = load(places, unit, 1) * columns
        for j in range(columns):
            store(y, place + j, load(x, source + j, 0), 2)
"""


def placed_steps(
    kernel: int, x: int, rows: int, places: int, target: int, columns: int, count: int
) -> list[Step]:
    """Steps for so many contiguous rows."""
    grain = max(1, _GRAIN_ELEMENTS // max(1, columns))
    return [Step(kernel, [x, rows, places, target, columns], 0, count, grain)]


def counted_source(dtype: str) -> str:
    """Source of how often each place is named in each part of some numbers; unit: a part.

    Arguments: the places, int32 and all of them below `bins`, the counts [parts, bins], numbers, parts, bins.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_int32(args[0])
    y = pointer_{dtype}(args[1])
    size = args[2]
    parts = args[3]
    bins = args[4]
    for unit in range(begin, end):
        row = unit * bins
        for j in range(bins):
            store(y, row + j, {dtype}(0), 2)
        for k in range(unit * size // parts, (unit + 1) * size // parts):
            place = row + int64(load(x, k, 0))
            store(y, place, to_{dtype}(load(y, place, 2) + {dtype}(1)), 2)
"""


def counted_parts(size: int) -> int:
    """Into how many parts so many numbers are cut, whatever the threads."""
    return max(1, min(_MOST_PARTS, size // _GRAIN_ELEMENTS))


def counted_steps(kernel: int, x: int, counts: int, size: int, bins: int) -> list[Step]:
    """Steps for so many contiguous numbers."""
    parts = counted_parts(size)
    return [Step(kernel, [x, counts, size, parts, bins], 0, parts, 1)]
