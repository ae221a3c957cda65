"""What ready-made estimators give, asked in the same way of graphflow and of TensorFlow 1.15.5.

To record what TensorFlow says, with TensorFlow as tests/oracle/record.py describes it:

    oracle/bin/python tests/estimator/canned_cases.py

Every trained variable begins with sines of its own, by the order of names, so that both start alike. This file must
stay valid under Python 3.7 and imports neither of both.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Callable, Dict, List

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_canned.json")
ROWS = 24
STEPS = 6


def data() -> Dict[str, Any]:
    """Features of 24 rows, and labels of each kind."""
    number = np.arange(ROWS)
    age = (number * 7 % 50 + 18).astype(np.float32)
    pair = np.stack([np.sin(number), np.cos(number * 2)], 1).astype(np.float32)
    job = np.array(["clerk", "nurse", "cook", "pilot"])[number % 4]
    city = np.array(["Oslo", "Rome", "Bern", "Graz", "Lyon"])[number * 3 % 5]
    return {
        "features": {"age": age, "pair": pair, "job": job, "city": city,
                     "weight": (0.5 + number % 3).astype(np.float32)},
        "binary": (age > 40).astype(np.int32),
        "three": (number % 3).astype(np.int64),
        "word": np.array(["no", "yes"])[(age > 40).astype(int)],
        "number": (age / 10.0 + pair[:, 0]).astype(np.float32),
        "two": np.stack([age / 50.0, pair[:, 1]], 1).astype(np.float32),
        "some": np.stack([number % 2, number % 3 == 1, age > 40], 1).astype(np.int64),
        "count": (number % 5).astype(np.float32),
        "share": ((number % 7) / 7.0).astype(np.float32),
        "both": {"class": (age > 40).astype(np.int32), "size": (age / 10.0).astype(np.float32)},
    }  # fmt: skip


def columns(tf: Any) -> Dict[str, Any]:
    """The columns of all models."""
    fc = tf.feature_column
    age = fc.numeric_column("age", normalizer_fn=lambda x: (x - 40.0) / 20.0)
    buckets = fc.bucketized_column(fc.numeric_column("age"), [25, 35, 50])
    job = fc.categorical_column_with_vocabulary_list("job", ["clerk", "nurse", "cook"], num_oov_buckets=1)
    city = fc.categorical_column_with_hash_bucket("city", 7)
    crossed = fc.crossed_column([buckets, "job"], 20)
    return {
        "deep": [
            age,
            fc.numeric_column("pair", shape=(2,)),
            fc.indicator_column(job),
            fc.embedding_column(city, 3),
        ],
        "wide": [age, buckets, job, city, crossed],
    }


def _models(tf: Any) -> Dict[str, Any]:
    e, c = tf.estimator, columns(tf)
    deep, wide = c["deep"], c["wide"]
    mean = tf.losses.Reduction.SUM_OVER_BATCH_SIZE
    heads = tf.contrib.estimator
    both = {"linear_feature_columns": wide, "dnn_feature_columns": deep, "dnn_hidden_units": [5]}
    sgd = tf.train.GradientDescentOptimizer(0.01)
    return {
        "dnn two classes": ("binary", e.DNNClassifier, {"hidden_units": [6, 4], "feature_columns": deep}),
        "dnn three classes": (
            "three", e.DNNClassifier,
            {"hidden_units": [6], "feature_columns": deep, "n_classes": 3, "weight_column": "weight",
             "loss_reduction": mean},
        ),
        "dnn words": (
            "word", e.DNNClassifier,
            {"hidden_units": [4], "feature_columns": deep, "label_vocabulary": ["no", "yes"], "optimizer": "Adam",
             "activation_fn": tf.nn.tanh},
        ),
        "dnn normalised": (
            "number", e.DNNRegressor,
            {"hidden_units": [5, 3], "feature_columns": deep, "batch_norm": True, "optimizer": sgd},
        ),
        "dnn two numbers": (
            "two", e.DNNRegressor,
            {"hidden_units": [5], "feature_columns": deep, "label_dimension": 2, "weight_column": "weight",
             "optimizer": tf.contrib.estimator.clip_gradients_by_norm(tf.train.AdagradOptimizer(0.1), 1.5)},
        ),
        "linear two classes": ("binary", e.LinearClassifier, {"feature_columns": wide}),
        "linear three classes": (
            "three", e.LinearClassifier, {"feature_columns": wide, "n_classes": 3, "optimizer": sgd}
        ),
        "linear number": ("number", e.LinearRegressor, {"feature_columns": wide, "weight_column": "weight"}),
        "combined classes": ("binary", e.DNNLinearCombinedClassifier, dict(both, batch_norm=True)),
        "combined number": (
            "number", e.DNNLinearCombinedRegressor, dict(both, linear_optimizer=sgd, dnn_optimizer=lambda: sgd)
        ),
        "baseline two classes": ("binary", e.BaselineClassifier, {}),
        "baseline three classes": ("three", e.BaselineClassifier, {"n_classes": 3}),
        "head of some classes": (
            "some", e.LinearEstimator,
            {"feature_columns": wide, "optimizer": sgd,
             "head": heads.multi_label_head(
                 3, weight_column="weight", thresholds=[0.25, 0.6], classes_for_class_based_metrics=[1])},
        ),
        "head of counts": (
            "count", e.LinearEstimator,
            {"feature_columns": wide, "optimizer": sgd, "head": heads.poisson_regression_head()},
        ),
        "head of shares": (
            "share", e.DNNEstimator,
            {"feature_columns": deep, "hidden_units": [3], "optimizer": sgd,
             "head": heads.logistic_regression_head(name="part")},
        ),
        "head with thresholds": (
            "binary", e.LinearEstimator,
            {"feature_columns": wide, "optimizer": sgd,
             "head": heads.binary_classification_head(thresholds=[0.3], name="own")},
        ),
        "two heads": (
            "both", e.LinearEstimator,
            {"feature_columns": wide, "optimizer": sgd,
             "head": heads.multi_head(
                 [heads.binary_classification_head(name="class"), heads.regression_head(name="size")], [1.0, 0.5])},
        ),
        "baseline number": ("number", e.BaselineRegressor, {"weight_column": "weight", "optimizer": sgd}),
    }  # fmt: skip


NAMES = [
    "dnn two classes", "dnn three classes", "dnn words", "dnn normalised", "dnn two numbers", "linear two classes",
    "linear three classes", "linear number", "combined classes", "combined number", "baseline two classes",
    "baseline three classes", "baseline number", "head of some classes", "head of counts", "head of shares",
    "head with thresholds", "two heads",
]  # fmt: skip


LOGGED = ("head/truediv", "head/weighted_loss/Sum", "head/predictions/probabilities", "logits/BiasAdd")
"""Ends of names of operations that programs give to LoggingTensorHook."""


def _is_shown(operation: Any) -> bool:
    if operation.type in ("ScalarSummary", "HistogramSummary"):
        return not operation.name.startswith("enqueue_input")
    return bool(operation.name.endswith(LOGGED)) and "gradients" not in operation.name


def begun(tf: Any, losses: List[float], shown: List[str]) -> Any:
    """A hook that gives variables their first values, and notes the loss of every step, and names of operations."""

    class Begin(tf.train.SessionRunHook):  # type: ignore[misc,name-defined,unused-ignore]
        def begin(self) -> None:
            self.changes = []
            for number, variable in enumerate(sorted(tf.trainable_variables(), key=lambda v: v.name)):
                count = int(np.prod(variable.shape.as_list()))
                values = 0.5 * np.sin(np.arange(count) + 0.7 * number)
                self.changes.append(tf.assign(variable, values.reshape(variable.shape.as_list()).astype("f")))
            self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]
            shown.extend(sorted(o.name for o in tf.get_default_graph().get_operations() if _is_shown(o)))

        def after_create_session(self, session: Any, coord: Any) -> None:
            session.run(self.changes)

        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(self.loss)

        def after_run(self, context: Any, values: Any) -> None:
            losses.append(float(values.results))

    return Begin()


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, (float, np.floating)) else int(value)


def _signatures(tf: Any, estimator: Any, folder: str) -> Any:
    spec = tf.feature_column.make_parse_example_spec(columns(tf)["deep"] + columns(tf)["wide"])
    receive = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = estimator.export_saved_model(os.path.join(folder, "export"), receive)
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.loader.load(session, ["serve"], os.fsdecode(path)).signature_def
        return {
            name: [s.method_name, sorted(s.inputs), sorted(s.outputs)] for name, s in sorted(found.items())
        }


def outcome(tf: Any, name: str, folder: str) -> Dict[str, Any]:
    """Losses of the steps, metrics, predictions of three rows, variables of the checkpoint and signatures."""
    label, kind, arguments = _models(tf)[name]
    everything = data()
    inputs: Callable[..., Any] = tf.estimator.inputs.numpy_input_fn

    def feed(epochs: Any) -> Any:
        return inputs(everything["features"], everything[label], 8, epochs, shuffle=False)

    config = tf.estimator.RunConfig(save_summary_steps=2, tf_random_seed=1)
    estimator = kind(model_dir=folder, config=config, **arguments)
    losses: List[float] = []
    names: List[str] = []
    estimator.train(feed(None), hooks=[begun(tf, losses, names)], steps=STEPS)
    measured = estimator.evaluate(feed(1))
    predicted = [row for row, _ in zip(estimator.predict(feed(1)), range(3))]
    found = {
        "losses": losses,
        "names": names,
        "metrics": {key: float(value) for key, value in measured.items()},
        "predictions": [
            {key if isinstance(key, str) else "/".join(key): _plain(value) for key, value in row.items()}
            for row in predicted
        ],
        "variables": {
            key: list(np.shape(estimator.get_variable_value(key))) for key in estimator.get_variable_names()
        },
    }
    if not name.startswith("baseline"):
        found["signatures"] = _signatures(tf, estimator, folder)
    return found


def _record() -> None:
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    recorded = {name: outcome(tf, name, tempfile.mkdtemp()) for name in NAMES}
    with open(RECORDED, "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    _record()
