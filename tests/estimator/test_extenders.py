"""Protects estimators made of others, the hook that evaluates in training, and that variables of hooks are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.estimator.test_canned import cleared

__all__ = ["cleared"]
ROWS = np.sin(np.arange(32.0)).reshape(16, 2).astype("f")
LABELS = (ROWS @ np.array([[1.0], [-1.0]], "f")).astype("f")


def feed(**more: Any) -> Any:
    features = {"x": ROWS, **more}
    return lambda: gf.data.Dataset.from_tensors((features, LABELS)).repeat(4)


def linear(folder: Path) -> gf.estimator.LinearRegressor:
    columns = [gf.feature_column.numeric_column("x", shape=(2,))]
    return gf.estimator.LinearRegressor(
        columns, str(folder), optimizer=gf.train.GradientDescentOptimizer(0.01)
    )


def test_an_estimator_with_more_metrics(tmp_path: Path) -> None:
    def metric_fn(features: Any, predictions: Any) -> dict[str, Any]:
        return {"most": gf.metrics.mean(gf.reduce_max(features["x"]) + 0 * predictions["predictions"])}

    more = gf.contrib.estimator.add_metrics(linear(tmp_path).train(feed()), metric_fn)
    found = more.evaluate(feed())
    np.testing.assert_allclose(found["most"], ROWS.max(), rtol=1e-6)
    assert found["loss"] == linear(tmp_path).evaluate(feed())["loss"]
    with pytest.raises(ValueError, match=r"not expected args: \['other'\]"):
        gf.estimator.add_metrics(more, lambda other: {})


def test_features_beside_predictions(tmp_path: Path) -> None:
    trained = linear(tmp_path).train(feed())
    names = np.array([f"row {k}".encode() for k in range(16)], object)
    given = feed(name=names)
    found = next(gf.contrib.estimator.forward_features(trained, "name").predict(given))
    assert found["name"] == b"row 0" and set(found) == {"name", "predictions"}

    def sparse() -> Any:
        return {"x": gf.constant(ROWS), "words": gf.SparseTensor([[0, 0], [3, 1]], [7, 8], [16, 2])}

    other = gf.contrib.estimator.forward_features(trained, ["words"], {"words": -1})
    rows = [row["words"].tolist() for row, _ in zip(other.predict(sparse), range(4), strict=False)]
    assert rows == [[7, -1], [-1, -1], [-1, -1], [-1, 8]]
    for keys, source, message in (
        ("none", given, "There is no feature 'none' to forward"),
        ("words", sparse, "The feature 'words' is sparse"),
        ("predictions", feed(predictions=LABELS), "a prediction has its name"),
    ):
        with pytest.raises(ValueError, match=message):
            next(gf.contrib.estimator.forward_features(trained, keys).predict(source))
    with pytest.raises(TypeError, match="keys must be a name"):
        gf.contrib.estimator.forward_features(trained, 3)  # type: ignore[arg-type]


def test_training_is_evaluated_as_it_goes(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    estimator = linear(tmp_path)
    hook = gf.estimator.experimental.InMemoryEvaluatorHook(estimator, feed(), steps=1, every_n_iter=2)
    estimator.train(feed(), hooks=[hook], steps=4)
    gf.summary.FileWriterCache.clear()
    found = gf.contrib.estimator.read_eval_metrics(estimator.eval_dir())
    assert list(found) == [0, 2, 4]
    losses = [found[step]["loss"] for step in found]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    np.testing.assert_allclose(losses[-1], estimator.evaluate(feed(), steps=1)["loss"], rtol=1e-6)
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        gf.contrib.estimator.InMemoryEvaluatorHook(estimator, feed(), every_n_iter=0)


def test_what_a_hook_makes_is_saved(tmp_path: Path) -> None:
    estimator = linear(tmp_path)
    stop = gf.estimator.experimental.make_early_stopping_hook(estimator, lambda: False, None, 1)
    estimator.train(feed(), hooks=[stop])
    assert "signal_early_stopping/STOP" in estimator.get_variable_names()
    assert not estimator.get_variable_value("signal_early_stopping/STOP")


def test_a_saver_may_be_told_late_what_it_saves(tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        first = gf.Variable(1.0, name="first")
        saver = gf.train.Saver(lambda: [first, *gf.get_collection("later")], defer_build=True)
        gf.add_to_collection("later", gf.Variable(2.0, name="second"))
        gf.train.Scaffold(saver=saver).finalize()
        session.run(gf.get_collection(gf.GraphKeys.INIT_OP))
        path = saver.save(session, str(tmp_path / "model"))
    assert [name for name, _ in gf.train.list_variables(path)] == ["first", "second"]


def test_what_is_replaced_of_a_spec_is_checked() -> None:
    """As what it is made of; the mode stays."""
    loss = gf.constant(1.0)
    spec = gf.estimator.EstimatorSpec("eval", loss=loss, predictions={"p": loss})
    assert list(spec._replace(predictions={"q": loss}).predictions) == ["q"]
    assert isinstance(spec._replace(mode="eval"), gf.estimator.EstimatorSpec)
    with pytest.raises(ValueError, match="Loss must be scalar"):
        spec._replace(loss=gf.constant([1.0, 2.0]))
    with pytest.raises(ValueError, match="mode of EstimatorSpec cannot be changed"):
        spec._replace(mode="train")
    with pytest.raises(TypeError, match="nothing"):
        spec._replace(nothing=1)
