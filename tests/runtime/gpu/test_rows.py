"""Protects what a block finds in a row: the place of the largest or the smallest, the first of equals, NaN first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both

pytestmark = pytest.mark.device


@pytest.mark.parametrize("columns", [32, 33, 71])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_places_of_the_largest_and_the_smallest(columns: int, dtype: str) -> None:
    rng = np.random.default_rng(columns)
    rows = rng.integers(-3, 4, (5, columns)).astype(dtype)
    rows[3] = rows[3, 0]
    if dtype == "float32":
        rows[4, [7, 20]] = np.nan
        rows[1, [3, 30]] = np.inf

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(dtype, rows.shape)
        return [gf.argmax(x, 1), gf.argmin(x, 1, output_type=gf.int32)], {x: rows}

    with gf.Graph().as_default():
        cpu, gpu = on_both(build, 2)
    np.testing.assert_array_equal(cpu[1][0], rows.argmax(1))
    for got, wanted in zip(gpu[1], cpu[1], strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype
