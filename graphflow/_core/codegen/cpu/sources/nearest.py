"""Kernels that resize images by copying the nearest pixel, and the gradient of that, which adds where it was copied.

Which pixel each new one copies is told by tables, which rise along an axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step

_ROWS_TOGETHER: Final = 8
_GRAIN_ELEMENTS: Final = 16384
_MOST_CHANNELS: Final = 16
"""Up to so many channels a kernel is made for their number: a loop of a few turns costs more than what it does."""


def _head(dtype: str, given: str, rows: str, columns: str, channels: int) -> str:
    """How both kernels begin; `given`, `rows` and `columns` are the names of what is read and of the two tables."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    {given} = pointer_{dtype}(args[0])
    {rows} = pointer_int32(args[1])
    {columns} = pointer_int32(args[2])
    out = pointer_{dtype}(args[3])
    height = args[4]
    width = args[5]
    rows = args[6]
    columns = args[7]
    channels = {channels if channels <= _MOST_CHANNELS else "args[8]"}"""


def nearest_source(dtype: str, size: int, channels: int) -> str:
    """Source of copied pixels, of `size` bytes an element; unit: some rows of a result's image.

    Arguments: x, the old row of each new one, the old column of each new one, the result, old rows, old columns, new
    rows, new columns, channels. A row that copies what the one before it copied is copied from that.
    """
    return f"""{_head(dtype, "x", "row_pixels", "column_pixels", channels)}
    line = columns * channels
    bands = (rows + {_ROWS_TOGETHER - 1}) // {_ROWS_TOGETHER}
    for unit in range(begin, end):
        image = unit // bands
        first = unit % bands * {_ROWS_TOGETHER}
        for row in range(first, min(first + {_ROWS_TOGETHER}, rows)):
            old = int64(load(row_pixels, row, 0))
            target = (image * rows + row) * line
            if row > first and int64(load(row_pixels, row - 1, 0)) == old:
                copy_bytes(args[3] + target * {size}, args[3] + (target - line) * {size}, line * {size})
                continue
            source = (image * height + old) * width * channels
            for p in range(columns):
                at = source + int64(load(column_pixels, p, 0)) * channels
                for c in range(channels):
                    store(out, target + p * channels + c, load(x, at + c, 0), 2)
"""


def nearest_gradient_source(dtype: str, channels: int) -> str:
    """Source of the sums of what copied each pixel; unit: a row of the result.

    Arguments: g, for each old row (and column) the first new one that copies it, one more at the end of each, the
    result, old rows, old columns, new rows, new columns, channels.
    """
    return f"""{_head(dtype, "g", "row_starts", "column_starts", channels)}
    for unit in range(begin, end):
        image = unit // height
        old = unit % height
        target = unit * width * channels
        for j in range(width * channels):
            store(out, target + j, to_{dtype}(0), 1)
        for row in range(int64(load(row_starts, old, 0)), int64(load(row_starts, old + 1, 0))):
            source = (image * rows + row) * columns * channels
            for q in range(width):
                place = target + q * channels
                for p in range(int64(load(column_starts, q, 0)), int64(load(column_starts, q + 1, 0))):
                    for c in range(channels):
                        value = load(g, source + p * channels + c, 0)
                        store(out, place + c, to_{dtype}(load(out, place + c, 1) + value), 1)
"""


def _steps(kernel: int, places: Sequence[int], sizes: Sequence[int], units: int, work: int) -> list[Step]:
    return [Step(kernel, [*places, *sizes], 0, units, max(1, _GRAIN_ELEMENTS // max(1, work)))]


def nearest_steps(kernel: int, places: Sequence[int], batch: int, sizes: Sequence[int]) -> list[Step]:
    """Steps of copying; `places` are four addresses, `sizes` old and new rows and columns, and the channels."""
    _, _, rows, columns, channels = sizes
    units = batch * -(-rows // _ROWS_TOGETHER)
    return _steps(kernel, places, sizes, units, _ROWS_TOGETHER * columns * channels)


def nearest_gradient_steps(
    kernel: int, places: Sequence[int], batch: int, sizes: Sequence[int]
) -> list[Step]:
    """Steps of the gradient, with the same arguments."""
    height, width, rows, columns, channels = sizes
    return _steps(kernel, places, sizes, batch * height, (width + columns * rows // height) * channels)
