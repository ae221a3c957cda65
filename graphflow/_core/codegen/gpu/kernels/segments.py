"""Kernels of sorted segments: a thread an element of a result, which adds its rows in their order.

So the bits are the same every time. Where a segment begins is found by bisection.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from graphflow._core.codegen.gpu.status import RANGE, wrong_index

UNSORTED: Final = 3
"""The code of ids that decrease, or are negative."""
_STEPS: Final = {
    "Prod": "total * value",
    "Max": "value if taken == 0 or value > total or value != value else total",
    "Min": "value if taken == 0 or value < total or value != value else total",
}


def _result(dtype: str, kind: str) -> str:
    if kind not in ("Mean", "SqrtN"):
        return "total"
    if not dtype.startswith("float"):
        return f"{dtype}(int64(total) // max(taken, 1))"
    number = f"{dtype}(max(taken, 1))"
    return f"total / {number}" if kind == "Mean" else f"total / sqrt_{dtype}({number})"


@cache
def segment_source(dtype: str, kind: str, gathered: bool) -> str:
    """Sums, means, products, largest and smallest of the rows of each segment.

    kernel(status, number, count, x, height, indices, ids, given, rows, columns): y[r] is that of the rows x[k] with
    ids[k] == r, or of x[indices[k]] if `gathered`, of which x has `height`; `given` ids, `rows` segments.
    """
    place = "int64(indices[k])" if gathered else "k"
    return f"""
def kernel(status, number, count, x, height, indices, ids, given, rows, columns, y):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    k = i
    while k < given:
        code = {RANGE} if ids[k] >= rows else 0
        if ids[k] < 0 or (k > 0 and ids[k] < ids[k - 1]):
            code = {UNSORTED}
        if code != 0:
            {wrong_index("int64(ids[k])", "rows", 12, "code")}
        k += step
    while i < count:
        row = quotient(i, columns)
        column = remainder(i, row, columns)
        low = 0
        high = given
        while low < high:
            middle = (low + high) >> 1
            if ids[middle] < row:
                low = middle + 1
            else:
                high = middle
        k = low
        taken = 0
        total = {dtype}({int(kind == "Prod")})
        while k < given and ids[k] == row:
            place = {place}
            if place < 0 or place >= height:
                {wrong_index("place", "height", 16)}
            else:
                value = x[place * columns + column]
                total = {dtype}({_STEPS.get(kind, "total + value")})
            taken += 1
            k += 1
        y[i] = {_result(dtype, kind)}
        i += step
"""
