"""Protects files of models: those of TensorFlow 1.15.5 load here, with equal predictions, and what is saved comes back.

recorded/ was written by `recorded_model` under TensorFlow 1.15.5: fit(epochs=2), save, save_weights, predict.
"""

from __future__ import annotations

import base64
import json
import marshal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

RECORDED = Path(__file__).parent / "recorded"
K = gf.keras


@pytest.fixture(autouse=True)
def fresh() -> Any:
    K.backend.clear_session()
    yield
    K.backend.clear_session()


def recorded_model() -> Any:
    layers = K.layers
    images = K.Input((8, 8, 1))
    x = layers.Conv2D(3, 3, activation="relu")(images)
    x = layers.Flatten()(layers.MaxPooling2D()(layers.BatchNormalization()(x)))
    words = K.Input((4,))
    y = layers.Bidirectional(layers.LSTM(3))(layers.Embedding(6, 3)(words))
    z = layers.Dropout(0.3)(layers.concatenate([x, y]))
    z = layers.Dense(2, activation="softmax", kernel_regularizer="l2")(z)
    model = K.Model([images, words], z)
    model.compile(K.optimizers.Adam(0.01), "categorical_crossentropy", metrics=["accuracy"])
    return model


def data() -> Any:
    random = np.random.RandomState(0)
    inputs = [random.rand(6, 8, 8, 1).astype("f"), random.randint(0, 6, (6, 4))]
    return inputs, np.eye(2)[random.randint(0, 2, 6)]


def test_a_model_of_tensorflows_loads_with_equal_predictions(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    x, y = data()
    model = K.models.load_model(str(RECORDED / "model.h5"))
    np.testing.assert_allclose(model.predict(x), np.load(RECORDED / "predictions.npy"), atol=1e-6)
    assert model.metrics_names == ["loss", "acc"]
    assert K.backend.get_value(model.optimizer.iterations) == 2
    model.fit(x, y, verbose=0)
    model.save(str(tmp_path / "again.h5"))
    again = K.models.load_model(str(tmp_path / "again.h5"))
    np.testing.assert_allclose(again.predict(x), model.predict(x), atol=1e-6)
    assert again.get_config()["layers"][1]["config"]["filters"] == 3
    assert K.backend.get_value(again.optimizer.iterations) == 3


def test_a_checkpoint_of_tensorflows_loads_with_equal_predictions(tmp_path: Path) -> None:
    x, _ = data()
    model = recorded_model()
    model.load_weights(str(RECORDED / "weights"))
    np.testing.assert_allclose(model.predict(x), np.load(RECORDED / "predictions.npy"), atol=1e-6)
    model.save_weights(str(tmp_path / "weights"))
    names = dict(gf.train.list_variables(str(tmp_path / "weights")))
    recorded = dict(gf.train.list_variables(str(RECORDED / "weights")))
    assert names and set(names) <= set(recorded)
    other = recorded_model()
    other.load_weights(str(tmp_path / "weights"))
    np.testing.assert_allclose(other.predict(x), model.predict(x), atol=1e-6)


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    model = K.Sequential([K.layers.Dense(3, input_shape=(2,), name="first")])
    model.save_weights(str(tmp_path / "weights.h5"))
    wider = K.Sequential([K.layers.Dense(4, input_shape=(2,), name="first")])
    with pytest.raises(ValueError, match=r"first_1/kernel.*first.*\(2, 4\).*\(2, 3\)"):
        wider.load_weights(str(tmp_path / "weights.h5"))
    wider.load_weights(str(tmp_path / "weights.h5"), by_name=True, skip_mismatch=True)
    deeper = K.Sequential([K.layers.Dense(3, input_shape=(2,)), K.layers.Dense(1)])
    with pytest.raises(ValueError, match="1 layers into a model with 2 layers"):
        deeper.load_weights(str(tmp_path / "weights.h5"))


def test_a_configuration_makes_a_model_like_it() -> None:
    model = recorded_model()
    again = K.models.model_from_json(model.to_json())
    assert [layer.name for layer in again.layers] == [layer.name for layer in model.layers]
    again.set_weights(model.get_weights())
    np.testing.assert_allclose(again.predict(data()[0]), model.predict(data()[0]), atol=1e-6)
    with pytest.raises(ValueError, match=r"Unknown layer: Own.*custom_objects"):
        K.models.model_from_config({"class_name": "Own", "config": {}})


def test_a_checkpoint_callback_keeps_the_best(tmp_path: Path) -> None:
    model = K.Sequential([K.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    path = str(tmp_path / "best-{epoch}")
    saver = K.callbacks.ModelCheckpoint(path, "loss", save_best_only=True, save_weights_only=True)
    rows = K.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    model.fit(np.eye(2), np.ones(2), epochs=3, verbose=0, callbacks=[saver, rows])
    assert sorted(p.name for p in tmp_path.glob("best-*.index")) == [f"best-{i}.index" for i in (1, 2, 3)]
    assert (tmp_path / "log.csv").read_text().splitlines()[0] == "epoch,loss"


def test_code_of_a_file_does_not_run() -> None:
    code = base64.b64encode(marshal.dumps((lambda x: x * 3.0).__code__)).decode()
    layer = K.layers.Lambda(lambda x: x * 2.0, input_shape=(1,), name="times")
    description = json.loads(K.Sequential([layer]).to_json())
    copy = K.models.model_from_json(json.dumps(description))
    assert copy.predict(np.ones((1, 1))) == [[2.0]]
    description["config"]["layers"][0]["config"]["function"] = [code, None, None]
    with pytest.raises(ValueError, match="code of files does not run"):
        K.models.model_from_json(json.dumps(description))
    given = K.models.model_from_json(json.dumps(description), custom_objects={"times": lambda x: x * 4.0})
    assert given.predict(np.ones((1, 1))) == [[4.0]]


def chain() -> Any:
    model = K.Sequential(
        [K.layers.Dense(2, input_shape=(3,), name="first"), K.layers.Dense(1, name="second")]
    )
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((4, 3)), np.ones(4), verbose=0)
    return model


def without_kernel(file: Any) -> None:
    del file["model_weights/first/first/kernel:0"]


def without_layer(file: Any) -> None:
    del file["model_weights/second"]


def without_names(file: Any) -> None:
    del file["model_weights"].attrs["layer_names"]


def with_one_name(file: Any) -> None:
    file["model_weights/first"].attrs["weight_names"] = 7


def with_text_for_numbers(file: Any) -> None:
    del file["model_weights/first/first/bias:0"]
    file["model_weights/first"]["first/bias:0"] = "text"


def without_weights(file: Any) -> None:
    del file["model_weights"]


def with_half_a_description(file: Any) -> None:
    file.attrs["model_config"] = file.attrs["model_config"][:40]


def with_another_description(file: Any) -> None:
    file.attrs["model_config"] = '{"class_name": "Sequential", "config": {"layers": [{"name": 3}]}}'


def with_a_list(file: Any) -> None:
    file.attrs["model_config"] = "[]"


def with_training_cut_off(file: Any) -> None:
    file.attrs["training_config"] = '{"loss": "mse"}'


BROKEN = {
    without_kernel: r"expected numbers 'first/kernel:0' in /model_weights/first, found first",
    without_layer: r"expected a group 'second' in /model_weights, found first",
    without_names: r"expected the attribute 'layer_names' in /model_weights, found .*keras_version",
    with_one_name: r"expected a list of names as the attribute 'weight_names' in /model_weights/first, found .*7",
    with_text_for_numbers: r"expected numbers 'first/bias:0' in /model_weights/first, found elements of object",
    without_weights: r"expected a group 'model_weights' in /, found optimizer_weights",
    with_half_a_description: r"expected JSON as the attribute 'model_config' in /, found '.*line 1",
    with_another_description: r"Improper config format of a layer",
    with_a_list: r"expected a dictionary as the attribute 'model_config' in /, found \[\]",
    with_training_cut_off: r"expected a description of training as the attribute 'training_config', found .*optimizer",
}


@pytest.mark.parametrize("breaks", BROKEN, ids=[breaks.__name__ for breaks in BROKEN])
def test_a_broken_file_says_what_it_lacks(breaks: Any, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "model.h5"
    chain().save(str(path))
    with h5py.File(path, "r+") as file:
        breaks(file)
    with pytest.raises(ValueError, match=f"(?s){BROKEN[breaks]}") as raised:
        K.models.load_model(str(path))
    assert str(path) in str(raised.value)


def test_a_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "model.h5"
    model = chain()
    model.save(str(path))
    path.write_bytes(path.read_bytes()[:1000])
    for read in (K.models.load_model, model.load_weights):
        with pytest.raises(OSError, match=r"model\.h5 is no HDF5 file, or not a whole one"):
            read(str(path))


def test_a_model_is_a_saved_model(tmp_path: Path) -> None:
    model = chain()
    x = np.random.RandomState(0).rand(4, 3)
    path = str(tmp_path / "model")
    model.save(path, save_format="tf")
    model.save(path, save_format="tf")
    again = K.models.load_model(path)
    np.testing.assert_allclose(again.predict(x), model.predict(x), atol=1e-6)
    assert again.metrics_names == model.metrics_names and K.backend.get_value(again.optimizer.iterations) == 1
    expected = model.predict(x)
    with gf.Graph().as_default(), gf.Session() as session:
        signature = gf.saved_model.loader.load(session, ["serve"], path).signature_def["serving_default"]
        feeds = {signature.inputs["first_input"].name: x}
        np.testing.assert_allclose(session.run(signature.outputs["second"].name, feeds), expected, atol=1e-6)
    (tmp_path / "model" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"found .*notes\.txt"):
        model.save(path, save_format="tf")


def test_a_saved_model_of_tensorflows_form_is_exported_and_loaded(tmp_path: Path) -> None:
    model = chain()
    x = np.ones((2, 3))
    K.experimental.export_saved_model(model, str(tmp_path / "model"))
    again = K.experimental.load_from_saved_model(str(tmp_path / "model"))
    np.testing.assert_allclose(again.predict(x), model.predict(x), atol=1e-6)
    loaded = K.experimental.load_from_saved_model(str(RECORDED / "saved_model"))
    np.testing.assert_allclose(loaded.predict(np.eye(3)), np.load(RECORDED / "saved_model.npy"), atol=1e-6)
    with pytest.raises(ValueError, match=r"is no SavedModel of a Keras model: expected its layers in"):
        K.models.load_model(str(tmp_path))


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_a_layer_comes_back_under_the_name_that_tensorflows_own_files_have(version: str) -> None:
    layer = gf.keras.layers.BatchNormalization(momentum=0.9, gamma_regularizer="l2")
    config = gf.keras.layers.serialize(layer)
    config["class_name"] += version
    found = gf.keras.layers.deserialize(config)
    assert isinstance(found, gf.keras.layers.BatchNormalization) and found.momentum == 0.9
