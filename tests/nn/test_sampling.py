"""Protects the sampled classes: distinct where asked, of the probability that is promised, and TensorFlow's."""

from __future__ import annotations

import time
from typing import Any

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


def test_distinct_classes_come_as_often_as_tensorflows() -> None:
    """TensorFlow's estimate takes the draws to be as many as they were: it is too high for the likeliest class."""
    counts, expected = _counts(unique=True, draws=800)
    drawn, estimated = [0.784, 0.603, 0.475, 0.386, 0.329], [0.939, 0.645, 0.493, 0.399, 0.335]
    np.testing.assert_allclose(counts[:5], drawn, atol=0.06)
    np.testing.assert_allclose(expected[:5], estimated, atol=0.01)
    assert np.abs(counts - expected)[1:].max() < 0.1


def test_more_distinct_classes_than_there_are_is_an_error() -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match="distinct"):
        gf.nn.uniform_candidate_sampler(np.zeros((1, 1), np.int64), 1, 6, True, 5)


TENSORFLOWS: dict[str, list[tuple[list[int], list[list[float]]]]] = {
    "log distinct": [
        ([1, 2, 17, 11, 4, 5], [[0.87340343, 0.45607644], [0.34010291, 0.22465533]]),
        ([7, 0, 10, 1, 17, 2], [[0.83608478, 0.41305739], [0.30490899, 0.19959839]]),
    ],
    "log": [
        ([1, 2, 1, 1, 17, 11], [[1.36602151, 0.43976068], [0.30379283, 0.18783277]]),
        ([7, 0, 10, 1, 17, 0], [[1.36602151, 0.43976068], [0.30379283, 0.18783277]]),
    ],
    "distinct": [
        ([19, 6, 7, 1, 13, 18], [[0.3, 0.3], [0.3, 0.3]]),
        ([7, 10, 2, 16, 8, 13], [[0.3, 0.3], [0.3, 0.3]]),
    ],
    "of a power of two": [
        ([15, 6, 3, 1, 5, 6], [[0.375, 0.375], [0.375, 0.375]]),
        ([11, 14, 14, 12, 0, 9], [[0.375, 0.375], [0.375, 0.375]]),
    ],
}
"""What TensorFlow 1.15.5 drew in its first and second run, and the expected counts of classes 0, 3, 5 and 9."""


def _samplers(true: Any) -> dict[str, Any]:
    log, flat = gf.nn.log_uniform_candidate_sampler, gf.nn.uniform_candidate_sampler
    return {
        "log distinct": log(true, 2, 6, True, 20, seed=2),
        "log": log(true, 2, 6, False, 20, seed=2),
        "distinct": flat(true, 2, 6, True, 20, seed=2),
        "of a power of two": flat(true, 2, 6, False, 16, seed=2),
    }


@pytest.mark.parametrize("tier", ["never", "always"])
def test_the_numbers_are_tensorflows(tier: str) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        gf.set_random_seed(1)
        found = _samplers([[0, 3], [5, 9]])
        runs = [session.run(found) for _ in range(2)]
    for name, expected in TENSORFLOWS.items():
        for got, (classes, counts) in zip(runs, expected, strict=True):
            assert got[name][0].tolist() == classes
            np.testing.assert_allclose(got[name][1], counts, rtol=1e-6)
            assert got[name][2].dtype == np.float32 and got[name][2].shape == (6,)


def test_all_classes_are_drawn_where_so_many_are_asked_for() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        for sampler in (gf.nn.log_uniform_candidate_sampler, gf.nn.uniform_candidate_sampler):
            classes, true, drawn = session.run(sampler([[3]], 1, 40, True, 40, seed=5))
            assert sorted(classes) == list(range(40))
            assert (true > 0.9).all() and (drawn > 0.5).all() and (drawn <= 1.0).all()


def test_the_shapes_of_true_classes_are_checked() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        with pytest.raises(ValueError, match="true_classes"):
            gf.nn.log_uniform_candidate_sampler(np.zeros(3, np.int64), 1, 2, True, 5)
        true = gf.placeholder(gf.int64)
        classes = gf.nn.log_uniform_candidate_sampler(true, 2, 3, True, 20)
        assert [t.shape.as_list() for t in classes] == [[3], [None, 2], [3]]
        for wrong, message in (
            (1, "must be a matrix"),
            ([[1]], "must have num_true columns, expected: 1 was: 2"),
        ):
            with pytest.raises(gf.errors.InvalidArgumentError, match=message):
                session.run(classes, {true: wrong})


def test_what_a_draw_costs_does_not_follow_from_the_number_of_classes() -> None:
    """Two million classes were drawn from by drawing and sorting two million numbers: some 10 ms a run."""
    with gf.Graph().as_default(), gf.Session() as session:
        few, many = (gf.nn.log_uniform_candidate_sampler([[3]], 1, 64, True, n)[0] for n in (200, 2_000_000))

        def fastest(fetch: Any) -> float:
            taken = []
            for _ in range(20):
                start = time.process_time()
                session.run(fetch)
                taken.append(time.process_time() - start)
            return min(taken)

        assert fastest(many) < 5 * fastest(few) + 1e-3
