"""Matrix products as program steps: the BLAS that NumPy is linked with, called through its address.

OpenBLAS on two threads rounds otherwise than on one (measured: 128 x 784 by 784 x 256), and its threads,
which spin for milliseconds, fight with ours for the cores. So a product is cut into fixed blocks of rows or
columns, which depend on its shape alone, are run as pieces on our own pool, and OpenBLAS is held at one
thread while programs with products run (`single_threaded`).

OpenBLAS packs its operands before it multiplies, which is dear for the products of a training step. On AVX-512 it
has kernels that do without, for pieces of up to a million multiply-adds: float32 products of moderate size are cut
into such pieces, in rows, columns and depth (measured: 128 x 784 by 784 x 256 in 222 us instead of 263).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial

from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.codegen.openblas import address, core_name, numpy_libraries
from graphflow._core.codegen.traced_sizes import called
from graphflow._core.common.records import dataclass

# (prefix, suffix, bits of an integer): OpenBLAS of NumPy's wheels, OpenBLAS built with 64-bit integers, any cblas
_NAMES = (("scipy_", "64_", 64), ("", "64_", 64), ("scipy_", "", 32), ("", "", 32))
_THREAD_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)
_THREAD_GETTERS = (
    "scipy_openblas_get_num_threads64_",
    "openblas_get_num_threads64_",
    "openblas_get_num_threads",
)
# (operations of a product from which on it is cut, number of blocks): every block packs its operands again, which
# costs a few percent, so there are no more of them than pay on a small machine
_BLOCKS = ((1_000_000_000, 16), (160_000_000, 8), (24_000_000, 4), (6_000_000, 2))
_PIECE_OPERATIONS = 1_000_000
_SMALLEST_PIECE = 32
# OpenBLAS's kernels that do not pack: for up to so many multiply-adds, or (second operand transposed) elements of the
# result, and from this depth on; above so many operations its packing pays.
_UNPACKED_PRODUCTS = 1_000_000
_UNPACKED_DEPTH = 32
_UNPACKED_OPERATIONS = (1_200_000, 500_000_000)
_UNPACKED_PIECE = {False: (32, 128), True: (8, 96)}
_CORES_WITH_UNPACKED = ("SkylakeX", "Cooperlake", "Sapphirerapids")


@dataclass(frozen=True)
class Blas:
    """Addresses of ?gemm, the width of their integers, and whether small products are multiplied without packing."""

    sgemm: int
    dgemm: int
    integer_bits: int
    unpacked: bool = False


@cache
def find_blas() -> Blas | None:
    """The BLAS inside this process's NumPy, None when it has none that can be called (products then stay on
    NumPy).
    """
    for library in numpy_libraries():
        for prefix, suffix, bits in _NAMES:
            single, double = (address(library, f"{prefix}cblas_{kind}gemm{suffix}") for kind in "sd")
            if single and double:
                return Blas(single, double, bits, core_name(library) in _CORES_WITH_UNPACKED)
    return None


class _ThreadCount:
    """OpenBLAS's thread count, a setting of the process: held at one while anybody needs it, then as it was
    before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before = 0
        found = [
            (getattr(library, setter), getattr(library, getter))
            for library in numpy_libraries()
            for setter, getter in zip(_THREAD_SETTERS, _THREAD_GETTERS, strict=True)
            if address(library, setter) and address(library, getter)
        ]
        self._set: Callable[[int], None] | None = found[0][0] if found else None
        self._get: Callable[[], int] | None = found[0][1] if found else None

    def hold(self) -> None:
        if self._set is None or self._get is None:
            return
        with self._lock:
            if self._holders == 0:
                self._before = self._get()
                if self._before != 1:
                    self._set(1)
            self._holders += 1

    def release(self) -> None:
        if self._set is None:
            return
        with self._lock:
            self._holders -= 1
            if self._holders == 0 and self._before != 1:
                self._set(self._before)


@cache
def _thread_count() -> _ThreadCount:
    return _ThreadCount()


def blas_threads() -> int:
    """Number of threads BLAS uses now; 1 if it cannot be asked."""
    ask = _thread_count()._get
    return 1 if ask is None else int(ask())


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS at one thread around programs with products.

    Nests, from any thread; the former count comes back.
    """
    count = _thread_count()
    count.hold()
    try:
        yield
    finally:
        count.release()


def gemm_source(dtype: str, integer_bits: int) -> str:
    """Source of the kernel that multiplies blocks of matrices; its unit is one block."""
    size = {"float32": 4, "float64": 8}[dtype]
    return f"""
@kernel_function
def kernel(args, begin, end):
    function = args[0]
    trans_a = args[1]
    trans_b = args[2]
    m = args[3]
    n = args[4]
    k = args[5]
    lda = args[7]
    ldb = args[9]
    ldc = args[11]
    row_piece = args[13]
    column_piece = args[14]
    depth_piece = args[15]
    column_pieces = args[16]
    pieces = args[17]
    for unit in range(begin, end):
        batch = unit // pieces
        place = unit % pieces
        row = place // column_pieces * row_piece
        column = place % column_pieces * column_piece
        rows = min(row_piece, m - row)
        columns = min(column_piece, n - column)
        a = args[6] + (batch * args[18] + (row if trans_a != 0 else row * lda)) * {size}
        b = args[8] + (batch * args[19] + (column * ldb if trans_b != 0 else column)) * {size}
        c = args[10] + (batch * args[20] + row * ldc + column) * {size}
        add = args[12]
        for part in range(max(1, (k + depth_piece - 1) // depth_piece)):
            low = part * depth_piece
            depth = min(depth_piece, k - low)
            at_a = a + (low * lda if trans_a != 0 else low) * {size}
            at_b = b + (low if trans_b != 0 else low * ldb) * {size}
            flags = (trans_a, trans_b, add)
            call_gemm_{dtype}_{integer_bits}(function, flags, (rows, columns, depth), (at_a, lda, at_b, ldb, c, ldc))
            add = 1
"""


def _blocks(rows: int, columns: int, depth: int, batch: int) -> tuple[int, int, int]:
    """(rows, columns, depth) of the pieces that one packed product is cut into.

    A function of the shapes alone.
    """
    by_columns = columns >= rows
    along = columns if by_columns else rows
    operations = 2 * rows * columns * depth
    wanted = next((count for limit, count in _BLOCKS if operations >= limit), 1)
    wanted = min(wanted, along // _SMALLEST_PIECE) if batch < wanted else 1
    unit = 16 if by_columns else 4
    length = along if wanted <= 1 else -(-along // (wanted * unit)) * unit
    return (rows, length, depth) if by_columns else (length, columns, depth)


def _unpacked_blocks(rows: int, columns: int, depth: int, trans_b: bool) -> tuple[int, int, int]:
    """(rows, columns, depth) of pieces that OpenBLAS multiplies without packing them."""
    row_piece, column_piece = _UNPACKED_PIECE[trans_b]
    row_piece, column_piece = min(rows, row_piece), min(columns, column_piece)
    parts = -(-depth * row_piece * column_piece // _UNPACKED_PRODUCTS)
    return row_piece, column_piece, -(-depth // (8 * parts)) * 8


def gemm_steps(
    kernel: int,
    blas: Blas,
    dtype: str,
    shape: tuple[int, int, int],
    a: tuple[int, int, bool],
    b: tuple[int, int, bool],
    c: tuple[int, int],
    accumulate: bool = False,
    batch: int = 1,
    batch_strides: tuple[int, int, int] = (0, 0, 0),
) -> list[Step]:
    """Steps for c = op(a) @ op(b), or c += with `accumulate`, on row-major matrices.

    `shape` is (rows, columns, depth) of the product; a and b are (address, elements from row to row as
    stored, transposed), c (address, elements from row to row); batch strides are in elements, 0 repeats an
    operand. `kernel` is the address of gemm_source(dtype, blas.integer_bits). Run it under
    `single_threaded()`.
    """
    rows, columns, depth = shape
    if not (rows and columns and batch):
        return []
    (a_at, lda, trans_a), (b_at, ldb, trans_b), (c_at, ldc) = a, b, c
    cuts = partial(_cuts, dtype == "float32" and blas.unpacked, trans_a, trans_b)
    *pieces, total, grain = called(cuts, 7, rows, columns, depth, batch)
    function = blas.sgemm if dtype == "float32" else blas.dgemm
    sizes = [rows, columns, depth, a_at, max(1, lda), b_at, max(1, ldb), c_at, max(1, ldc)]
    words = [function, int(trans_a), int(trans_b), *sizes, int(accumulate), *pieces, *batch_strides]
    return [Step(kernel, words, 0, total, grain)]


def _cuts(
    unpacked: bool, trans_a: bool, trans_b: bool, rows: int, columns: int, depth: int, batch: int
) -> tuple[int, ...]:
    """How a product is cut: rows, columns, depth of a piece, pieces across and of one product, of all, in a turn."""
    least, most = _UNPACKED_OPERATIONS
    fits = unpacked and least <= 2 * rows * columns * depth <= most
    if fits and depth >= _UNPACKED_DEPTH * trans_b and not (trans_a and trans_b):
        blocks = _unpacked_blocks(rows, columns, depth, trans_b)
    else:
        blocks = _blocks(rows, columns, depth, batch)
    across = -(-columns // blocks[1])
    count = -(-rows // blocks[0]) * across
    total = count * batch
    grain = max(1, _PIECE_OPERATIONS // max(1, 2 * blocks[0] * blocks[1] * depth))
    return blocks[0], blocks[1], max(1, blocks[2]), across, count, total, grain if total > grain else 0
