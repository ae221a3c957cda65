"""Tables of keys and values: those that are filled once, and those that change while a program runs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.dtypes import DType
from graphflow.errors import FailedPreconditionError, InvalidArgumentError


class LookupTable:
    """A table of a store. Thread-safe: its contents are there at once, and stay."""

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType) -> None:
        self._name = name
        self.dtypes = (key_dtype, value_dtype)
        """Of the keys and of the values."""
        self._lock = threading.Lock()
        self._contents: Mapping[Any, Any] | None = None

    def initialize(self, keys: Sequence[Any], values: Sequence[Any]) -> None:
        """Fills the table; nothing is done if it has the same contents already.

        InvalidArgumentError for a key with two values, FailedPreconditionError if it has other contents.
        """
        contents: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if contents.setdefault(key, value) != value:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Table {self._name!r}: duplicate key {key!r}, with values {contents[key]!r} and {value!r}.",
                )
        with self._lock:
            if self._contents is not None and self._contents != contents:
                raise FailedPreconditionError(
                    None, None, f"Table {self._name!r} was already initialized with different data."
                )
            self._contents = contents

    def _filled(self) -> Mapping[Any, Any]:
        if self._contents is None:
            raise FailedPreconditionError(
                None, None, f"Table {self._name!r} not initialized: run gf.tables_initializer() first."
            )
        return self._contents

    def find(self, keys: Any, default: Any) -> Any:
        """The values of an array of keys, the default for those that are not there."""
        contents, other = self._filled(), default.item() if hasattr(default, "item") else default
        array = np.asarray(keys)
        found = [contents.get(key, other) for key in array.reshape(-1).tolist()]
        result = np.empty(len(found), self.dtypes[1].native)
        result[:] = found
        return result.reshape(array.shape)

    def size(self) -> int:
        """How many keys there are."""
        return len(self._filled())

    def export(self) -> tuple[Any, Any]:
        """All keys, and their values in the same order."""
        contents = self._filled()
        parts = []
        for part, dtype in zip((list(contents), list(contents.values())), self.dtypes, strict=True):
            parts.append(np.empty(len(contents), dtype.native))
            parts[-1][:] = part
        return parts[0], parts[1]


class MutableTable:
    """A table of a store. Thread-safe: each call sees or makes whole changes.

    Args:
        name: What errors call it.
        key_dtype: Of the keys.
        value_dtype: Of the values.
        key_dims: The shape of one key.
        value_dims: The shape of one value.
        reserved: Keys that cannot be used, by what they are called.
    """

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, key_dims: tuple[int, ...] = (),
        value_dims: tuple[int, ...] = (), reserved: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._name = name
        self.dtypes = (key_dtype, value_dtype)
        """Of the keys and of the values."""
        self._key_dims, self._value_dims = key_dims, value_dims
        self._reserved = {self._keys(key)[0]: what for what, key in (reserved or {}).items()}
        self._lock = threading.Lock()
        self._contents: dict[Any, Any] = {}

    def _keys(self, keys: Any) -> list[Any]:
        """Keys as those of a dictionary: a vector is a tuple."""
        array, width = np.asarray(keys), len(self._key_dims)
        if width and array.shape[array.ndim - width :] != self._key_dims:
            raise self._invalid(
                f"keys of shape {array.shape} do not end in the shape {self._key_dims} of one key."
            )
        if not width:
            return list(array.reshape(-1).tolist())
        count, size = (int(np.prod(dims)) for dims in (array.shape[:-width], self._key_dims))
        return [tuple(row) for row in array.reshape(count, size).tolist()]

    def _allowed(self, keys: Any) -> list[Any]:
        found = self._keys(keys)
        if self._reserved:
            for key in found:
                if key in self._reserved:
                    raise self._invalid(
                        f"using the {self._reserved[key]}, {key!r}, as a table key is not allowed."
                    )
        return found

    def _invalid(self, text: str) -> InvalidArgumentError:
        return InvalidArgumentError(None, None, f"Table {self._name!r}: {text}")

    def _of_keys(self, keys: Any) -> tuple[int, ...]:
        """The shape of an array of keys without that of each key."""
        dims: tuple[int, ...] = np.shape(keys)
        return dims[: len(dims) - len(self._key_dims)]

    def find(self, keys: Any, default: Any) -> Any:
        """The values of an array of keys, the default for those that are not there."""
        names, other = self._allowed(keys), np.asarray(default)
        if other.shape != self._value_dims:
            raise self._invalid(
                f"the default value has shape {other.shape}, but a value has {self._value_dims}."
            )
        with self._lock:
            found = [self._contents.get(key, other[()]) for key in names]
        result = np.empty((len(found), *other.shape), self.dtypes[1].native)
        for row, value in enumerate(found):
            result[row] = value
        return result.reshape((*self._of_keys(keys), *other.shape))

    def _rows(self, names: list[Any], keys: Any, values: Any) -> tuple[list[Any], Any]:
        """The keys, and a copy of the value of each."""
        array, outer, dims = np.asarray(values), self._of_keys(keys), self._value_dims
        if array.shape != (*outer, *dims):
            raise self._invalid(
                f"expected values of shape {(*outer, *dims)} for these keys, got {array.shape}."
            )
        return names, array.reshape((len(names), *dims)).copy()

    def insert(self, keys: Any, values: Any) -> None:
        """Sets the values of keys; the last of a key that comes twice counts."""
        names, rows = self._rows(self._allowed(keys), keys, values)
        with self._lock:
            self._contents.update(zip(names, rows, strict=True))

    def replace(self, keys: Any, values: Any) -> None:
        """Has these keys and values, and no other; keys that cannot be used, as TensorFlow saves them, are left out."""
        names, rows = self._rows(self._keys(keys), keys, values)
        contents = dict(zip(names, rows, strict=True))
        for reserved in self._reserved:
            contents.pop(reserved, None)
        with self._lock:
            self._contents = contents

    def remove(self, keys: Any) -> None:
        """Removes keys; one that is not there is no error."""
        names = self._allowed(keys)
        with self._lock:
            for key in names:
                self._contents.pop(key, None)

    def export(self) -> tuple[Any, Any]:
        """All keys, as [n, ...], and their values, as [n, ...]."""
        with self._lock:
            contents = dict(self._contents)
        keys = np.array(list(contents), self.dtypes[0].native).reshape((len(contents), *self._key_dims))
        values = np.empty((len(contents), *self._value_dims), self.dtypes[1].native)
        for row, value in enumerate(contents.values()):
            values[row] = value
        return keys, values

    def size(self) -> int:
        """How many keys there are."""
        with self._lock:
            return len(self._contents)
