"""Protects models with operations between layers: they are layers, which configurations and files keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

keras = gf.keras


class Sum(keras.layers.Layer):
    """A layer whose call takes two tensors."""

    def call(self, x: Any, y: Any, factor: float = 1.0) -> Any:
        return x + y * factor


def mean_twice(x: Any) -> Any:
    means = gf.reduce_mean(x, axis=1, keepdims=True)
    return keras.layers.Dense(3)(means) + keras.layers.Dense(3)(means)


def scaled(x: Any) -> Any:
    return gf.concat([x, np.arange(4.0)[None, :] + gf.zeros_like(x), 2.0 - x], axis=1) ** 2.0


def whole_numbers(x: Any) -> Any:
    return gf.cast(gf.clip_by_value(gf.cast(x, gf.int64), -1, 1), gf.float32) / 4.0


def both_arguments(x: Any) -> Any:
    return Sum()(x, gf.square(x), factor=3.0)


def normalized(x: Any) -> Any:
    return gf.nn.l2_normalize(x, 1) * gf.cast(gf.shape(x)[1], gf.float32)


MODELS = [mean_twice, scaled, whole_numbers, both_arguments, normalized]


@pytest.mark.parametrize("way", ["config", "json", "file", "clone"])
@pytest.mark.parametrize("function", MODELS)
def test_a_model_made_again_computes_the_same(function: Any, way: str, tmp_path: Path) -> None:
    x = keras.Input([4])
    model = keras.Model(x, function(x))
    values = np.random.default_rng(0).normal(size=[3, 4]).astype("f")
    objects = {"Sum": Sum}
    if way == "config":
        again = keras.Model.from_config(model.get_config(), custom_objects=objects)
    elif way == "json":
        again = keras.models.model_from_json(model.to_json(), custom_objects=objects)
    elif way == "clone":
        with keras.utils.custom_object_scope(objects):
            again = keras.models.clone_model(model)
    else:
        pytest.importorskip("h5py")
        model.save(str(tmp_path / "model.h5"))
        again = keras.models.load_model(str(tmp_path / "model.h5"), custom_objects=objects)
    again.set_weights(model.get_weights())
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    np.testing.assert_allclose(again.predict(values), model.predict(values), rtol=1e-6)
    for one in (model, again):  # On other inputs than its own, too.
        called = keras.backend.get_session().run(one(gf.constant(values)))
        np.testing.assert_allclose(called, model.predict(values), rtol=1e-6)


OF_TENSORFLOW = """{"class_name": "Model", "config": {"name": "model", "layers": [
{"name": "input_1", "class_name": "InputLayer", "config": {"batch_input_shape": [null, 4], "dtype": "float32",
 "sparse": false, "ragged": false, "name": "input_1"}, "inbound_nodes": []},
{"name": "tf_op_layer_mul", "class_name": "TensorFlowOpLayer", "config": {"name": "mul", "trainable": true,
 "dtype": null, "node_def": {"name": "mul", "op": "Mul", "input": ["input_1", "mul/y"],
 "attr": {"T": {"type": "DT_FLOAT"}}}, "constants": {"1": 2.0}}, "inbound_nodes": [[["input_1", 0, 0, {}]]]},
{"name": "tf_op_layer_Mean", "class_name": "TensorFlowOpLayer", "config": {"name": "Mean", "trainable": true,
 "dtype": null, "node_def": {"name": "Mean", "op": "Mean", "input": ["mul", "Mean/reduction_indices"],
 "attr": {"T": {"type": "DT_FLOAT"}, "keep_dims": {"b": false}, "Tidx": {"type": "DT_INT32"}}},
 "constants": {"1": 1}}, "inbound_nodes": [[["tf_op_layer_mul", 0, 0, {}]]]}],
"input_layers": [["input_1", 0, 0]], "output_layers": [["tf_op_layer_Mean", 0, 0]]},
"keras_version": "2.2.4-tf", "backend": "tensorflow"}"""


def test_a_model_of_tensorflow_is_read_and_written_as_there() -> None:
    x = keras.Input([4], name="input_1")
    written = json.loads(keras.Model(x, gf.reduce_mean(x * 2.0, axis=1), name="model").to_json())
    wanted = json.loads(OF_TENSORFLOW)
    for found, expected in zip(written["config"]["layers"][1:], wanted["config"]["layers"][1:], strict=True):
        node, of_tensorflow = found["config"]["node_def"], expected["config"]["node_def"]
        assert node["op"] == of_tensorflow["op"] and node["attr"] == of_tensorflow["attr"]
        assert found["config"]["constants"] == expected["config"]["constants"]
        assert (
            found["class_name"] == expected["class_name"]
            and found["inbound_nodes"] == expected["inbound_nodes"]
        )
    model = keras.models.model_from_json(OF_TENSORFLOW)
    np.testing.assert_array_equal(model.predict(np.arange(8.0).reshape(2, 4)), [3.0, 11.0])


def test_an_input_that_nothing_takes_stays_one() -> None:
    first, second = keras.Input([2]), keras.Input([3])
    model = keras.Model([first, second], first * 2.0)
    again = keras.Model.from_config(model.get_config())
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    assert again.predict([np.ones([1, 2]), np.ones([1, 3])]).tolist() == [[2.0, 2.0]]


def doubled(x: Any) -> Any:
    return x * 2.0


def test_functions_of_lambda_layers_are_found_again_in_this_process_alone() -> None:
    def local(x: Any) -> Any:
        return x + 1.0

    for function, value in ((doubled, 6.0), (local, 4.0), (lambda x: x - 1.0, 2.0)):
        layer = keras.layers.Lambda(function, lambda shape: shape, mask=lambda x, mask: mask)
        again = keras.layers.deserialize(keras.layers.serialize(layer))
        assert again.function(3.0) == value and again.mask(1, True) is True
        assert again.compute_output_shape((2, 3)) == (2, 3)
    config = keras.layers.serialize(keras.layers.Lambda(doubled))
    config["config"].update(function="system", module="os")
    with pytest.raises(ValueError, match="Unknown function of a Lambda layer: system"):
        keras.layers.deserialize(config)
