"""Protects matrix products: grids, which the simulator takes of any size and a GPU does not; depths that several blocks
share; tiles that stick out; operands of any order.
"""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.device


def test_any_number_of_matrices_is_one_launch() -> None:
    from graphflow._core.codegen.gpu.kernels.matmul import Matrix, PlacedProduct, product_launches
    from graphflow._core.codegen.gpu.toolkit import device

    with device(0).current():
        block = device(0).allocate(1, "float32")
    many = 70_000
    first, second = Matrix(block, 6, 3, 1), Matrix(block, 6, 2, 1)
    [launch] = product_launches(PlacedProduct("float32", (2, 2, 3), first, second, block, many))
    rows = launch.blocks if isinstance(launch.blocks, tuple) else (launch.blocks, 1)
    assert rows[0] * rows[1] == many
    assert rows[1] < 2**16


@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 7, 3), (17, 9, 6)])
@pytest.mark.parametrize("batch", [1, 3])
def test_each_block_finds_its_matrix_and_its_tile(sizes: tuple[int, int, int], batch: int) -> None:
    from graphflow._core.codegen.gpu.kernels.matmul import Matrix, PlacedProduct, product_launches
    from graphflow._core.codegen.gpu.toolkit import device

    rows, columns, depth = sizes
    rng = np.random.default_rng(sum(sizes))
    a, b = (rng.random((batch, *shape)).astype("f") for shape in ((rows, depth), (depth, columns)))
    gpu, c = device(0), np.full((batch, rows, columns), np.nan, "f")
    with gpu.current():
        blocks = [gpu.allocate(v.size, "float32") for v in (a, b, c)]
        for block, values in zip(blocks, (a, b, c), strict=True):
            gpu.upload(block, values.reshape(-1))
        first = Matrix(blocks[0], rows * depth, depth, 1)
        second = Matrix(blocks[1], depth * columns, columns, 1)
        for launch in product_launches(PlacedProduct("float32", sizes, first, second, blocks[2], batch)):
            gpu.launch(launch)
        gpu.download(blocks[2], c.reshape(-1))
        gpu.wait()
    np.testing.assert_allclose(c, a @ b, 1e-5)


def product(
    sizes: tuple[int, int, int], batch: int, turned: tuple[bool, bool], dtype: str, **more: bool
) -> tuple[np.ndarray, np.ndarray]:
    """What the GPU makes of a product, with its depth cut where it is to be, and what NumPy does."""
    from graphflow._core.codegen.gpu.kernels.matmul import (
        Matrix,
        PlacedProduct,
        product_launches,
        product_layout,
    )
    from graphflow._core.codegen.gpu.toolkit import device

    rows, columns, depth = sizes
    rng = np.random.default_rng(sum(sizes))
    a, b, bias = (
        rng.normal(size=shape).astype(dtype)
        for shape in ((batch, rows, depth), (batch, depth, columns), columns)
    )
    c = rng.normal(size=(batch, rows, columns)).astype(dtype)
    expected = a.astype("f8") @ b + (c if more.get("accumulate") else 0) + (bias if more.get("biased") else 0)
    expected = np.maximum(expected, 0) if more.get("relu") else expected
    stored = [v.transpose(0, 2, 1).copy() if flip else v for v, flip in zip((a, b), turned, strict=True)]
    pieces, gpu = product_layout(dtype, sizes, batch).pieces, device(0)
    with gpu.current():
        blocks = [gpu.allocate(v.size, dtype) for v in (*stored, c, bias)]
        for block, values in zip(blocks, (*stored, c, bias), strict=True):
            gpu.upload(block, values.reshape(-1))
        strides = [(1, rows) if turned[0] else (depth, 1), (1, depth) if turned[1] else (columns, 1)]
        first = Matrix(blocks[0], rows * depth, *strides[0])
        second = Matrix(blocks[1], depth * columns, *strides[1])
        partial = gpu.allocate(pieces * c.size, dtype)
        last = (
            more.get("accumulate", False),
            blocks[3] if more.get("biased") else None,
            more.get("relu", False),
        )
        placed = PlacedProduct(dtype, sizes, first, second, blocks[2], batch, *last)
        launches = product_launches(placed, partial)
        assert len(launches) == 1 + (pieces > 1)
        for launch in launches:
            gpu.launch(launch)
        gpu.download(blocks[2], c.reshape(-1))
        gpu.wait()
    return c, expected


@pytest.mark.parametrize("more", [{}, {"accumulate": True}, {"biased": True, "relu": True}])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(("sizes", "batch"), [((9, 8, 21), 1), ((3, 5, 40), 2), ((20, 17, 8), 1)])
def test_a_depth_that_blocks_share(
    sizes: tuple[int, int, int], batch: int, turned: tuple[bool, bool], more: dict[str, bool]
) -> None:
    found, expected = product(sizes, batch, turned, "float32", **more)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("sizes", "batch"), [((65, 130, 700), 1), ((128, 128, 64), 130), ((1, 64, 4096), 1), ((300, 260, 33), 1)]
)
def test_products_of_a_gpu(
    sizes: tuple[int, int, int], batch: int, turned: tuple[bool, bool], dtype: str, few_dtypes: bool
) -> None:
    if few_dtypes and dtype != "float32" and turned != (False, True):
        pytest.skip("float64 is taken for one order of the operands alone: --few-dtypes")
    found, expected = product(sizes, batch, turned, dtype)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-3 if dtype == "float32" else 1e-9)
