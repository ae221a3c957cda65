"""What boosted trees give, asked in the same way of graphflow and of TensorFlow 1.15.5.

To record what TensorFlow says, with TensorFlow as tests/oracle/record.py describes it:

    oracle/bin/python tests/estimator/tree_cases.py

Nothing is drawn at random. This file must stay valid under Python 3.7 and imports neither of both.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_trees.json")
ROWS = 48
SAVED = {
    "global_step",
    "boosted_trees/center_bias_needed",
    "boosted_trees:0_stamp",
    "boosted_trees:0_serialized",
}
"""What a model consists of; TensorFlow saves what it keeps of the last batch, too."""


def data() -> Dict[str, Any]:
    """Features of 48 rows, and labels of each kind."""
    number = np.arange(ROWS)
    height = np.sin(number * 1.7).astype(np.float32)
    width = np.cos(number * 0.9 + 0.3).astype(np.float32)
    job = np.array(["clerk", "nurse", "cook", "pilot"])[number * 5 % 7 % 4]
    wrong = number % 6 == 1  # No leaf is of one class alone: its gain would be rounding.
    signal = height * 2.0 + (width > 0.2) * 1.5 + (job == "cook") * 0.7
    return {
        "features": {"height": height, "width": width, "same": height.copy(), "job": job,
                     "weight": (0.5 + number % 3).astype(np.float32)},
        "number": (signal + 0.1 * np.sin(number * 13.0)).astype(np.float32),
        "binary": ((signal > 0.8) ^ wrong).astype(np.int32),
        "uneven": ((signal > 1.6) ^ wrong).astype(np.int32),  # As many of both have no bias but what is rounded away.
        "word": np.array(["no", "yes"])[((signal > 0.8) ^ wrong).astype(int)],
    }  # fmt: skip


def columns(tf: Any) -> List[Any]:
    """Three columns of buckets, two of which are alike, and a categorical one."""
    fc = tf.feature_column
    edges = [-0.8, -0.4, 0.0, 0.4, 0.8]
    job = fc.categorical_column_with_vocabulary_list("job", ["clerk", "nurse", "cook"])
    return [
        fc.bucketized_column(fc.numeric_column("same"), edges),
        fc.bucketized_column(fc.numeric_column("height"), edges),
        fc.bucketized_column(fc.numeric_column("width"), [-0.5, 0.2, 0.6]),
        fc.indicator_column(job),
    ]


CASES: Dict[str, Any] = {
    "number": ("number", "BoostedTreesRegressor", 1, {"n_trees": 4, "max_depth": 3}),
    "number of batches": ("number", "BoostedTreesRegressor", 3, {"n_trees": 2, "max_depth": 3, "learning_rate": 0.5}),
    "number with weights": (
        "number", "BoostedTreesRegressor", 1,
        {"n_trees": 3, "max_depth": 2, "weight_column": "weight", "center_bias": True},
    ),
    "number regularised": (
        "number", "BoostedTreesRegressor", 1,
        {"n_trees": 3, "max_depth": 4, "l1_regularization": 0.02, "l2_regularization": 0.1, "min_node_weight": 0.15},
    ),
    "number pruned before": (
        "number", "BoostedTreesRegressor", 1,
        {"n_trees": 4, "max_depth": 4, "tree_complexity": 0.05, "pruning_mode": "pre"},
    ),
    "number pruned at once": (
        "number", "BoostedTreesRegressor", 1,
        {"n_trees": 2, "max_depth": 2, "tree_complexity": 50.0, "pruning_mode": "pre"},
    ),
    "number pruned after": (
        "number", "BoostedTreesRegressor", 1,
        {"n_trees": 4, "max_depth": 4, "tree_complexity": 0.05, "pruning_mode": "post"},
    ),
    "number pruned away": (
        "number", "BoostedTreesRegressor", 1,
        {"n_trees": 2, "max_depth": 2, "tree_complexity": 50.0, "pruning_mode": "post", "center_bias": True},
    ),
    "classes": ("binary", "BoostedTreesClassifier", 1, {"n_trees": 5, "max_depth": 2}),
    "classes with a bias": (
        "uneven", "BoostedTreesClassifier", 2, {"n_trees": 3, "max_depth": 2, "center_bias": True},
    ),
    "classes in memory": (
        "binary", "BoostedTreesClassifier", 1, {"n_trees": 3, "max_depth": 3, "train_in_memory": True},
    ),
    "words": (
        "word", "BoostedTreesClassifier", 1,
        {"n_trees": 3, "max_depth": 2, "label_vocabulary": ["no", "yes"], "weight_column": "weight"},
    ),
}  # fmt: skip


def _ensemble(message: Any) -> Dict[str, Any]:
    """An ensemble as numbers: of each node feature, threshold, children, gain and the value that it has as a leaf."""
    trees = []
    for tree, weight, metadata in zip(message.trees, message.tree_weights, message.tree_metadata):
        nodes: List[Any] = []
        for node in tree.nodes:
            if node.WhichOneof("node") == "leaf":
                nodes.append([_value(node.leaf)])
            else:
                split, value = node.bucketized_split, _value(node.metadata.original_leaf)
                nodes.append(
                    [
                        split.feature_id,
                        split.threshold,
                        split.left_id,
                        split.right_id,
                        node.metadata.gain,
                        value,
                    ]
                )
        pruned = [
            [each.new_node_id, float(sum(each.logit_change))] for each in metadata.post_pruned_nodes_meta
        ]
        trees.append([nodes, weight, metadata.num_layers_grown, metadata.is_finalized, pruned])
    growing = message.growing_metadata
    return {
        "trees": trees,
        "tried": [growing.num_trees_attempted, growing.num_layers_attempted],
        "layer": [growing.last_layer_node_start, growing.last_layer_node_end],
    }


def _value(leaf: Any) -> float:
    return float(sum(leaf.vector.value)) if leaf.WhichOneof("leaf") == "vector" else float(leaf.scalar)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, (float, np.floating)) else int(value)


def outcome(tf: Any, message: Any, name: str, folder: str) -> Dict[str, Any]:
    """Losses of the steps, the trees, metrics, predictions of three rows, importances and signatures.

    message: The class TreeEnsemble.
    """
    label, kind, batches, arguments = CASES[name]
    everything = data()
    size = ROWS if batches == 1 else ROWS // batches

    def feed(times: Any) -> Any:
        def input_fn() -> Any:
            parts = (everything["features"], everything[label])
            if times is None and size == ROWS:
                return tf.data.Dataset.from_tensors(parts).repeat()
            return tf.data.Dataset.from_tensor_slices(parts).batch(size).repeat(times)

        return input_fn

    losses: List[float] = []

    class Losses(tf.train.SessionRunHook):  # type: ignore[misc,name-defined,unused-ignore]
        def begin(self) -> None:
            self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(self.loss)

        def after_run(self, context: Any, values: Any) -> None:
            losses.append(float(values.results))

    config = tf.estimator.RunConfig(tf_random_seed=1)
    estimator = getattr(tf.estimator, kind)(columns(tf), batches, folder, config=config, **arguments)
    estimator.train(feed(None), hooks=[Losses()], max_steps=5)
    estimator.train(feed(None), hooks=[Losses()], max_steps=60)
    measured = estimator.evaluate(feed(1))
    predicted = [row for row, _ in zip(estimator.predict(feed(1)), range(3))]
    saved = tf.train.load_variable(folder, "boosted_trees:0_serialized")
    spec = tf.feature_column.make_parse_example_spec(columns(tf))
    receive = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = estimator.export_saved_model(os.path.join(folder, "export"), receive)
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.saved_model.loader.load(session, ["serve"], os.fsdecode(path)).signature_def
        predict = found["predict"]
        row = tf.train.Example()
        row.features.feature["height"].float_list.value.append(0.5)
        row.features.feature["same"].float_list.value.append(0.5)
        row.features.feature["width"].float_list.value.append(0.3)
        row.features.feature["job"].bytes_list.value.append(b"cook")
        key = "predictions" if kind.endswith("Regressor") else "logits"
        given = {predict.inputs["examples"].name: [row.SerializeToString()]}
        answer = session.run(predict.outputs[key].name, given)
    explained: List[Any] = []
    if arguments.get("center_bias"):
        rows = estimator.experimental_predict_with_explanations(feed(1), predict_keys=[key])
        explained = [
            [float(row["bias"]), [[n, float(v)] for n, v in sorted(row["dfc"].items())], sorted(row)]
            for row, _ in zip(rows, range(5))
        ]
    return {
        "losses": losses,
        "explained": explained,
        "ensemble": _ensemble(message.FromString(saved)),
        "metrics": {key: float(value) for key, value in measured.items()},
        "predictions": [{key: _plain(value) for key, value in row.items()} for row in predicted],
        "importances": [[key, float(v)] for key, v in estimator.experimental_feature_importances().items()],
        "variables": sorted(set(estimator.get_variable_names()) & SAVED),
        "signatures": sorted(found),
        "served": _plain(answer),
    }


def _record() -> None:
    import tensorflow as tf
    from tensorflow.core.kernels.boosted_trees import boosted_trees_pb2

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    message = boosted_trees_pb2.TreeEnsemble
    recorded = {name: outcome(tf, message, name, tempfile.mkdtemp()) for name in CASES}
    with open(RECORDED, "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    _record()
