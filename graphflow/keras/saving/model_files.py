"""Models as files: layers, weights, how they are trained, and the optimizer's state, in HDF5 (tf.keras.models)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import graphflow.logging as logging
from graphflow.keras import losses, optimizers
from graphflow.keras import metrics as metric_functions
from graphflow.keras.engine.network_config import deserialize_layer, plain
from graphflow.keras.metrics.base import Metric
from graphflow.keras.saving import hdf5
from graphflow.keras.saving.weights_files import is_hdf5, may_write
from graphflow.keras.typing import Elements, Objects


def save_model(
    model: Elements,
    filepath: str,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: str | None = None,
    signatures: Any = None,
) -> None:
    """Writes a model to an HDF5 file, for load_model (tf.keras.models.save_model).

    Args:
        model: The model.
        filepath: The file.
        overwrite: Whether a file that is there is replaced.
        include_optimizer: Whether how it is trained, and the optimizer's state, are written.
        save_format: "h5"; by default what the file's name says.
        signatures: Changes nothing.

    Raises:
        NotImplementedError: It is to be a SavedModel; says what to do.
        FileExistsError: The file is there and must not be replaced.
    """
    path = os.fspath(filepath)
    if save_format is not None and not is_hdf5(path, save_format):
        raise NotImplementedError(
            f"{path}: models are saved as HDF5; gf.saved_model.simple_save(K.get_session(), ...) writes a SavedModel."
        )
    config = model._config_of_model()
    may_write(path, overwrite)
    with hdf5.writing(path) as file:
        file.attrs["keras_version"] = b"2.2.4-tf"
        file.attrs["backend"] = b"tensorflow"
        description = {"class_name": config["class_name"], "config": config["config"]}
        file.attrs["model_config"] = json.dumps(description, default=plain).encode("utf-8")
        hdf5.write_weights(file.create_group("model_weights"), model.layers)
        if include_optimizer and model.optimizer is not None:
            _write_training(file, model)


def _write_training(file: Any, model: Any) -> None:
    try:
        config = model.optimizer.get_config()
    except NotImplementedError:
        logging.warning(
            "The optimizer, one of tf.train, is not saved with the model: load_model gives one to compile."
        )
        return
    given = model._compile_arguments
    training = {
        "loss": _named(given["loss"]),
        "metrics": _named(given["metrics"]),
        "weighted_metrics": _named(given["weighted_metrics"]),
        "sample_weight_mode": given["sample_weight_mode"],
        "loss_weights": given["loss_weights"],
        "optimizer_config": {"class_name": type(model.optimizer).__name__, "config": config},
    }
    file.attrs["training_config"] = json.dumps(training, default=plain).encode("utf-8")
    weights = model.optimizer.weights
    if weights:
        group = file.create_group("optimizer_weights")
        names = [str(w.name) for w in weights]
        hdf5.write_names(group, "weight_names", names)
        for name, value in zip(names, model.optimizer.get_weights(), strict=True):
            group.create_dataset(name, data=value)


def _named(value: Any) -> Any:
    """Losses and metrics as JSON has them: functions by name."""
    if isinstance(value, Mapping):
        return {key: _named(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(one) for one in value]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Metric | losses.Loss):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return getattr(value, "__name__", str(value))


def _made(value: Any, make: Any, custom: Mapping[str, Any], ready: tuple[str, ...] = ()) -> Any:
    """Losses and metrics of what JSON had."""
    if isinstance(value, Mapping):
        if "class_name" in value:
            return make(value, custom)
        return {key: _made(one, make, custom, ready) for key, one in value.items()}
    if isinstance(value, list):
        return [_made(one, make, custom, ready) for one in value]
    return value if value is None or value in ready else make(value, custom)


def load_model(filepath: str, custom_objects: Objects = None, compile: bool = True) -> Any:
    """The model of an HDF5 file, from here or from TensorFlow (tf.keras.models.load_model).

    Python code in the file, as of a Lambda layer, does not run: give its function in custom_objects, by the layer's
    name.

    Args:
        filepath: The file.
        custom_objects: The program's own classes and functions by name.
        compile: Whether it is compiled as it was when it was saved.

    Returns:
        The model.

    Raises:
        ValueError: The file has no model, but weights, or names a class that is not known.
        OSError: There is no file.
    """
    path = os.fspath(filepath)
    custom = dict(custom_objects or {})
    if os.path.isdir(path):
        raise ValueError(
            f"{path} is a folder: gf.saved_model.load reads a SavedModel, load_model an HDF5 file."
        )
    if not os.path.exists(path):
        raise OSError(f"There is no model at {path}.")
    with hdf5.reading(path) as file:
        config = file.description("model_config")
        if config is None:
            raise ValueError(
                f"No model found in {path}: it has weights alone. Build the model and load_weights() them."
            )
        with _described_by(file, "model_config"):
            model = deserialize_layer(config, custom)
        hdf5.read_weights(file.group("model_weights"), model.layers)
        training = file.description("training_config")
        if compile and training is not None:
            with _described_by(file, "training_config"):
                _compile(model, training, custom)
            if "optimizer_weights" in file:
                _read_optimizer(model, file.group("optimizer_weights"))
        elif compile:
            logging.warning(
                "No training configuration found in %s: the model was not compiled. Compile it.", path
            )
    return model


@contextmanager
def _described_by(file: hdf5.Stored, attribute: str) -> Iterator[None]:
    """Names the file if a description in it is not of the form that it should have."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise file.wrong(
            f"a description of Keras as the attribute {attribute!r}",
            f"what does not fit ({type(error).__name__}: {error})",
        ) from error


def _compile(model: Any, training: Mapping[str, Any], custom: Mapping[str, Any]) -> None:
    ready = ("accuracy", "acc", "crossentropy", "ce")
    metrics = [
        _made(training.get(key), metric_functions.deserialize, custom, ready)
        for key in ("metrics", "weighted_metrics")
    ]
    model.compile(
        optimizers.deserialize(training["optimizer_config"], custom),
        loss=_made(training.get("loss"), losses.deserialize, custom),
        metrics=metrics[0],
        weighted_metrics=metrics[1],
        loss_weights=training.get("loss_weights"),
        sample_weight_mode=training.get("sample_weight_mode"),
    )


def _read_optimizer(model: Any, stored: hdf5.Stored) -> None:
    if model.inputs is None:
        return
    model.compiled.function(True, False)  # Makes the optimizer's variables.
    try:
        model.optimizer.set_weights([stored.array(name) for name in stored.names("weight_names")])
    except ValueError as error:
        logging.warning("The state of the optimizer was not loaded, which begins anew: %s", error)
