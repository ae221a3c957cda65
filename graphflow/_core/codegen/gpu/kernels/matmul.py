"""Matrix products: tiles in shared memory, a rectangle of results in the registers of each thread.

Operands are read with any strides, so that a transposed or sliced one is never copied. Each block takes a tile of the
result and goes along the depth: while it computes with one piece of its operands, the next is on its way from memory.
A thread takes its operands from shared memory by fours. If the result has too few tiles to keep a GPU busy, several
blocks share one, each with a stretch of the depth, and a second launch adds up what they have. The stretches follow
from the sizes, so that no device changes a bit. If NVIDIA's cuBLASLt is there, it is used instead (cublas_lt.py).
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from graphflow._core.codegen.gpu.division import with_divisions
from graphflow._core.codegen.gpu.toolkit import SIMULATED, Launch, elementwise_launch
from graphflow._core.codegen.gpu.vectors import WIDTH, lies_well
from graphflow._core.common.records import dataclass


@dataclass(frozen=True)
class Tile:
    """A block has `down` x `across` threads, each `rows` x `columns` results; `depth` is taken at a time.

    All are powers of two, rows and columns multiples of four.
    """

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

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.down * self.across


LARGE: Final = Tile(16, 16, 8, 8, 8)
MEDIUM: Final = Tile(16, 16, 4, 4, 16)
SMALL: Final = Tile(2, 2, 4, 4, 4)
"""For the simulator, which starts a Python thread for each of a block's."""
_BUSY: Final = 3 if SIMULATED else 256
"""So many blocks keep every GPU busy; the number is fixed so that no bit depends on the device."""
_FEWEST: Final = 4 if SIMULATED else 64
"""A block goes so far along the depth at least."""


@dataclass(frozen=True)
class Matrix:
    """An operand: its array, and the elements from one matrix of the batch, row and column to the next."""

    array: Any
    batch: int
    row: int
    column: int


@dataclass(frozen=True)
class PlacedProduct:
    """c = a @ b, or c += a @ b if it accumulates, with all operands as they lie in memory.

    sizes: rows, columns and depth. c: `batch` matrices side by side. bias: a number for each column that is added, or
    None. relu: whether negative results become 0.
    """

    dtype: str
    sizes: tuple[int, int, int]
    a: Matrix
    b: Matrix
    c: Any
    batch: int = 1
    accumulate: bool = False
    bias: Any = None
    relu: bool = False


@dataclass(frozen=True)
class ProductLayout:
    """How a product is cut: into tiles of the result, and `pieces` of the depth, `stretch` each."""

    tile: Tile
    tiles: int
    across: int
    stretch: int
    pieces: int


def product_layout(dtype: str, sizes: tuple[int, int, int], batch: int) -> ProductLayout:
    """The layout of `batch` products of sizes (rows, columns, depth)."""
    rows, columns, depth = sizes

    def tiles(tile: Tile) -> int:
        return -(-rows // tile.height) * -(-columns // tile.width)

    large = dtype == "float32" and min(rows, columns) >= LARGE.height and tiles(LARGE) * batch >= _BUSY // 2
    tile = SMALL if SIMULATED else LARGE if large else MEDIUM
    blocks = tiles(tile) * batch
    pieces = max(1, min(_BUSY // max(1, blocks), depth // _FEWEST))
    stretch = -(-depth // pieces // tile.depth) * tile.depth
    pieces = max(1, -(-depth // max(1, stretch)))
    return ProductLayout(tile, tiles(tile), -(-columns // tile.width), stretch, pieces)


@dataclass(frozen=True)
class _Side:
    """How the threads of a block bring an operand's piece of a tile to shared memory.

    name: "a" or "b". extent: the tile's rows, or columns. outer, inner: the strides along these and along the depth.
    along: whether neighbouring threads take neighbours along the depth. They do if these lie side by side.
    """

    name: str
    tile: Tile
    extent: int
    outer: str
    inner: str
    along: bool

    @property
    def pitch(self) -> int:
        """Elements from one place of the depth to the next; more than needed, for the banks of shared memory."""
        return self.extent + WIDTH

    @property
    def size(self) -> int:
        """Elements of shared memory, for the piece that is computed with and the next."""
        return 2 * self.tile.depth * self.pitch

    @property
    def each(self) -> int:
        """Elements that a thread brings."""
        return self.extent * self.tile.depth // self.tile.threads

    def place(self, r: int) -> tuple[int, int]:
        """How far along the tile's extent, and along the depth, the thread's element r is from its first."""
        if self.along:
            return r * (self.tile.threads // self.tile.depth), 0
        rounds = max(1, self.extent // self.tile.threads)
        return r % rounds * self.tile.threads, r // rounds * max(1, self.tile.threads // self.extent)

    def begin(self, first: str, limit: str) -> list[str]:
        """Lines that find the thread's first element; `first` is the tile's first row or column of `limit`."""
        n, fast = self.name, min(self.tile.threads, self.tile.depth if self.along else self.extent)
        outside = sorted({self.place(r)[0] for r in range(self.each)})
        low, high = f"thread & {fast - 1}", f"thread >> {fast.bit_length() - 1}"
        k, o = (low, high) if self.along else (high, low)
        return [
            f"{n}_k = {k}",
            f"{n}_o = {o}",
            f"{n}_at = matrix * {n}_batch + ({first} + {n}_o) * {self.outer} + (k + {n}_k) * {self.inner}",
            f"{n}_to = {n}_k * {self.pitch} + {n}_o",
            *(f"{n}_in{o} = {first} + {n}_o + {o} < {limit}" for o in outside),
        ]

    def bring(self, dtype: str) -> list[str]:
        """Lines that load the elements of the piece at k, and go on to the next."""
        n, lines = self.name, []
        for r in range(self.each):
            o, deep = self.place(r)
            lines += [
                f"{n}_next{r} = {dtype}(0)",
                f"if {n}_in{o} and k + {n}_k + {deep} < end:",
                f"    {n}_next{r} = {n}[{n}_at + {o} * {self.outer} + {deep} * {self.inner}]",
            ]
        return [*lines, f"{n}_at += {self.tile.depth} * {self.inner}"]

    def leave(self) -> list[str]:
        """Lines that store them in shared memory, in the half at `half`."""
        n, half, lines = self.name, self.size // 2, []
        for r in range(self.each):
            o, deep = self.place(r)
            lines.append(f"tile_{n}[half * {half} + {n}_to + {o + deep * self.pitch}] = {n}_next{r}")
        return lines

    def take(self, own: str, threads: int, count: int) -> list[str]:
        """Lines that take a thread's `count` elements at place `p` of the depth, four neighbours at a time."""
        start = f"half * {self.size // 2} + p * {self.pitch} + {own} * {WIDTH}"
        lines = []
        for group in range(0, count, WIDTH):
            names = ", ".join(f"{self.name}_{group + t}" for t in range(WIDTH))
            lines.append(f"{names} = take4(tile_{self.name}, {start} + {group * threads})")
        return lines


def _places(count: int, threads: int, own: str) -> list[str]:
    """Where a thread's rows, or columns, lie in the tile."""
    return [f"{own} * {WIDTH} + {k // WIDTH * threads * WIDTH + k % WIDTH}" for k in range(count)]


@cache
def product_source(
    dtype: str,
    tile: Tile,
    by_rows: tuple[bool, bool] = (True, True),
    accumulate: bool = False,
    biased: bool = False,
    relu: bool = False,
    wide: bool = False,
) -> str:
    """The text of c = a @ b, or c += a @ b, of a dtype; of each stretch of the depth a c of its own.

    by_rows: of each operand, whether neighbours in a row are neighbours in memory, rather than those in a column.
    biased: a last argument has a number for each column of c that is added to it. relu: negative results become 0.
    wide: results are stored by fours, of which a row of c has a whole number.
    """
    a = _Side("a", tile, tile.height, "a_row", "a_column", by_rows[0])
    b = _Side("b", tile, tile.width, "b_column", "b_row", not by_rows[1])
    cells = [(i, j) for i in range(tile.rows) for j in range(tile.columns)]
    parameters = "rows, columns, depth, stretch, matrices, tiles, across"
    operands = "a, a_batch, a_row, a_column, b, b_batch, b_row, b_column, c"
    lines = [
        *(f"tile_{s.name} = cuda.shared.array({s.size}, {dtype}, alignment=16)" for s in (a, b)),
        "thread = cuda.threadIdx.x",
        f"x = thread & {tile.across - 1}",
        f"y = thread >> {tile.across.bit_length() - 1}",
        # The blocks are numbered in one row: a grid has no more than 65535 of these.
        "part = quotient(cuda.blockIdx.x, tiles)",
        "tile = remainder(cuda.blockIdx.x, part, tiles)",
        "piece = quotient(part, matrices)",
        "matrix = remainder(part, piece, matrices)",
        "down = quotient(tile, across)",
        f"top = down * {tile.height}",
        f"left = remainder(tile, down, across) * {tile.width}",
        "k = piece * stretch",
        "end = min(k + stretch, depth)",
        *a.begin("top", "rows"),
        *b.begin("left", "columns"),
        *(f"c_{i}_{j} = {dtype}(0)" for i, j in cells),
        "half = 0",
        *a.bring(dtype),
        *b.bring(dtype),
        *a.leave(),
        *b.leave(),
        "cuda.syncthreads()",
        "while k < end:",
        f"    k += {tile.depth}",
        *(f"    {line}" for line in (*a.bring(dtype), *b.bring(dtype))),
        f"    for p in range({tile.depth}):",
        *(f"        {line}" for line in a.take("y", tile.down, tile.rows)),
        *(f"        {line}" for line in b.take("x", tile.across, tile.columns)),
        *(f"        c_{i}_{j} += a_{i} * b_{j}" for i, j in cells),
        "    half = 1 - half",
        *(f"    {line}" for line in (*a.leave(), *b.leave())),
        # The half that is written next was read before the last barrier.
        "    cuda.syncthreads()",
        "start = part * rows * columns",
    ]
    columns = _places(tile.columns, tile.across, "x")
    for i, row in enumerate(_places(tile.rows, tile.down, "y")):
        lines.append(f"i = top + {row}")
        for first in range(0, tile.columns, WIDTH if wide else 1):
            lines += [f"j = left + {columns[first]}", "if i < rows and j < columns:"]
            taken = range(first, first + (WIDTH if wide else 1))
            lines += [f"    value{t} = c_{i}_{j}" for t, j in enumerate(taken)]
            lines += [f"    {line}" for line in finished(dtype, len(taken), biased, relu)]
            values = [f"value{t}" for t in range(len(taken))]
            place = "start + i * columns + j"
            if wide and accumulate:
                lines.append(f"    {', '.join(f'old{t}' for t in range(WIDTH))} = load4(c, {place})")
                values = [f"{value} + old{t}" for t, value in enumerate(values)]
            if wide:
                lines.append(f"    store4(c, {place}, {', '.join(values)})")
            else:
                lines.append(f"    c[{place}] {'+=' if accumulate else '='} value0")
    head = f"def kernel({parameters}, {operands}{', bias' if biased else ''}):"
    return "\n".join([head, *(f"    {line}" for line in lines), ""])


def finished(dtype: str, count: int, biased: bool, relu: bool) -> list[str]:
    """Lines that add the bias to `value0` and its neighbours from column j on, and make negative ones 0."""
    lines = [f"value{t} = value{t} + bias[j + {t}]" for t in range(count) if biased]
    if relu:
        zero = f"{dtype}(0)"
        lines += [
            f"value{t} = value{t} if value{t} > {zero} or value{t} != value{t} else {zero}"
            for t in range(count)
        ]
    return lines


@cache
def sum_source(dtype: str, accumulate: bool, biased: bool, relu: bool) -> str:
    """The text that adds up what the stretches of the depth gave: kernel(count, x, pieces, y, columns[, bias])."""
    lines = [
        f"def kernel(count, x, pieces, y, columns{', bias' if biased else ''}):",
        "    i = cuda.grid(1)",
        "    step = cuda.gridsize(1)",
        "    while i < count:",
        "        value0 = x[i]",
        "        for piece in range(1, pieces):",
        "            value0 += x[piece * count + i]",
        *(["        row = quotient(i, columns)", "        j = remainder(i, row, columns)"] if biased else []),
        *(f"        {line}" for line in finished(dtype, 1, biased, relu)),
        f"        y[i] {'+=' if accumulate else '='} value0",
        "        i += step",
        "",
    ]
    return "\n".join(lines)


def product_launches(product: PlacedProduct, partial: Any = None) -> list[Launch]:
    """The launches that compute a product.

    partial: memory for as many results as product_layout has pieces; without it the depth is not cut.
    """
    dtype, a, b, c = product.dtype, product.a, product.b, product.c
    batch, accumulate, relu = product.batch, product.accumulate, product.relu
    rows, columns, depth = product.sizes
    plan = product_layout(dtype, product.sizes, batch)
    pieces, stretch = (plan.pieces, plan.stretch) if partial is not None else (1, depth)
    last = [product.bias] if product.bias is not None else []
    orders = a.column == 1, b.column == 1
    target = c if pieces == 1 else partial
    wide = columns % WIDTH == 0 and lies_well(target, 0, ())
    done = (accumulate, bool(last), relu) if pieces == 1 else (False, False, False)
    source = product_source(dtype, plan.tile, orders, *done, wide)
    blocks = plan.tiles * batch * pieces
    operands = [a.array, a.batch, a.row, a.column, b.array, b.batch, b.row, b.column, target]
    arguments = [rows, columns, depth, stretch, batch, plan.tiles, plan.across, *operands]
    text, given = with_divisions(source, [*arguments, *(last if pieces == 1 else [])], blocks)
    first = Launch(text, blocks, plan.tile.threads, given)
    if pieces == 1:
        return [first]
    count = batch * rows * columns
    total = sum_source(dtype, accumulate, bool(last), relu)
    return [first, elementwise_launch(total, count, [count, partial, pieces, c, columns, *last])]
