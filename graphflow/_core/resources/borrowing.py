"""Borrowed values: the value of a variable, read without a copy, maybe long after the run that borrowed it.

A stage that sends a variable to another task, or hands it to a later stage, gets an array on the variable's own memory.
As long as any such array is left, or another process reads that memory, the variable is copied before it changes
(copy-on-write).
"""

from __future__ import annotations

import weakref
from typing import Any, Final, Protocol

import numpy as np

from graphflow._core.common.arrays import is_bfloat16

Array = np.ndarray[Any, Any]

BORROW_FROM_BYTES: Final = 32 << 10
"""Smaller values are copied: that costs less than keeping account of who has borrowed them."""


class Memory(Protocol):
    """Memory that a task shares with other processes (transport/shared.py)."""

    usable: bool
    """Whether it offers any. Even without partners memory that is used again costs less than new memory."""
    has_partners: bool
    """Whether there are other processes that read it."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array there."""
        ...

    def copied(self, array: Array) -> Array:
        """A copy; a large one lies in this memory."""
        ...

    def holds(self, array: Array) -> bool:
        """Whether an array lies in this memory."""
        ...

    def pinned(self, array: Array) -> bool:
        """Whether another process may be reading an array that lies in this memory."""
        ...


class ProcessMemory:
    """Memory that a process shares with nobody."""

    usable = True
    has_partners = False

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array there."""
        return np.empty(shape, dtype)

    def copied(self, array: Array) -> Array:
        """A copy."""
        return array.copy()

    def holds(self, array: Array) -> bool:
        """False: no array lies in memory that others see."""
        return False

    def pinned(self, array: Array) -> bool:
        """False: no other process reads it."""
        return False


class _Borrow:
    """The base of all arrays on a borrowed value; it is collected with the last of them."""

    __slots__ = ("__array_interface__", "__weakref__", "owner")

    def __init__(self, owner: Array) -> None:
        self.owner = owner
        interface = dict(owner.__array_interface__)
        interface["data"] = (interface["data"][0], True)
        self.__array_interface__ = interface


class Borrows:
    """Who has borrowed the value of one variable. Used with the variable's lock held, or if its run is the only one."""

    __slots__ = ("_out",)

    def __init__(self) -> None:
        self._out: tuple[weakref.ref[_Borrow], ...] = ()

    def borrow(self, value: Array) -> Array:
        """A read-only array on the memory of the value, which `borrowed_from` can tell from the value itself."""
        borrowed = _Borrow(value)
        self._out = (*[o for o in self._out if o() is not None], weakref.ref(borrowed))
        found = np.asarray(borrowed)
        return found.view(value.dtype) if is_bfloat16(value.dtype) else found

    def any(self, value: Array, memory: Memory) -> bool:
        """Whether the value is borrowed, here or by another process."""
        if self._out:
            self._out = tuple([o for o in self._out if o() is not None])
        return bool(self._out) or memory.pinned(value)


def borrowed_from(array: Array) -> Array:
    """The variable's own array, for a borrowed one; any other array itself."""
    base: Any = array.base
    if is_bfloat16(array.dtype) and isinstance(base, np.ndarray) and base.dtype.type is np.void:
        # What `borrow` gives is a view of that, since __array_interface__ names no dtype that NumPy lacks.
        whole = base.shape == array.shape and base.strides == array.strides
        base = base.base if whole else None
    found: Array = getattr(base, "owner", array)
    return found
