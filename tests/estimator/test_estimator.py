"""Protects estimators: what is trained, evaluated, predicted and exported is what TensorFlow 1.15.5 gave.

The numbers were recorded from it, with the same initial values and the same rows in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

E = gf.estimator
ROWS = np.random.RandomState(0).randn(200, 3).astype("f")
LABELS = ROWS @ np.array([[1.0], [2.0], [-1.0]], "f") + 0.5


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    yield
    gf.summary.FileWriterCache.clear()


def linear(features: Any, labels: Any, mode: str, params: Any) -> Any:
    """A line through features."""
    w = gf.get_variable("w", [3, 1], initializer=gf.constant_initializer(0.1))
    b = gf.get_variable("b", [1], initializer=gf.zeros_initializer())
    y = gf.matmul(features["x"], w) + b
    if mode == E.ModeKeys.PREDICT:
        return E.EstimatorSpec(mode, predictions={"y": y, "twice": y * 2})
    loss = gf.losses.mean_squared_error(labels, y)
    if mode == E.ModeKeys.EVAL:
        measures = {"mae": gf.metrics.mean_absolute_error(labels, y)}
        return E.EstimatorSpec(mode, loss=loss, eval_metric_ops=measures)
    optimizer = gf.train.GradientDescentOptimizer(params["lr"])
    return E.EstimatorSpec(
        mode, loss=loss, train_op=optimizer.minimize(loss, global_step=gf.train.get_global_step())
    )


def rows(epochs: int | None = None, size: int = 32) -> Callable[[], Any]:
    return E.inputs.numpy_input_fn({"x": ROWS}, LABELS, size, epochs, shuffle=False)


def made(folder: Path, **config: Any) -> Any:
    return E.Estimator(
        linear,
        folder,
        E.RunConfig(**{"save_checkpoints_steps": 20, "tf_random_seed": 3} | config),
        {"lr": 0.1},
    )


def receive() -> Any:
    x = gf.placeholder(gf.float32, [None, 3])
    return E.export.ServingInputReceiver({"x": x}, {"x": x})


# ---- what TensorFlow gave -----------------------------------------------------------------------------------------


def test_training_and_evaluation_give_tensorflows_numbers(tmp_path: Path) -> None:
    estimator = made(tmp_path)
    assert estimator.train(rows(), steps=30) is estimator
    found = estimator.evaluate(rows(1))
    assert sorted(found) == ["global_step", "loss", "mae"] and found["global_step"] == 30
    np.testing.assert_allclose([found["loss"], found["mae"]], [2e-5, 0.00356], atol=5e-6)
    estimator.train(rows(), max_steps=50).train(rows(), max_steps=50)
    assert estimator.evaluate(rows(1), steps=2, name="x")["global_step"] == 50
    assert sorted(estimator.get_variable_names()) == ["b", "global_step", "w"]
    np.testing.assert_allclose(estimator.get_variable_value("w").ravel(), [1, 2, -1], atol=2e-4)


def test_each_training_and_evaluation_begins_with_the_first_rows(tmp_path: Path) -> None:
    estimator = made(tmp_path).train(rows(), steps=30).train(rows(), max_steps=50)
    expected = [0.999943, 1.9999793, -0.9999084, 0.5000738]  # TensorFlow's; without a new beginning others.
    found = [*estimator.get_variable_value("w").ravel(), *estimator.get_variable_value("b")]
    np.testing.assert_allclose(found, expected, rtol=5e-7)


@pytest.mark.parametrize("kind", ["one shot", "dataset"])
def test_an_input_that_ends_is_there_again_for_the_next_call(tmp_path: Path, kind: str) -> None:
    def data() -> Any:
        found = gf.data.Dataset.from_tensor_slices(({"x": ROWS}, LABELS)).batch(32)
        return found.make_one_shot_iterator().get_next() if kind == "one shot" else found

    estimator = made(tmp_path)
    assert [estimator.train(data).evaluate(data)["global_step"] for _ in range(3)] == [7, 14, 21]
    estimator.train(data, steps=2)
    assert len(list(estimator.predict(data))) == 200


def test_predictions_come_one_by_one_or_in_batches(tmp_path: Path) -> None:
    estimator = made(tmp_path).train(rows(), steps=30)
    found = list(estimator.predict(rows(1)))
    assert len(found) == 200 and sorted(found[0]) == ["twice", "y"] and found[0]["y"].shape == (1,)
    np.testing.assert_allclose([one["y"] for one in found], LABELS, atol=0.05)
    batches = list(estimator.predict(rows(1), predict_keys="twice", yield_single_examples=False))
    assert [len(batch["twice"]) for batch in batches] == [32] * 6 + [8] and set(batches[0]) == {"twice"}
    with pytest.raises(ValueError, match=r"at least one output from \['y', 'twice'\], provided \['z'\]"):
        next(estimator.predict(rows(1), predict_keys=["z"]))


def test_all_checkpoints_but_the_first_are_evaluated_and_the_last_is_exported(tmp_path: Path) -> None:
    estimator, steps = made(tmp_path), []

    class Steps(gf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            steps.append(session.run(gf.train.get_global_step()))

    evaluation = E.EvalSpec(
        rows(1), None, hooks=[Steps()], throttle_secs=0, exporters=[E.FinalExporter("final", receive)]
    )
    found, exported = E.train_and_evaluate(estimator, E.TrainSpec(rows(), max_steps=50), evaluation)
    assert steps == [20, 40, 50] and found["global_step"] == 50
    folder = os.fsdecode(exported[0])
    assert os.path.dirname(folder) == str(tmp_path / "export" / "final")
    with gf.Graph().as_default(), gf.Session() as session:
        signature = gf.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        assert signature.method_name == "tensorflow/serving/predict" and sorted(signature.outputs) == [
            "twice",
            "y",
        ]
        y = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: ROWS[:5]})
    np.testing.assert_allclose(y, LABELS[:5], atol=0.01)


def test_a_dataset_is_an_input_and_its_end_ends_training(tmp_path: Path) -> None:
    estimator = made(tmp_path)

    def data(mode: str, params: Any) -> Any:
        assert (mode, params) == (E.ModeKeys.TRAIN, {"lr": 0.1})
        return gf.data.Dataset.from_tensor_slices(({"x": ROWS}, LABELS)).batch(16)

    assert estimator.train(data).evaluate(rows(1))["global_step"] == 13


# ---- what estimators keep and clean up ----------------------------------------------------------------------------


def test_arrays_are_no_part_of_what_is_saved(tmp_path: Path) -> None:
    many = np.ones([50_000, 3], "f")
    made(tmp_path).train(
        E.inputs.numpy_input_fn({"x": many}, many[:, :1], 32, None, shuffle=True), max_steps=3
    )
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sizes and max(sizes) < 200_000


@pytest.mark.parametrize("keep", [1, 3])
def test_as_many_checkpoints_are_kept_as_the_config_says(tmp_path: Path, keep: int) -> None:
    estimator = made(tmp_path, keep_checkpoint_max=keep, save_checkpoints_steps=1)
    estimator.train(rows(), steps=6)
    state = gf.train.get_checkpoint_state(str(tmp_path))
    assert state is not None and len(state.all_model_checkpoint_paths) == keep


def test_without_a_checkpoint_the_model_is_as_initialised(tmp_path: Path) -> None:
    estimator = made(tmp_path)
    assert estimator.latest_checkpoint() is None
    assert estimator.evaluate(rows(1))["global_step"] == 0
    np.testing.assert_allclose(next(estimator.predict(rows(1)))["y"], ROWS[0].sum() * 0.1, rtol=1e-5)
    with pytest.raises(ValueError, match="not been trained yet"):
        estimator.get_variable_value("w")
    with pytest.raises(ValueError, match="not been trained yet"):
        estimator.export_saved_model(tmp_path / "out", receive)


def test_strings_and_columns_of_a_data_frame_are_features(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1, 2, 3], "word": ["a", "bc", "d"]}, index=[5, 6, 7])
    with gf.Graph().as_default(), gf.Session() as session:
        features, labels = E.inputs.pandas_input_fn(frame, frame["n"] * 2, 2, 1, shuffle=False)()
        session.run(gf.tables_initializer())
        first = session.run((features, labels))
    assert first[0]["word"].tolist() == [b"a", b"bc"] and first[1].tolist() == [2, 4]
    with pytest.raises(ValueError, match="mismatched"):
        E.inputs.pandas_input_fn(frame, pandas.Series([1, 2, 3]), shuffle=False)


def test_shuffled_rows_are_all_rows_each_epoch() -> None:
    x = np.arange(50)
    with gf.Graph().as_default(), gf.Session() as session:
        gf.set_random_seed(1)
        taken = E.inputs.numpy_input_fn(x, x * 2, 7, 2, shuffle=True)()
        session.run(gf.tables_initializer())
        pairs = []
        with pytest.raises(gf.errors.OutOfRangeError):
            while True:
                features, labels = session.run(taken)
                pairs += zip(features.tolist(), labels.tolist(), strict=True)
    assert sorted(a for a, _ in pairs) == sorted([*range(50)] * 2) and all(b == 2 * a for a, b in pairs)
    assert [a for a, _ in pairs[:50]] != list(range(50))


# ---- mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: E.Estimator(lambda x: x), "must include features"),
        (lambda: E.Estimator(lambda features: 1, params={"a": 1}), "does not include params"),
        (lambda: E.Estimator(lambda features, other: 1), r"not expected args: \['other'\]"),
        (lambda: E.Estimator(linear, config={}), "instance of RunConfig"),
        (lambda: E.Estimator(linear, "a", E.RunConfig("b")), "different values"),
        (lambda: E.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1), "both"),
        (lambda: E.RunConfig().replace(cluster_spec=None), "cluster_spec is not supported"),
        (lambda: E.Estimator(linear, "a").train(rows(), steps=1, max_steps=1), "both steps and max_steps"),
        (lambda: E.Estimator(linear, "a").train(rows(), steps=0), "steps > 0"),
        (lambda: E.TrainSpec(rows(), 0), "max_steps > 0"),
        (lambda: E.EvalSpec(rows(), throttle_secs=-1), "throttle_secs >= 0"),
        (lambda: E.inputs.numpy_input_fn({"x": ROWS}), "explicitly set as boolean"),
        (lambda: E.inputs.numpy_input_fn({"x": ROWS}, ROWS[:3], shuffle=False), "same first size"),
        (lambda: E.EstimatorSpec("train", loss=1.0), "Missing train_op"),
        (lambda: E.EstimatorSpec("eval"), "Missing loss"),
        (lambda: E.EstimatorSpec("infer"), "Missing predictions"),
        (lambda: E.EstimatorSpec("test"), "ModeKeys"),
    ],
)
def test_mistakes_say_what_is_wrong(act: Callable[[], Any], text: str) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match=text):
        act()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda features, mode: None, "should return an EstimatorSpec"),
        (lambda features: E.EstimatorSpec("eval", loss=gf.zeros([2])), "Loss must be scalar"),
    ],
)
def test_a_model_function_that_gives_what_is_no_model(
    tmp_path: Path, function: Callable[..., Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        E.Estimator(function, tmp_path).train(lambda: {"x": gf.constant(ROWS)}, steps=1)
    with pytest.raises(ValueError, match="does not take labels"):
        E.Estimator(function, tmp_path).train(rows(), steps=1)


def test_a_loss_that_is_no_number_ends_training(tmp_path: Path) -> None:
    def bad(features: Any, labels: Any, mode: str) -> Any:
        loss = gf.reduce_sum(gf.log(-gf.abs(features["x"]) - 1.0))
        return E.EstimatorSpec(mode, loss=loss, train_op=gf.train.get_global_step().assign_add(1))

    with pytest.raises(gf.train.NanLossDuringTrainingError):
        E.Estimator(bad, tmp_path).train(rows(), steps=5)


def test_the_config_knows_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    config = E.RunConfig()
    assert (config.is_chief, config.num_ps_replicas, config.num_worker_replicas, config.master) == (
        True,
        0,
        1,
        "",
    )
    cluster = '{"ps": ["localhost:1"], "chief": ["localhost:2"], "worker": ["localhost:3", "localhost:4"]}'
    for task, expected in {
        '"chief", "index": 0': (True, 1, 3, "zmq://localhost:2"),
        '"worker", "index": 1': (False, 1, 3, "zmq://localhost:4"),
        '"ps", "index": 0': (False, 1, 3, ""),
    }.items():
        monkeypatch.setenv("TF_CONFIG", f'{{"cluster": {cluster}, "task": {{"type": {task}}}}}')
        config = E.RunConfig()
        found = config.is_chief, config.num_ps_replicas, config.num_worker_replicas, config.master
        assert found == expected


def test_a_wrong_tf_config_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", '{"task": {"type": "worker"}}')
    assert E.RunConfig().is_chief
    for text, wrong in {
        "{": "is no JSON",
        "[1]": "must be an object",
        '{"cluster": {"ps": 1}}': "list of host:port",
    }.items():
        monkeypatch.setenv("TF_CONFIG", text)
        with pytest.raises(ValueError, match=wrong):
            E.RunConfig()


def test_signatures_that_there_cannot_be_are_left_out_of_an_exported_model(tmp_path: Path) -> None:
    columns = [gf.feature_column.numeric_column(name) for name in ("a", "b")]
    model = gf.estimator.LinearClassifier(columns, model_dir=str(tmp_path / "model"))
    rows = {"a": np.ones([4, 1], np.float32), "b": np.zeros([4, 1], np.float32)}
    model.train(gf.estimator.inputs.numpy_input_fn(rows, np.ones([4], np.int64), shuffle=False), steps=1)
    receive = gf.estimator.export.build_raw_serving_input_receiver_fn(
        {name: gf.placeholder(gf.float32, [None, 1], name=name) for name in rows}
    )
    folder = model.export_savedmodel(str(tmp_path / "exported"), receive)
    with gf.Graph().as_default(), gf.Session() as session:
        found = gf.saved_model.loader.load(session, [gf.saved_model.tag_constants.SERVING], folder)
    assert list(found.signature_def) == ["predict"]
