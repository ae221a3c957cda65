"""Kernels of depthwise convolutions with one filter a channel, and their gradients, made for the size of the window.

Where all of a window is inside of the image, one pass over the channels adds all of its products, in the order in which
the kernels for all windows add them (kernels/depthwise.py), so that the bits are the same. Arguments are theirs, too.
"""

from __future__ import annotations

from typing import Final

MOST_TAPS: Final = 25
"""Elements of a window that kernels are made for."""
_COLUMNS_TOGETHER: Final = 4
_SIZES: Final = """
    channels = args[3]
    in_rows = args[5]
    in_columns = args[6]
    out_rows = args[7]
    out_columns = args[8]
    row_stride = args[11]
    column_stride = args[12]
    row_dilation = args[13]
    column_dilation = args[14]
    rows_before = args[15]
    columns_before = args[16]"""


def _windows(dtype: str, rows: int, columns: int, sign: str, sizes: str, place: str, edge: str) -> str:
    """A kernel of windows over `source`, which go forwards or (sign "-") backwards from `row` and `column` there.

    sizes: names of the rows and columns of the source, and of the result. place: lines that say where a result's window
    begins, and whether it is `inside`. edge: lines that say for a window's element (k, l) where it is, `i` and `j`, and
    whether it `exists`.
    """
    source_rows, source_columns, target_rows, target_columns = sizes.split()
    steps, sums = "", ""
    for tap in range(rows * columns):
        shift = f"{tap // columns} * row_dilation * {source_columns} + {tap % columns} * column_dilation"
        product = f"load(x, from_{tap} + c, 0) * load(w, {tap} * channels + c, 0)"
        steps += f"\n                from_{tap} = first {sign} ({shift}) * channels"
        sums += f"\n                    total = total + {product}"
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    w = pointer_{dtype}(args[1])
    y = pointer_{dtype}(args[2]){_SIZES}
    for unit in range(begin, end):
        image = unit // {target_rows}
        for at in range({target_columns}):
            place = (unit * {target_columns} + at) * channels{place}
            if inside:
                first = ((image * {source_rows} + row) * {source_columns} + column) * channels{steps}
                for c in range(channels):
                    total = {dtype}(0){sums}
                    store(y, place + c, total, 1)
                continue
            for c in range(channels):
                store(y, place + c, {dtype}(0), 1)
            for k in range({rows}):
                for l in range({columns}):{edge}
                    if not exists:
                        continue
                    origin = ((image * {source_rows} + i) * {source_columns} + j) * channels
                    weights = (k * {columns} + l) * channels
                    for c in range(channels):
                        product = load(x, origin + c, 0) * load(w, weights + c, 0)
                        store(y, place + c, load(y, place + c, 1) + product, 1)
"""


def forward_source(dtype: str, rows: int, columns: int) -> str:
    """Source of the convolution with a window of so many rows and columns; unit: a row of the result."""
    place = f"""
            row = unit % out_rows * row_stride - rows_before
            column = at * column_stride - columns_before
            inside = row >= 0 and row + {rows - 1} * row_dilation < in_rows
            inside = inside and column >= 0 and column + {columns - 1} * column_dilation < in_columns"""
    edge = """
                    i = row + k * row_dilation
                    j = column + l * column_dilation
                    exists = i >= 0 and i < in_rows and j >= 0 and j < in_columns"""
    return _windows(
        dtype, rows, columns, "+", "in_rows in_columns out_rows out_columns", place, edge
    )  # fmt: skip


def input_gradient_source(dtype: str, rows: int, columns: int) -> str:
    """Source of the gradient to the images, with the gradient in their place; unit: a row of the result."""
    place = f"""
            row = unit % in_rows + rows_before
            column = at + columns_before
            inside = row_stride == 1 and row < out_rows and row - {rows - 1} * row_dilation >= 0
            inside = inside and column_stride == 1 and column < out_columns
            inside = inside and column - {columns - 1} * column_dilation >= 0"""
    edge = """
                    i = row - k * row_dilation
                    j = column - l * column_dilation
                    exists = i >= 0 and j >= 0 and i % row_stride == 0 and j % column_stride == 0
                    i = i // row_stride
                    j = j // column_stride
                    exists = exists and i < out_rows and j < out_columns"""
    return _windows(
        dtype, rows, columns, "-", "out_rows out_columns in_rows in_columns", place, edge
    )  # fmt: skip


def filter_gradient_source(dtype: str) -> str:
    """Source of the gradient to the filter, for any window; unit: an element of it.

    Some columns are added at a time, one after the other.
    """

    def added(count: int, depth: int) -> str:
        start = " " * depth
        starts = [
            line
            for k in range(count)
            for line in (
                f"x{k} = (above + (column + {k}) * column_stride + shift) * channels",
                f"g{k} = (row * out_columns + column + {k}) * channels",
            )
        ]
        sums = [
            f"    total = total + load(x, x{k} + c, 0) * load(g, g{k} + c, 0)" for k in range(count)
        ]  # fmt: skip
        loop = ["for c in range(channels):", "    total = load(y, partial + c, 1)", *sums]
        return "".join(f"\n{start}{line}" for line in (*starts, *loop, "    store(y, partial + c, total, 1)"))

    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    g = pointer_{dtype}(args[1])
    y = pointer_{dtype}(args[2]){_SIZES}
    window_rows = args[9]
    window_columns = args[10]
    images = args[17]
    half = window_rows * window_columns * channels
    for unit in range(begin, end):
        k = unit // window_columns
        shift = unit % window_columns * column_dilation - columns_before
        low = 0
        if shift < 0:
            low = (column_stride - 1 - shift) // column_stride
        high = 0
        if shift < in_columns:
            high = min(out_columns, (in_columns - 1 - shift) // column_stride + 1)
        place = unit * channels
        partial = half + place
        for c in range(channels):
            store(y, place + c, {dtype}(0), 1)
        for row in range(images * out_rows):
            i = row % out_rows * row_stride - rows_before + k * row_dilation
            if i < 0 or i >= in_rows:
                continue
            above = (row // out_rows * in_rows + i) * in_columns
            for c in range(channels):
                store(y, partial + c, {dtype}(0), 1)
            column = low
            while column + {_COLUMNS_TOGETHER} <= high:{added(_COLUMNS_TOGETHER, 16)}
                column += {_COLUMNS_TOGETHER}
            while column < high:{added(1, 16)}
                column += 1
            for c in range(channels):
                store(y, place + c, load(y, place + c, 1) + load(y, partial + c, 1), 1)
"""
