"""Protects the sampled classes: distinct where asked, of the probability that is promised, and TensorFlow's."""

from __future__ import annotations

import time
from pathlib import Path
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


CLASSES = np.array([[0, 2], [3, 4]])
WEIGHTS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def _twice(sampler: Any) -> list[Any]:
    with gf.Graph().as_default():
        gf.set_random_seed(7)
        sample = sampler()
        with gf.Session() as session:
            return [session.run(sample) for _ in range(2)]


@pytest.mark.parametrize(
    ("arguments", "drawn", "true", "first"),
    [
        (
            (4, True, 6, {"unigrams": WEIGHTS, "seed": 11}),
            [[2, 3, 4, 5], [3, 2, 5, 1]],
            [[0.190476194, 0.5714285969], [0.7619047761, 0.9523809552]],
            [0.5714285969, 0.761904776, 0.952380955, 1.1428571939],
        ),
        (
            (8, False, 6, {"unigrams": WEIGHTS, "distortion": 0.75, "seed": 11}),
            [[2, 3, 4, 5, 4, 5, 4, 1], [5, 1, 1, 2, 2, 5, 5, 4]],
            [[0.534506142, 1.21841061], [1.51181173, 1.78722906]],
            [1.21841061, 1.51181173, 1.78722906, 2.04911423, 1.78722906, 2.04911423, 1.78722906, 0.898928642],
        ),
        (
            (5, False, 8, {"unigrams": WEIGHTS, "num_reserved_ids": 2, "seed": 11}),
            [[2, 5, 5, 7, 6], [6, 7, 2, 7, 6]],
            [[0.0, 0.2380952388], [0.47619047, 0.714285731]],
            [0.2380952388, 0.952380955, 0.952380955, 1.42857146, 1.19047618],
        ),
        (
            (3, True, 3, {"unigrams": WEIGHTS, "num_shards": 2, "shard": 1, "seed": 11}),
            [[2, 1, 0], [2, 0, 1]],
            [[0.8654119968, 0.99951171875], [0.0, 0.0]],
            [0.99951171875, 0.98843896, 0.865411996],
        ),
        (
            (6, False, 6, {"vocab_file": "a,5\nb,1\nc,2\nd,3\ne,9\nf,4\n", "distortion": 0.5, "seed": 12}),
            [[0, 0, 1, 5, 1, 5], [1, 5, 0, 5, 0, 4]],
            [[1.17870473, 0.745478272], [0.91302073, 1.58139824]],
            [1.17870473, 1.17870473, 0.527132749, 1.05426549, 0.527132749, 1.05426549],
        ),
    ],
)
def test_classes_by_given_weights_are_tensorflows(
    tmp_path: Path, arguments: Any, drawn: Any, true: Any, first: Any
) -> None:
    count, unique, classes, others = arguments
    if "vocab_file" in others:
        (tmp_path / "vocabulary").write_text(others["vocab_file"])
        others = {**others, "vocab_file": str(tmp_path / "vocabulary")}
    found = _twice(
        lambda: gf.nn.fixed_unigram_candidate_sampler(CLASSES, 2, count, unique, classes, **others)
    )
    assert [run[0].tolist() for run in found] == drawn
    np.testing.assert_allclose(found[0][1], true, rtol=1e-6)
    np.testing.assert_allclose(found[0][2], first, rtol=1e-6)


def test_classes_by_counts_are_tensorflows() -> None:
    found = _twice(lambda: gf.nn.learned_unigram_candidate_sampler(CLASSES, 2, 4, True, 6, seed=11))
    assert [run[0].tolist() for run in found] == [[5, 2, 3, 4], [4, 5, 3, 1]]
    np.testing.assert_allclose(found[0][1], np.full([2, 2], 0.6651020646), rtol=1e-6)
    np.testing.assert_allclose(found[1][1], np.full([2, 2], 0.8), rtol=1e-6)
    np.testing.assert_allclose(found[1][2], [0.8, 0.4, 0.8, 0.4], rtol=1e-6)
    found = _twice(lambda: gf.nn.learned_unigram_candidate_sampler(CLASSES, 2, 6, False, 9, seed=5))
    assert [run[0].tolist() for run in found] == [[2, 6, 1, 4, 0, 8], [2, 1, 5, 0, 2, 7]]


def test_weights_that_cannot_be_are_refused() -> None:
    sampler = gf.nn.fixed_unigram_candidate_sampler
    with pytest.raises(ValueError, match="exactly one of vocab_file and unigrams"):
        sampler(CLASSES, 2, 4, True, 6)
    with pytest.raises(ValueError, match="got 2 of 2"):
        sampler(CLASSES, 2, 2, True, 6, unigrams=WEIGHTS, num_shards=2, shard=2)
    with gf.Session() as session:
        for others, message in (
            ({"unigrams": WEIGHTS[:3]}, "weights of 3 classes"),
            ({"unigrams": [0.0] * 6}, "the weight 0"),
            ({"unigrams": [0.0] * 5 + [1.0]}, "range is too small"),
        ):
            with pytest.raises(gf.errors.InvalidArgumentError, match=message):
                session.run(sampler(CLASSES, 2, 2, True, 6, **others))
        with pytest.raises(gf.errors.NotFoundError, match="nothing/here"):
            session.run(sampler(CLASSES, 2, 2, True, 6, vocab_file="nothing/here"))
