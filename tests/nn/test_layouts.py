"""Protects images with their channels first: every op gives the values and gradients that it gives for NHWC."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf

OPS: dict[str, Callable[[Any, str], Any]] = {
    "conv2d": lambda x, layout: gf.nn.conv2d(x, np.ones((2, 2, 2, 3)), 2, "SAME", data_format=layout),
    "dilated": lambda x, layout: gf.nn.conv2d(
        x, np.arange(8.0).reshape(2, 2, 2, 1), 1, "SAME", data_format=layout, dilations=2
    ),
    "depthwise": lambda x, layout: gf.nn.depthwise_conv2d(
        x, np.arange(16.0).reshape(2, 2, 2, 2), [1, 1, 1, 1], "VALID", data_format=layout
    ),
    "max_pool": lambda x, layout: gf.nn.max_pool(x, 2, 1, "SAME", data_format=layout),
    "avg_pool": lambda x, layout: gf.nn.avg_pool(x, 2, 1, "SAME", data_format=layout),
    "bias_add": lambda x, layout: gf.nn.bias_add(x, [1.0, -2.0], data_format=layout),
    "fused_batch_norm": lambda x, layout: gf.nn.fused_batch_norm(
        x, np.array([1.0, 2.0]), np.array([0.5, 0.0]), data_format=layout
    )[0],
}


@pytest.mark.parametrize("name", OPS)
def test_channels_first_equals_channels_last(name: str) -> None:
    image = np.random.default_rng(3).normal(size=(2, 5, 4, 2))
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.constant(image)
        last = OPS[name](x, "NHWC")
        first = gf.transpose(OPS[name](gf.transpose(x, [0, 3, 1, 2]), "NCHW"), [0, 2, 3, 1])
        assert first.shape.as_list() == last.shape.as_list()
        gradients = [gf.gradients(gf.reduce_sum(gf.square(y) * y), x)[0] for y in (last, first)]
        values = session.run([last, first, *gradients])
        np.testing.assert_allclose(values[1], values[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(values[3], values[2], rtol=1e-10, atol=1e-10)
