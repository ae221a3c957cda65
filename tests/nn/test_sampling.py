"""Protects the sampled classes: they are distinct where asked, and drawn with the probability that is promised."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf


def _counts(unique: bool, draws: int) -> tuple[np.ndarray, np.ndarray]:
    counts, expected = np.zeros(20), np.zeros(20)
    with gf.Graph().as_default(), gf.Session() as session:
        everything = np.arange(20).reshape(20, 1)
        sample = gf.nn.log_uniform_candidate_sampler(everything, 1, 5, unique, 20, seed=11)
        for _ in range(draws):
            classes, chances, _ = session.run(sample)
            assert classes.dtype == np.int64 and (not unique or len(set(classes)) == 5)
            np.add.at(counts, classes, 1 / draws)
            expected += chances[:, 0] / draws
    return counts, expected


def test_repeated_classes_come_as_often_as_expected() -> None:
    counts, expected = _counts(unique=False, draws=800)
    np.testing.assert_allclose(expected.sum(), 5, rtol=1e-5)
    assert np.abs(counts - expected).max() < 0.15


def test_distinct_classes_come_as_often_as_expected() -> None:
    counts, expected = _counts(unique=True, draws=800)
    assert np.abs(counts - expected).max() < 0.1
    assert expected[0] > 2 * expected[19]


def test_more_distinct_classes_than_there_are_is_an_error() -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match="distinct"):
        gf.nn.uniform_candidate_sampler(np.zeros((1, 1), np.int64), 1, 6, True, 5)
