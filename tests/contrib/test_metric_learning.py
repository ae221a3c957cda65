"""Protects the loss of clusterings: its scores, the search of centres, and that gradients reach the vectors."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf
from graphflow.contrib.losses.metric_learning.clusters import _SCORES

cluster_loss = gf.contrib.losses.metric_learning.cluster_loss


@pytest.mark.parametrize(
    ("margin", "labels", "found", "score"),
    [
        ("nmi", [0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ("nmi", [0, 0, 0, 0], [0, 1, 2, 3], 0.0),
        ("nmi", [0, 0], [1, 1], 1.0),
        ("vmeasure", [0, 0, 1, 1], [0, 0, 1, 2], 0.8),
        ("ari", [0, 0, 1, 2], [0, 0, 1, 1], 4 / 7),
        ("ari", [0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ("ami", [0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ("ami", [0, 0, 0, 0], [0, 1, 2, 3], 0.0),
        ("const", [0, 0, 1, 1], [0, 0, 1, 1], 1.0),
        ("const", [0, 0, 1, 1], [1, 1, 0, 0], 0.0),
    ],
)
def test_scores(margin: str, labels: list[int], found: list[int], score: float) -> None:
    assert _SCORES[margin](np.array(labels), np.array(found)) == pytest.approx(score, abs=1e-12)


def test_a_clustering_that_is_right_has_no_loss() -> None:
    points = gf.constant([[0.0, 1.0], [0.1, 1.0], [9.0, 0.0], [9.1, 0.0]])
    loss = cluster_loss([[0], [0], [1], [1]], points, 0.5)
    with gf.Session() as session:
        assert session.run(loss) == 0.0


@pytest.mark.parametrize("refined", [False, True])
def test_centers_that_are_wrong_pull_the_vectors(refined: bool) -> None:
    points = gf.placeholder(gf.float32, [4, 1])
    loss = cluster_loss([[0], [1], [0], [1]], points, 0.5, refined, "nmi", print_losses=True)
    (gradient,) = gf.gradients(loss, points)
    with gf.Session() as session:
        found, slope = session.run([loss, gradient], {points: [[0.0], [0.5], [8.0], [8.25]]})
    # The best centres cost 0.75, those of the labels 8 and 7.75; the clusters say nothing of the labels.
    assert found == pytest.approx(-0.75 + 0.5 + 15.75)
    assert np.abs(slope).sum() > 0


def test_a_margin_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="Unrecognized margin_type: mni"):
        cluster_loss([[0]], [[1.0]], 1.0, margin_type="mni")
