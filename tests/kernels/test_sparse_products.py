"""Protects products of sparse and dense matrices: each way to sum gives the same, for every number of columns."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.complex64])
@pytest.mark.parametrize("columns", [0, 1, 3, 32, 33, 70])
@pytest.mark.parametrize(
    ("adjoint_a", "adjoint_b"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_a_product_is_that_of_the_dense_matrices(
    dtype: type, columns: int, adjoint_a: bool, adjoint_b: bool
) -> None:
    random = np.random.RandomState(columns)
    left = np.where(random.rand(7, 5) < 0.4, random.randint(1, 9, (7, 5)), 0).astype(dtype)
    right = random.randint(-5, 6, (7 if adjoint_a else 5, columns)).astype(dtype)
    if dtype is np.complex64:
        left, right = left * dtype(1 + 2j), right * dtype(2 - 1j)
    places = np.argwhere(left)[::-1].copy()
    expected = (left.conj().T if adjoint_a else left) @ right
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        sparse = gf.SparseTensor(places, left[tuple(places.T)], [7, 5])
        product = gf.sparse_tensor_dense_matmul(
            sparse, right.conj().T if adjoint_b else right, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )
        found = session.run(product)
    assert found.dtype == dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(found, expected)


def test_many_small_numbers_are_summed_exactly_enough() -> None:
    count = 200_000
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        places = np.stack([np.zeros(count, np.int64), np.arange(count)], 1)
        sparse = gf.SparseTensor(places, np.full(count, 0.1, np.float32), [1, count])
        found = session.run(gf.sparse_tensor_dense_matmul(sparse, np.ones([count, 1], np.float32)))
    np.testing.assert_allclose(found, [[np.float32(0.1) * np.float64(count)]], rtol=1e-7)
