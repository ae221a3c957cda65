"""Protects how matrix products are put to cuBLAS, which stores matrices by columns: against a stand-in of it."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.device


class Library:
    """cublasSgemmStridedBatched on the host, as NVIDIA documents it."""

    def __init__(self) -> None:
        self.streams: list[int] = []

    def cublasCreate_v2(self, handle: Any) -> int:
        handle._obj.value = 7
        return 0

    def cublasSetStream_v2(self, handle: Any, stream: Any) -> int:
        self.streams.append(stream.value or 0)
        return 0

    def cublasSgemmStridedBatched(
        self, handle: Any, op_a: int, op_b: int, m: int, n: int, k: int, alpha: Any, a: Any, lda: int, a_step: Any,
        b: Any, ldb: int, b_step: Any, beta: Any, c: Any, ldc: int, c_step: Any, batch: int,
    ) -> int:  # fmt: skip
        def matrix(pointer: Any, step: Any, index: int, rows: int, columns: int, leading: int) -> Any:
            assert leading >= rows
            size = leading * columns
            start = pointer.value + 4 * step.value * index
            flat = np.ctypeslib.as_array((ctypes.c_float * size).from_address(start))
            return flat.reshape(columns, leading).T[:rows]

        for index in range(batch):
            left = matrix(a, a_step, index, *((k, m) if op_a else (m, k)), lda)
            right = matrix(b, b_step, index, *((n, k) if op_b else (k, n)), ldb)
            result = matrix(c, c_step, index, m, n, ldc)
            product = (left.T if op_a else left) @ (right.T if op_b else right)
            result[...] = alpha._obj.value * product + beta._obj.value * result
        return 0


def on_device(array: np.ndarray[Any, Any]) -> Any:
    return SimpleNamespace(device_ctypes_pointer=SimpleNamespace(value=array.ctypes.data))


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 5, 2), (4, 1, 3), (3, 2, 1), (1, 1, 1)])
@pytest.mark.parametrize("accumulate", [False, True])
def test_products_are_those_of_numpy(
    monkeypatch: pytest.MonkeyPatch, turned: tuple[bool, bool], sizes: tuple[int, int, int], accumulate: bool
) -> None:
    from graphflow.kernels.cuda import cublas
    from graphflow.kernels.cuda.matmul import Matrix

    library = Library()
    monkeypatch.setattr(cublas, "library", lambda: library)
    rows, columns, depth = sizes
    rng = np.random.default_rng(0)
    batch = 2
    a, b = rng.random((batch, rows, depth), np.float32), rng.random((batch, depth, columns), np.float32)
    stored, operands = [], []
    for matrices, flip in zip((a, b), turned, strict=True):
        array = np.ascontiguousarray(matrices.transpose(0, 2, 1) if flip else matrices)
        wide = array.shape[2]
        stored.append(array)
        steps = (1, wide) if flip else (wide, 1)
        operands.append(Matrix(on_device(array), array[0].size, *steps))
    c = rng.random((batch, rows, columns), np.float32)
    expected = a @ b + (c if accumulate else 0)
    call = cublas.product_call(0, "float32", sizes, *operands, on_device(c), batch, accumulate)
    assert call is not None
    call.function(42)
    np.testing.assert_allclose(c, expected, 1e-5)
    assert library.streams == [42]


def test_what_cublas_cannot_read_is_left_to_numba() -> None:
    from graphflow.kernels.cuda.cublas import layout

    assert layout(4, 1, 3, 4) == (False, 4)
    assert layout(1, 3, 3, 4) == (True, 3)
    assert layout(8, 2, 3, 4) is None
    assert layout(0, 1, 3, 4) is None  # One row, repeated.
