"""Protects convolutions of volumes in compiled code: their values and gradients are those of the NumPy tier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, int, int], int, str]] = {
    # volumes, filter, strides, dilation, padding
    "one volume": ((1, 6, 5, 7, 3), (3, 3, 3, 3, 4), (1, 1, 1), 1, "SAME"),
    "several": ((3, 6, 5, 7, 3), (3, 2, 4, 3, 2), (1, 1, 1), 1, "SAME"),
    "no padding": ((2, 6, 5, 7, 2), (2, 3, 3, 2, 3), (1, 1, 1), 1, "VALID"),
    "dilated": ((2, 7, 6, 8, 2), (2, 3, 2, 2, 3), (1, 1, 1), 2, "SAME"),
    "dilated, no padding": ((1, 7, 6, 8, 2), (2, 3, 2, 2, 3), (1, 1, 1), 2, "VALID"),
    "strides": ((2, 7, 6, 8, 2), (3, 3, 2, 2, 3), (2, 2, 2), 1, "SAME"),
    "strides in a plane": ((2, 7, 6, 8, 2), (3, 3, 2, 2, 3), (1, 2, 3), 1, "VALID"),
    "strides between planes": ((1, 7, 6, 8, 2), (3, 3, 2, 2, 3), (2, 1, 1), 1, "SAME"),
    "points": ((2, 3, 4, 2, 5), (1, 1, 1, 5, 4), (1, 1, 1), 1, "SAME"),
    "a filter larger than the volume": ((1, 2, 2, 3, 2), (5, 3, 5, 2, 2), (1, 1, 1), 1, "SAME"),
    "one place": ((2, 3, 3, 3, 1), (3, 3, 3, 1, 1), (1, 1, 1), 1, "VALID"),
}


def model(name: str, dtype: Any) -> Callable[[], Any]:
    shape, size, strides, dilation, padding = CASES[name]

    def build() -> Any:
        random = np.random.RandomState(1)
        values = [random.randn(*s).astype(dtype.as_numpy_dtype) for s in (shape, size)]
        x, w = (gf.placeholder(dtype, v.shape) for v in values)
        rates = [1, dilation, dilation, dilation, 1]
        y = gf.nn.conv3d(x * 1.5, w * 2, [1, *strides, 1], padding, dilations=rates)
        weights = gf.constant(np.cos(np.arange(y.shape.num_elements())).reshape(y.shape.as_list()), dtype)
        return [y + 1, *gf.gradients(gf.tanh(y * 0.1) * weights, [x, w])], dict(
            zip((x, w), values, strict=True)
        )

    return build


@pytest.mark.parametrize("dtype", [gf.float32, gf.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("name", CASES)
def test_a_convolution_and_its_gradients(name: str, dtype: Any) -> None:
    check(model(name, dtype), tolerance=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_what_is_native(name: str) -> None:
    """The gradient of volumes is, where windows are a step apart."""
    kept = [] if CASES[name][2] == (1, 1, 1) else ["Conv3DBackpropInputV2"]
    assert left_to_numpy(model(name, gf.float32)) == kept


def test_the_gradients_are_those_of_differences() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")):
        x, w = gf.placeholder(gf.float64, [2, 4, 3, 4, 2]), gf.placeholder(gf.float64, [3, 2, 2, 2, 3])
        y = gf.nn.conv3d(x, w, [1] * 5, "SAME")
        shapes = [[2, 4, 3, 4, 2], [3, 2, 2, 2, 3]]
        errors = gf.test.compute_gradient_error([x, w], shapes, y, [2, 4, 3, 4, 3], delta=1e-5)
        assert np.max(errors) < 1e-7
