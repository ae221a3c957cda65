"""Matrix products: tiles in shared memory, a rectangle of results in the registers of each thread.

Operands are read with any strides, so that a transposed or sliced one is never copied; each block takes a tile of the
result and goes along the depth. Each thread's columns lie `threads across` apart, so that the threads of a warp read
neighbouring words of shared memory. Where NVIDIA's cuBLASLt is there, it is used instead (cublas_lt.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from graphflow.kernels.cuda.toolkit import SIMULATED, Launch


@dataclass(frozen=True)
class Tile:
    """A block has `down` x `across` threads, each `rows` x `columns` results; `depth` is taken at a time."""

    down: int
    across: int
    rows: int
    columns: int
    depth: int

    @property
    def height(self) -> int:
        """Rows of the tile."""
        return self.down * self.rows

    @property
    def width(self) -> int:
        """Columns of the tile."""
        return self.across * self.columns


LARGE: Final = Tile(16, 16, 8, 8, 8)
MEDIUM: Final = Tile(16, 16, 4, 4, 16)
SMALL: Final = Tile(2, 2, 2, 2, 4)
"""For the simulator, which starts a Python thread for each of a block's."""
_LARGE_FROM: Final = 1024


@dataclass(frozen=True)
class Matrix:
    """An operand: its array, and the elements from one matrix of the batch, row and column to the next."""

    array: Any
    batch: int
    row: int
    column: int


@cache
def product_source(
    dtype: str,
    tile: Tile,
    by_rows: tuple[bool, bool] = (True, True),
    accumulate: bool = False,
    biased: bool = False,
    relu: bool = False,
) -> str:
    """The text of c = a @ b, or c += a @ b, of a dtype.

    by_rows: of each operand, whether neighbours in a row are neighbours in memory, rather than those in a column.
    biased: a last argument has a number for each column of c that is added to it. relu: negative results become 0.
    """
    threads = tile.down * tile.across
    height, width, depth = tile.height, tile.width, tile.depth
    cells = [(i, j) for i in range(tile.rows) for j in range(tile.columns)]
    parameters = "rows, columns, depth, a, a_batch, a_row, a_column, b, b_batch, b_row, b_column, c"
    lines = [
        f"def kernel({parameters}{', bias' if biased else ''}):",
        f"    tile_a = cuda.shared.array({depth * (height + 1)}, {dtype})",
        f"    tile_b = cuda.shared.array({depth * (width + 1)}, {dtype})",
        "    thread = cuda.threadIdx.x",
        f"    x = thread % {tile.across}",
        f"    y = thread // {tile.across}",
        f"    across = (columns + {width - 1}) // {width}",
        # The blocks are numbered in one row: a grid has no more than 65535 of these.
        f"    tiles = (rows + {height - 1}) // {height} * across",
        "    matrix = cuda.blockIdx.x // tiles",
        "    tile = cuda.blockIdx.x % tiles",
        f"    top = tile // across * {height}",
        f"    left = tile % across * {width}",
        "    a_start = matrix * a_batch",
        "    b_start = matrix * b_batch",
        *(f"    c_{i}_{j} = {dtype}(0)" for i, j in cells),
        f"    for start in range(0, depth, {depth}):",
        f"        for e in range(thread, {height * depth}, {threads}):",
        # Neighbouring threads read neighbouring elements, whichever way the operand lies.
        *_spread("i", "k", height, depth, by_rows[0]),
        f"            value = {dtype}(0)",
        "            if top + i < rows and start + k < depth:",
        "                value = a[a_start + (top + i) * a_row + (start + k) * a_column]",
        f"            tile_a[k * {height + 1} + i] = value",
        f"        for e in range(thread, {width * depth}, {threads}):",
        *_spread("k", "j", depth, width, by_rows[1]),
        f"            value = {dtype}(0)",
        "            if left + j < columns and start + k < depth:",
        "                value = b[b_start + (start + k) * b_row + (left + j) * b_column]",
        f"            tile_b[k * {width + 1} + j] = value",
        "        cuda.syncthreads()",
        f"        for k in range({depth}):",
        *(f"            a_{i} = tile_a[k * {height + 1} + y * {tile.rows} + {i}]" for i in range(tile.rows)),
        *(
            f"            b_{j} = tile_b[k * {width + 1} + x + {j * tile.across}]"
            for j in range(tile.columns)
        ),
        *(f"            c_{i}_{j} += a_{i} * b_{j}" for i, j in cells),
        "        cuda.syncthreads()",
        "    start = matrix * rows * columns",
    ]
    for i in range(tile.rows):
        lines.append(f"    i = top + y * {tile.rows} + {i}")
        for j in range(tile.columns):
            lines.append(f"    j = left + x + {j * tile.across}")
            lines.append("    if i < rows and j < columns:")
            lines.append(f"        value = c_{i}_{j}{' + bias[j]' if biased else ''}")
            if relu:
                lines.append(f"        value = value if value > {dtype}(0) or value != value else {dtype}(0)")
            lines.append(f"        c[start + i * columns + j] {'+=' if accumulate else '='} value")
    return "\n".join(lines) + "\n"


def _spread(row: str, column: str, rows: int, columns: int, by_rows: bool) -> list[str]:
    """Lines that give element e of a tile its row and column."""
    if by_rows:
        return [f"            {row} = e // {columns}", f"            {column} = e % {columns}"]
    return [f"            {row} = e % {rows}", f"            {column} = e // {rows}"]


def product_launch(
    dtype: str,
    sizes: tuple[int, int, int],
    a: Matrix,
    b: Matrix,
    c: Any,
    batch: int,
    accumulate: bool = False,
    bias: Any = None,
    relu: bool = False,
) -> Launch:
    """The launch of c (batch, rows, columns) = a @ b for sizes (rows, columns, depth); c lies side by side."""
    rows, columns, depth = sizes
    tile = SMALL if SIMULATED else LARGE if min(rows, columns) >= _LARGE_FROM else MEDIUM
    blocks = -(-rows // tile.height) * -(-columns // tile.width)
    biased = bias is not None
    arguments = (
        rows, columns, depth, a.array, a.batch, a.row, a.column, b.array, b.batch, b.row, b.column, c,
        *([bias] if biased else []),
    )  # fmt: skip
    source = product_source(dtype, tile, (a.column == 1, b.column == 1), accumulate, biased, relu)
    return Launch(source, blocks * batch, tile.down * tile.across, arguments)
