"""Protects depthwise convolutions in compiled code, and convolutions and pools of float64, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, str, int]] = {
    "same": ((2, 5, 7, 3), (3, 3, 3, 1), 1, "SAME", 1),
    "valid, strided": ((1, 6, 5, 4), (2, 3, 4, 1), 2, "VALID", 1),
    "several filters": ((2, 4, 4, 2), (3, 2, 2, 3), 1, "SAME", 1),
    "strided, several": ((1, 7, 6, 1), (3, 3, 1, 2), 3, "SAME", 1),
    "dilated": ((1, 8, 9, 5), (3, 2, 5, 1), 1, "VALID", 2),
    "wide": ((2, 9, 11, 33), (5, 5, 33, 1), 1, "SAME", 1),
    "even, strided": ((2, 9, 12, 16), (4, 2, 16, 1), 2, "SAME", 1),
    "wide, strided, valid": ((1, 11, 13, 3), (3, 5, 3, 1), 3, "VALID", 1),
    "dilated to the edge": ((1, 7, 9, 5), (3, 3, 5, 1), 1, "SAME", 3),
    "many elements": ((1, 8, 9, 4), (4, 7, 4, 1), 1, "SAME", 1),
    "one row": ((1, 1, 30, 7), (1, 3, 7, 1), 1, "SAME", 1),
    "one pixel": ((3, 1, 1, 17), (3, 3, 17, 1), 1, "SAME", 1),
}


@pytest.mark.parametrize("name", CASES)
def test_depthwise(name: str) -> None:
    shape, window, stride, padding, rate = CASES[name]

    def model() -> Any:
        random, fetches, feeds = np.random.RandomState(5), [], {}
        for dtype in (gf.float32, gf.float64):
            x, w = (gf.placeholder(dtype, s) for s in (shape, window))
            feeds.update({p: random.randn(*p.shape.as_list()) for p in (x, w)})
            turned = gf.transpose(gf.transpose(x * 1, [3, 2, 1, 0]), [3, 2, 1, 0])
            y = gf.nn.depthwise_conv2d(turned, w * 1, [1, stride, stride, 1], padding, rate=[rate, rate])
            fetches += [y, *gf.gradients(gf.reduce_sum(gf.sin(y)), [x, w])]
        return fetches, feeds

    check(model, runs=2)
    assert left_to_numpy(model) == []


def test_float64_convolutions_and_pools() -> None:
    def model() -> Any:
        random = np.random.RandomState(6)
        x, w = gf.placeholder(gf.float64, [3, 7, 6, 4]), gf.placeholder(gf.float64, [3, 2, 4, 9])
        bias = gf.constant(random.randn(9))
        y = gf.nn.relu(gf.nn.bias_add(gf.nn.conv2d(x, w, [1, 2, 1, 1], "SAME"), bias))
        pools = [
            gf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
            gf.nn.avg_pool(y, [1, 3, 2, 1], [1, 1, 2, 1], "SAME"),
        ]
        loss = gf.add_n([gf.reduce_sum(gf.sin(p)) for p in pools])
        feeds = {p: random.randn(*p.shape.as_list()) for p in (x, w)}
        return [*pools, *gf.gradients(loss, [x, w])], feeds

    check(model, runs=2, tolerance=1e-12)
    assert left_to_numpy(model) == []
