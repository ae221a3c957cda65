"""What estimators give under a strategy on two devices, asked in the same way of graphflow and of TensorFlow 1.15.5.

To record what TensorFlow says, with TensorFlow as tests/oracle/record.py describes it:

    oracle/bin/python tests/estimator/strategy_cases.py

This file must stay valid under Python 3.7 and imports neither of both.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_strategies.json")
CASES = ["mean", "sum", "LinearRegressor"]
DEVICES = ["/device:CPU:0", "/device:CPU:1"]


def data() -> Any:
    """48 rows of three numbers, and what is to be told of each."""
    number = np.arange(48)
    rows = np.stack([np.sin(number * 1.3), np.cos(number * 0.7), np.sin(number * 0.4 + 1.0)], 1).astype(
        np.float32
    )
    return rows, (rows @ np.array([[1.0], [-2.0], [0.5]]) + 0.3).astype(np.float32)


def begun(tf: Any, losses: List[float]) -> Any:
    """A hook that notes the loss of every step."""

    class Losses(tf.train.SessionRunHook):  # type: ignore[misc,name-defined,unused-ignore]
        def begin(self) -> None:
            self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(self.loss)

        def after_run(self, context: Any, values: Any) -> None:
            losses.append(float(values.results))

    return Losses()


def _value(name: str, shape: Any) -> Any:
    count = int(np.prod(shape))
    return (0.5 * np.sin(np.arange(count) + len(name))).reshape(shape).astype("f")


def model_fn_of(tf: Any, summed: bool) -> Any:
    """A model of a layer, whose loss is a mean or a sum over its batch."""
    reduction = tf.losses.Reduction.SUM if summed else tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS

    def model_fn(features: Any, labels: Any, mode: Any) -> Any:
        kernel = tf.get_variable("kernel", initializer=_value("kernel", (3, 1)))
        y = tf.matmul(features["x"], kernel) + tf.get_variable("bias", initializer=np.zeros(1, "f"))
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, {"y": y})
        loss = tf.losses.mean_squared_error(labels, y, reduction=reduction)
        measured = {"error": tf.metrics.mean_absolute_error(labels, y)}
        step = tf.train.get_or_create_global_step()
        train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=measured)

    return model_fn


def estimator_of(tf: Any, name: str, config: Any) -> Any:
    """The estimator of a case."""
    if name in ("mean", "sum"):
        return tf.estimator.Estimator(model_fn_of(tf, name == "sum"), config=config)
    columns = [tf.feature_column.numeric_column("x", shape=(3,))]
    sgd = tf.train.GradientDescentOptimizer(0.01)
    return tf.estimator.LinearRegressor(columns, optimizer=sgd, config=config)


def outcome(tf: Any, name: str, folder: str, devices: Any) -> Dict[str, Any]:
    """Losses of the steps, metrics, predictions, and the variables.

    devices: None for no strategy.
    """
    rows, labels = data()

    def feed(times: int) -> Any:
        def input_fn(input_context: Any = None) -> Any:
            size = 8 if input_context is None else input_context.get_per_replica_batch_size(8)
            return tf.data.Dataset.from_tensor_slices(({"x": rows}, labels)).batch(size).repeat(times)

        return input_fn

    strategy = None if devices is None else tf.contrib.distribute.MirroredStrategy(devices=devices)
    config = tf.estimator.RunConfig(
        model_dir=folder, tf_random_seed=1, train_distribute=strategy, eval_distribute=strategy,
        session_config=tf.ConfigProto(device_count={"CPU": 2}),
    )  # fmt: skip
    estimator = estimator_of(tf, name, config)
    losses: List[float] = []
    estimator.train(feed(2), hooks=[begun(tf, losses)])
    measured = estimator.evaluate(feed(1))
    key = "predictions" if name == "LinearRegressor" else "y"
    predicted = [row[key].tolist() for row, _ in zip(estimator.predict(feed(1)), range(3))]
    return {
        "losses": losses,
        "metrics": {name: float(value) for name, value in measured.items()},
        "predictions": predicted,
        "variables": {
            name: np.asarray(estimator.get_variable_value(name)).tolist()
            for name in estimator.get_variable_names()
        },
    }


def _record() -> None:
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    recorded = {
        name: {
            "one": outcome(tf, name, tempfile.mkdtemp(), None),
            "two": outcome(tf, name, tempfile.mkdtemp(), DEVICES),
        }
        for name in CASES
    }
    with open(RECORDED, "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    _record()
