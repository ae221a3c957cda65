"""Protects updates of rows on NumPy: each row sees the same sums in the same order however often it repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphflow._core.kernels.state.state import rows_added


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize("width", [(), (1,), (64,), (3, 5)])
@pytest.mark.parametrize(
    ("count", "names"), [(0, 9), (3, 2), (900, 5000), (900, 300), (900, 90), (900, 20), (900, 1)], ids=str
)
def test_rows_are_added_one_after_the_other(
    count: int, names: int, width: tuple[int, ...], dtype: Any, sign: int
) -> None:
    random = np.random.RandomState(count + names)
    table = (random.randn(5000, *width) * 3).astype(dtype)
    rows = (random.randn(count, *width) * 3).astype(dtype)
    at = random.randint(0, names, count).astype(np.int32)
    expected = table.copy()
    (np.add if sign > 0 else np.subtract).at(expected, at, rows)
    rows_added(table, at, rows, sign)
    np.testing.assert_array_equal(table, expected)


@pytest.mark.parametrize("shape", [(300, 4), (2, 3), ()])
def test_indices_of_any_shape_and_one_row_for_all(shape: tuple[int, ...]) -> None:
    random = np.random.RandomState(1)
    table = random.rand(50, 8).astype(np.float32)
    at = np.asarray(random.randint(0, 50, shape), np.int64)
    expected = table.copy()
    row = random.rand(8).astype(np.float32)
    np.add.at(expected, at, row)
    rows_added(table, at, row, 1)
    np.testing.assert_array_equal(table, expected)
