"""Protects gf.contrib.learn: that programs of 2017 train, evaluate and predict, that its files hold no code."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

learn = gf.contrib.learn
ROWS = np.random.RandomState(0).uniform(-1, 1, (32, 2)).astype("f")
TARGETS = ROWS @ np.array([2.0, -1.0], "f") + 0.5


def _line(features: Any, labels: Any, mode: str, params: Any) -> Any:
    y = gf.layers.dense(features, 1, kernel_initializer=gf.zeros_initializer())[:, 0]
    if mode == learn.ModeKeys.INFER:
        return learn.ModelFnOps(mode, {"y": y})
    loss = gf.losses.mean_squared_error(labels, y)
    step = gf.contrib.layers.optimize_loss(loss, gf.train.get_global_step(), params["rate"], "SGD")
    return {"y": y}, loss, step


def _matrix(features: Any, labels: Any) -> Any:
    return (features["x"] if isinstance(features, dict) else features), labels


def _input() -> Any:
    return gf.constant(ROWS), gf.constant(TARGETS)


def _model(folder: Path, **options: Any) -> Any:
    config = learn.RunConfig(tf_random_seed=1, save_checkpoints_steps=2, save_checkpoints_secs=None)
    return learn.Estimator(_line, folder / "model", config, {"rate": 0.5}, **options)


def test_an_estimator_learns(tmp_path: Path) -> None:
    model = _model(tmp_path)
    with pytest.raises(learn.NotFittedError):
        model.evaluate(input_fn=_input, steps=1)
    assert model.fit(input_fn=_input, steps=30) is model
    far = learn.MetricSpec(gf.contrib.metrics.streaming_mean_absolute_error, "y")
    found = model.evaluate(input_fn=_input, steps=1, metrics={"far": far})
    assert found["global_step"] == 30 and found["loss"] < 0.01 and found["far"] < 0.1
    assert "far" not in model.evaluate(ROWS, TARGETS)
    rows = model.predict(ROWS, outputs=["y"])
    assert abs(next(rows)["y"] - TARGETS[0]) < 0.2
    rows.close()
    assert model.fit(input_fn=_input, max_steps=30).get_variable_value("global_step") == 30
    assert {"dense/bias", "dense/kernel", "global_step"} < set(model.get_variable_names())


def test_features_are_engineered_first(tmp_path: Path) -> None:
    model = _model(tmp_path, feature_engineering_fn=lambda features, labels: (features[:, :1], labels))
    model.fit(input_fn=_input, steps=1)
    assert model.get_variable_value("dense/kernel").shape == (1, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.fit(input_fn=_input, steps=1, max_steps=1),
        lambda m: m.fit(ROWS, TARGETS, input_fn=_input),
        lambda m: m.fit(),
        lambda m: m.evaluate(input_fn=_input, metrics=[1]),
        lambda m: learn.Estimator(lambda features, labels: None, params={}),
        lambda m: learn.ModelFnOps("train", loss=gf.constant(1.0)),
        lambda m: learn.ModelFnOps("predict"),
        lambda m: learn.MetricSpec(lambda labels, targets: None),
        lambda m: learn.Experiment(1, _input, _input),
        lambda m: learn.Experiment(m, _input, _input, export_strategies=[1]),
        lambda m: learn.learn_runner.run(lambda output_dir: m),
        lambda m: learn.monitors.ValidationMonitor(),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[Any], Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        wrong(_model(tmp_path))


def test_a_ready_model_tells_irises_apart(tmp_path: Path) -> None:
    iris = learn.datasets.load_dataset("iris")
    columns = learn.infer_real_valued_columns_from_input(iris.data)
    model = learn.DNNClassifier([10], columns, str(tmp_path), 3, config=learn.RunConfig(tf_random_seed=1))
    model.fit(iris.data, iris.target, steps=150)
    assert model.evaluate(iris.data, iris.target)["accuracy"] > 0.9
    assert [int(c) for c in model.predict(iris.data[[0, 149]])] == [0, 2]
    assert np.isclose(sum(next(model.predict_proba(iris.data[:1]))), 1.0)


def test_scikit_learns_way(tmp_path: Path) -> None:
    columns = [gf.contrib.layers.real_valued_column("", dimension=2)]
    model = learn.SKCompat(learn.LinearRegressor(columns, str(tmp_path)))
    assert model.fit(ROWS, TARGETS, steps=200) is model
    assert np.abs(model.predict(ROWS)["scores"] - TARGETS).mean() < 0.2
    assert model.score(ROWS, TARGETS)["loss"] < 0.1


def test_an_experiment_trains_evaluates_and_exports(tmp_path: Path) -> None:
    def serving() -> Any:
        spec = {"x": gf.FixedLenFeature([2], gf.float32)}
        return learn.build_parsing_serving_input_fn(spec)()

    def made(run_config: Any, hparams: Any) -> Any:
        model = learn.Estimator(
            _line, config=run_config, params={"rate": hparams.rate}, feature_engineering_fn=_matrix
        )
        return learn.Experiment(
            model, _input, _input, train_steps=6, eval_steps=1, export_strategies=learn.make_export_strategy(serving)
        )  # fmt: skip

    config = learn.RunConfig(model_dir=tmp_path / "model", save_checkpoints_steps=2)
    found, exports = learn.learn_runner.run(
        made, run_config=config, hparams=gf.contrib.training.HParams(rate=0.5)
    )
    assert found["global_step"] == 6
    with gf.Graph().as_default(), gf.Session() as session:
        gf.saved_model.loader.load(session, ["serve"], exports[0].decode())
    assert config.uid() == learn.RunConfig(model_dir=tmp_path / "model", save_summary_steps=1).uid()
    assert config.uid() != learn.RunConfig(model_dir=tmp_path / "other").uid()


def test_training_ends_where_a_metric_gets_no_better(tmp_path: Path) -> None:
    monitor = learn.monitors.ValidationMonitor(
        input_fn=_input, eval_steps=1, every_n_steps=2, early_stopping_rounds=4, early_stopping_metric="loss",
        early_stopping_metric_minimize=False,
    )  # fmt: skip
    model = _model(tmp_path).fit(input_fn=_input, steps=100, monitors=[monitor])
    assert monitor.early_stopped and monitor.best_value > model.evaluate(input_fn=_input, steps=1)["loss"]
    assert model.get_variable_value("global_step") < 20


def test_tensors_are_run_several_times() -> None:
    with gf.Graph().as_default():
        count = gf.Variable(0)
        assert learn.run_n({"count": gf.assign_add(count, 1)}, n=2) == [{"count": 1}, {"count": 2}]
        fed = gf.placeholder(gf.float32)
        assert learn.run_feeds({"twice": fed * 2}, [{fed: 1.0}, {fed: 2.0}]) == [{"twice": 2}, {"twice": 4}]


def test_a_vocabulary_is_saved_without_code(tmp_path: Path) -> None:
    processor = learn.preprocessing.VocabularyProcessor(4, min_frequency=1)
    rows = np.array(list(processor.fit_transform(["b a a", "a b c", "b a d"])))
    assert rows.tolist() == [[2, 1, 1, 0], [1, 2, 0, 0], [2, 1, 0, 0]] and len(processor.vocabulary_) == 3
    processor.save(tmp_path / "words")
    restored = learn.preprocessing.VocabularyProcessor.restore(tmp_path / "words")
    assert next(restored.transform(["c b"])).tolist() == [0, 2, 0, 0]
    assert list(restored.reverse(rows[:1])) == ["b a a <UNK>"]
    with pytest.raises(TypeError, match="tokenizer_fn"):
        learn.preprocessing.VocabularyProcessor(4, tokenizer_fn=str.split).save(tmp_path / "other")


@pytest.mark.parametrize(
    "content", [pickle.dumps({"a": 1}), pickle.dumps([1], 0), b"{}", b'{"format": "other"}', b"\xff\xfe"]
)
def test_other_files_are_no_vocabularies(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(content)
    with pytest.raises(gf.errors.DataLossError):
        learn.preprocessing.VocabularyProcessor.restore(tmp_path / "words")


def test_bytes_of_documents() -> None:
    processor = learn.preprocessing.ByteProcessor(4)
    rows = list(processor.transform(["ab", "äbcd"]))
    assert [row.tolist() for row in rows] == [[97, 98, 0, 0], [195, 164, 98, 99]]
    assert list(processor.reverse(rows)) == ["ab", "äbc"]


def test_data_that_are_not_there_are_named(tmp_path: Path) -> None:
    for lost in (
        learn.datasets.load_boston,
        lambda: learn.datasets.base.maybe_download("x", tmp_path, "the web"),
    ):
        with pytest.raises(gf.errors.NotFoundError, match="downloads nothing"):
            lost()
    (tmp_path / "table").write_text("2,1,a,b\n0.5,1\n")
    with pytest.raises(ValueError, match="first line"):
        learn.datasets.base.load_csv_with_header(tmp_path / "table", np.int64, np.float64)
    (tmp_path / "table").write_text("0.5,1\n0.25,2\n")
    found = learn.datasets.base.load_csv_without_header(tmp_path / "table", np.int64, np.float64)
    assert found.data.tolist() == [[0.5], [0.25]] and found.target.tolist() == [1, 2]


def test_former_columns() -> None:
    layers = gf.contrib.layers
    age = layers.real_valued_column("age")
    words = layers.sparse_column_with_keys("word", ["a", "b"])
    town = layers.sparse_column_with_hash_bucket("town", 10)
    crossed = layers.crossed_column([town, layers.bucketized_column(age, [3.0])], 20)
    columns = [age, layers.one_hot_column(words), layers.embedding_column(town, 2)]
    features = {
        "age": gf.constant([[1.0], [5.0]]), "word": gf.constant([["b"], ["c"]]), "town": gf.constant([["x"], ["y"]]),
    }  # fmt: skip
    net = layers.input_from_feature_columns(features, columns)
    total, variables, bias = layers.weighted_sum_from_feature_columns(
        features, [age, words, town, crossed], 3
    )
    with gf.Session() as session:
        session.run([gf.global_variables_initializer(), gf.tables_initializer()])
        rows, sums = session.run([net, total])
    assert rows.shape == (2, 5) and rows[:, 0].tolist() == [1, 5] and rows[:, 3:].tolist() == [[0, 1], [0, 0]]
    assert not sums.any() and sums.shape == (2, 3) and len(variables) == 4 and bias.shape == [3]
    spec = layers.create_feature_spec_for_parsing([age, words, crossed])
    assert sorted(spec) == ["age", "town", "word"]
    with pytest.raises(gf.errors.UnimplementedError, match="combiner"):
        layers.sparse_column_with_keys("word", ["a"], combiner="mean")
