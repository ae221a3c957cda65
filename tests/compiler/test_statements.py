"""Protects ops that are a statement over their elements by a rule of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphflow as gf
from graphflow._core.ops.math.sorting import bucketize
from tests.runtime.compiled.tiers import check, left_to_numpy


def test_buckets() -> None:
    """Of numbers on, between and beyond the boundaries, and of what is no number; integers are compared as float32."""

    def build() -> Any:
        fetches, feeds = [], {}
        for dtype in (gf.float32, gf.float64, gf.int32, gf.int64):
            x = gf.placeholder(dtype, [9])
            feeds[x] = np.array([0, 1, 2, 3, 20, 30, -5, 2**24 + 1, 40]).astype(dtype.as_numpy_dtype)
            if dtype.is_floating:
                feeds[x][6] = np.nan
            fetches.append(bucketize(x, [1.0, 2.0, 2.0, 20.0, 30.1, 2.0**24]) * 2)
        return fetches, feeds

    assert "Bucketize" not in left_to_numpy(build)
    check(build)
