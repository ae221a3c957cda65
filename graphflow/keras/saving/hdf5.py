"""Weights in HDF5 files, as Keras lays them out: a group for each layer, a data set for each weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow.keras.backend.values import batch_get_value, batch_set_value
from graphflow.keras.utils.files import h5py

_LIMIT = 64512
"""Bytes of an attribute in HDF5; longer lists are cut into parts."""


def open_file(path: Any, mode: str) -> Any:
    """An HDF5 file; ImportError without h5py."""
    return h5py(f"Reading and writing {path}").File(path, mode)


def text_of(value: Any) -> str:
    """A string of an attribute, which may be bytes."""
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def write_names(group: Any, name: str, names: Sequence[str]) -> None:
    """A list of names as an attribute, in parts if it is long."""
    encoded = [n.encode("utf-8") for n in names]
    data = np.asarray(encoded) if encoded else np.asarray([], dtype="S1")
    parts = 1
    while any(part.nbytes > _LIMIT for part in np.array_split(data, parts)):
        parts += 1
    if parts == 1:
        group.attrs[name] = data
    else:
        for number, part in enumerate(np.array_split(data, parts)):
            group.attrs[f"{name}{number}"] = part


def read_names(group: Any, name: str) -> list[str]:
    """A list of names of an attribute, of all its parts."""
    if name in group.attrs:
        return [text_of(n) for n in group.attrs[name]]
    found: list[str] = []
    number = 0
    while f"{name}{number}" in group.attrs:
        found += [text_of(n) for n in group.attrs[f"{name}{number}"]]
        number += 1
    return found


def weights_in_order(layer: Any) -> list[Any]:
    """The weights of a layer as files have them: those that are trained first."""
    return list(layer.trainable_weights) + list(layer.non_trainable_weights)


def write_weights(group: Any, layers: Sequence[Any]) -> None:
    """The weights of layers."""
    write_names(group, "layer_names", [layer.name for layer in layers])
    group.attrs["backend"] = b"tensorflow"
    group.attrs["keras_version"] = b"2.2.4-tf"
    for layer in sorted(layers, key=lambda one: one.name):
        weights = weights_in_order(layer)
        own = group.create_group(layer.name)
        names = [w.name for w in weights]
        write_names(own, "weight_names", names)
        for name, value in zip(names, batch_get_value(weights), strict=True):
            own.create_dataset(name, data=value)


def read_weights(group: Any, layers: Sequence[Any], path: str) -> None:
    """Sets the weights of layers, in their order.

    Raises:
        ValueError: The file has other layers, or a weight of another shape; the message names it.
    """
    own = [layer for layer in layers if weights_in_order(layer)]
    names = [n for n in read_names(group, "layer_names") if read_names(group[n], "weight_names")]
    if len(names) != len(own):
        raise ValueError(
            f"You are trying to load a weight file containing {len(names)} layers into a model with {len(own)} layers "
            f"({path})."
        )
    pairs = []
    for name, layer in zip(names, own, strict=True):
        pairs += _pairs(group[name], name, layer, path)
    batch_set_value(pairs)


def _pairs(group: Any, name: str, layer: Any, path: str) -> list[tuple[Any, Any]]:
    values = converted(layer, [np.asarray(group[n]) for n in read_names(group, "weight_names")])
    weights = weights_in_order(layer)
    if len(values) != len(weights):
        raise ValueError(
            f"The layer {layer.name!r} expects {len(weights)} weights, but {path} has {len(values)} for {name!r}."
        )
    for variable, value in zip(weights, values, strict=True):
        if tuple(variable.shape.as_list()) != value.shape:
            raise ValueError(
                f"The weight {variable.name!r} of the layer {layer.name!r} has shape {variable.shape}, but {path} has "
                f"one of shape {value.shape} for {name!r}."
            )
    return list(zip(weights, values, strict=True))


def converted(layer: Any, values: list[Any]) -> list[Any]:
    """Weights of a file as the layer has them: cuDNN's LSTM has twice the bias."""
    kind = type(layer).__name__
    if kind in ("LSTM", "CuDNNLSTM") and len(values) == 3:
        units = values[1].shape[0]
        if values[2].shape == (8 * units,):
            return [values[0], values[1], values[2][: 4 * units] + values[2][4 * units :]]
    return values


def read_weights_by_name(group: Any, layers: Sequence[Any], skip_mismatch: bool, path: str) -> None:
    """Sets the weights of the layers whose names the file has."""
    by_name: dict[str, list[Any]] = {}
    for layer in layers:
        by_name.setdefault(layer.name, []).append(layer)
    pairs = []
    for name in read_names(group, "layer_names"):
        for layer in by_name.get(name, ()):
            try:
                pairs += _pairs(group[name], name, layer, path)
            except ValueError:
                if not skip_mismatch:
                    raise
    batch_set_value(pairs)
