"""Protects histograms: the bins that TensorFlow finds for each dtype, the same counts in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

DTYPES = (gf.float32, gf.float64, gf.int32, gf.int64)


@pytest.mark.parametrize(
    ("values", "limits", "bins", "counts"),
    [
        (np.array([-5, -2, -1, 0, 1, 2, 3, 3], np.int32), [-2, 3], 8, [2, 1, 0, 1, 1, 0, 1, 2]),
        (np.array([-5, -2, -1, 0, 1, 2, 3, 3], np.int64), [-2, 3], 3, [3, 2, 3]),
        (np.linspace(0, 5, 50).astype("f"), [0, 5], 7, [7, 7, 8, 6, 8, 7, 7]),
        (np.array([np.inf, -np.inf, 1e38, -1e38], "f"), [0, 5], 7, [2, 0, 0, 0, 0, 0, 2]),
    ],
)
def test_the_bins_are_tensorflows(values: Any, limits: list[int], bins: int, counts: list[int]) -> None:
    """The width of a bin is a float64, whatever the values are; as an integer it was 0, and a run raised."""
    bounds = np.array(limits, values.dtype)
    with gf.Graph().as_default(), gf.Session() as session:
        assert session.run(gf.histogram_fixed_width(values, bounds, bins)).tolist() == counts


@pytest.mark.parametrize("shape", [(), (1,), (7,), (1, 3, 5), (40_001,), (513, 129)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_of_compiled_code(shape: tuple[int, ...], dtype: Any) -> None:
    def model() -> Any:
        fed = np.array(np.random.RandomState(1).randn(*shape) * 9).astype(dtype.as_numpy_dtype)
        if dtype.is_floating and fed.size > 7:
            fed.reshape(-1)[:5] = np.nan, np.inf, -np.inf, -0.0, 3.0
        x = gf.placeholder(dtype, shape)
        limits = [np.array(pair, dtype.as_numpy_dtype) for pair in ((-3, 3), (0, 17))]
        narrow = gf.histogram_fixed_width(x, limits[0], 5)
        wide = gf.histogram_fixed_width(gf.transpose(x), limits[1], 1000, gf.int64)
        return [narrow, wide, gf.histogram_fixed_width(x[..., None][..., 0], limits[1], 1)], {x: fed}

    check(model)
    assert "HistogramFixedWidth" not in left_to_numpy(model)


def test_of_no_values_and_of_a_range_that_is_computed() -> None:
    def model() -> Any:
        x, low = gf.placeholder(gf.float32, [3, None]), gf.placeholder(gf.float32, [])
        limits = gf.stack([low, low + 2.0])
        return [gf.histogram_fixed_width(x, [0.0, 1.0], 4), gf.histogram_fixed_width(x, limits, 4)], {
            x: np.ones([3, 0], "f"),
            low: 0.5,
        }

    check(model)


@pytest.mark.parametrize("limits", [[1.0, 1.0], [2.0, 1.0]])
def test_a_range_of_nothing_is_an_error(limits: list[float]) -> None:
    for compiled in ("never", "always"):
        with gf.Graph().as_default():
            found = gf.histogram_fixed_width(gf.square(gf.ones([5])), limits)
            with (
                gf.Session(config=gf.ConfigProto(compiled=compiled)) as session,
                pytest.raises(gf.errors.InvalidArgumentError, match=r"value_range\[0\] < value_range\[1\]"),
            ):
                session.run(found)
