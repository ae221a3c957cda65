"""Protects how matrix products are put to cuBLASLt, which stores matrices by columns: against a stand-in of it, which
computes what NVIDIA documents on the host; on a GPU that has the library, against the library.
"""

from __future__ import annotations

import ctypes
import gc
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.device


class Library:
    """The functions of cuBLASLt that are used, on the host and for float32."""

    def __init__(self) -> None:
        self.told: dict[int, dict[Any, Any]] = {}
        self.numbers = count(1)
        self.streams: list[int] = []
        self.finds = 1

    def _made(self, made: Any, **told: Any) -> int:
        made._obj.value = next(self.numbers)
        self.told[made._obj.value] = told
        return 0

    def _set(self, description: Any, attribute: int, value: Any, size: Any) -> int:
        assert ctypes.sizeof(value._obj) == size.value
        self.told[description.value][attribute] = value._obj.value
        return 0

    def _destroyed(self, description: Any) -> int:
        del self.told[description.value]
        return 0

    cublasLtMatmulDescSetAttribute = cublasLtMatrixLayoutSetAttribute = _set
    cublasLtMatmulPreferenceSetAttribute = _set
    cublasLtMatmulDescDestroy = cublasLtMatrixLayoutDestroy = cublasLtMatmulPreferenceDestroy = _destroyed

    def cublasLtCreate(self, handle: Any) -> int:
        handle._obj.value = 7
        return 0

    def cublasLtMatmulDescCreate(self, made: Any, computed: int, dtype: int) -> int:
        assert (computed, dtype) == (68, 0)
        return self._made(made)

    def cublasLtMatrixLayoutCreate(self, made: Any, dtype: int, rows: Any, columns: Any, leading: Any) -> int:
        assert leading.value >= rows.value
        return self._made(made, rows=rows.value, columns=columns.value, leading=leading.value)

    def cublasLtMatmulPreferenceCreate(self, made: Any) -> int:
        return self._made(made)

    def cublasLtMatmulAlgoGetHeuristic(
        self, handle: Any, product: Any, a: Any, b: Any, c: Any, d: Any, preference: Any, wanted: int, found: Any,
        returned: Any,
    ) -> int:  # fmt: skip
        alignments = [self.told[preference.value][k] for k in (5, 6, 7, 8)]
        assert all(k >= 4 and k & (k - 1) == 0 for k in alignments)
        found._obj.algorithm[0] = 99
        returned._obj.value = self.finds
        return 0

    def _matrix(self, pointer: Any, description: Any, index: int) -> Any:
        told = self.told[description.value]
        start = pointer.value + 4 * told.get(6, 0) * index
        flat = np.ctypeslib.as_array(
            (ctypes.c_float * (told["leading"] * told["columns"])).from_address(start)
        )
        return flat.reshape(told["columns"], told["leading"]).T[: told["rows"]]

    def cublasLtMatmul(
        self, handle: Any, product: Any, alpha: Any, a: Any, a_told: Any, b: Any, b_told: Any, beta: Any, c: Any,
        c_told: Any, d: Any, d_told: Any, found: Any, workspace: Any, size: Any, stream: Any,
    ) -> int:  # fmt: skip
        assert handle.value == 7
        assert found._obj.algorithm[0] == 99
        self.streams.append(stream.value or 0)
        told = self.told[product.value]
        for index in range(self.told[d_told.value].get(5, 1)):
            left, right = self._matrix(a, a_told, index), self._matrix(b, b_told, index)
            product_of = (left.T if told[3] else left) @ (right.T if told[4] else right)
            result = alpha._obj.value * product_of
            if beta._obj.value:  # With 0 it does not read c, which may hold anything.
                result = result + beta._obj.value * self._matrix(c, c_told, index)
            if told.get(7, 1) & 4:
                bias = np.ctypeslib.as_array((ctypes.c_float * len(result)).from_address(told[8]))
                result = result + bias[:, None]
            self._matrix(d, d_told, index)[...] = np.maximum(result, 0) if told.get(7, 1) & 2 else result
        return 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    from graphflow._core.codegen.gpu.kernels import cublas_lt

    stand_in = Library()
    monkeypatch.setattr(cublas_lt, "library", lambda: stand_in)
    monkeypatch.setattr(cublas_lt, "_handle", lambda device: ctypes.c_void_p(7))
    return stand_in


def on_device(array: np.ndarray[Any, Any]) -> Any:
    return SimpleNamespace(device_ctypes_pointer=SimpleNamespace(value=array.ctypes.data))


def operands(
    sizes: tuple[int, int, int], turned: tuple[bool, bool], batch: int
) -> tuple[list[Any], list[Any], np.ndarray]:
    """The operands of a product as they lie in memory, and as they are described; and the product."""
    from graphflow._core.codegen.gpu.kernels.matmul import Matrix

    rows, columns, depth = sizes
    rng = np.random.default_rng(0)
    a = rng.normal(size=(batch, rows, depth)).astype("f")
    b = rng.normal(size=(batch, depth, columns)).astype("f")
    stored, described = [], []
    for matrices, flip in zip((a, b), turned, strict=True):
        array = np.ascontiguousarray(matrices.transpose(0, 2, 1) if flip else matrices)
        wide = array.shape[2]
        stored.append(array)
        described.append(Matrix(on_device(array), array[0].size, *((1, wide) if flip else (wide, 1))))
    return stored, described, a @ b


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 5, 2), (4, 1, 3), (3, 2, 1), (1, 1, 1)])
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
def test_products_are_those_of_numpy(
    library: Library, turned: tuple[bool, bool], sizes: tuple[int, int, int], accumulate: bool, batch: int
) -> None:
    from graphflow._core.codegen.gpu.kernels.cublas_lt import product_call
    from graphflow._core.codegen.gpu.kernels.matmul import PlacedProduct

    stored, described, product = operands(sizes, turned, batch)
    c = np.random.default_rng(1).random((batch, *sizes[:2]), np.float32)
    expected = product + c if accumulate else product
    if not accumulate:
        c.fill(np.nan)
    call = product_call(0, PlacedProduct("float32", sizes, *described, on_device(c), batch, accumulate))
    assert call is not None
    call.function(42)
    np.testing.assert_allclose(c, expected, 1e-5, 1e-6)
    assert library.streams == [42]
    assert stored


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("batch", [1, 3])
def test_bias_and_relu(library: Library, biased: bool, relu: bool, batch: int) -> None:
    from graphflow._core.codegen.gpu.kernels.cublas_lt import product_call
    from graphflow._core.codegen.gpu.kernels.matmul import PlacedProduct

    stored, described, expected = operands((4, 3, 2), (False, False), batch)
    bias = np.array([0.5, -1, 2], np.float32)
    expected = expected + bias if biased else expected
    c = np.full((batch, 4, 3), np.nan, np.float32)
    given = on_device(bias) if biased else None
    call = product_call(
        0, PlacedProduct("float32", (4, 3, 2), *described, on_device(c), batch, False, given, relu)
    )
    assert call is not None
    call.function(1)
    np.testing.assert_allclose(c, np.maximum(expected, 0) if relu else expected, 1e-5, 1e-6)
    assert stored


def test_what_the_library_is_told_is_given_back(library: Library) -> None:
    from graphflow._core.codegen.gpu.kernels.cublas_lt import product_call
    from graphflow._core.codegen.gpu.kernels.matmul import PlacedProduct

    stored, described, _ = operands((2, 3, 4), (False, False), 1)
    c = np.empty((2, 3), np.float32)
    call = product_call(0, PlacedProduct("float32", (2, 3, 4), *described, on_device(c)))
    assert call is not None
    assert len(library.told) == 5
    del call
    gc.collect()
    assert not library.told
    assert stored


def test_what_the_library_cannot_do_is_left_to_numba(library: Library) -> None:
    from graphflow._core.codegen.gpu.kernels.cublas_lt import layout, product_call
    from graphflow._core.codegen.gpu.kernels.matmul import PlacedProduct

    assert layout(4, 1, 3, 4) == (False, 4)
    assert layout(1, 3, 3, 4) == (True, 3)
    assert layout(8, 2, 3, 4) is None
    assert layout(0, 1, 3, 4) is None  # One row, repeated.
    _, described, _ = operands((2, 3, 4), (False, False), 1)
    library.finds = 0
    c = np.empty((2, 3), "f")
    assert product_call(0, PlacedProduct("float32", (2, 3, 4), *described, on_device(c))) is None


@pytest.mark.gpu
@pytest.mark.parametrize("turned", [(False, False), (True, True)])
@pytest.mark.parametrize("sizes", [(128, 256, 784), (33, 7, 65), (1, 10, 3)])
@pytest.mark.parametrize("biased, relu", [(False, False), (True, False), (False, True), (True, True)])
def test_the_library_on_a_gpu(
    turned: tuple[bool, bool], sizes: tuple[int, int, int], biased: bool, relu: bool
) -> None:
    from graphflow._core.codegen.gpu.kernels import cublas_lt
    from graphflow._core.codegen.gpu.kernels.matmul import Matrix, PlacedProduct
    from graphflow._core.codegen.gpu.toolkit import device

    if cublas_lt.library() is None:
        pytest.skip("cuBLASLt is not installed")
    stored, described, expected = operands(sizes, turned, 2)
    stored[0][0, 0, 0] = np.nan  # It must come through the relu.
    expected[0, 0] = np.nan
    bias = np.random.default_rng(2).normal(size=sizes[1]).astype("f")
    expected = expected + bias if biased else expected
    expected = np.where(expected < 0, 0, expected) if relu else expected
    gpu, c = device(0), np.full_like(expected, np.nan)
    with gpu.current():
        blocks = [gpu.allocate(v.size, "float32") for v in (*stored, c, bias)]
        for block, values in zip(
            blocks, (*stored, c, bias), strict=True
        ):  # Without `accumulate` c is not read.
            gpu.upload(block, values.reshape(-1))
        placed = [
            Matrix(block, m.batch, m.row, m.column) for block, m in zip(blocks, described, strict=False)
        ]
        added = blocks[3] if biased else None
        call = cublas_lt.product_call(
            0, PlacedProduct("float32", sizes, *placed, blocks[2], 2, False, added, relu)
        )
        assert call is not None
        gpu.launch(call)
        gpu.download(blocks[2], c.reshape(-1))
        gpu.wait()
    np.testing.assert_allclose(c, expected, 1e-4, 1e-4)
