"""Protects the k largest that are looked for without sorting all: those of a sort, ties and NaN included."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8"])
@pytest.mark.parametrize("shape", [(7, 40), (40,), (3, 2, 64), (1, 100)])
def test_the_largest_are_those_of_a_sort(dtype: str, shape: tuple[int, ...]) -> None:
    random = np.random.RandomState(0)
    x = random.randint(0, 12, shape).astype(dtype)
    if dtype.startswith("float"):
        for value, share in ((np.nan, 0.2), (np.inf, 0.1), (-np.inf, 0.1)):
            x[random.rand(*shape) < share] = value
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        for count in (1, 2, 5, 9, 10, 11, 40):
            values, places = session.run(gf.nn.top_k(x, count))
            order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :count]
            np.testing.assert_array_equal(places, order)
            np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))
            assert places.dtype == np.int32 and values.dtype == x.dtype
