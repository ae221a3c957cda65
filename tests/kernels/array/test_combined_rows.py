"""Protects rows that are combined on NumPy: each sees the same sums in the same order however often it repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.kernels.array.indexing import combine_rows


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.maximum], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize("width", [(), (0,), (1,), (64,), (3, 5)])
@pytest.mark.parametrize(
    ("count", "names"), [(0, 9), (3, 2), (900, 5000), (900, 300), (900, 90), (900, 20), (900, 1)], ids=str
)
def test_rows_are_combined_one_after_the_other(
    count: int, names: int, width: tuple[int, ...], dtype: Any, ufunc: Any
) -> None:
    random = np.random.RandomState(count + names)
    table = (random.randn(5000, *width) * 3).astype(dtype)
    rows = (random.randn(count, *width) * 3).astype(dtype)
    at = random.randint(0, names, count).astype(np.int32)
    expected = table.copy()
    ufunc.at(expected, at, rows)
    combine_rows(ufunc, table, at, rows)
    np.testing.assert_array_equal(table, expected)


def test_memory_of_any_layout() -> None:
    random = np.random.RandomState(2)
    for table in (np.asfortranarray(random.rand(30, 4)), random.rand(30, 8)[:, ::2]):
        expected, at, rows = table.copy(), random.randint(0, 9, 50), random.rand(4, 50).T
        np.add.at(expected, at, rows)
        combine_rows(np.add, table, at, rows)
        np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize(
    ("update", "ufunc"),
    [
        (gf.scatter_add, np.add),
        (gf.scatter_sub, np.subtract),
        (gf.scatter_mul, np.multiply),
        (gf.scatter_div, np.divide),
        (gf.scatter_min, np.minimum),
        (gf.scatter_max, np.maximum),
    ],
)
@pytest.mark.parametrize("shape", [(300, 4), (2, 3), ()])
def test_variables_take_indices_of_any_shape_and_one_row_for_all(
    shape: tuple[int, ...], update: Any, ufunc: Any
) -> None:
    random = np.random.RandomState(1)
    table = random.rand(50, 8).astype(np.float32) + 0.5
    at = np.asarray(random.randint(0, 50, shape), np.int64)
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        variable = gf.Variable(table)
        for row in (random.rand(*shape, 8), random.rand(8)):
            row = np.broadcast_to((row * 0.5 + 0.75).astype(np.float32), (*shape, 8))
            expected = table.copy()
            ufunc.at(expected, at, row)
            session.run(variable.initializer)
            np.testing.assert_array_equal(session.run(update(variable, at, row)), expected)
