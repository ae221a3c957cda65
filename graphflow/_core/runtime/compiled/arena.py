"""Arena: the memory of compiled plans that are made for different sizes of one plan.

Each plan that is small has a block of its own, so that threads may run them at the same time. All others take one block
in turns, which is as large as the largest of them needs. A block is given back with the last plan that uses it.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass

_OWN_BYTES: Final = 16 << 20
"""The bytes of the blocks, all together, that belong to one plan each."""
_GROWTH: Final = 1.5
"""How much larger a common block is than the one before it at least; plans that use that keep it."""


@dataclass(frozen=True)
class Block:
    """Memory of a plan: at least `size` bytes, which hold anything, of which others may use the same, and the lock of
    those who use them. `arena` is where they are from.
    """

    bytes: np.ndarray[Any, np.dtype[np.uint8]]
    lock: threading.Lock
    size: int
    arena: Arena

    @property
    def address(self) -> int:
        """Where the bytes lie."""
        return int(self.bytes.ctypes.data)


class Arena:
    """Gives blocks of memory, each with the lock that a run holds while it uses the block. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = 0
        self._common: weakref.ref[Any] | None = None
        self._in_turns = threading.Lock()
        self._inside: dict[str, Arena] = {}

    def block(self, size: int) -> Block:
        """A block of at least that many bytes."""
        with self._lock:
            if self._own + size <= _OWN_BYTES:
                own = np.zeros(size, np.uint8)
                self._own += size
                weakref.finalize(own, self._given_back, size).atexit = False
                return Block(own, threading.Lock(), size, self)
            common = None if self._common is None else self._common()
            if common is None or common.nbytes < size:
                least = 0 if common is None else int(common.nbytes * _GROWTH)
                common = np.zeros(max(size, least), np.uint8)
                self._common = weakref.ref(common)
            return Block(common, self._in_turns, size, self)

    def inside(self, name: str) -> Arena:
        """The arena of a loop's body, which runs while the plan around it holds its block."""
        with self._lock:
            return self._inside.setdefault(name, Arena())

    def _given_back(self, size: int) -> None:
        self._own -= size  # Without the lock: it may be called while this thread holds it.
