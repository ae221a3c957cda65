"""Protects exports of several modes, and that exporters know what was best before a program ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.estimator.export import build_raw_supervised_input_receiver_fn
from tests.estimator.test_canned import cleared

E = gf.estimator
M = E.ModeKeys
__all__ = ["cleared"]


def model(features: Any, labels: Any, mode: str) -> Any:
    scale = gf.get_variable("scale", initializer=2.0)
    predictions = {"y": features["x"] * scale}
    loss = None if labels is None else gf.reduce_mean((predictions["y"] - labels) ** 2)
    step = gf.train.get_global_step()
    train_op = None
    if mode == M.TRAIN:
        train_op = gf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    measured = {"mean": gf.metrics.mean(predictions["y"])} if mode == M.EVAL else None
    return E.EstimatorSpec(mode, predictions, loss, train_op, measured)


def fed() -> Any:
    return {"x": gf.constant([1.0, 2.0])}, gf.constant([2.0, 4.0])


def receivers() -> dict[str, Any]:
    def supervised() -> Any:
        x, y = gf.placeholder(gf.float32, [None], name="x"), gf.placeholder(gf.float32, [None], name="y")
        return build_raw_supervised_input_receiver_fn({"x": x}, y)()

    def serving() -> Any:
        x = gf.placeholder(gf.float32, [None], name="x")
        return E.export.ServingInputReceiver({"x": x}, {"x": x})

    return {M.TRAIN: supervised, M.EVAL: supervised, M.PREDICT: serving}


def run(folder: str, tag: str, key: str, feeds: dict[str, Any], outputs: list[str]) -> Any:
    with gf.Graph().as_default(), gf.Session() as session:
        signature = gf.saved_model.loader.load(session, [tag], folder).signature_def[key]
        given = {signature.inputs[name].name: value for name, value in feeds.items()}
        return [session.run(signature.outputs[name].name, given) for name in outputs], signature.method_name


def test_the_graphs_of_three_modes_stand_in_one_saved_model(tmp_path: Path) -> None:
    estimator = E.Estimator(model, str(tmp_path / "model")).train(fed, steps=1)
    folder = estimator.experimental_export_all_saved_models(str(tmp_path / "out"), receivers()).decode()
    both = {"x": [3.0], "label": [5.0]}
    assert run(folder, "serve", "serving_default", {"x": [3.0]}, ["y"])[0] == [[6.0]]
    found, method = run(
        folder,
        "eval",
        "eval",
        both,
        ["loss", "predictions/y", "metrics/mean/update_op", "metrics/mean/value"],
    )
    assert (found[0], found[1].tolist(), found[2:]) == (1.0, [6.0], [6.0, 6.0])
    assert method == "tensorflow/supervised/eval"
    (loss, predicted), method = run(folder, "train", "train", both, ["loss", "predictions/y"])
    assert (loss, predicted.tolist(), method) == (1.0, [6.0], "tensorflow/supervised/training")
    with gf.Graph().as_default() as graph, gf.Session() as session:
        inputs = gf.saved_model.loader.load(session, ["train"], folder).signature_def["train"].inputs
        (step,) = graph.get_collection("saved_model_train_op")
        session.run(step, {inputs[name].name: value for name, value in both.items()})
        assert session.run(graph.get_tensor_by_name("global_step:0")) == 2


def test_one_mode_may_be_that_of_an_evaluation(tmp_path: Path) -> None:
    estimator = E.Estimator(model, str(tmp_path / "model")).train(fed, steps=1)
    folder = estimator.export_saved_model(
        str(tmp_path / "out"), receivers()[M.EVAL], experimental_mode=M.EVAL
    ).decode()
    assert run(folder, "eval", "eval", {"x": [3.0], "label": [5.0]}, ["loss"])[0] == [1.0]


def test_no_mode_and_a_variable_that_is_not_there_are_errors(tmp_path: Path) -> None:
    estimator = E.Estimator(model, str(tmp_path / "model")).train(fed, steps=1)
    with pytest.raises(ValueError, match="No valid modes for exporting found"):
        estimator.experimental_export_all_saved_models(str(tmp_path / "out"), {})

    def larger(features: Any, labels: Any, mode: str) -> Any:
        gf.get_variable("more", initializer=1.0)
        return model(features, labels, mode)

    other = E.Estimator(larger, str(tmp_path / "model"))
    with pytest.raises(ValueError, match="Could not load all requested variables from checkpoint"):
        other.experimental_export_all_saved_models(str(tmp_path / "out"), receivers())


def test_an_estimator_that_begins_with_another_one_can_be_exported_at_once(tmp_path: Path) -> None:
    first = E.Estimator(model, str(tmp_path / "model")).train(fed, steps=1)
    second = E.Estimator(model, str(tmp_path / "other"), warm_start_from=first.model_dir)
    folder = second.export_saved_model(str(tmp_path / "out"), receivers()[M.PREDICT]).decode()
    assert run(folder, "serve", "serving_default", {"x": [3.0]}, ["y"])[0] == [[6.0]]


def test_a_receiver_can_be_taken_apart() -> None:
    with gf.Graph().as_default():
        made = receivers()
        features, tensors, others = made[M.PREDICT]()
        assert (sorted(features), sorted(tensors), others) == (["x"], ["x"], None)
        features, labels, tensors = made[M.EVAL]()
        assert (sorted(features), labels.shape.as_list(), sorted(tensors)) == (["x"], [None], ["label", "x"])
        with pytest.raises(ValueError, match="feature must be a Tensor"):
            E.export.TensorServingInputReceiver({"x": labels}, labels)


def test_what_was_best_is_read_from_events(tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.summary.FileWriter(str(tmp_path / "eval")) as writer:
        for step, loss in enumerate((3.0, 1.0, 2.0)):
            writer.add_summary(gf.Summary(value=[gf.Summary.Value(tag="loss", simple_value=loss)]), step)
    estimator = E.Estimator(model, str(tmp_path)).train(fed, steps=1)
    exporter = E.BestExporter("best", receivers()[M.PREDICT], "eval/*.tfevents.*")
    path = estimator.latest_checkpoint()
    assert exporter.export(estimator, str(tmp_path / "out"), path, {"loss": 1.5}, False) is None
    assert exporter.export(estimator, str(tmp_path / "out"), path, {"loss": 0.5}, False) is not None


def test_a_config_may_say_by_properties_what_it_is(tmp_path: Path) -> None:
    class Config(E.RunConfig):
        @property
        def tf_random_seed(self) -> int:  # type: ignore[override]
            return 3

        @property
        def task_type(self) -> str:
            return "evaluator"

    assert Config().tf_random_seed == 3
    with pytest.raises(ValueError, match="train_and_evaluate"):
        E.Estimator(model, str(tmp_path), Config()).train(fed, steps=1)
    with pytest.raises(ValueError, match='device_fn must be callable with exactly one argument "op"'):
        E.RunConfig(device_fn=lambda x: "/cpu:0")
    with pytest.raises(ValueError, match="experimental_max_worker_delay_secs must be an integer"):
        E.RunConfig().replace(experimental_max_worker_delay_secs="5")


def test_arrays_without_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="x cannot be an empty array"):
        E.inputs.numpy_input_fn(np.zeros([2, 0]), np.zeros([2]), shuffle=False)


def test_the_events_of_an_evaluation_name_the_checkpoint(tmp_path: Path) -> None:
    estimator = E.Estimator(model, str(tmp_path)).train(fed, steps=1)
    estimator.evaluate(fed, steps=1)
    (events,) = (tmp_path / "eval").glob("*tfevents*")
    values = [value for event in gf.train.summary_iterator(str(events)) for value in event.summary.value]
    (path,) = (value for value in values if value.tag == "checkpoint_path")
    assert gf.make_ndarray(path.tensor).item().decode() == estimator.latest_checkpoint()
    assert path.metadata.plugin_data.plugin_name == "text"
