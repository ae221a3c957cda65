"""LookupTable: keys and values that a table of the graph is initialised with, and does not change any more."""

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
