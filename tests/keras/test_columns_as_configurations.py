"""Protects layers of feature columns in configurations and files, which are TensorFlow's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf
from graphflow.keras.layers import column_configs

columns = gf.feature_column
keras = gf.keras


def some_columns() -> list[object]:
    hashed = columns.categorical_column_with_hash_bucket("h", 5)
    words = columns.categorical_column_with_vocabulary_list("v", ["x", "y"])
    bounded = columns.bucketized_column(columns.numeric_column("b"), [1.0, 2.0])
    weighted = columns.weighted_categorical_column(hashed, "w")
    return [
        columns.numeric_column("a", shape=(2,), default_value=1.0, normalizer_fn=gf.nn.relu),
        bounded,
        columns.embedding_column(hashed, 4),
        columns.indicator_column(words),
        columns.indicator_column(columns.crossed_column([words, "q", bounded], 10)),
        columns.embedding_column(weighted, 2, combiner="sum", initializer=gf.zeros_initializer()),
        columns.indicator_column(columns.categorical_column_with_identity("i", 3, default_value=0)),
    ]


def test_columns_are_written_as_tensorflow_writes_them() -> None:
    config = keras.layers.DenseFeatures(some_columns(), name="d").get_config()
    assert config["name"] == "d" and config["dtype"] is None
    found = {entry["class_name"]: entry["config"] for entry in config["feature_columns"]}
    assert found["NumericColumn"] == {
        "key": "a", "shape": (2,), "default_value": (1.0, 1.0), "dtype": "float32", "normalizer_fn": "relu",
    }  # fmt: skip
    numeric = {"key": "b", "shape": (1,), "default_value": None, "dtype": "float32", "normalizer_fn": None}
    bounded = {"source_column": {"class_name": "NumericColumn", "config": numeric}, "boundaries": (1.0, 2.0)}
    assert found["BucketizedColumn"] == bounded
    crossed = next(
        entry["config"]["categorical_column"]
        for entry in config["feature_columns"]
        if entry["config"].get("categorical_column", {}).get("class_name") == "CrossedColumn"
    )
    words = {
        "key": "v",
        "vocabulary_list": ("x", "y"),
        "dtype": "string",
        "default_value": -1,
        "num_oov_buckets": 0,
    }
    assert crossed["config"] == {
        "keys": (
            {"class_name": "VocabularyListCategoricalColumn", "config": words},
            "q",
            {"class_name": "BucketizedColumn", "config": bounded},
        ),
        "hash_bucket_size": 10,
        "hash_key": None,
    }
    identity = config["feature_columns"][-2]["config"]["categorical_column"]["config"]
    assert identity == {"key": "i", "number_buckets": 3, "default_value": 0}


def test_columns_of_a_configuration_are_the_same() -> None:
    layer = keras.layers.DenseFeatures(some_columns(), name="d")
    for config in (layer.get_config(), json.loads(json.dumps(layer.get_config()))):
        again = keras.layers.DenseFeatures.from_config(config)
        assert json.dumps(again.get_config()) == json.dumps(layer.get_config())
    sequences = keras.experimental.SequenceFeatures([columns.sequence_numeric_column("s", shape=(2,))])
    again = keras.experimental.SequenceFeatures.from_config(sequences.get_config())
    assert again.get_config() == sequences.get_config()
    assert again.compute_output_shape({"s": (4, 3, 2)}).as_list() == [4, 3, 2]


def test_what_columns_have_in_common_is_one_object() -> None:
    price = columns.numeric_column("price")
    written = column_configs.serialize_feature_columns([columns.bucketized_column(price, [0.0]), price])
    bounded, again = column_configs.deserialize_feature_columns(written)
    assert bounded.source_column is again


def test_what_is_no_column_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a FeatureColumn"):
        column_configs.serialize_feature_column({"class_name": "NumericColumn"})  # type: ignore[arg-type]
    for config, message in (
        ({"config": {}}, "Improper config format"),
        ({"class_name": "InvalidClass", "config": {}}, "Unknown feature_column_v2: InvalidClass"),
    ):
        with pytest.raises(ValueError, match=message):
            column_configs.deserialize_feature_column(config)


def test_a_model_of_columns_is_saved_and_read(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    dense = columns.numeric_column("a", shape=(2,))
    embedded = columns.embedding_column(columns.categorical_column_with_identity("i", 3), 2)
    inputs = {"a": keras.Input([2], name="a"), "i": keras.Input([1], name="i", dtype="int64")}
    features = keras.layers.DenseFeatures([dense, embedded])(inputs)
    model = keras.Model(list(inputs.values()), keras.layers.Dense(1)(features))
    values = [np.ones([2, 2]), np.array([[0], [2]])]
    weights, expected, path = model.get_weights(), model.predict(values), str(tmp_path / "model.h5")
    text = model.to_json()
    model.save(path)
    # As in TensorFlow, variables of columns are those of variable scopes, of which a graph has one by each name.
    keras.backend.clear_session()
    again = keras.models.model_from_json(text)
    again.set_weights(weights)
    np.testing.assert_allclose(again.predict(values), expected, rtol=1e-6)
    keras.backend.clear_session()
    np.testing.assert_allclose(keras.models.load_model(path).predict(values), expected, rtol=1e-6)
