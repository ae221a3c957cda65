"""Protects convolutions and pools of several numbers of channels: by fours where they are a multiple of four."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import session

pytestmark = pytest.mark.device


def results(device: str, channels: int, dtype: Any, strides: list[int], padding: str) -> list[Any]:
    """Outputs and gradients of two layers of windows."""
    rng = np.random.default_rng(channels)
    x = rng.normal(size=(2, 5, 4, channels)).round(1).astype(dtype.as_numpy_dtype)  # some are equal
    w = rng.normal(size=(3, 2, channels, 4)).astype(dtype.as_numpy_dtype)
    with gf.Graph().as_default(), gf.device(device):
        fed, kernel = gf.placeholder(dtype, x.shape), gf.Variable(w)
        largest = gf.nn.max_pool(fed, [1, 2, 3, 1], [1, *strides, 1], padding)
        average = gf.nn.avg_pool(fed, [1, 3, 2, 1], [1, *strides, 1], padding)
        layer = gf.nn.conv2d(fed, kernel, [1, *strides, 1], padding)
        own = gf.nn.depthwise_conv2d(fed, kernel[:, :, :, :1], [1, *strides, 1], padding)
        sums = [gf.reduce_sum(y**power) for y, power in ((largest, 2), (average, 3), (layer, 2), (own, 2))]
        fetches = [largest, average, layer, own, *gf.gradients(gf.add_n(sums), [fed, kernel])]
        with session() as one:
            one.run(gf.global_variables_initializer())
            for _ in range(3):
                found = one.run(fetches, {fed: x})
            return list(found)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("strides", "padding"), [([1, 1], "SAME"), ([2, 1], "VALID"), ([2, 3], "SAME")])
def test_windows(channels: int, dtype: str, strides: list[int], padding: str) -> None:
    kind = gf.as_dtype(dtype)
    expected = results("/cpu:0", channels, kind, strides, padding)
    for value, other in zip(results("/gpu:0", channels, kind, strides, padding), expected, strict=True):
        np.testing.assert_allclose(value, other, 1e-4 if dtype == "float32" else 1e-10, 1e-4)
