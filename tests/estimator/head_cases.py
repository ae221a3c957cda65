"""What heads with Keras's metrics give, asked in the same way of graphflow and of TensorFlow 1.15.5.

To record what TensorFlow says, with TensorFlow as tests/oracle/record.py describes it:

    oracle/bin/python tests/estimator/head_cases.py

Nothing is drawn at random. This file must stay valid under Python 3.7 and imports neither of both.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_heads.json")
LOGITS = np.array([[0.3, -1.2, 0.8], [1.4, 0.1, -0.6], [-0.5, 0.9, 0.2], [0.7, -0.3, 1.1]], np.float32)
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.25], np.float32)
NUMBERS = np.array([[0.2, 1.0, 0.4], [0.9, 0.3, 0.6], [0.0, 0.8, 0.1], [1.0, 0.5, 0.7]], np.float32)


def absolute(tf: Any) -> Any:
    """A loss of one's own."""
    return lambda labels, logits: tf.abs(tf.cast(labels, tf.float32) - logits)


CASES: Dict[str, Any] = {
    "binary": lambda tf, e: (e.BinaryClassHead(), LOGITS[:, :1], [[1], [0], [1], [1]]),
    "binary_weighted": lambda tf, e: (
        e.BinaryClassHead("w", thresholds=[0.25, 0.6], loss_reduction="sum", name="two"), LOGITS[:, :1], [1, 0, 1, 1]
    ),
    "binary_of_words": lambda tf, e: (
        e.BinaryClassHead(label_vocabulary=["no", "yes"], loss_fn=absolute(tf)),
        LOGITS[:, 1:2], [["yes"], ["no"], ["no"], ["yes"]],
    ),
    "classes": lambda tf, e: (e.MultiClassHead(3), LOGITS, [[2], [0], [2], [1]]),
    "classes_of_words": lambda tf, e: (
        e.MultiClassHead(3, "w", ["a", "b", "c"], loss_reduction="sum", name="three"), LOGITS, ["c", "a", "b", "b"]
    ),
    "labels": lambda tf, e: (
        e.MultiLabelHead(3, "w", thresholds=[0.4], classes_for_class_based_metrics=[0, 2], name="many"),
        LOGITS, np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1]]),
    ),
    "sparse_labels": lambda tf, e: (
        e.MultiLabelHead(3, label_vocabulary=["a", "b", "c"], classes_for_class_based_metrics=["b"]), LOGITS,
        tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [3, 0]], ["a", "c", "b", "a", "c"], [4, 2]),
    ),
    "numbers": lambda tf, e: (e.RegressionHead(3, "w"), LOGITS, NUMBERS),
    "numbers_weighted_each": lambda tf, e: (
        e.RegressionHead(3, "each", loss_reduction="sum", inverse_link_fn=tf.exp, name="some"), LOGITS, NUMBERS
    ),
    "rates": lambda tf, e: (e.PoissonRegressionHead(3), LOGITS, NUMBERS),
    "shares": lambda tf, e: (e.LogisticRegressionHead("w"), LOGITS[:, :1], NUMBERS[:, :1]),
    "several": lambda tf, e: (
        e.MultiHead([e.BinaryClassHead(name="one"), e.RegressionHead(2, "w", name="other")], [0.5, 2.0]),
        LOGITS, {"one": [[1], [0], [1], [1]], "other": NUMBERS[:, 1:]},
    ),
}  # fmt: skip


def plain(value: Any) -> Any:
    """What JSON can hold."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()] if value.ndim else plain(value.item())
    return (
        [plain(each) for each in value]
        if isinstance(value, list)
        else value.item()
        if hasattr(value, "item")
        else value
    )


def feeds(tf: Any) -> Dict[str, Any]:
    """Features, weights among them."""
    return {"x": tf.constant([[1.0]] * 4), "w": tf.constant(WEIGHTS), "each": tf.constant(NUMBERS + 0.5)}


def run(tf: Any, wanted: Any, before: Any = None) -> Any:
    """The values of tensors, after an operation."""
    with tf.Session() as session:
        tables = [
            tf.global_variables_initializer(),
            tf.local_variables_initializer(),
            tf.tables_initializer(),
        ]
        session.run(tables)
        if before is not None:
            session.run(before)
        return session.run(wanted)


def outcome(tf: Any, name: str) -> Dict[str, Any]:
    """All that a head says: predictions, signatures, losses, metrics, and a step of an optimizer."""
    modes, found = tf.estimator.ModeKeys, {}  # type: Any, Dict[str, Any]
    with tf.Graph().as_default():
        head, logits, _ = CASES[name](tf, tf.estimator)
        spec = head.create_estimator_spec(feeds(tf), modes.PREDICT, tf.constant(logits))
        values = run(tf, spec.predictions)
        found["predictions"] = {
            "/".join(k) if isinstance(k, tuple) else k: plain(v) for k, v in values.items()
        }
        found["signatures"] = {key: type(output).__name__ for key, output in spec.export_outputs.items()}
        found["size"], found["name"] = head.logits_dimension, head.name
    with tf.Graph().as_default():
        head, logits, labels = CASES[name](tf, tf.estimator)
        extra = [tf.constant(0.25), tf.constant(0.5)]
        spec = head.create_estimator_spec(
            feeds(tf), modes.EVAL, tf.constant(logits), labels, regularization_losses=extra
        )
        updates = {key: pair[1] for key, pair in spec.eval_metric_ops.items()}
        values = run(tf, {key: pair[0] for key, pair in spec.eval_metric_ops.items()}, updates)
        found["metrics"] = {key: plain(value) for key, value in values.items()}
        found["loss"] = plain(run(tf, spec.loss))
    with tf.Graph().as_default():
        head, logits, labels = CASES[name](tf, tf.estimator)
        scale = tf.Variable(1.0, use_resource=True)
        optimizer = tf.keras.optimizers.SGD(0.1)
        optimizer.iterations = tf.train.get_or_create_global_step()
        spec = head.create_estimator_spec(
            feeds(tf), modes.TRAIN, tf.constant(logits) * scale, labels, optimizer, [scale]
        )
        found["step"] = [plain(v) for v in run(tf, [scale, tf.train.get_global_step()], spec.train_op)]
    return found


def main() -> None:
    """Records what TensorFlow says."""
    import tensorflow as tf

    with open(RECORDED, "w") as file:
        json.dump({name: outcome(tf, name) for name in CASES}, file, indent=1, sort_keys=True)


if __name__ == "__main__":
    main()
