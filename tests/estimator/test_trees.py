"""Protects boosted trees: losses, trees, metrics and importances are those of TensorFlow 1.15.5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from graphflow.protos import boosted_trees_pb2
from tests.estimator import tree_cases
from tests.estimator.test_canned import assert_same, cleared

RECORDED: Final[dict[str, Any]] = json.loads(Path(tree_cases.RECORDED).read_text("utf-8"))
__all__ = ["cleared"]


@pytest.mark.parametrize("name", tree_cases.CASES)
def test_agrees_with_tensorflow(name: str, tmp_path: Path) -> None:
    found = tree_cases.outcome(gf, boosted_trees_pb2.TreeEnsemble, name, str(tmp_path))
    for part, expected in RECORDED[name].items():
        assert_same(found[part], expected, part)


def feed(times: int | None = 1) -> Any:
    everything = tree_cases.data()
    parts = (everything["features"], everything["number"])
    return lambda: gf.data.Dataset.from_tensors(parts).repeat(times)


def trained(folder: Path, **arguments: Any) -> gf.estimator.BoostedTreesRegressor:
    given = {"n_trees": 2, "max_depth": 2, **arguments}
    estimator = gf.estimator.BoostedTreesRegressor(tree_cases.columns(gf), 1, str(folder), **given)
    return estimator.train(feed(None))


def test_a_head_of_ones_own_grows_the_same_trees(tmp_path: Path) -> None:
    usual = trained(tmp_path / "usual")
    head = gf.contrib.estimator.regression_head()
    other = gf.estimator.BoostedTreesEstimator(
        tree_cases.columns(gf), 1, head, str(tmp_path / "other"), n_trees=2, max_depth=2
    ).train(feed(None))
    rows = [np.concatenate([row["predictions"] for row in model.predict(feed())]) for model in (usual, other)]
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-6)


def test_importances_add_up_to_one(tmp_path: Path) -> None:
    found = trained(tmp_path).experimental_feature_importances(normalize=True)
    assert abs(sum(found.values()) - 1.0) < 1e-6
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_what_grew_no_trees_has_no_importances(tmp_path: Path) -> None:
    columns = tree_cases.columns(gf)
    estimator = gf.estimator.BoostedTreesRegressor(columns, 1, str(tmp_path))
    with pytest.raises(ValueError, match="has not been trained yet"):
        estimator.experimental_feature_importances()
    whole = trained(tmp_path, tree_complexity=50.0, pruning_mode="pre")
    with pytest.raises(ValueError, match="Importances are normalised if"):
        whole.experimental_feature_importances(normalize=True)


def test_explanations_need_a_bias(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give center_bias=True"):
        next(trained(tmp_path).experimental_predict_with_explanations(feed()))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda e, c: e.BoostedTreesClassifier(c, 1, n_classes=3), "two classes apart, got n_classes=3"),
        (lambda e, c: e.BoostedTreesRegressor(c, 1, label_dimension=2), "gives one number"),
        (lambda e, c: e.BoostedTreesRegressor(c, 2, train_in_memory=True), "n_batches_per_layer is 1, got 2"),
        (lambda e, c: e.BoostedTreesRegressor(c, 1, pruning_mode="all"), "pruning_mode mode must be one of"),
        (lambda e, c: e.BoostedTreesRegressor(c, 1, pruning_mode="pre"), "tree_complexity must be positive"),
        (lambda e, c: e.BoostedTreesRegressor(c, 1, tree_complexity=1.0), "Tree complexity have no effect"),
        (
            lambda e, c: e.BoostedTreesRegressor([c[0].source_column], 1),
            "Boosted trees take bucketized_column",
        ),
        (
            lambda e, c: e.BoostedTreesEstimator(c, 1, gf.contrib.estimator.multi_class_head(3)),
            "have one logit",
        ),
    ],
)
def test_what_cannot_be_is_an_error_at_once(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(gf.estimator, tree_cases.columns(gf))


def test_several_workers_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = (
        '{"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}'
    )
    monkeypatch.setenv("TF_CONFIG", workers)
    with pytest.raises(gf.errors.UnimplementedError, match="Boosted trees are trained by one process"):
        trained(tmp_path)
