"""Pools of device memory: blocks that are free at the moment are kept for the next request of the same size.

Values that go from launch to launch of a loop, or from one part of a plan to the next, are made and dropped all the
time; asking the driver each time would wait for the device. What is given back is used again in the order of the same
stream, so that nothing has to be waited for, unless others than that stream read it.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from graphflow._core.common.records import dataclass


@dataclass(eq=False, slots=True)
class Block:
    """Memory of a size in bytes, and the events after which others than its device's stream are done with it."""

    size: int
    memory: Any
    events: tuple[Any, ...] = ()


class Pool:
    """The blocks of one device, free ones by size. Thread-safe; `give` may be called from a finaliser.

    It keeps references to the blocks in use, too. Their holders may be collected as part of a cycle, and Python then
    finalises everything that only the cycle refers to. Without this reference the block's memory would be freed before
    the holder gives the block back.
    """

    def __init__(self) -> None:
        self._free: dict[int, deque[Block]] = {}
        self._in_use: set[Block] = set()

    def take(self, size: int) -> Block | None:
        """A free block, which may be written after its events; None if there is none of that size."""
        try:
            block = self._free[size].popleft()
        except (KeyError, IndexError):
            return None
        self._in_use.add(block)
        return block

    def add(self, size: int, memory: Any) -> Block:
        """A block for new memory."""
        block = Block(size, memory)
        self._in_use.add(block)
        return block

    def give(self, block: Block) -> None:
        """Gives a block back."""
        self._in_use.discard(block)
        self._free.setdefault(block.size, deque()).append(block)

    def clear(self) -> None:
        """Lets go of all blocks that nobody has."""
        self._free = {}
