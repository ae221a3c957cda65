"""What k-means and mixtures give, asked in the same way of graphflow and of TensorFlow 1.15.5.

To record what TensorFlow says, with TensorFlow as tests/oracle/record.py describes it:

    oracle/bin/python tests/estimator/cluster_cases.py

Nothing is drawn at random: the first centers are given. This file must stay valid under Python 3.7 and imports neither
of both.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_clusters.json")


def points() -> Any:
    """60 points of the plane in three clusters, and three of them as first centers."""
    number = np.arange(60)
    noise = np.stack([np.sin(number * 2.3), np.cos(number * 1.1)], 1)
    return (noise + np.array([[1.0, 1.0], [6.0, 5.0], [1.0, 7.0]])[number % 3]).astype(np.float32)


def _first(inputs: Any, count: Any) -> Any:
    """The first points of the input, as a function chooses them: one in each run."""
    return inputs[0][:1] if isinstance(inputs, list) else inputs[:1]


CASES: Dict[str, Any] = {
    "whole": {},
    "whole by angle": {"distance_metric": "cosine"},
    "chosen by a function": {"initial_clusters": _first},
    "until it settles": {"relative_tolerance": 0.01},
}
"""All see the whole input in each step: in batches TensorFlow counts points before or after it has read the counts."""


def outcome(tf: Any, name: str, folder: str) -> Dict[str, Any]:
    """Losses of the steps, the centers, the score, and what is said of three points."""
    rows = points()
    arguments = dict({"initial_clusters": rows[[0, 1, 2]], "use_mini_batch": False}, **CASES[name])

    def feed(times: Any, batch: int) -> Any:
        return lambda: tf.data.Dataset.from_tensor_slices(rows).batch(batch).repeat(times)

    losses: List[float] = []

    class Losses(tf.train.SessionRunHook):  # type: ignore[misc,name-defined,unused-ignore]
        def begin(self) -> None:
            self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(self.loss)

        def after_run(self, context: Any, values: Any) -> None:
            losses.append(float(values.results))

    config = tf.estimator.RunConfig(tf_random_seed=1)
    estimator = tf.contrib.factorization.KMeansClustering(3, folder, config=config, **arguments)
    estimator.train(feed(None, 60), hooks=[Losses()], steps=7)
    three = feed(1, 3)
    return {
        "losses": losses,
        "centers": estimator.cluster_centers().tolist(),
        "score": float(estimator.score(feed(1, 60))),
        "numbers": [int(n) for n, _ in zip(estimator.predict_cluster_index(three), range(3))],
        "distances": [row.tolist() for row, _ in zip(estimator.transform(three), range(3))],
        "variables": sorted(estimator.get_variable_names()),
        "steps": int(estimator.get_variable_value("global_step")),
    }


MIXTURES: Dict[str, Any] = {
    "mixture": {},
    "mixture of one kind": {"covariance_type": "diag"},
}
"""TensorFlow fits means and weights only where covariances are fitted, too."""


def mixed(tf: Any, name: str, folder: str) -> Dict[str, Any]:
    """What a mixture is fitted to, its score and what is said of the points."""
    rows = points()

    def input_fn() -> Any:
        return tf.constant(rows), None

    config = tf.contrib.learn.RunConfig(tf_random_seed=1)
    estimator = tf.contrib.factorization.GMM(
        3, folder, initial_clusters=rows[[0, 1, 2]], config=config, **MIXTURES[name]
    )
    estimator.fit(input_fn=input_fn, steps=4)
    told = [int(n) for n, _ in zip(estimator.predict_assignments(input_fn=input_fn), range(9))]
    return {
        "weights": estimator.weights().tolist(),
        "means": estimator.clusters().tolist(),
        "covariances": estimator.covariances().tolist(),
        "score": float(estimator.score(input_fn=input_fn, steps=1)),
        "told": told,
    }


def _record() -> None:
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    recorded = {name: outcome(tf, name, tempfile.mkdtemp()) for name in CASES}
    recorded.update({name: mixed(tf, name, tempfile.mkdtemp()) for name in MIXTURES})
    with open(RECORDED, "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    _record()
