"""Matrix products by NVIDIA's cuBLAS, through ctypes: one function of it is needed, and no package that wraps it.

The library comes with the extra `cuda13-blas` or with a CUDA toolkit. Where it is not there, or cannot read an
operand as it lies, matmul.py's kernel is used. Products are computed in the precision of their operands (no TF32).
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from graphflow.kernels.cuda.toolkit import SIMULATED, Call

if TYPE_CHECKING:
    from graphflow.kernels.cuda.matmul import Matrix

_NAMES: Final = ("libcublas.so.13", "libcublas.so.12")
_LARGEST: Final = 2**31 - 1
_FUNCTIONS: Final = {
    "float32": ("cublasSgemmStridedBatched", ctypes.c_float),
    "float64": ("cublasDgemmStridedBatched", ctypes.c_double),
}


@cache
def library() -> Any:
    """cuBLAS, or None where it is not there."""
    if SIMULATED:
        return None
    try:
        found = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib("cublas")
        return ctypes.CDLL(found.abs_path)
    except (ImportError, RuntimeError, OSError, AttributeError):  # pathfinder is not there, or finds nothing
        pass
    for name in _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _checked(name: str, code: int) -> None:
    if code:
        raise RuntimeError(f"{name} returned {code}")


@cache
def _handle(device: int) -> Any:
    """The handle for a GPU, which is this thread's; used under the GPU's lock."""
    handle = ctypes.c_void_p()
    _checked("cublasCreate", library().cublasCreate_v2(ctypes.byref(handle)))
    return handle


def layout(row: int, column: int, rows: int, columns: int) -> tuple[bool, int] | None:
    """(whether it is stored transposed, elements from one stored row to the next); None where cuBLAS cannot read it."""
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return False, max(row, columns, 1)
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return True, max(column, rows, 1)
    return None


def product_call(
    device: int,
    dtype: str,
    sizes: tuple[int, int, int],
    a: Matrix,
    b: Matrix,
    c: Any,
    batch: int,
    accumulate: bool,
) -> Call | None:
    """The call that computes c = a @ b, or c += a @ b; None where cuBLAS cannot do it.

    cuBLAS stores matrices by columns: to it ours are their transposes, so it is asked for transposed c = b' a'.
    """
    rows, columns, depth = sizes
    first, second = layout(a.row, a.column, rows, depth), layout(b.row, b.column, depth, columns)
    if first is None or second is None or max(sizes) > _LARGEST or library() is None:
        return None
    name, kind = _FUNCTIONS[dtype]
    function, handle = getattr(library(), name), _handle(device)
    one, beta = kind(1.0), kind(1.0 if accumulate else 0.0)
    pointers = [ctypes.c_void_p(m.device_ctypes_pointer.value) for m in (a.array, b.array, c)]
    set_stream = library().cublasSetStream_v2

    def call(stream: int) -> None:
        _checked("cublasSetStream", set_stream(handle, ctypes.c_void_p(stream)))
        code = function(
            handle, int(second[0]), int(first[0]), columns, rows, depth, ctypes.byref(one),
            pointers[1], second[1], ctypes.c_longlong(b.batch), pointers[0], first[1], ctypes.c_longlong(a.batch),
            ctypes.byref(beta), pointers[2], columns, ctypes.c_longlong(rows * columns), batch,
        )  # fmt: skip
        _checked(name, code)

    return Call(call)
