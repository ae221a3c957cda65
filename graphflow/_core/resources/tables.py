"""Tables of keys and values: those that are filled once, and those that change while a program runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.common.fingerprint import old_fingerprint64
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
                None, None, f"Table not initialized: {self._name!r}. Run gf.tables_initializer() first."
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
                f"Expected key shape [..., {', '.join(map(str, self._key_dims))}], got {list(array.shape)}."
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
                        f"Using the {self._reserved[key]}, {key!r}, as a table key is not allowed."
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
                f"Expected shape {[*outer, *dims]} for the values of these keys, got {list(array.shape)}."
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


class DenseTable(MutableTable):
    """A table of which the places are seen: what is exported, and saved, is every bucket, as in TensorFlow.

    A key stands in the bucket that its hash says, or in the first free one of those tried after it, so that TensorFlow
    finds the keys of a checkpoint from here. There are twice as many buckets when too many are taken.

    Args:
        name: What errors call it.
        key_dtype: Of the keys.
        value_dtype: Of the values.
        empty: The key of a bucket that never had one.
        deleted: The key of a bucket whose key was removed.
        value_dims: The shape of one value.
        buckets: How many there are at first, a power of 2 of at least 4.
        load: Which part of them may be taken.
    """

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, empty: Any, deleted: Any,
        value_dims: tuple[int, ...], buckets: int, load: float,
    ) -> None:  # fmt: skip
        reserved = {"empty_key": empty, "deleted_key": deleted}
        super().__init__(name, key_dtype, value_dtype, np.shape(empty), value_dims, reserved)
        (self._empty,), (self._deleted,) = self._keys(empty), self._keys(deleted)
        self._load = load
        self._places: dict[Any, int] = {}
        """The bucket of each key."""
        self._clear(buckets)

    def _clear(self, buckets: int) -> None:
        dtype = self.dtypes[1]
        self._buckets = [self._empty] * buckets
        self._values = np.zeros((buckets, *self._value_dims), dtype.native)
        if dtype.name == "string":
            self._values.fill(b"")
        self._places.clear()
        self._contents.clear()

    def _allowed(self, keys: Any) -> list[Any]:
        if np.ndim(keys) > len(self._key_dims) + 1:
            raise self._invalid(
                f"Expected key shape {[np.shape(keys)[0], *self._key_dims]}, got {list(np.shape(keys))}."
            )
        return super()._allowed(keys)

    def _tried(self, key: Any) -> Iterator[int]:
        """The buckets in which a key may stand, in their order."""
        last = len(self._buckets) - 1
        at = _hash(key) & last
        for step in range(1, last + 2):
            yield at
            at = (at + step) & last

    def _put(self, name: Any, row: Any) -> None:
        if name not in self._places:
            free = (self._empty, self._deleted)
            self._places[name] = at = next(at for at in self._tried(name) if self._buckets[at] in free)
            self._buckets[at] = name
        self._values[self._places[name]] = row
        self._contents[name] = row

    def insert(self, keys: Any, values: Any) -> None:
        """Sets the values of keys; the last of a key that comes twice counts."""
        names, rows = self._rows(self._allowed(keys), keys, values)
        with self._lock:
            wanted, buckets = len(self._places) + len(names), len(self._buckets)
            while wanted > buckets * self._load:
                buckets *= 2
            if buckets > len(self._buckets):
                kept = [(name, self._contents[name]) for name in self._buckets if name in self._contents]
                self._clear(buckets)
                for name, row in kept:
                    self._put(name, row)
            for name, row in zip(names, rows, strict=True):
                self._put(name, row)

    def remove(self, keys: Any) -> None:
        """Removes keys; one that is not there is no error."""
        names = self._allowed(keys)
        with self._lock:
            for name in names:
                if self._contents.pop(name, None) is not None:
                    self._buckets[self._places.pop(name)] = self._deleted

    def replace(self, keys: Any, values: Any) -> None:
        """Has the buckets that were exported, or if they do not lie as here, their keys and values."""
        names = self._keys(keys)
        rows = np.reshape(values, (len(names), *self._value_dims))
        held = [(at, name) for at, name in enumerate(names) if name not in (self._empty, self._deleted)]
        with self._lock:
            if len(names) < 4 or len(names) & (len(names) - 1):
                self._clear(4)
            else:
                self._clear(len(names))
                self._buckets, self._values = names, np.array(rows)
                self._places = {name: at for at, name in held}
                self._contents = {name: rows[at] for at, name in held}
                if all(self._is_found(name, at) for at, name in held):
                    return
                self._clear(len(names))
        for at, name in held:
            self.insert(np.array([name]), rows[at : at + 1])

    def _is_found(self, name: Any, place: int) -> bool:
        for at in self._tried(name):
            if at == place:
                return True
            if self._buckets[at] == self._empty:
                break
        return False

    def export(self) -> tuple[Any, Any]:
        """The keys of all buckets and their values, [n, ...]; single ones are [n, 1], as in TensorFlow."""
        with self._lock:
            count = len(self._buckets)
            keys = np.array(self._buckets, self.dtypes[0].native).reshape((count, *(self._key_dims or (1,))))
            return keys, np.array(self._values).reshape((count, *(self._value_dims or (1,))))


def _hash(key: Any) -> int:
    """The hash of a key of a table with buckets, as TensorFlow has it: a whole number is its own."""
    if isinstance(key, tuple):
        found = 0
        for part in key:
            found ^= (_hash(part) + 0x9E3779B97F4A7800 + (found << 10) + (found >> 4)) & _ALL
            found &= _ALL
        return found
    return old_fingerprint64(key) if isinstance(key, bytes) else int(key) & _ALL


_ALL: Final = 2**64 - 1
