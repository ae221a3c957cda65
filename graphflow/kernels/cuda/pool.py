"""Device memory that nobody has at the moment, kept for whoever wants as much again.

Values that go from launch to launch of a loop, or from one part of a plan to the next, are made and dropped all the
time; asking the driver each time would wait for the device. What is given back is used again in the order of the same
stream, so that nothing has to be waited for, unless others than that stream read it.
"""

from __future__ import annotations

from collections import deque
from typing import Any


class Pool:
    """Free blocks of one device, by size in bytes. Thread-safe; `give` may be called from a finaliser."""

    def __init__(self) -> None:
        self._free: dict[int, deque[tuple[Any, tuple[Any, ...]]]] = {}

    def take(self, size: int) -> tuple[Any, tuple[Any, ...]] | None:
        """A block and the events after which it may be written; None where there is none of that size."""
        try:
            return self._free[size].popleft()
        except (KeyError, IndexError):
            return None

    def give(self, size: int, block: Any, events: tuple[Any, ...]) -> None:
        """Gives a block back; it may be written after the events."""
        self._free.setdefault(size, deque()).append((block, events))

    def clear(self) -> None:
        """Lets go of all blocks."""
        self._free = {}
