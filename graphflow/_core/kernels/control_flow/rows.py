"""Rows in one block of memory: what a list of a TensorArray, or the stack of a loop, holds if all of it has one shape.

Compiled loops read and write such rows without Python. They find them by a descriptor, a few words that lie in memory
and say where the rows are, how many, and in which state. Kernels of the NumPy tier use the same rows as arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.common.arrays import memory_address

# Words of a list's descriptor, and the bits of the state of a row.
ROWS, SIZE, ROW_BYTES, STATES, CLEARS, SUMS, ROOM = range(7)
WRITTEN, READ, CLEARED, SHAPED = 1, 2, 4, 8
"""ROOM: the index from which on a row is not to be written by native code: that of a list that may grow is beyond its
size. SHAPED: never written, but its shape is known, so that it reads as zeros."""
# Words of a stack's descriptor: ROWS and ROW_BYTES as above, and how many rows there are and may be.
COUNT, CAPACITY = 1, 3
DESCRIPTOR_WORDS: Final = 8
_FEWEST: Final = 16
_MOST_KEPT_BYTES: Final = 1 << 22
"""Of a stack that is kept for other runs; beside the filling of a larger one, making it costs little."""


class Rows:
    """The rows of a list: `data` along the first axis, and the state of each."""

    __slots__ = ("_grows", "_states", "data", "descriptor", "dtype", "place", "shape")

    def __init__(self, data: Any, size: int, *, clears: bool, sums: bool, grows: bool = False) -> None:
        """data: an array of at least `size` rows, which is used, not copied. grows: whether a row may be written behind
        the last one.
        """
        self.data = data
        self.shape: tuple[int, ...] = data.shape[1:]
        self.dtype: np.dtype[Any] = data.dtype
        self._grows = grows
        self._states = np.zeros(len(data), np.uint8)
        self.descriptor = np.zeros(DESCRIPTOR_WORDS, np.int64)
        self.place = memory_address(self.descriptor)
        self.descriptor[CLEARS], self.descriptor[SUMS] = clears, sums
        self._describe(size)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.descriptor[SIZE])

    @property
    def states(self) -> Any:
        """The state of each row, bits of WRITTEN, READ, CLEARED and SHAPED."""
        return self._states[: self.size]

    def _describe(self, size: int) -> None:
        words = self.descriptor
        words[ROWS], words[STATES] = memory_address(self.data), memory_address(self._states)
        words[SIZE], words[ROW_BYTES] = size, row_bytes(self.shape, self.dtype)
        words[ROOM] = len(self.data) if self._grows else size

    @property
    def nbytes(self) -> int:
        """The bytes of the rows, and of as many as there is room for."""
        return int(self.data.nbytes)

    def copied(self) -> Rows:
        """The same rows in memory of their own."""
        clears, sums = (bool(self.descriptor[word]) for word in (CLEARS, SUMS))
        made = Rows(self.data.copy(), self.size, clears=clears, sums=sums, grows=self._grows)
        made._states[:] = self._states
        return made

    def grow(self, size: int) -> None:
        """Makes it longer: to at least twice as many rows as there is room for, of which `size` count."""
        if size > len(self.data):
            room = max(_FEWEST, 2 * len(self.data), size)
            data, states = np.empty((room, *self.shape), self.dtype), np.zeros(room, np.uint8)
            data[: self.size], states[: self.size] = self.data[: self.size], self._states[: self.size]
            self.data, self._states = data, states
        self._describe(size)


class RowStack:
    """A stack of rows, used as the list that it stands for: append() and pop().

    Rows of another shape or dtype lie beside it; what was pushed last comes first all the same. home: where it is kept
    for other runs when all that was pushed has been taken; it is used by one run at a time.
    """

    __slots__ = ("_data", "_others", "descriptor", "dtype", "home", "place", "shape")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        room: int = _FEWEST,
        home: list[RowStack] | None = None,
    ) -> None:
        self.shape, self.dtype, self.home = tuple(shape), dtype, home
        self._data = np.empty((max(room, _FEWEST), *self.shape), self.dtype)
        self._others: list[tuple[int, Any]] = []
        self.descriptor = np.zeros(DESCRIPTOR_WORDS, np.int64)
        self.place = memory_address(self.descriptor)
        self.descriptor[ROW_BYTES] = row_bytes(self.shape, self.dtype)
        self._describe()

    def _describe(self) -> None:
        self.descriptor[ROWS], self.descriptor[CAPACITY] = memory_address(self._data), len(self._data)

    def __len__(self) -> int:
        return int(self.descriptor[COUNT]) + len(self._others)

    @property
    def room(self) -> int:
        """How many rows there is room for."""
        return len(self._data)

    @property
    def plain(self) -> bool:
        """Whether all that lies on it has its shape."""
        return not self._others

    @property
    def nbytes(self) -> int:
        """The bytes of its rows, and of as many as there is room for."""
        return int(self._data.nbytes)

    def copied(self) -> RowStack:
        """A stack with the same on it, which is not kept for other runs."""
        made = RowStack(self.shape, self.dtype, len(self._data))
        made._data[: len(self._data)] = self._data
        made._others = list(self._others)
        made.descriptor[COUNT] = self.descriptor[COUNT]
        return made

    def go_home(self) -> bool:
        """Is kept for other runs if nothing lies on it and it is small; whether it is."""
        home = self.home
        if home is None or len(self) or self._data.nbytes > _MOST_KEPT_BYTES:
            return False
        self.home = None  # Else it would hold itself.
        home.append(self)
        return True

    def append(self, value: Any) -> None:
        """Pushes a value."""
        count = int(self.descriptor[COUNT])
        if np.shape(value) != self.shape or getattr(value, "dtype", None) != self.dtype:
            self._others.append((count, value))
            return
        if count == len(self._data):
            data = np.empty((2 * count, *self.shape), self.dtype)
            data[:count] = self._data
            self._data = data
            self._describe()
        self._data[count] = value
        self.descriptor[COUNT] = count + 1

    def pop(self) -> Any:
        """Takes the value that was pushed last; IndexError if there is none."""
        count = int(self.descriptor[COUNT])
        if self._others and self._others[-1][0] == count:
            return self._others.pop()[1]
        if not count:
            raise IndexError("pop from an empty stack")
        self.descriptor[COUNT] = count - 1
        return self._data[count - 1].copy()[()]


def row_bytes(shape: Sequence[int], dtype: Any) -> int:
    """The bytes of a row."""
    return math.prod(shape) * int(np.dtype(dtype).itemsize)
