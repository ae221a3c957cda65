"""Protects sums over runs of rows and distinct integers in the NumPy tier: their values and their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphflow._core.kernels.array.indexing import reduce_rows
from graphflow._core.kernels.math.sorting import distinct

LENGTHS: dict[str, list[int]] = {
    "one": [5],
    "ones": [1] * 40,
    "short": [1, 3, 2, 8, 1, 5] * 300,
    "long": [4000, 3000, 1, 2500],
    "one long among short ones": [1] * 900 + [3000] + [2] * 900,
    "mixed": list(range(1, 130)),
}


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum])
@pytest.mark.parametrize("name", LENGTHS)
def test_rows_are_combined_in_their_order(name: str, ufunc: Any, shuffled: bool) -> None:
    lengths = LENGTHS[name]
    random = np.random.RandomState(3)
    ids = np.repeat(np.arange(len(lengths)) * 2, lengths).astype(np.int32)
    if shuffled:
        ids = ids[random.permutation(ids.size)]
    for dtype, tail in ((np.float32, (3,)), (np.float64, (2, 2)), (np.int32, (1,)), (np.float32, (0,))):
        rows = random.randint(-2, 3, (ids.size, *tail)).astype(dtype)
        if ufunc is not np.multiply and dtype != np.int32:
            rows += random.randn(*rows.shape).astype(dtype)
        if rows.size and dtype == np.float32:
            rows[-1, -1] = np.nan
        result = np.full((2 * len(lengths), *tail), ufunc.identity or 0, dtype)
        expected = result.copy()
        with np.errstate(all="ignore"):
            for i, row in zip(ids, rows, strict=True):
                expected[i] = ufunc(expected[i], row)
            found = reduce_rows(ufunc, ids, rows, result)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


NUMBERS: dict[str, Any] = {
    "a small range": np.random.RandomState(0).randint(-50, 50, 1000).astype(np.int32),
    "a wide range": np.random.RandomState(0).randint(-(2**31), 2**31 - 1, 1000).astype(np.int32).repeat(2),
    "the lowest": np.array([-(2**63), -(2**63) + 3, -(2**63)], np.int64),
    "both ends": np.array([2**63 - 1, -(2**63), 2**63 - 1], np.int64),
    "the highest": np.array([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 3], np.uint64),
    "bytes": np.array([255, 0, 7, 255, 7], np.uint8),
    "signed bytes": np.array([-128, 127, -128, 0], np.int8),
    "one": np.array([4]),
    "none": np.array([], np.int32),
    "floats": np.array([2.5, -1.0, 2.5, 0.0]),
    "texts": np.array([b"b", b"a", b"b"], object),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_distinct_elements_come_in_the_order_of_their_first_appearance(name: str) -> None:
    x = NUMBERS[name]
    expected = list(dict.fromkeys(x.tolist()))
    values, places, counts = distinct(x)
    assert values.dtype == x.dtype and values.tolist() == expected
    assert places.tolist() == [expected.index(v) for v in x.tolist()]
    assert counts.tolist() == [x.tolist().count(v) for v in expected]
