"""Matrix products as program steps: the BLAS that NumPy is linked with, called through its address.

OpenBLAS on two threads rounds otherwise than on one (measured: 128 x 784 by 784 x 256), and its threads,
which spin for milliseconds, fight with ours for the cores. So a product is cut into fixed blocks of rows or
columns, which depend on its shape alone, are run as pieces on our own pool, and OpenBLAS is held at one
thread while programs with products run (`single_threaded`).
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from .machine import Step

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
_BATCH_PIECE_OPERATIONS = 2_000_000
_SMALLEST_PIECE = 32


@dataclass(frozen=True)
class Blas:
    """Addresses of ?gemm, and the width of their integers."""

    sgemm: int
    dgemm: int
    integer_bits: int


def _numpy_libraries() -> Iterator[ctypes.CDLL]:
    module = import_module("numpy._core._multiarray_umath")
    for path in (module.__file__, None):
        with contextlib.suppress(OSError):
            yield ctypes.CDLL(path)


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        function = getattr(library, name)
    except AttributeError:
        return 0
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


@cache
def find_blas() -> Blas | None:
    """The BLAS inside this process's NumPy, None when it has none that can be called (products then stay on
    NumPy).
    """
    for library in _numpy_libraries():
        for prefix, suffix, bits in _NAMES:
            single, double = (_address(library, f"{prefix}cblas_{kind}gemm{suffix}") for kind in "sd")
            if single and double:
                return Blas(single, double, bits)
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
            for library in _numpy_libraries()
            for setter, getter in zip(_THREAD_SETTERS, _THREAD_GETTERS, strict=True)
            if _address(library, setter) and _address(library, getter)
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
    """Number of threads BLAS uses now; 1 where it cannot be asked."""
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
    by_columns = args[13]
    piece = args[14]
    pieces = args[15]
    for unit in range(begin, end):
        batch = unit // pieces
        low = (unit % pieces) * piece
        a = args[6] + batch * args[16] * {size}
        b = args[8] + batch * args[17] * {size}
        c = args[10] + batch * args[18] * {size}
        rows = m
        columns = n
        if by_columns != 0:
            columns = min(piece, n - low)
            b += (low * ldb if trans_b != 0 else low) * {size}
            c += low * {size}
        else:
            rows = min(piece, m - low)
            a += (low if trans_a != 0 else low * lda) * {size}
            c += low * ldc * {size}
        flags = (trans_a, trans_b, args[12])
        call_gemm_{dtype}_{integer_bits}(function, flags, (rows, columns, k), (a, lda, b, ldb, c, ldc))
"""


def _blocks(rows: int, columns: int, depth: int, batch: int) -> tuple[int, bool, int]:
    """(block length, whether columns are cut, number of blocks) of one product.

    A function of the shapes alone.
    """
    by_columns = columns >= rows
    along = columns if by_columns else rows
    operations = 2 * rows * columns * depth
    wanted = next((count for limit, count in _BLOCKS if operations >= limit), 1)
    wanted = min(wanted, along // _SMALLEST_PIECE) if batch < wanted else 1
    if wanted <= 1:
        return along, by_columns, 1
    length = -(-along // wanted)
    length = -(-length // 16) * 16
    return length, by_columns, -(-along // length)


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
    length, by_columns, count = _blocks(rows, columns, depth, batch)
    function = blas.sgemm if dtype == "float32" else blas.dgemm
    (a_at, lda, trans_a), (b_at, ldb, trans_b), (c_at, ldc) = a, b, c
    sizes = [rows, columns, depth, a_at, max(1, lda), b_at, max(1, ldb), c_at, max(1, ldc)]
    words = [
        function,
        int(trans_a),
        int(trans_b),
        *sizes,
        int(accumulate),
        int(by_columns),
        length,
        count,
        *batch_strides,
    ]
    total = count * batch
    operations = 2 * rows * columns * depth
    grain = 1 if count > 1 else max(1, _BATCH_PIECE_OPERATIONS // max(1, operations))
    return [Step(kernel, words, 0, total, grain if total > grain else 0)]
