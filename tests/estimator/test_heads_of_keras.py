"""Protects heads with Keras's metrics and optimizers: all that they say is what TensorFlow 1.15.5 says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.estimator import head_cases
from tests.estimator.test_canned import assert_same, cleared

E = gf.estimator
RECORDED: Final[dict[str, Any]] = json.loads(Path(head_cases.RECORDED).read_text("utf-8"))
__all__ = ["cleared"]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as found:
        yield found


@pytest.mark.parametrize("name", head_cases.CASES)
def test_agrees_with_tensorflow(name: str) -> None:
    found = head_cases.outcome(gf, name)
    for part, expected in RECORDED[name].items():
        assert_same(found[part], expected, part)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: E.BinaryClassHead(thresholds=[0.0]), r"thresholds not in \(0, 1\)"),
        (lambda: E.BinaryClassHead(loss_reduction="none"), "Invalid loss_reduction: none"),
        (lambda: E.BinaryClassHead(loss_fn=lambda labels: labels), "must contain argument: logits"),
        (lambda: E.BinaryClassHead(loss_fn=lambda labels, logits, name: labels), r"unexpected args: \['name'\]"),
        (lambda: E.MultiClassHead(None), "n_classes cannot be None"),
        (lambda: E.MultiClassHead(2), "n_classes must be > 2"),
        (lambda: E.MultiClassHead(3, label_vocabulary=["a"]), "does not have"),
        (lambda: E.MultiLabelHead(2, label_vocabulary={"a": 1}), "must be a list or tuple"),
        (lambda: E.MultiLabelHead(2, classes_for_class_based_metrics=[2]), r"must be in range \[0, 1\]. Given: 2"),
        (lambda: E.MultiLabelHead(2, classes_for_class_based_metrics=["a"]), "label_vocabulary must be provided"),
        (lambda: E.RegressionHead(0), "Invalid label_dimension 0"),
        (lambda: E.MultiHead([]), "Must specify heads"),
        (lambda: E.MultiHead([E.RegressionHead()]), "must have name specified"),
    ],
)  # fmt: skip
def test_what_a_head_cannot_be_is_an_error_at_once(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_a_step_needs_an_optimizer_of_keras_and_its_variables() -> None:
    head, logits = E.BinaryClassHead(), gf.constant([[1.0], [2.0]])

    def step(*training: Any, **rest: Any) -> Any:
        return head.create_estimator_spec({}, "train", logits, [[1], [0]], *training, **rest)

    with pytest.raises(ValueError, match=r"not a tf.keras.optimizers.Optimizer"):
        step(gf.train.AdamOptimizer(), [])
    with pytest.raises(ValueError, match="trainable_variables cannot be None"):
        step(gf.keras.optimizers.SGD())
    with pytest.raises(ValueError, match="cannot both be None"):
        step()
    with pytest.raises(ValueError, match="update_ops should be a list"):
        step(train_op_fn=lambda loss: gf.no_op(), update_ops=gf.no_op())
    with pytest.raises(NotImplementedError, match="Subclasses of Head must implement"):
        E.Head.create_estimator_spec(head, {}, "train", logits)


@pytest.mark.parametrize(
    ("what", "shape", "message"),
    [
        ("labels", [3, 1], r"\[expected_labels_shape: \] \[2 1\] \[labels_shape: \] \[3 1\]"),
        ("weights", [2, 3], r"\[logits_shape: \] \[2 1\] \[weights_shape: \] \[2 3\]"),
        ("losses", [2], r"\[logits_shape: \] \[2 1\] \[loss_shape: \] \[2\]"),
    ],
)
def test_shapes_that_are_known_at_the_run_are_checked_then(what: str, shape: Any, message: str) -> None:
    given = {key: gf.placeholder(gf.float32) for key in ("logits", "labels", "weights", "losses")}
    right = {key: np.zeros([2, 1]) for key in given}

    def loss_fn(labels: Any, logits: Any) -> Any:
        return given["losses"] + gf.reduce_sum(labels)

    head = E.BinaryClassHead("weights", loss_fn=loss_fn)
    old = gf.contrib.estimator.binary_classification_head("weights", loss_fn=loss_fn)
    features = {"weights": given["weights"]}
    mine = head.loss(given["labels"], given["logits"], features)
    theirs = old.create_loss(features, "eval", given["logits"], given["labels"]).training_loss
    fed = {given[key]: np.zeros(shape) if key == what else value for key, value in right.items()}
    with gf.Session() as session:
        for loss in (mine, theirs):
            with pytest.raises(gf.errors.InvalidArgumentError, match=message):
                session.run(loss, fed)


def test_logits_of_several_heads_are_of_their_sizes_or_have_their_names() -> None:
    head = E.MultiHead([E.BinaryClassHead(name="a"), E.MultiClassHead(3, name="b")])
    assert (head.name, head.logits_dimension, head.loss_reduction) == ("a_b", 4, "sum_over_batch_size")
    with pytest.raises(ValueError, match="Could not split logits"):
        head.predictions(gf.zeros([2, 5]))
    with pytest.raises(ValueError, match=r"logits has missing values for head\(s\): \['b'\]"):
        head.predictions({"a": gf.zeros([2, 1])})
    with pytest.raises(ValueError, match="labels must be a dict"):
        head.loss([[1], [0]], gf.zeros([2, 4]))
    with pytest.raises(ValueError, match="Prediction key must be in PredictionKeys, given: c"):
        E.BinaryClassHead().predictions(gf.zeros([2, 1]), ["c"])
