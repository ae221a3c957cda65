"""Matrix products by NVIDIA's cuBLASLt, through ctypes: a few functions of it are needed, and no package that wraps it.

It adds a bias and applies a relu in the product's own kernel, and takes its working memory from us, so that a product
can be part of a captured graph. The library comes with the extra `cuda13-blas` or with a CUDA toolkit. If it is not
there, or cannot read an operand as it lies, matmul.py's kernel is used. Products are computed in the precision of their
operands (no TF32).
"""

from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.codegen.gpu.toolkit import SIMULATED, Call
from graphflow._core.codegen.gpu.toolkit import device as device_of
from graphflow._core.codegen.gpu.vectors import address

if TYPE_CHECKING:
    from graphflow._core.codegen.gpu.kernels.matmul import PlacedProduct

_NAMES: Final = ("libcublasLt.so.13", "libcublasLt.so.12")
_LARGEST: Final = 2**31 - 1
_WORKSPACE: Final = 32 * 2**20
"""Bytes of working memory: as much as NVIDIA advises for the newest GPUs."""
_ALIGNED: Final = 256

# Numbers of NVIDIA's cublasLt.h, cublas_api.h and library_types.h.
_DTYPES: Final = {"float32": (0, 68, ctypes.c_float), "float64": (1, 70, ctypes.c_double)}
"""The number of a dtype, that of computing in it, and its scalar."""
_TRANSPOSED_A, _TRANSPOSED_B, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8
_RELU, _BIAS = 2, 4
_BATCH_COUNT, _BATCH_STRIDE = 5, 6
_MOST_WORKSPACE, _ALIGNMENTS = 1, (5, 6, 7, 8)


class Heuristic(ctypes.Structure):
    """What the library finds for a product: cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int),
        ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4),
    )  # fmt: skip


@cache
def library() -> Any:
    """cuBLASLt, or None if it is not there."""
    if SIMULATED:
        return None
    try:
        found = importlib.import_module("cuda.pathfinder").load_nvidia_dynamic_lib("cublasLt")
        return ctypes.CDLL(found.abs_path)
    except (ImportError, RuntimeError, OSError, AttributeError):  # pathfinder is not there, or finds nothing
        pass
    for name in _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _checked(name: str, *arguments: Any) -> None:
    code = getattr(library(), name)(*arguments)
    if code:
        raise RuntimeError(f"{name} returned {code}")


@cache
def _handle(device: int) -> Any:
    """The handle for a GPU, which is this thread's; used under the GPU's lock."""
    handle = ctypes.c_void_p()
    _checked("cublasLtCreate", ctypes.byref(handle))
    return handle


@cache
def _workspace(device: int) -> Any:
    """Working memory, for the products of a GPU's one stream."""
    return device_of(device).allocate(_WORKSPACE, "uint8")


def layout(row: int, column: int, rows: int, columns: int) -> tuple[bool, int] | None:
    """(whether it is stored transposed, elements from one stored row to the next); None if it cannot be read."""
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return False, max(row, columns, 1)
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return True, max(column, rows, 1)
    return None


class _Descriptions:
    """What the library is told of one product; given back to it with this object."""

    def __init__(self) -> None:
        self._made: list[tuple[Callable[[Any], int], Any]] = []
        weakref.finalize(self, _give_back, self._made)

    def make(self, kind: str, *arguments: Any) -> Any:
        """A new description of a kind."""
        made = ctypes.c_void_p()
        _checked(f"cublasLt{kind}Create", ctypes.byref(made), *arguments)
        self._made.append((getattr(library(), f"cublasLt{kind}Destroy"), made))
        return made

    def tell(self, kind: str, made: Any, attribute: int, value: Any) -> None:
        """Sets an attribute of a description to a value of ctypes."""
        size = ctypes.c_size_t(ctypes.sizeof(value))
        _checked(f"cublasLt{kind}SetAttribute", made, attribute, ctypes.byref(value), size)

    def product(self, dtype: str, flips: tuple[bool, bool], bias: Any, relu: bool) -> Any:
        """The description of a product with what is done to its results."""
        number, computed, _ = _DTYPES[dtype]
        made = self.make("MatmulDesc", computed, number)
        for attribute, flip in zip((_TRANSPOSED_A, _TRANSPOSED_B), flips, strict=True):
            self.tell("MatmulDesc", made, attribute, ctypes.c_int32(flip))
        if relu or bias is not None:
            epilogue = (_RELU if relu else 0) | (_BIAS if bias is not None else 0)
            self.tell("MatmulDesc", made, _EPILOGUE, ctypes.c_int32(epilogue))
        if bias is not None:
            self.tell("MatmulDesc", made, _BIAS_POINTER, ctypes.c_void_p(address(bias)))
        return made

    def matrix(self, dtype: str, rows: int, columns: int, leading: int, batch: int, step: int) -> Any:
        """The description of matrices stored by columns."""
        sizes = ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(leading)
        made = self.make("MatrixLayout", _DTYPES[dtype][0], *sizes)
        if batch > 1:
            self.tell("MatrixLayout", made, _BATCH_COUNT, ctypes.c_int32(batch))
            self.tell("MatrixLayout", made, _BATCH_STRIDE, ctypes.c_int64(step))
        return made

    def preference(self, pointers: Sequence[int]) -> Any:
        """The description of what a kernel may use: working memory, and operands that are so well aligned."""
        made = self.make("MatmulPreference")
        self.tell("MatmulPreference", made, _MOST_WORKSPACE, ctypes.c_uint64(_WORKSPACE))
        for attribute, pointer in zip(_ALIGNMENTS, pointers, strict=True):
            aligned = min(pointer & -pointer, _ALIGNED)
            self.tell("MatmulPreference", made, attribute, ctypes.c_uint32(aligned))
        return made


def _give_back(made: list[tuple[Callable[[Any], int], Any]]) -> None:
    for destroy, description in made:
        destroy(description)


def product_call(device: int, product: PlacedProduct) -> Call | None:
    """The call that computes a product; None if the library cannot do it.

    The library stores matrices by columns: to it ours are their transposes, so it is asked for transposed c = b' a'.
    """
    dtype, a, b, batch = product.dtype, product.a, product.b, product.batch
    rows, columns, depth = product.sizes
    first, second = layout(a.row, a.column, rows, depth), layout(b.row, b.column, depth, columns)
    if first is None or second is None or max(product.sizes) > _LARGEST or library() is None:
        return None
    descriptions = _Descriptions()
    described = descriptions.product(dtype, (second[0], first[0]), product.bias, product.relu)
    stored = [
        descriptions.matrix(
            dtype, *((depth, columns) if second[0] else (columns, depth)), second[1], batch, b.batch
        ),
        descriptions.matrix(dtype, *((rows, depth) if first[0] else (depth, rows)), first[1], batch, a.batch),
        descriptions.matrix(dtype, columns, rows, columns, batch, rows * columns),
    ]
    addresses = [address(m) for m in (b.array, a.array, product.c)]
    preference = descriptions.preference([*addresses, addresses[2]])
    handle, found, count = _handle(device), Heuristic(), ctypes.c_int()
    code = library().cublasLtMatmulAlgoGetHeuristic(
        handle, described, *stored, stored[2], preference, 1, ctypes.byref(found), ctypes.byref(count)
    )
    if code or not count.value or found.state:
        return None
    kind = _DTYPES[dtype][2]
    one, beta = kind(1.0), kind(1.0 if product.accumulate else 0.0)
    pointers = [ctypes.c_void_p(a) for a in addresses]
    workspace = ctypes.c_void_p(address(_workspace(device)))

    def call(stream: int, descriptions: _Descriptions = descriptions) -> None:
        _checked(
            "cublasLtMatmul", handle, described, ctypes.byref(one), pointers[0], stored[0], pointers[1], stored[1],
            ctypes.byref(beta), pointers[2], stored[2], pointers[2], stored[2], ctypes.byref(found), workspace,
            ctypes.c_size_t(_WORKSPACE), ctypes.c_void_p(stream),
        )  # fmt: skip

    return Call(call)
