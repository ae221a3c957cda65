"""Models as files: layers, weights, how they are trained, and the optimizer's state (tf.keras.models)."""

from __future__ import annotations

import json
from typing import Any

import graphflow.logging as logging
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow.keras.engine.network_config import deserialize_layer, plain
from graphflow.keras.saving import hdf5, saved_models, training_config
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
    """Writes a model to an HDF5 file, or as a SavedModel, for load_model (tf.keras.models.save_model).

    Args:
        model: The model.
        filepath: The file.
        overwrite: Whether a file that is there is replaced.
        include_optimizer: Whether how it is trained, and the optimizer's state, are written.
        save_format: "h5" for an HDF5 file, or "tf" for a SavedModel, a folder; by default, as in TensorFlow 1.15, it
            is an HDF5 file, unless there is a folder of that name.
        signatures: Changes nothing: the graph of a SavedModel gives the model's outputs.

    Raises:
        FileExistsError: The file is there and must not be replaced.
    """
    path = user_path(filepath)
    if not is_hdf5(path, save_format) and (save_format is not None or storage.is_folder(path)):
        saved_models.replace(model, path, overwrite, include_optimizer)
        return
    config = model._config_of_model()
    may_write(path, overwrite)
    with hdf5.writing(path) as file:
        file.attrs["keras_version"] = b"2.2.4-tf"
        file.attrs["backend"] = b"tensorflow"
        description = {"class_name": config["class_name"], "config": config["config"]}
        file.attrs["model_config"] = json.dumps(description, default=plain).encode("utf-8")
        hdf5.write_weights(file.create_group("model_weights"), model.layers)
        training = training_config.describe(model) if include_optimizer else None
        if training is not None:
            file.attrs["training_config"] = json.dumps(training, default=plain).encode("utf-8")
            hdf5.write_arrays(file, "optimizer_weights", model.optimizer)


def load_model(filepath: str, custom_objects: Objects = None, compile: bool = True) -> Any:
    """The model of an HDF5 file or SavedModel, from here or from TensorFlow (tf.keras.models.load_model).

    Python code in the file, as of a Lambda layer, does not run: give its function in custom_objects, by the layer's
    name.

    Args:
        filepath: The file, or a SavedModel's folder.
        custom_objects: The program's own classes and functions by name.
        compile: Whether it is compiled as it was when it was saved.

    Returns:
        The model.

    Raises:
        ValueError: The file has no model, but weights, or names a class that is not known.
        OSError: There is no file.
    """
    path = user_path(filepath)
    custom = dict(custom_objects or {})
    if storage.is_folder(path):
        return saved_models.read(path, custom, compile)
    if not storage.exists(path):
        raise OSError(f"There is no model at {path}.")
    with hdf5.reading(path) as file:
        config = file.description("model_config")
        if config is None:
            raise ValueError(
                f"No model found in {path}: it has weights alone. Build the model and load_weights() them."
            )
        with training_config.fits(path, "a description of a model as the attribute 'model_config'"):
            model = deserialize_layer(config, custom)
        hdf5.read_weights(file.group("model_weights"), model.layers)
        training = file.description("training_config")
        if compile and training is not None:
            with training_config.fits(path, "a description of training as the attribute 'training_config'"):
                training_config.compile_by(model, training, custom)
            if "optimizer_weights" in file:
                training_config.set_optimizer(model, file.group("optimizer_weights").arrays)
        elif compile:
            logging.warning(
                "No training configuration found in %s: the model was not compiled. Compile it.", path
            )
    return model
