"""Protects k-means and mixtures: losses, centers and what is said of points are those of TensorFlow 1.15.5."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from graphflow.estimator.canned import kmeans
from tests.estimator import cluster_cases
from tests.estimator.test_canned import assert_same, cleared

RECORDED: Final[dict[str, Any]] = json.loads(Path(cluster_cases.RECORDED).read_text("utf-8"))
factorization = gf.contrib.factorization
__all__ = ["cleared"]


@pytest.mark.parametrize("name", cluster_cases.CASES)
def test_agrees_with_tensorflow(name: str, tmp_path: Path) -> None:
    assert_same(cluster_cases.outcome(gf, name, str(tmp_path)), RECORDED[name], name)


@pytest.mark.parametrize("name", cluster_cases.MIXTURES)
def test_a_mixture_agrees_with_tensorflow(name: str, tmp_path: Path) -> None:
    assert_same(cluster_cases.mixed(gf, name, str(tmp_path)), RECORDED[name], name)


def test_what_is_not_asked_for_is_not_fitted(tmp_path: Path) -> None:
    points = cluster_cases.points()
    for params in ("w", "m", "c"):
        model = factorization.GMM(3, str(tmp_path / params), params=params, initial_clusters=points[:3])
        model.fit(input_fn=lambda: (gf.constant(points), None), steps=1)
        whole = np.cov(points.T) + 1e-3 * np.eye(2)
        assert np.allclose(model.weights(), 1 / 3) == (params != "w")
        assert np.allclose(model.clusters(), points[:3]) == (params != "m")
        assert np.allclose(model.covariances(), whole, rtol=1e-4) == (params != "c")
    with pytest.raises(ValueError, match="Invalid covariance type: 'round'"):
        factorization.GMM(3, str(tmp_path / "round"), covariance_type="round").fit(
            input_fn=lambda: (gf.constant(points), None), steps=1
        )


@pytest.mark.parametrize(("steps", "seen"), [(1, 1), (3, 0)])
def test_batches_move_centers_by_the_points_that_they_had(steps: int, seen: int, tmp_path: Path) -> None:
    points = cluster_cases.points()
    estimator = factorization.KMeansClustering(
        3, str(tmp_path), initial_clusters=points[:3], mini_batch_steps_per_iteration=steps
    )
    estimator.train(lambda: gf.data.Dataset.from_tensor_slices(points).batch(20).repeat(), steps=4)
    centers = moving = points[:3].copy()
    counts = np.full([3, 1], seen)
    for step in range(4):
        batch = points[20 * (step % 3) :][:20]
        numbers = np.argmin(np.square(batch[:, None] - centers).sum(-1), 1)
        if steps > 1 and step == steps:
            centers, counts = moving, np.zeros([3, 1])
        new = np.bincount(numbers, minlength=3)[:, None]
        sums = np.stack([batch[numbers == k].sum(0) for k in range(3)])
        moving = moving + (sums - new * moving) / np.maximum(counts + new, 1)
        counts = counts + new
        centers = moving if steps == 1 else centers
    np.testing.assert_allclose(estimator.cluster_centers(), centers, rtol=1e-5)


@pytest.mark.parametrize("beginning", ["random", "kmeans_plus_plus", "kmc2"])
def test_centers_are_drawn(beginning: str) -> None:
    points = cluster_cases.points()
    with gf.Graph().as_default(), gf.Session() as session:
        model = factorization.KMeans(points, 3, beginning, random_seed=5, kmc2_chain_length=20)
        _, numbers, scores, is_initialized, begin, step = model.training_graph()
        session.run(gf.global_variables_initializer())
        while not session.run(is_initialized):
            session.run(begin)
        before = session.run(scores[0]).sum()
        for _ in range(20):
            session.run(step)
        assert session.run(scores[0]).sum() < before
        assert sorted(set(session.run(numbers[0]).tolist())) == [0, 1, 2]


def test_the_nearest_centers_of_points() -> None:
    with gf.Session() as session:
        found, distances = session.run(
            factorization.nearest_neighbors([[0.0, 0.0]], [[3.0, 4.0], [1.0, 0.0]], 2)
        )
    assert found.tolist() == [[1, 0]] and distances.tolist() == [[1.0, 25.0]]
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial_clusters": "some"}, "Unsupported initialization algorithm 'some'"),
        ({"distance_metric": "far"}, "Unsupported distance metric 'far'"),
    ],
)
def test_what_cannot_be_is_an_error(arguments: dict[str, Any], message: str) -> None:
    for made in (
        lambda: factorization.KMeansClustering(2, **arguments),
        lambda: factorization.KMeans([], 2, **arguments),
    ):
        with pytest.raises(ValueError, match=message):
            made()


def test_a_worker_waits_for_the_chiefs_centers_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    done, looked = gf.Variable(False), gf.Variable(0)
    with gf.control_dependencies([looked.assign_add(1)]):
        is_initialized = gf.identity(done)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        monkeypatch.setattr(kmeans, "SESSION_POLL_SECONDS", 0.0)
        monkeypatch.setattr(kmeans, "_LONGEST_WAIT", 0.0)
        with pytest.raises(gf.errors.DeadlineExceededError, match="The chief has not chosen"):
            kmeans.Initializes(None, is_initialized, False).after_create_session(session, None)
        monkeypatch.setattr(kmeans, "_LONGEST_WAIT", 100.0)
        chosen = threading.Timer(0.05, session.run, [done.assign(True)])
        chosen.start()
        kmeans.Initializes(None, is_initialized, False).after_create_session(session, None)
        chosen.join()
        assert session.run(looked) > 2
