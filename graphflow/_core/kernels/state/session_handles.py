"""Kernels of values that stay in the session between runs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from graphflow._core.graph.dtypes import DType
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.ops.state.session_handles import SESSION_VALUES
from graphflow.errors import InvalidArgumentError


class SessionValues:
    """The values of a store by their handles, which are "operation;number;device".

    Thread-safe: each call changes or reads the dictionary once.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._numbers = itertools.count()

    @classmethod
    def of(cls, store: Any) -> SessionValues:
        """Those of a store."""
        found: SessionValues = store.other(SESSION_VALUES, cls)
        return found

    def keep(self, operation: str, device: str, value: Any) -> str:
        """Keeps a copy of a value; its handle."""
        handle = f"{operation};{next(self._numbers)};{device}"
        self._values[handle] = np.array(value)
        return handle

    def holds(self, handle: str) -> bool:
        """Whether there is a value under a handle."""
        return handle in self._values

    def get(self, handle: str, dtype: DType) -> Any:
        """A copy of the value; InvalidArgumentError if there is none, or it has another dtype."""
        value = self._values.get(handle)
        if value is None:
            raise InvalidArgumentError(
                None, None, f"The tensor with handle {handle!r} is not in the session store: it was deleted."
            )
        if value.dtype != dtype.native:
            raise InvalidArgumentError(
                None,
                None,
                f"The tensor with handle {handle!r} has dtype {value.dtype}, expected {dtype.name}.",
            )
        return value.copy() if value.ndim or value.dtype == object else value[()]

    def drop(self, handle: str) -> None:
        """Forgets the value; nothing happens if there is none."""
        self._values.pop(handle, None)


def _text(handle: Any) -> str:
    found = handle.item() if hasattr(handle, "item") else handle
    return str(found.decode() if isinstance(found, bytes) else found)


@kernel("GetSessionHandle", stateful=True)
def _keep(node: Node) -> Kernel:
    def keep(run: Any, value: Any) -> Any:
        handle = SessionValues.of(run.store).keep(node.name, node.device, value)
        return np.array(handle.encode(), object)

    return keep


@kernel("GetSessionTensor", stateful=True)
def _kept(node: Node) -> Kernel:
    dtype = node.attrs["dtype"]
    return lambda run, handle: SessionValues.of(run.store).get(_text(handle), dtype)


@kernel("DeleteSessionTensor", stateful=True)
def _drop(node: Node) -> Kernel:
    return lambda run, handle: SessionValues.of(run.store).drop(_text(handle))
