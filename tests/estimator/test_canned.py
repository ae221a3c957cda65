"""Protects ready-made estimators: losses, metrics, predictions, names and signatures are those of TensorFlow 1.15.5."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.estimator import canned_cases

RECORDED: Final[dict[str, Any]] = json.loads(Path(canned_cases.RECORDED).read_text("utf-8"))


@pytest.fixture(autouse=True)
def cleared() -> Iterator[None]:
    yield
    gf.summary.FileWriterCache.clear()


def assert_same(found: Any, expected: Any, where: str) -> None:
    assert type(found) is type(expected) or isinstance(found, float | int), where
    if isinstance(expected, dict):
        assert sorted(found) == sorted(expected), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}[{key!r}]")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            assert_same(found[number], value, f"{where}[{number}]")
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5, err_msg=where)
    else:
        assert found == expected, where


@pytest.mark.parametrize("name", canned_cases.NAMES)
def test_agrees_with_tensorflow(name: str, tmp_path: Path) -> None:
    found = canned_cases.outcome(gf, name, str(tmp_path))
    for part, expected in RECORDED[name].items():
        assert_same(found[part], expected, part)


def test_begins_with_the_variables_of_another_one(tmp_path: Path) -> None:
    columns = [gf.feature_column.numeric_column("x", shape=(2,))]
    rows = np.random.RandomState(0).randn(8, 2).astype("f")
    feed = gf.estimator.inputs.numpy_input_fn({"x": rows}, rows[:, :1], 4, None, shuffle=False)
    first = gf.estimator.LinearRegressor(columns, str(tmp_path / "first")).train(feed, steps=5)
    name = "linear/linear_model/x/weights"
    kept = first.get_variable_value(name)
    assert np.abs(kept).min() > 0
    still = gf.train.GradientDescentOptimizer(0.0)
    settings = gf.estimator.WarmStartSettings(first.model_dir, ".*x/weights")
    for number, given in enumerate((first.model_dir, settings)):
        folder = str(tmp_path / str(number))
        second = gf.estimator.LinearRegressor(columns, folder, optimizer=still, warm_start_from=given)
        second.train(feed, steps=1)
        np.testing.assert_array_equal(second.get_variable_value(name), kept)
        bias = second.get_variable_value("linear/linear_model/bias_weights")
        assert bool(np.any(bias)) == (number == 0)
    renamed = gf.estimator.WarmStartSettings(first.model_dir, var_name_to_prev_var_name={"nothing": name})
    third = gf.estimator.LinearRegressor(columns, str(tmp_path / "third"), warm_start_from=renamed)
    with pytest.raises(ValueError, match="were not used: \\['nothing'\\]"):
        third.train(feed, steps=1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda e, c: e.DNNClassifier([2], c, n_classes=1), "n_classes must be > 2"),
        (lambda e, c: e.DNNClassifier([2], c, loss_reduction="none"), "Invalid loss_reduction"),
        (lambda e, c: e.DNNRegressor([2], c, label_dimension=0), "Invalid label_dimension"),
        (lambda e, c: e.DNNLinearCombinedClassifier(), "Either linear_feature_columns or"),
        (lambda e, c: e.LinearClassifier(c, label_vocabulary="ab"), "should be a list or a tuple"),
        (lambda e, c: e.LinearClassifier(c, warm_start_from=3), "warm_start_from must be"),
    ],
)
def test_what_cannot_be_is_an_error_at_once(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(gf.estimator, [gf.feature_column.numeric_column("x")])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda h: h.multi_label_head(1), "n_classes must be > 1"),
        (
            lambda h: h.multi_label_head(3, label_vocabulary=["a"]),
            "1 words in label_vocabulary for 3 classes",
        ),
        (lambda h: h.multi_label_head(3, classes_for_class_based_metrics=[3]), "is below 3, got 3"),
        (lambda h: h.multi_label_head(3, thresholds=[1.5]), "thresholds not in"),
        (lambda h: h.regression_head(loss_fn=lambda labels: labels), "must contain argument: logits"),
        (lambda h: h.multi_head([]), "Must specify heads"),
        (lambda h: h.multi_head([h.regression_head(), h.regression_head()]), "has a name of its own"),
        (lambda h: h.multi_head([h.regression_head(name="a")], [1.0, 2.0]), "the same size, got 1 and 2"),
    ],
)
def test_what_heads_cannot_be_is_an_error_at_once(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(gf.contrib.estimator)


def test_losses_of_ones_own_and_labels_that_are_sparse() -> None:
    heads = gf.contrib.estimator
    logits = gf.constant([[1.0, -1.0, 0.5], [0.0, 2.0, -3.0]])
    sparse = gf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["c", "a", "b"], [2, 2])
    words = heads.multi_label_head(3, label_vocabulary=["a", "b", "c"])
    plain = heads.multi_label_head(3)
    own = heads.regression_head(
        label_dimension=3,
        loss_fn=lambda labels, logits: (
            gf.reduce_max(abs(labels - logits), 1, keepdims=True) * gf.ones_like(logits)
        ),
    )
    dense = gf.constant([[0, 0, 1], [1, 1, 0]])
    with gf.Session() as session:
        found = [
            head.create_loss({}, "eval", logits, labels).training_loss
            for head, labels in ((words, sparse), (plain, dense), (own, gf.cast(dense, gf.float32)))
        ]
        session.run(gf.tables_initializer())
        of_words, of_numbers, of_own = session.run(found)
    assert of_words == of_numbers > 0
    np.testing.assert_allclose(of_own, (1.0 + 3.0) / 2)


@pytest.mark.parametrize(
    ("arguments", "labels", "message"),
    [
        ({}, np.zeros([4, 2], "i"), "Mismatched label shape"),
        ({"n_classes": 3}, np.zeros(4, "f"), "Labels dtype should be integer"),
        ({"optimizer": "Sgd"}, np.zeros(4, "i"), "Unsupported optimizer name: Sgd"),
        ({}, np.full(4, 2), "Labels must <= n_classes - 1"),
    ],
)
def test_labels_that_do_not_fit_are_an_error(
    arguments: dict[str, Any], labels: Any, message: str, tmp_path: Path
) -> None:
    columns = [gf.feature_column.numeric_column("x")]
    feed = gf.estimator.inputs.numpy_input_fn({"x": np.ones(4, "f")}, labels, 4, 1, shuffle=False)
    estimator = gf.estimator.LinearClassifier(columns, str(tmp_path), **arguments)
    with pytest.raises((ValueError, gf.errors.InvalidArgumentError), match=message):
        estimator.train(feed)


def test_examples_with_labels_and_weights() -> None:
    columns = [gf.feature_column.numeric_column("x")]
    found = gf.estimator.classifier_parse_example_spec(columns, "y", weight_column="w")
    assert {key: (spec.shape, spec.dtype.name) for key, spec in found.items()} == {
        "x": ((1,), "float32"),
        "y": ((1,), "int64"),
        "w": ((1,), "float32"),
    }
    assert gf.estimator.regressor_parse_example_spec(columns, "y", label_dimension=2)["y"].shape == (2,)
    with pytest.raises(ValueError, match="label should not be used as feature"):
        gf.estimator.classifier_parse_example_spec(columns, "x")
    with pytest.raises(ValueError, match="weight_column should not be used as feature"):
        gf.estimator.classifier_parse_example_spec(columns, "y", weight_column="x")
