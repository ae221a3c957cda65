"""Protects convolutions of volumes that are done in pieces, and their gradients, against sums written out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graphflow as gf

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, int, str]] = {
    # volumes, filter, stride, dilation, padding
    "in pieces": ((2, 40, 31, 17, 3), (3, 2, 3, 3, 2), 1, 1, "SAME"),
    "a plane is a piece": ((2, 4, 90, 80, 4), (2, 3, 3, 4, 3), 1, 1, "VALID"),
    "strides": ((3, 9, 8, 7, 2), (3, 3, 2, 2, 3), 2, 1, "SAME"),
    "dilated": ((1, 9, 8, 7, 2), (2, 3, 3, 2, 2), 1, 2, "SAME"),
    "dilated, no padding": ((1, 9, 8, 7, 2), (2, 3, 3, 2, 1), 1, 2, "VALID"),
    "points": ((2, 3, 3, 3, 5), (1, 1, 1, 5, 4), 1, 1, "SAME"),
    "no volumes": ((0, 3, 3, 3, 2), (2, 2, 2, 2, 2), 1, 1, "SAME"),
}


def written_out(x: Any, w: Any, stride: int, dilation: int, padding: str) -> Any:
    """The convolution, a sum over the elements of the filter."""
    outputs, before = [], []
    for n, k in zip(x.shape[1:4], w.shape[:3], strict=True):
        extent = (k - 1) * dilation + 1
        count = -(-n // stride) if padding == "SAME" else max(0, -(-(n - extent + 1) // stride))
        outputs.append(count)
        before.append(max(0, (count - 1) * stride + extent - n) // 2 if padding == "SAME" else 0)
    room = np.pad(x, [(0, 0), *((b, 2 * dilation * 3 + stride) for b in before), (0, 0)])
    result = np.zeros((x.shape[0], *outputs, w.shape[4]), np.float64)
    for place in itertools.product(*map(range, w.shape[:3])):
        cut = [
            slice(k * dilation, k * dilation + (n - 1) * stride + 1 if n else 0, stride)
            for k, n in zip(place, outputs, strict=True)
        ]
        part = room[(slice(None), *cut)]
        result += part[:, : outputs[0], : outputs[1], : outputs[2]] @ w[place]
    return result


@pytest.mark.parametrize("dtype", [gf.float64, gf.float32, gf.float16], ids=lambda d: d.name)
@pytest.mark.parametrize("name", CASES)
def test_a_convolution_is_the_sum_over_its_filter(name: str, dtype: Any) -> None:
    shape, size, stride, dilation, padding = CASES[name]
    random = np.random.RandomState(1)
    x, w = (random.randn(*s).astype(dtype.as_numpy_dtype) for s in (shape, size))
    steps, rates = ([1, n, n, n, 1] for n in (stride, dilation))
    tolerance = {"float64": 1e-10, "float32": 1e-4, "float16": 2e-2}[dtype.name]
    with gf.Graph().as_default(), gf.Session() as session:
        volumes, filters = gf.placeholder(dtype, shape), gf.placeholder(dtype, size)
        y = gf.nn.conv3d(volumes, filters, steps, padding, dilations=rates)
        expected = written_out(x.astype("d"), w.astype("d"), stride, dilation, padding)
        g = random.randn(*expected.shape).astype(dtype.as_numpy_dtype)
        gradients = gf.gradients(y, [volumes, filters], gf.constant(g))
        found, *back = session.run([y, *gradients], {volumes: x, filters: w})
    assert found.dtype == x.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, tolerance, tolerance * 10)
    # A convolution is linear in each: its gradient is what gives the same product with any other.
    for gradient, operand in zip(back, (x, w), strict=True):
        assert gradient.shape == operand.shape and gradient.dtype == operand.dtype
        other = random.randn(*operand.shape)
        moved = (other, w) if operand is x else (x, other)
        wide = [m.astype("d") for m in moved]
        product = (written_out(wide[0], wide[1], stride, dilation, padding) * g).sum()
        size_of = np.sqrt(max(1, gradient.size))
        np.testing.assert_allclose(
            (gradient.astype("d") * other).sum(), product, tolerance, tolerance * 20 * size_of
        )
