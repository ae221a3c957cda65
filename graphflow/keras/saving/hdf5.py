"""Weights in HDF5 files, as Keras lays them out: a group for each layer, a data set for each weight."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, takewhile
from typing import Any

import numpy as np

from graphflow._core.common.files import storage
from graphflow.keras.backend.values import batch_get_value, batch_set_value
from graphflow.keras.utils.files import h5py

_LIMIT = 64512
"""Bytes of an attribute in HDF5; longer lists are cut into parts."""


@contextmanager
def writing(path: str) -> Iterator[Any]:
    """A new HDF5 file; ImportError without h5py. One that is not local is brought there, whole, at the end."""
    package = h5py(f"Writing {path}")
    if not storage.is_remote(path):
        with package.File(path, "w") as file:
            yield file
        return
    content = io.BytesIO()
    with package.File(content, "w") as file:
        yield file
    with storage.opened(path, "wb") as target:
        target.write(content.getbuffer())


@contextmanager
def reading(path: str) -> Iterator[Stored]:
    """The outermost group of an HDF5 file; ImportError without h5py, OSError if it is no such file."""
    package = h5py(f"Reading {path}")
    try:
        file = package.File(io.BytesIO(storage.read(path)) if storage.is_remote(path) else path, "r")
    except OSError as error:
        raise OSError(f"{path} is no HDF5 file, or not a whole one: {error}") from error
    with file:
        yield Stored(file, path)


class Stored:
    """A group of an HDF5 file that is read; what it lacks is said with the file and what is there instead."""

    def __init__(self, group: Any, path: str) -> None:
        self._group = group
        self.path = path

    def __contains__(self, name: str) -> bool:
        return name in self._group

    def wrong(self, expected: str, found: Any) -> ValueError:
        """The error that what is there is not what was expected."""
        return ValueError(f"{self.path}: expected {expected} in {self._group.name}, found {found}.")

    def _member(self, name: str, what: str, kind: str) -> Any:
        found = self._group.get(name)
        if found is None:
            raise self.wrong(f"{what} {name!r}", ", ".join(self._group) or "nothing")
        if type(found).__name__ != kind:
            raise self.wrong(f"{what} {name!r}", f"a {type(found).__name__} of that name")
        return found

    def group(self, name: str) -> Stored:
        """A group in it; ValueError if there is none."""
        return Stored(self._member(name, "a group", "Group"), self.path)

    def array(self, name: str) -> Any:
        """The numbers of a data set in it; ValueError if there are none, or they cannot be read."""
        found = self._member(name, "numbers", "Dataset")
        try:
            array = np.asarray(found)
        except (OSError, TypeError) as error:
            raise self.wrong(f"numbers {name!r}", f"what cannot be read: {error}") from error
        if array.dtype.kind not in "fiub":
            raise self.wrong(f"numbers {name!r}", f"elements of {array.dtype}")
        return array

    def arrays(self) -> list[Any]:
        """All its numbers, in the order that its attribute weight_names says."""
        return [self.array(name) for name in self.names("weight_names")]

    def has_names(self, attribute: str) -> bool:
        """Whether an attribute, or its first part, is there."""
        return attribute in self._group.attrs or f"{attribute}0" in self._group.attrs

    def names(self, attribute: str) -> list[str]:
        """A list of names of an attribute, of all its parts; ValueError if there is none."""
        attributes = self._group.attrs
        if not self.has_names(attribute):
            raise self.wrong(f"the attribute {attribute!r}", ", ".join(attributes) or "no attribute")
        numbered = (f"{attribute}{number}" for number in count())
        keys = [attribute] if attribute in attributes else takewhile(attributes.__contains__, numbered)
        parts = [attributes[key] for key in keys]
        odd = next((part for part in parts if np.ndim(part) != 1), None)
        if odd is not None:
            raise self.wrong(f"a list of names as the attribute {attribute!r}", repr(odd))
        return [_text_of(name) for part in parts for name in part]

    def description(self, attribute: str) -> dict[str, Any] | None:
        """What the JSON of an attribute describes, None without it; ValueError if it is no JSON of a dictionary."""
        text = self._group.attrs.get(attribute)
        if text is None:
            return None
        try:
            found = json.loads(_text_of(text))
        except ValueError as error:
            raise self.wrong(
                f"JSON as the attribute {attribute!r}", f"{_text_of(text)[:60]!r} ({error})"
            ) from error
        if not isinstance(found, dict):
            raise self.wrong(f"a dictionary as the attribute {attribute!r}", repr(found)[:60])
        return found


def _text_of(value: Any) -> str:
    """A string of an attribute, which may be bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


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


def write_arrays(file: Any, name: str, owner: Any) -> None:
    """The weights of an optimizer, if it has any, as a group of that name."""
    weights = owner.weights
    if not weights:
        return
    group = file.create_group(name)
    names = [str(w.name) for w in weights]
    write_names(group, "weight_names", names)
    for one, value in zip(names, owner.get_weights(), strict=True):
        group.create_dataset(one, data=value)


def read_weights(stored: Stored, layers: Sequence[Any]) -> None:
    """Sets the weights of layers, in their order.

    Raises:
        ValueError: The file has other layers, or a weight of another shape; the message names it.
    """
    own = [layer for layer in layers if weights_in_order(layer)]
    names = [n for n in stored.names("layer_names") if stored.group(n).names("weight_names")]
    if len(names) != len(own):
        raise ValueError(
            f"You are trying to load a weight file containing {len(names)} layers into a model with {len(own)} layers "
            f"({stored.path})."
        )
    pairs = []
    for name, layer in zip(names, own, strict=True):
        pairs += _pairs(stored.group(name), name, layer)
    batch_set_value(pairs)


def _pairs(stored: Stored, name: str, layer: Any) -> list[tuple[Any, Any]]:
    values = converted(layer, stored.arrays())
    weights = weights_in_order(layer)
    path = stored.path
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


def read_weights_by_name(stored: Stored, layers: Sequence[Any], skip_mismatch: bool) -> None:
    """Sets the weights of the layers whose names the file has."""
    by_name: dict[str, list[Any]] = {}
    for layer in layers:
        by_name.setdefault(layer.name, []).append(layer)
    pairs = []
    for name in stored.names("layer_names"):
        for layer in by_name.get(name, ()):
            try:
                pairs += _pairs(stored.group(name), name, layer)
            except ValueError:
                if not skip_mismatch:
                    raise
    batch_set_value(pairs)
