"""Protects what model functions of one's own are put together from: logits, heads, receivers, specifications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.as_tensorflow.finder import member
from graphflow.estimator.canned.optimizers import optimizer_of
from graphflow.estimator.checkpoint_hook import StopAtCheckpointStepHook
from graphflow.estimator.export import SupervisedInputReceiver, UnsupervisedInputReceiver

E = gf.estimator
X = E.experimental
HEADS = "tensorflow_estimator.python.estimator.canned.head"


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as found:
        yield found


def names() -> list[str]:
    return sorted(variable.name for variable in gf.global_variables())


def test_logits_of_a_linear_model() -> None:
    age = gf.feature_column.numeric_column("age")
    logits = X.linear_logit_fn_builder(2, [age])({"age": gf.constant([[23.0], [31.0]])})
    assert names() == ["linear_model/age/weights:0", "linear_model/bias_weights:0"]
    bias, weights = (next(v for v in gf.global_variables() if part in v.name) for part in ("bias", "age"))
    with gf.Session() as session:
        session.run([bias.assign([10.0, 5.0]), weights.assign([[2.0, 3.0]])])
        assert session.run(logits).tolist() == [[56.0, 74.0], [72.0, 98.0]]


def test_logits_of_a_network() -> None:
    age = gf.feature_column.numeric_column("age")
    make = X.dnn_logit_fn_builder(2, [3], [age], gf.nn.relu, 0.5, None, False)
    found = X.call_logit_fn(make, {"age": gf.constant([[1.0]])}, E.ModeKeys.PREDICT, None, None)
    assert found.shape.as_list() == [1, 2]
    assert names() == [
        f"{layer}/{part}:0" for layer in ("hiddenlayer_0", "logits") for part in ("bias", "kernel")
    ]
    with pytest.raises(ValueError, match="units must be an int"):
        X.dnn_logit_fn_builder(2.0, [3], [age], None, None, None, False)


def test_what_a_logit_function_gives_is_checked() -> None:
    features = {"a": gf.constant([[2.0]])}

    def both(features: Any, params: Any) -> Any:
        return {"one": features["a"] * params, "two": features["a"]}

    assert set(X.call_logit_fn(both, features, "train", 2.0, None)) == {"one", "two"}
    with pytest.raises(ValueError, match="should return a Tensor or a dictionary"):
        X.call_logit_fn(lambda features: [features["a"]], features, "train", None, None)


@pytest.mark.parametrize(
    ("name", "arguments", "logits", "labels", "loss"),
    [
        (
            "_multi_class_head_with_softmax_cross_entropy_loss",
            (3,),
            [[10.0, 0.0, 0.0], [0.0, 10.0, 0.0]],
            [1, 1],
            10.0,
        ),
        ("_binary_logistic_head_with_sigmoid_cross_entropy_loss", (), [[45.0], [-41.0]], [0, 0], 45.0),
        ("_regression_head", (), [[45.0], [41.0]], [43.0, 44.0], 13.0),
    ],
)
def test_heads_of_canned_models_sum_losses(
    name: str, arguments: Any, logits: Any, labels: Any, loss: float
) -> None:
    head = member(HEADS, name)(*arguments)
    made = head.create_loss({}, E.ModeKeys.EVAL, np.array(logits, "f"), np.array(labels)[:, None])
    with gf.Session() as session:
        session.run(gf.tables_initializer())
        assert session.run(made.training_loss) == pytest.approx(loss, rel=1e-3)


def test_logits_of_a_wrong_size_fail_at_the_run() -> None:
    logits = gf.placeholder(gf.float32)
    head = gf.contrib.estimator.multi_class_head(3)
    spec = head.create_estimator_spec({}, E.ModeKeys.PREDICT, logits)
    with gf.Session() as session:
        assert session.run(spec.predictions["class_ids"], {logits: [[0.0, 2.0, 1.0]]}).tolist() == [[1]]
        for wrong in ([[1.0, 2.0]], [1.0, 2.0, 3.0]):
            with pytest.raises(gf.errors.InvalidArgumentError, match="logits shape must be"):
                session.run(spec.predictions["class_ids"], {logits: wrong})


def test_metrics_of_keras_evaluate_an_estimator(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        mean = gf.keras.metrics.Mean()
        mean.update_state(labels)
        both = gf.metrics.mean(features), gf.metrics.mean(labels)
        pair = ((both[0][0], (both[1][0],)), gf.group(both[0][1], both[1][1]))
        step = gf.train.get_global_step().assign_add(1)
        return E.EstimatorSpec(
            mode, features, gf.reduce_sum(labels), step, eval_metric_ops={"mean": mean, "both": pair}
        )

    estimator = E.Estimator(model_fn, str(tmp_path))
    found = estimator.evaluate(
        lambda: gf.data.Dataset.from_tensor_slices(([1.0, 3.0, 5.0], [2.0, 4.0, 9.0])).batch(2)
    )
    assert found["mean"] == 5.0 and found["both"] == (3.0, (5.0,))
    with pytest.raises(ValueError, match="call update_state"):
        E.EstimatorSpec("eval", loss=gf.constant(1.0), eval_metric_ops={"mean": gf.keras.metrics.Mean()})


def test_one_output_is_served_by_default() -> None:
    number = gf.constant([1.0])
    spec = E.EstimatorSpec("infer", {"n": number})
    assert spec.export_outputs["serving_default"].outputs == {"n": number}
    output = E.export.RegressionOutput(number)
    spec = E.EstimatorSpec("infer", number, export_outputs={"head": output})
    assert spec.export_outputs == {"head": output, "serving_default": output}
    with pytest.raises(ValueError, match="None of the export_outputs"):
        E.EstimatorSpec("infer", number, export_outputs={"one": output, "other": output})
    with pytest.raises(TypeError, match="must be Operation or Tensor"):
        E.EstimatorSpec("infer", {"sparse": gf.SparseTensor([[0]], [1.0], [1])})


def test_receivers_of_features_and_labels() -> None:
    features, labels = {"a": gf.constant([[1], [2]])}, gf.constant([3.0, 4.0])
    found = X.build_raw_supervised_input_receiver_fn(features, labels)()
    assert isinstance(found, SupervisedInputReceiver)
    assert found.receiver_tensors == {"a": found.features["a"], "label": found.labels}
    assert found.features["a"].shape.as_list() == [None, 1] and found.labels.dtype is gf.float32
    fixed = X.build_raw_supervised_input_receiver_fn(labels, labels, 7)()
    assert fixed.features.shape.as_list() == [7] and set(fixed.receiver_tensors) == {"input", "label"}
    with pytest.raises(ValueError, match="distinct keys"):
        X.build_raw_supervised_input_receiver_fn(features, {"a": labels})
    same = gf.contrib.estimator.build_supervised_input_receiver_fn_from_input_fn(
        lambda key: ({key: gf.constant([1])}, {"l": gf.constant([2])}), key="x"
    )()
    assert set(same.receiver_tensors) == {"x", "l"}


def test_what_is_no_tensor_is_not_received() -> None:
    one = gf.constant([1])
    for make, match in (
        (lambda: SupervisedInputReceiver(None, one, one), "features must be defined"),
        (lambda: SupervisedInputReceiver(one, {1.5: one}, one), "label keys must be strings or ints"),
        (lambda: SupervisedInputReceiver(one, one, {2: one}), "receiver_tensor keys must be strings"),
        (lambda: E.export.ServingInputReceiver("text", one), "feature must be a Tensor"),
        (lambda: UnsupervisedInputReceiver({"a": [1]}, one), "feature a must be a Tensor"),
    ):
        with pytest.raises(ValueError, match=match):
            make()


def test_a_worker_ends_once_the_last_step_is_saved(tmp_path: Path) -> None:
    step = gf.train.create_global_step()
    saver, path = gf.train.Saver(), str(tmp_path / "model.ckpt")
    tens, nine = step.assign(10), step.assign(9)
    hook = StopAtCheckpointStepHook(str(tmp_path), 10, wait_after_file_check_secs=0)
    nothing = gf.no_op()
    with gf.train.SingularMonitoredSession(hooks=[hook]) as session:
        raw = session.raw_session()
        for saved, ends in ((None, False), (nine, False), (tens, True)):
            if saved is not None:
                raw.run(saved)
                saver.save(raw, path)
            raw.run(tens)
            session.run(nothing)
            assert session.should_stop() is ends
    config = E.RunConfig(str(tmp_path))
    estimator = E.Estimator(lambda features: None, config=config)
    assert isinstance(X.make_stop_at_checkpoint_step_hook(estimator, 10), gf.train.StopAtStepHook)


def test_an_input_of_arrays_needs_no_estimator() -> None:
    features, labels = E.inputs.numpy_input_fn(
        {"a": np.arange(3.0)}, np.arange(3), batch_size=2, shuffle=False
    )()
    with gf.Session() as session:
        threads = gf.train.start_queue_runners(session)
        assert [session.run([features["a"], labels])[1].tolist() for _ in range(2)] == [[0, 1], [2]]
        with pytest.raises(gf.errors.OutOfRangeError):
            session.run(labels)
        session.run(gf.tables_initializer())
        assert session.run(labels).tolist() == [0, 1]
        assert not threads


def test_arrays_that_are_none_are_refused() -> None:
    with pytest.raises(TypeError, match="x must be a dict or array"):
        E.inputs.numpy_input_fn([1, 2], shuffle=False)
    one = {"a": np.ones(2)}
    with pytest.raises(ValueError, match="1 duplicate keys are found in both x and y"):
        E.inputs.numpy_input_fn(one, one, shuffle=False)


def test_names_of_evaluations_and_exporters_are_strings() -> None:
    with pytest.raises(TypeError, match="name of an evaluation"):
        E.EvalSpec(lambda: 1, name=3)
    with pytest.raises(ValueError, match="exporter's name"):
        E.EvalSpec(lambda: 1, exporters=E.FinalExporter(None, lambda: None))


def test_optimizers_by_name() -> None:
    assert isinstance(optimizer_of("Ftrl", 0.1), gf.train.FtrlOptimizer)
    with pytest.raises(ValueError, match="learning_rate must be specified"):
        optimizer_of("Adagrad")


def test_listeners_need_checkpoints(tmp_path: Path) -> None:
    class Counts(gf.train.CheckpointSaverListener):
        saves = 0

        def after_save(self, session: Any, global_step_value: int) -> None:
            self.saves += 1

    def model_fn(features: Any) -> Any:
        loss = gf.get_variable("v", [], initializer=gf.zeros_initializer()) + gf.reduce_sum(features)
        return E.EstimatorSpec("train", loss=loss, train_op=gf.train.get_global_step().assign_add(1))

    def input_fn() -> Any:
        return gf.constant([1.0])

    counts = Counts()
    none = E.Estimator(model_fn, config=E.RunConfig(str(tmp_path / "none"), save_checkpoints_secs=None))
    with pytest.raises(ValueError, match="no CheckpointSaverHook"):
        none.train(input_fn, steps=1, saving_listeners=[counts])
    with pytest.raises(TypeError, match="list of CheckpointSaverListener"):
        none.train(input_fn, steps=1, saving_listeners=["listener"])
    own = gf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    none.train(input_fn, [own], steps=2, saving_listeners=[counts])
    assert counts.saves == 3


def test_what_is_not_trained_begins_with_another_model(tmp_path: Path) -> None:
    def begins_with(value: float) -> Any:
        def model_fn(features: Any, mode: str) -> Any:
            v = gf.get_variable("v", initializer=value)
            step = gf.train.get_global_step().assign_add(1)
            return E.EstimatorSpec(mode, features + v, v, step, eval_metric_ops={"v": gf.metrics.mean(v)})

        return model_fn

    def input_fn() -> Any:
        return gf.data.Dataset.from_tensors([1.0])

    E.Estimator(begins_with(42.0), str(tmp_path / "trained")).train(input_fn, steps=1)
    other = E.Estimator(begins_with(36.0), str(tmp_path / "other"), warm_start_from=str(tmp_path / "trained"))
    assert other.evaluate(input_fn, steps=1)["v"] == 42.0
    assert list(other.predict(input_fn)) == [43.0]


def test_an_evaluation_writes_the_summaries_that_metrics_give(tmp_path: Path) -> None:
    """And its model may begin with the variables of a SavedModel; a spec may say no mode."""

    def model_fn(features: Any) -> Any:
        v = gf.get_variable("v", [], initializer=gf.zeros_initializer())
        loss = v + gf.reduce_sum(features)
        train = gf.group(v.assign_add(1.0), gf.train.get_global_step().assign_add(1))
        shown = gf.summary.histogram("numbers", features)
        outputs = {"serving_default": E.export.PredictOutput({"v": gf.identity(v)})}
        return E.EstimatorSpec(
            None,
            {"v": v},
            loss,
            train,
            {"shown": (shown, gf.no_op()), "other": (gf.constant("no"), gf.no_op())},
            outputs,
        )

    def numbers() -> Any:
        return gf.constant([1.0, 2.0])

    estimator = E.Estimator(model_fn, str(tmp_path / "model"))
    estimator.train(numbers, steps=3)
    estimator.evaluate(numbers, steps=1)
    gf.summary.FileWriterCache.clear()
    events = gf.contrib.testing.latest_summaries(str(tmp_path / "model" / "eval"))
    tags = {value.tag for event in events for value in event.summary.value}
    assert "shown/0" in tags and "loss" in tags

    def receiver() -> Any:
        fed = gf.placeholder(gf.float32, [None])
        return E.export.TensorServingInputReceiver(fed, fed)

    exported = estimator.export_saved_model(str(tmp_path / "exported"), receiver)
    begun = E.Estimator(model_fn, str(tmp_path / "other"), warm_start_from=exported)
    assert next(begun.predict(numbers, yield_single_examples=False)) == {"v": 3.0}
