"""Values that are lent: read by somebody who may be at it long after the run, without a copy.

What sends a variable to another task, or hands it to a later stage, gets an array on the variable's own memory. As long
as any array on it is left, or another process reads it, the variable's next change goes to fresh memory.
"""

from __future__ import annotations

import weakref
from typing import Any, Final, Protocol

import numpy as np

Array = np.ndarray[Any, Any]

LENT_FROM: Final = 32 << 10
"""Bytes below which copying costs less than keeping account."""


class Memory(Protocol):
    """Memory that a task shares with other processes (transport/shared.py)."""

    usable: bool
    """Whether it offers any: memory that is used again costs less than new memory, whoever gets what is in it."""
    has_partners: bool
    """Whether there are other processes that read it."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array there."""
        ...

    def copied(self, array: Array) -> Array:
        """A copy, there where it is large."""
        ...

    def holds(self, array: Array) -> bool:
        """Whether an array lies there."""
        ...

    def leased(self, array: Array) -> bool:
        """Whether another process may be reading an array that lies there."""
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
        """Nothing there is anybody else's."""
        return False

    def leased(self, array: Array) -> bool:
        """No other process reads it."""
        return False


class _Loan:
    """What arrays on lent memory have as their base: gone when the last of them is."""

    __slots__ = ("__array_interface__", "__weakref__", "lent")

    def __init__(self, lent: Array) -> None:
        self.lent = lent
        interface = dict(lent.__array_interface__)
        interface["data"] = (interface["data"][0], True)
        self.__array_interface__ = interface


class Loans:
    """Who has been lent the value of one variable. The variable's lock is held, or its run is the only one."""

    __slots__ = ("_out",)

    def __init__(self) -> None:
        self._out: tuple[weakref.ref[_Loan], ...] = ()

    def lend(self, value: Array) -> Array:
        """The value as a read-only array that can be told from the value itself."""
        loan = _Loan(value)
        self._out = (*[o for o in self._out if o() is not None], weakref.ref(loan))
        return np.asarray(loan)

    def any(self, value: Array, memory: Memory) -> bool:
        """Whether somebody may be reading the value."""
        if self._out:
            self._out = tuple([o for o in self._out if o() is not None])
        return bool(self._out) or memory.leased(value)


def lent(array: Array) -> Array:
    """The array that a lent one is on; any other itself."""
    found: Array = getattr(array.base, "lent", array)
    return found
