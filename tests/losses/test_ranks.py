"""Protects what becomes of labels and predictions of which one has a last axis of length 1 more."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf
from graphflow.losses.reduction import squeeze_to_rank_difference


@pytest.mark.parametrize(("labels", "predictions", "difference", "expected"), [
    ((2, 3, 1), (2, 3), 0, ((2, 3), (2, 3))),
    ((2, 3), (2, 3, 1), 0, ((2, 3), (2, 3))),
    ((2, 3), (2, 3), 0, ((2, 3), (2, 3))),
    ((2, 3, 1), (2, 3, 5), 1, ((2, 3), (2, 3, 5))),
    ((2, 3, 1), (2, 3, 1), -1, ((2, 3, 1), (2, 3))),
])  # fmt: skip
def test_the_run_decides_as_known_ranks_do(
    labels: tuple[int, ...],
    predictions: tuple[int, ...],
    difference: int,
    expected: tuple[tuple[int, ...], ...],
) -> None:
    y, p = np.ones(labels, np.float32), np.ones(predictions, np.float32)
    fed = gf.placeholder(gf.float32), gf.placeholder(gf.float32)
    with gf.Session() as session:
        static = session.run(squeeze_to_rank_difference(y, p, difference))
        dynamic = session.run(
            squeeze_to_rank_difference(*fed, difference), dict(zip(fed, (y, p), strict=True))
        )
    assert tuple(one.shape for one in static) == expected
    assert tuple(one.shape for one in dynamic) == expected


def test_another_axis_is_not_left_out() -> None:
    with pytest.raises(ValueError, match="Can not squeeze dim"):
        squeeze_to_rank_difference(np.ones([2, 3, 2]), np.ones([2, 3]), 0)


def test_a_mean_of_columns_of_an_unknown_rank_is_that_of_its_elements() -> None:
    labels, predictions = gf.placeholder(gf.float32), gf.placeholder(gf.float32)
    mean, update = gf.metrics.mean_absolute_error(labels, predictions)
    with gf.Session() as session:
        session.run(gf.local_variables_initializer())
        session.run(update, {labels: np.zeros([3, 1]), predictions: np.array([1.0, 2.0, 3.0])})
        assert session.run(mean) == 2.0
