"""Kernels that look at values and change none.

What is found goes to the status: its first word is a code, its second the number of the node that wrote it, 0 if
there was none. As on a CPU, the first to find something is the one that is told of.
"""

from __future__ import annotations

from typing import Final

NAN: Final = 4
INFINITE: Final = 8
"""Bits of the code."""

FINITE_SOURCE: Final = f"""
def kernel(status, number, count, x):
    i = cuda.grid(1)
    step = cuda.gridsize(1)
    found = 0
    while i < count:
        value = x[i]
        if value - value != 0:
            found |= {NAN} if value != value else {INFINITE}
        i += step
    if found != 0:
        owner = cuda.atomic.cas(status, 1, int64(0), int64(number))
        if owner == 0 or owner == number:
            cuda.atomic.or_(status, 0, int64(found))
"""
"""Whether there is a NaN or an infinity: kernel(status, number, count, x)."""
