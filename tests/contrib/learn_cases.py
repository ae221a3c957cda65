"""What contrib.learn gives, asked in the same way of graphflow and of TensorFlow 1.15.5.

To record what TensorFlow says, with TensorFlow as tests/oracle/record.py describes it:

    oracle/bin/python tests/contrib/learn_cases.py

Every trained variable begins with sines of its own, by the order of names. This file must stay valid under Python 3.7
and imports neither of both.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Dict, List

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_learn.json")
STEPS = 5
_NUMBER = np.arange(24)
ROWS = np.stack([np.sin(_NUMBER * 1.1), np.cos(_NUMBER * 0.6)], 1).astype(np.float32)
TARGETS = (ROWS @ np.array([2.0, -1.0]) + 0.3).astype(np.float32)
LABELS = {
    "number": TARGETS,
    "binary": (TARGETS > 0).astype(np.int32),
    "three": (_NUMBER % 3).astype(np.int32),
}
WORDS = np.array(["oak", "elm", "fir", "ash"])[_NUMBER % 4]
WEIGHTS = (0.5 + _NUMBER % 3).astype(np.float32)
CASES = [
    "line", "pair", "linear number", "linear classes", "linear three classes", "dnn number", "dnn classes",
    "combined number",
]  # fmt: skip


def _line(tf: Any) -> Callable[..., Any]:
    learn = tf.contrib.learn

    def model_fn(features: Any, labels: Any, mode: Any, params: Any) -> Any:
        y = tf.layers.dense(features["x"], 1)[:, 0]
        if mode == learn.ModeKeys.INFER:
            return learn.ModelFnOps(mode, {"y": y})
        loss = tf.losses.mean_squared_error(labels, y)
        step = tf.contrib.layers.optimize_loss(
            loss, tf.contrib.framework.get_global_step(), params["rate"], "Adagrad", clip_gradients=1.5
        )
        measured = {"own": tf.contrib.metrics.streaming_mean_absolute_error(y, labels)}
        return learn.ModelFnOps(mode, {"y": y}, loss, step, eval_metric_ops=measured)

    return model_fn


def _pair(tf: Any) -> Callable[..., Any]:
    def model_fn(features: Any, labels: Any, mode: Any, params: Any) -> Any:
        y = tf.layers.dense(features["x"], 1)[:, 0]
        loss = tf.losses.mean_squared_error(labels, y)
        step = tf.contrib.layers.optimize_loss(
            loss, tf.contrib.framework.get_global_step(), params["rate"], "SGD",
            learning_rate_decay_fn=lambda rate, step: tf.train.exponential_decay(rate, step, 2, 0.5),
        )  # fmt: skip
        return {"y": y}, loss, step

    return model_fn


def _estimator(tf: Any, name: str, folder: str) -> Any:
    learn, layers = tf.contrib.learn, tf.contrib.layers
    config = learn.RunConfig(tf_random_seed=1)
    if name in ("line", "pair"):
        function = _line(tf) if name == "line" else _pair(tf)
        return learn.Estimator(function, folder, config, {"rate": 0.1})
    x = layers.real_valued_column("x", 2)
    word = layers.sparse_column_with_keys("word", ["oak", "elm", "fir"])
    wide = [x, word, layers.bucketized_column(layers.real_valued_column("age"), [3.0, 7.0])]
    deep = [x, layers.one_hot_column(word), layers.embedding_column(word, 2)]
    sgd = tf.train.GradientDescentOptimizer(0.05)
    given: Dict[str, Any] = {"model_dir": folder, "config": config}
    if name == "linear number":
        return learn.LinearRegressor(wide, weight_column_name="weight", optimizer=sgd, **given)
    if name == "linear classes":
        return learn.LinearClassifier(wide, **given)
    if name == "linear three classes":
        return learn.LinearClassifier(wide, n_classes=3, optimizer=sgd, **given)
    if name == "dnn number":
        return learn.DNNRegressor([4], deep, optimizer=sgd, gradient_clip_norm=2.0, **given)
    if name == "dnn classes":
        return learn.DNNClassifier([4, 3], deep, activation_fn=tf.nn.tanh, **given)
    return learn.DNNLinearCombinedRegressor(
        linear_feature_columns=wide, linear_optimizer=sgd, dnn_feature_columns=deep, dnn_hidden_units=[3],
        dnn_optimizer=sgd, fix_global_step_increment_bug=True, **given
    )  # fmt: skip


def _begun(tf: Any, losses: List[float]) -> Any:
    class Begin(tf.train.SessionRunHook):  # type: ignore[misc,name-defined,unused-ignore]
        def begin(self) -> None:
            self.changes = []
            for number, variable in enumerate(sorted(tf.trainable_variables(), key=lambda v: v.name)):
                shape = variable.shape.as_list()
                values = 0.5 * np.sin(np.arange(int(np.prod(shape))) + 0.7 * number)
                self.changes.append(tf.assign(variable, values.reshape(shape).astype("f")))
            self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

        def after_create_session(self, session: Any, coord: Any) -> None:
            session.run(self.changes)

        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(self.loss)

        def after_run(self, context: Any, values: Any) -> None:
            losses.append(float(np.ravel(values.results)[0]))

    return Begin()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, list, tuple)):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, (float, np.floating)) else int(value)


def outcome(tf: Any, name: str, folder: str) -> Dict[str, Any]:
    """Losses of the steps, metrics and predictions."""
    learn = tf.contrib.learn
    kind = "three" if "three" in name else "binary" if name.endswith("classes") else "number"

    def input_fn() -> Any:
        words = tf.constant(WORDS)
        places = np.stack([_NUMBER, np.zeros(24, int)], 1).astype(np.int64)
        features = {
            "x": tf.constant(ROWS), "word": tf.SparseTensor(places, words, [24, 1]),
            "age": tf.constant((_NUMBER % 10).astype(np.float32).reshape(-1, 1)),
            "weight": tf.constant(WEIGHTS.reshape(-1, 1)),
        }  # fmt: skip
        return features, tf.constant(LABELS[kind])

    estimator = _estimator(tf, name, folder)
    losses: List[float] = []
    estimator.fit(input_fn=input_fn, steps=STEPS, monitors=[_begun(tf, losses)])
    metrics = None
    if name in ("line", "pair"):
        far = tf.contrib.metrics.streaming_root_mean_squared_error
        metrics = {"far": learn.MetricSpec(far, prediction_key="y")}
    measured = estimator.evaluate(input_fn=input_fn, steps=1, metrics=metrics)
    found: Dict[str, Any] = {
        "losses": losses,
        "metrics": {key: float(value) for key, value in measured.items()},
    }
    if kind == "number":
        asked = estimator.predict if name in ("line", "pair") else estimator.predict_scores
        found["predictions"] = _plain([row for row, _ in zip(asked(input_fn=input_fn), range(3))])
    else:
        found["classes"] = _plain(
            [row for row, _ in zip(estimator.predict_classes(input_fn=input_fn), range(5))]
        )
        found["shares"] = _plain(
            [row for row, _ in zip(estimator.predict_proba(input_fn=input_fn), range(3))]
        )
    return found


def _record() -> None:
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    recorded = {name: outcome(tf, name, tempfile.mkdtemp()) for name in CASES}
    with open(RECORDED, "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    _record()
