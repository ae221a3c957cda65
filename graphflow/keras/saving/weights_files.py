"""Weights as files: HDF5, or checkpoints of TensorFlow's."""

from __future__ import annotations

from typing import Any

from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow.keras.backend import state
from graphflow.keras.saving import checkpoints, hdf5


def is_hdf5(path: Any, save_format: str | None = None) -> bool:
    """Whether a file is to be HDF5; ValueError for a format that is none."""
    if save_format is None:
        return str(path).endswith((".h5", ".hdf5", ".keras"))
    if save_format.lower() in ("tensorflow", "tf"):
        return False
    if save_format.lower() in ("h5", "hdf5", "keras"):
        return True
    raise ValueError(f"Unknown format {save_format!r}. Was expecting one of {{'tf', 'h5'}}.")


def may_write(path: str, overwrite: bool) -> None:
    """FileExistsError if a file is there that must not be written over."""
    if not overwrite and storage.exists(path):
        raise FileExistsError(f"{path} is there: give overwrite=True to write over it.")


def save(model: Any, path: str, overwrite: bool, save_format: str | None) -> None:
    """Writes the weights of a model."""
    path = user_path(path)
    if is_hdf5(path, save_format):
        may_write(path, overwrite)
        with hdf5.writing(path) as file:
            hdf5.write_weights(file, model.layers)
        return
    may_write(f"{path}.index", overwrite)
    checkpoints.save(model, path, state.get_session())


def load(model: Any, path: str, by_name: bool, skip_mismatch: bool) -> Any:
    """Reads the weights of a model; ValueError if the file has other layers or shapes, or the model has none yet."""
    path = user_path(path)
    if not storage.is_file(path) and checkpoints.exists(path):
        if by_name:
            raise NotImplementedError(
                "Weights may only be loaded by name from HDF5 files, not from checkpoints."
            )
        if model.built:
            checkpoints.restore(model, path, state.get_session())
        else:
            model._waiting_weights = path
        return None
    if not model.built and not model.weights:
        raise ValueError(
            "Unable to load weights saved in HDF5 format into a subclassed Model which has not created its variables "
            "yet. Call the Model first, then load the weights."
        )
    if not storage.exists(path):
        raise OSError(f"There are no weights at {path}: neither an HDF5 file nor a checkpoint.")
    with hdf5.reading(path) as file:
        of_model = not file.has_names("layer_names") and "model_weights" in file
        stored = file.group("model_weights") if of_model else file
        if by_name:
            hdf5.read_weights_by_name(stored, model.layers, skip_mismatch)
        else:
            hdf5.read_weights(stored, model.layers)
    return None
