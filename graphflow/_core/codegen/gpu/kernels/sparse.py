"""Kernels of sparse tensors: a thread takes an element, and those that meet in one of the result add atomically."""

from __future__ import annotations

from functools import cache
from typing import Final

from graphflow._core.codegen.gpu.status import RANGE, wrong_index

TWICE: Final = 3
"""The code of an index that is not greater than the one before it."""


@cache
def product_source(dtype: str) -> str:
    """y += a @ b for a sparse matrix a; status 2 for a place that there is not.

    kernel(status, number, count, places, row, values, b, down, across, y, rows, inner, columns): `count` is the number
    of values times `columns`. Of each pair in places, element `row` is a row of y, the other one of b. b[k, j] lies at
    k * down + j * across.
    """
    return f"""
def kernel(status, number, count, places, row, values, b, down, across, y, rows, inner, columns):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < count:
        k = quotient(i, columns)
        j = remainder(i, k, columns)
        r = int64(places[2 * k + row])
        c = int64(places[2 * k + 1 - row])
        if r < 0 or r >= rows or c < 0 or c >= inner:
            {wrong_index("r", "rows", 12)}
        else:
            cuda.atomic.add(y, r * columns + j, {dtype}(values[k] * b[c * down + j * across]))
        i += step
"""


SCATTER_SOURCE: Final = f"""
def kernel(status, number, count, ids, values, each, y):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    while i < count:
        place = ids[i]
        code = {RANGE} if place < 0 else 0
        if i > 0 and place >= 0 and place <= ids[i - 1]:
            code = {TWICE}
        if code == 0:
            y[place] = values[i * each]
        else:
            {wrong_index("int64(place)", "0", 12, "code")}
        i += step
"""
"""y[ids[k]] = values[k * each] for ids that increase: kernel(status, number, count, ids, values, each, y)."""
