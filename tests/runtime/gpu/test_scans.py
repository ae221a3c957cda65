"""Protects scans on a GPU: pieces of a row are carried on, in both directions, with and without the element itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both

pytestmark = pytest.mark.device
SHAPES = {"one": ([1], 0), "pieces": ([3, 37], 1), "lines": ([5, 7, 3], 1), "last of one": ([4, 1], -1)}


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_scans_agree_with_the_cpu(name: str, reverse: bool, exclusive: bool) -> None:
    shape, axis = SHAPES[name]

    def build() -> tuple[Any, dict[Any, Any]]:
        x, n = gf.placeholder(gf.float32, shape), gf.placeholder(gf.int64, shape)
        random = np.random.default_rng(len(name))
        feeds = {x: random.normal(size=shape), n: random.integers(-9, 9, shape)}
        options = {"axis": axis, "reverse": reverse, "exclusive": exclusive}
        functions = (gf.cumsum, gf.cumprod, gf.math.cumulative_logsumexp)
        return [*(f(x, **options) for f in functions), gf.cumsum(n, **options)], feeds

    cpu, gpu = on_both(build, 1)
    for got, wanted in zip(gpu[0], cpu[0], strict=True):
        np.testing.assert_allclose(got, wanted, 1e-5, 1e-5)


def test_what_is_infinite_or_no_number_stays_so() -> None:
    rows = np.array([[-np.inf, -np.inf, 0, 1, 2], [np.inf, np.inf, 1, -np.inf, 0], [0, np.nan, 1, 2, 3]], "f")

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, rows.shape)
        y = gf.placeholder(gf.float32, rows.T.shape)
        found = [gf.math.cumulative_logsumexp(x, 1), gf.math.cumulative_logsumexp(y, 0), gf.cumsum(x, 1)]
        return found, {x: rows, y: rows.T}

    cpu, gpu = on_both(build, 1)
    for got, wanted in zip(gpu[0], cpu[0], strict=True):
        np.testing.assert_allclose(got, wanted, 1e-6, 1e-6)
