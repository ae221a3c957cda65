"""Protects measures that are in tf.contrib.metrics alone: values over three batches are those of TensorFlow 1.15.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf

measures = gf.contrib.metrics
RANDOM = np.random.RandomState(0)
GIVEN, TRUE = RANDOM.rand(3, 8).astype("f"), RANDOM.rand(3, 8) > 0.5
WEIGHTS = RANDOM.rand(3, 8).astype("f")
NAN = float("nan")


def over_batches(measure: Callable[..., Any], *columns: Any) -> list[Any]:
    """The value before all, and the update and the value after each batch."""
    with gf.Graph().as_default(), gf.Session() as session:
        fed = [gf.placeholder(column.dtype, [None]) for column in columns]
        value, update = measure(*fed)
        session.run(gf.local_variables_initializer())
        found = [session.run(value)]
        for batch in zip(*columns, strict=True):
            found += [session.run(update, dict(zip(fed, batch, strict=True))), session.run(value)]
        return found


@pytest.mark.parametrize(
    ("measure", "columns", "expected"),
    [
        (
            lambda p, y: measures.streaming_covariance(p, y),
            (GIVEN, GIVEN[::-1]),
            [NAN, 0.0083821, 0.062501, 0.042933],
        ),
        (
            lambda p, y, w: measures.streaming_covariance(p, y * 2, w),
            (GIVEN, GIVEN[::-1], WEIGHTS),
            [NAN, -0.012895, 0.13596, 0.0718],
        ),
        (
            lambda p, y: measures.streaming_pearson_correlation(p, y),
            (GIVEN, GIVEN[::-1]),
            [NAN, 0.1779, 0.73433, 0.56056],
        ),
        (
            lambda p, y, w: measures.streaming_pearson_correlation(p, y, w),
            (GIVEN, GIVEN[::-1], WEIGHTS),
            [NAN, -0.12525, 0.64871, 0.43089],
        ),
        (lambda p, y: measures.f1_score(y, p), (GIVEN, TRUE), [0, 0.66667, 0.76923, 0.72222]),
        (
            lambda p, y, w: measures.f1_score(y, p, w, num_thresholds=11),
            (GIVEN, TRUE, WEIGHTS),
            [0, 0.76541, 0.75212, 0.70433],
        ),
        (
            lambda p, y: measures.cohen_kappa(gf.cast(y, gf.int64), gf.cast(p * 2, gf.int64), 2),
            (GIVEN, TRUE),
            [0, 0, -0.24138, -0.035971],
        ),
        (
            lambda p, y, w: measures.cohen_kappa(gf.cast(y, gf.int32), gf.cast(p * 2, gf.int32), 2, w),
            (GIVEN, TRUE, WEIGHTS),
            [0, -0.33174, -0.4919, -0.075444],
        ),
        (lambda p: measures.count(p), (GIVEN,), [0, 8, 16, 24]),
        (lambda p, w: measures.count(p, w), (GIVEN, WEIGHTS), [0, 3.1485, 5.8295, 9.6921]),
    ],
)
def test_values_are_those_of_tensorflow(measure: Any, columns: Any, expected: list[float]) -> None:
    found = over_batches(measure, *columns)
    assert np.allclose(found[1::2], expected[1:], rtol=1e-4) and np.allclose(
        found[2::2], expected[1:], rtol=1e-4
    )
    assert np.array_equal(found[:1], expected[:1], equal_nan=True)


def test_all_values_are_kept_or_so_many() -> None:
    found = over_batches(lambda p: measures.streaming_concat(p), GIVEN)
    assert found[0].shape == (0,) and found[1::2] == [8, 16, 24]
    assert np.array_equal(found[-1], GIVEN.reshape(-1))
    found = over_batches(lambda p: measures.streaming_concat(gf.stack([p, p]), axis=1, max_size=10), GIVEN)
    assert found[1::2] == [8, 10, 10] and np.array_equal(found[-1][1], GIVEN.reshape(-1)[:10])
    with pytest.raises(ValueError, match="known rank"):
        measures.streaming_concat(gf.placeholder(gf.float32))
    with pytest.raises(ValueError, match="not in"):
        measures.streaming_concat([1.0], axis=1)
    with pytest.raises(ValueError, match="num_classes"):
        measures.cohen_kappa([1], [1], 1)
