"""tf.contrib.predictor: the same numbers from a SavedModel, with its signature or names, and from an estimator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf


def _model(features: Any, labels: Any, mode: str) -> Any:
    value = features["x"] * gf.get_variable("w", [], initializer=gf.constant_initializer(3.0))
    outputs = {
        "serving_default": gf.estimator.export.PredictOutput({"y": value}),
        "twice": gf.estimator.export.PredictOutput({"z": value * 2.0}),
    }
    loss = gf.reduce_sum(value)
    step = gf.train.get_global_step().assign_add(1)
    return gf.estimator.EstimatorSpec(mode, {"y": value}, loss, step.op, export_outputs=outputs)


def _receive() -> Any:
    x = gf.placeholder(gf.float32, [None], name="x")
    return gf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


@pytest.fixture()
def estimator(tmp_path: Path) -> Any:
    trained = gf.estimator.Estimator(_model, os.fspath(tmp_path / "model"))
    trained.train(lambda: ({"x": gf.constant([1.0])}, None), steps=1)
    return trained


def test_a_saved_model_predicts(estimator: Any, tmp_path: Path) -> None:
    folder = estimator.export_savedmodel(os.fspath(tmp_path / "saved"), _receive)
    predict = gf.contrib.predictor.from_saved_model(folder)
    assert predict({"x": [1.0, 2.0]})["y"].tolist() == [3.0, 6.0]
    assert set(predict.feed_tensors) == {"x"} and predict.graph is predict.session.graph
    twice = gf.contrib.predictor.from_saved_model(folder, signature_def_key="twice", tags="serve")
    assert twice({"x": [1.0]})["z"].tolist() == [6.0]
    named = gf.contrib.predictor.from_saved_model(
        folder, input_names={"in": "x:0"}, output_names={"out": predict.fetch_tensors["y"].name}
    )
    assert named({"in": [2.0]})["out"].tolist() == [6.0]
    with pytest.raises(ValueError, match="unexpected keys"):
        predict({"q": [1.0]})
    with pytest.raises(ValueError, match="twice"):
        gf.contrib.predictor.from_saved_model(folder, signature_def_key="thrice")
    with pytest.raises(ValueError, match="both"):
        gf.contrib.predictor.from_saved_model(folder, input_names={"in": "x:0"})


def test_an_estimator_predicts(estimator: Any, tmp_path: Path) -> None:
    predict = gf.contrib.predictor.from_estimator(estimator, _receive)
    assert predict({"x": [4.0]})["y"].tolist() == [12.0]
    assert gf.contrib.predictor.from_estimator(estimator, _receive, "twice")({"x": [4.0]})["z"].tolist() == [
        24.0
    ]
    with pytest.raises(ValueError, match="no output"):
        gf.contrib.predictor.from_estimator(estimator, _receive, "thrice")
    with pytest.raises(ValueError, match="checkpoint"):
        gf.contrib.predictor.from_estimator(
            gf.estimator.Estimator(_model, os.fspath(tmp_path / "none")), _receive
        )
