"""Protects the grids of matrix products, which the simulator takes of any size and a GPU does not."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.device


def test_any_number_of_matrices_is_one_launch() -> None:
    from graphflow.kernels.cuda.matmul import Matrix, product_launch
    from graphflow.kernels.cuda.toolkit import device

    with device(0).current():
        block = device(0).allocate(1, "float32")
    many = 70_000
    launch = product_launch("float32", (2, 2, 3), Matrix(block, 6, 3, 1), Matrix(block, 6, 2, 1), block, many)
    rows = launch.blocks if isinstance(launch.blocks, tuple) else (launch.blocks, 1)
    assert rows[0] * rows[1] == many
    assert rows[1] < 2**16


@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 7, 3), (17, 9, 6)])
@pytest.mark.parametrize("batch", [1, 3])
def test_each_block_finds_its_matrix_and_its_tile(sizes: tuple[int, int, int], batch: int) -> None:
    from graphflow.kernels.cuda.matmul import Matrix, product_launch
    from graphflow.kernels.cuda.toolkit import device

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
        gpu.launch(product_launch("float32", sizes, first, second, blocks[2], batch))
        gpu.download(blocks[2], c.reshape(-1))
        gpu.wait()
    np.testing.assert_allclose(c, a @ b, 1e-5)
