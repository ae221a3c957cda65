"""Protects products of many small matrices in compiled code, for which no BLAS is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, compiled_plans, left_to_numpy

SIZES = [(3, 4, 2), (1, 1, 1), (8, 8, 4), (1, 8, 1), (2, 1, 5), (8, 8, 8)]
"""Rows, depth and columns; the last ones are BLAS's."""


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [gf.float32, gf.float64])
def test_small_products(sizes: tuple[int, int, int], dtype: Any) -> None:
    """Of operands stored either way, repeated and apart in memory, with their gradients."""
    rows, depth, columns = sizes

    def model() -> Any:
        random, fetches = np.random.RandomState(5), []
        x, y = gf.placeholder(dtype, [33, rows, depth]), gf.placeholder(dtype, [33, depth, columns])
        for flip_x in (False, True):
            for flip_y in (False, True):
                a = gf.transpose(x * 1, [0, 2, 1]) if flip_x else x * 1
                b = gf.transpose(y * 1, [0, 2, 1]) if flip_y else y * 1
                z = gf.matmul(a, b, transpose_a=flip_x, transpose_b=flip_y)
                fetches += [z, *gf.gradients(gf.reduce_sum(gf.sin(z)), [x, y])]
        fetches += [gf.matmul(x[::2], y[::2]), gf.matmul(x * 2, y[:1] * 1)]
        return fetches, {p: random.randn(*p.shape.as_list()) for p in (x, y)}

    check(model, runs=2, tolerance=1e-5 if dtype == gf.float32 else 1e-13)
    assert left_to_numpy(model) == []


def test_a_number_that_is_no_number_stays_where_it_is() -> None:
    values = np.ones([4, 2, 2], "f")
    values[1, 0, 1], values[2, 1, 0] = np.nan, np.inf
    found = {}
    for tier in ("never", "always"):
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            x = gf.placeholder(gf.float32, [None, 2, 2])
            product = gf.matmul(x * 1, x * 0.5)
            found[tier] = [session.run(product, {x: values[:n]}) for n in (4, 4, 3, 2, 1)]
            if tier == "always":
                assert compiled_plans(session)
    for one, other in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(one, other)
