"""Protects forests: they learn classes batch by batch, alike for the same seed, and are saved with a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.resources.trees.forests import Forest, ForestShape

forest = gf.contrib.tensor_forest


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as graph:
        yield graph


def examples(count: int, seed: int) -> tuple[Any, Any]:
    """Points of the plane, with noise beside them; the class is the quadrant."""
    points = np.random.default_rng(seed).uniform(-1, 1, [count, 5]).astype(np.float32)
    return points, (points[:, 0] > 0) * 2 + (points[:, 1] > 0)


def trained(steps: int = 20, **kwargs: Any) -> tuple[Any, Any, Any, Any]:
    given = {"num_trees": 8, "max_nodes": 200, "split_after_samples": 50} | kwargs
    params = forest.ForestHParams(num_classes=4, num_features=5, **given).fill()
    graphs = forest.RandomForestGraphs(params)
    x, y = gf.placeholder(gf.float32, [None, 5]), gf.placeholder(gf.int32, [None])
    train, loss = graphs.training_graph(x, y), graphs.training_loss(x, y)
    probabilities, _, _ = graphs.inference_graph(x)
    session = gf.Session()
    for step in range(steps):
        session.run(train, dict(zip((x, y), examples(100, step), strict=True)))
    return session, x, probabilities, session.run(loss)


def test_classes_are_learnt() -> None:
    session, x, probabilities, loss = trained()
    assert probabilities.shape.as_list() == [None, 4]
    points, classes = examples(500, 99)
    found = session.run(probabilities, {x: points})
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    assert np.mean(found.argmax(axis=1) == classes) > 0.85
    assert -200 <= loss < -20


def test_a_forest_knows_nothing_at_first() -> None:
    session, x, probabilities, loss = trained(0)
    assert loss == -1.0
    assert session.run(probabilities, {x: np.zeros([2, 5])}).tolist() == [[0.25] * 4] * 2


def test_the_same_seed_gives_the_same_forest() -> None:
    points, _ = examples(50, 1)
    found = []
    for seed in (1, 1, 2):
        with gf.Graph().as_default():
            session, x, probabilities, _ = trained(base_random_seed=seed, bagging_fraction=0.7)
            found.append(session.run(probabilities, {x: points}))
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def test_a_tree_is_never_larger_than_it_may() -> None:
    assert trained(max_nodes=5)[3] == -5.0
    assert trained(max_nodes=1)[3] == -1.0


def test_a_restored_forest_says_the_same() -> None:
    shape = ForestShape(3, 4, 5, 100, 10, 40, 1.0)
    first, second = Forest(shape, (1, 2)), Forest(shape, None)
    for step in range(10):
        first.grow(*examples(60, step))
    second.set_state(first.get_state())
    points, _ = examples(40, 77)
    assert np.array_equal(first.probabilities(points), second.probabilities(points))
    assert first.sizes().tolist() == second.sizes().tolist() and first.sizes().min() > 1
    with pytest.raises(gf.errors.InvalidArgumentError, match="another forest"):
        Forest(shape._replace(most_nodes=50), None).set_state(first.get_state())


def test_what_does_not_fit_is_refused() -> None:
    session, *_ = trained(1)
    with pytest.raises(ValueError, match="num_features"):
        forest.ForestHParams(num_classes=4).fill()
    with pytest.raises(ValueError, match="regression"):
        forest.ForestHParams(num_classes=1, num_features=2, regression=True).fill()
    params = forest.ForestHParams(num_classes=2, num_features=5, num_trees=1).fill()
    train = forest.RandomForestGraphs(params).training_graph(gf.zeros([3, 5]), gf.constant([0, 1, 2]))
    with pytest.raises(gf.errors.InvalidArgumentError, match="Labels are below 2"):
        session.run(train)
    narrow = forest.RandomForestGraphs(params).inference_graph(gf.zeros([3, 4]))[0]
    with pytest.raises(gf.errors.InvalidArgumentError, match="rows of 5 features"):
        session.run(narrow)
