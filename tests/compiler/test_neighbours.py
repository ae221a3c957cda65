"""Protects what takes elements from their neighbours in compiled code: nearest resizes, response normalisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

FLAGS = {"plain": (False, False), "corners": (True, False), "centres": (False, True)}
SIZES = {
    "twice": ((2, 4, 5), (8, 10)),
    "smaller": ((1, 7, 6), (3, 4)),
    "one": ((1, 5, 3), (1, 1)),
    "from one": ((2, 1, 1), (9, 3)),
    "the same": ((2, 3, 3), (3, 3)),
    "odd": ((1, 19, 3), (23, 2)),
}


def resized(shape: tuple[int, ...], size: tuple[int, int], flags: str, dtype: Any) -> Callable[[], Any]:
    align, half = FLAGS[flags]

    def model() -> Any:
        values = np.random.RandomState(3).randint(0, 99, shape).astype(dtype.as_numpy_dtype)
        x = gf.placeholder(dtype, shape)
        y = gf.image.resize_nearest_neighbor(x + 1, size, align_corners=align, half_pixel_centers=half)
        if not dtype.is_floating:
            return [y + 1], {x: values}
        weights = gf.constant(np.cos(np.arange(np.prod(y.shape.as_list()))).reshape(y.shape.as_list()), dtype)
        return [y * 2, gf.gradients(y * weights, x)[0]], {x: values}

    return model


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("size", SIZES)
def test_nearest(size: str, flags: str) -> None:
    shape, new = SIZES[size]
    for channels in (1, 3, 20):
        model = resized((*shape, channels), new, flags, gf.float32)
        check(model)
        assert left_to_numpy(model) == []


@pytest.mark.parametrize("dtype", [gf.float64, gf.int32, gf.uint8, gf.int64], ids=lambda d: d.name)
def test_nearest_of_other_dtypes(dtype: Any) -> None:
    model = resized((2, 4, 5, 3), (9, 7), "plain", dtype)
    check(model)
    assert left_to_numpy(model) == []


def test_nearest_is_tensorflows() -> None:
    """TensorFlow 1.15.5's rows of 0 to 6 as 4 and as 10 pixels, by the flags."""
    expected = {
        "plain": ([0, 1, 3, 5], [0, 0, 1, 2, 2, 3, 4, 4, 5, 6]),
        "corners": ([0, 2, 4, 6], [0, 1, 1, 2, 3, 3, 4, 5, 5, 6]),
        "centres": ([0, 2, 4, 6], [0, 1, 1, 2, 3, 3, 4, 5, 5, 6]),
    }
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        x = gf.placeholder(gf.float32, [1, 7, 1, 1])
        found = {
            flags: [
                gf.image.resize_nearest_neighbor(x, [n, 1], align_corners=align, half_pixel_centers=half)
                for n in (4, 10)
            ]
            for flags, (align, half) in FLAGS.items()
        }
        fed = {x: np.arange(7, dtype="f").reshape(1, 7, 1, 1)}
        for _ in range(2):
            got = session.run(found, fed)
    for flags, rows in expected.items():
        assert [g.reshape(-1).tolist() for g in got[flags]] == list(map(list, rows)), flags


def responses(
    shape: tuple[int, ...], dtype: Any = gf.float32, data: Any = None, **keywords: Any
) -> Callable[[], Any]:
    def model() -> Any:
        values = np.random.RandomState(5).randn(*shape) if data is None else data
        x = gf.placeholder(dtype, shape)
        y = gf.nn.lrn(x * 1.5, **keywords)
        weights = gf.constant(np.cos(np.arange(np.prod(shape))).reshape(shape), dtype)
        return [y + 1, gf.gradients(y * weights, x)[0]], {x: values.astype(dtype.as_numpy_dtype)}

    return model


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"depth_radius": 2, "bias": 2.0, "alpha": 1e-3, "beta": 0.75},
        {"depth_radius": 0, "beta": 1.0},
        {"depth_radius": 40, "bias": 0.3, "alpha": 0.2, "beta": -0.4},
    ],
    ids=["defaults", "alexnet", "alone", "all"],
)
@pytest.mark.parametrize("shape", [(2, 3, 5, 8), (1, 13, 11, 1), (1, 1, 1, 33)])
def test_local_response_normalisation(shape: tuple[int, ...], keywords: dict[str, float]) -> None:
    for dtype in (gf.float32, gf.float64):
        check(responses(shape, dtype, **keywords))
    assert left_to_numpy(responses(shape, **keywords)) == []


def test_its_gradient_is_that_of_differences() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")):
        x = gf.placeholder(gf.float64, [2, 2, 3, 7])
        y = gf.nn.lrn(x, depth_radius=2, bias=0.7, alpha=0.3, beta=0.75)
        assert gf.test.compute_gradient_error(x, [2, 2, 3, 7], y, [2, 2, 3, 7], delta=1e-5) < 1e-7


def test_what_is_no_number_stays_where_neighbours_reach() -> None:
    data = np.ones((1, 1, 2, 9), "f")
    data[0, 0, 0, 4] = np.nan
    data[0, 0, 1, 0] = np.inf
    check(responses(data.shape, data=data, depth_radius=1))
