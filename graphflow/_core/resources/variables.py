"""VariableCell: holds the value of one variable.

A change of a variable happens whole, under its lock: in place if no other run is active and nobody has borrowed the
value, else in a new buffer. The store, which holds the cells, knows which of the two it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.donation import take_donated
from graphflow._core.checkpoint.parallel import copied, copy_into
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import Dims, compatible, text
from graphflow._core.resources.borrowing import BORROW_FROM_BYTES, Borrows, Memory
from graphflow._core.resources.services import RunMemory


class Home(Protocol):
    """What a cell asks of the store that holds it.

    memory: the memory for values that leave the run or its device. runs: is told of what is set as a whole.
    """

    memory: Memory
    runs: RunMemory | None

    def begin_in_place(self, *cells: VariableCell) -> bool:
        """Whether the values may be changed in place. If so, end_in_place() must follow."""

    def end_in_place(self) -> None:
        """A change in place is done."""


class Interference:
    """Notes whether another thread than the one that made it changes the variables that have it as their watch."""

    __slots__ = ("seen", "thread")

    def __init__(self) -> None:
        self.thread: int = threading.get_ident()
        self.seen: bool = False


class VariableCell:
    """Holds one variable: its value, or None before it is initialised.

    Thread-safe. While another run is active a change goes to a fresh buffer, which is then swapped in, so that a
    reader never sees half of it. If no other run is active and nobody has borrowed the value, it changes in place.
    `assigned` counts how often it was set as a whole. `watch` is told of changes.
    """

    __slots__ = ("assigned", "borrows", "dims", "dtype", "line", "lock", "name", "store", "value", "watch")

    def __init__(self, store: Home, name: str, dtype: DType, line: tuple[str, int], dims: Dims) -> None:
        self.store: Home = store
        self.name: str = name
        self.dtype: DType = dtype
        self.dims: Dims = dims
        self.line: tuple[str, int] = line
        self.lock: threading.Lock = threading.Lock()
        self.borrows: Borrows = Borrows()
        self.value: Any = None
        self.assigned: int = 0
        self.watch: Interference | None = None

    def note_change(self) -> None:
        """Tells the watch that the thread which calls this changes the value; lock held."""
        watch = self.watch
        if watch is not None and watch.thread != threading.get_ident():
            watch.seen = True

    def get(self) -> Any:
        """The value; FailedPreconditionError before it is initialised."""
        value = self.value
        if value is None:
            raise errors.FailedPreconditionError(
                None, None, f"Attempting to use uninitialized value {self.name}"
            )
        return value

    @property
    def nbytes(self) -> int:
        """The bytes of the value; 0 before it is initialised."""
        value = self.value
        return 0 if value is None else int(value.nbytes)

    def borrow(self) -> Any:
        """The value, read-only, for a reader that may keep it after the run; to be called in a run."""
        value = self.get()
        if value.nbytes < BORROW_FROM_BYTES or value.dtype.hasobject:
            return value.copy() if value.ndim else value[()]
        memory = self.store.memory
        with self.lock:
            if memory.has_partners and self.value is value and not memory.holds(value):
                self.value = value = memory.copied(value)
            return self.borrows.borrow(value)

    def copy_if_borrowed(self) -> None:
        """Copies the value if somebody has borrowed it, so that it may be changed in place; the run is the only one."""
        with self.lock:
            if self.value is not None and self._is_borrowed():
                self.value = self.copied_value(self.value)

    def changes_in_place(self) -> None:
        """Called before the value is changed in place, for cells that know copies of it elsewhere."""

    def _is_borrowed(self) -> bool:
        return self.borrows.any(self.value, self.store.memory)

    def _fresh(self, old: Any) -> Any:
        """Memory for a new value of the same size: shared memory if the old value is there."""
        memory = self.store.memory
        return memory.empty(old.shape, old.dtype) if memory.holds(old) else np.empty_like(old)

    def copied_value(self, old: Any) -> Any:
        fresh = self._fresh(old)
        copy_into(fresh, old)
        return fresh

    def assign(self, value: Any, validate_shape: bool = True) -> None:
        """Sets the value to a copy of `value`; InvalidArgumentError if its shape may not be the variable's.

        The first value is not copied if its buffer is donated (checkpoint/donation.py).
        """
        if validate_shape and not compatible(self.dims, np.shape(value)):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Assign requires shapes of both tensors to match: the variable {self.name!r} has shape "
                f"{text(self.dims)}, the value {text(np.shape(value))}. "
                "Use validate_shape=False to let it change its shape.",
            )
        with self.lock:
            self.note_change()
            self.assigned += 1
            old = self.value
            if old is not None and old.shape == np.shape(value):
                self._put(old, value)
            else:
                dtype = self.dtype.as_numpy_dtype
                fresh = take_donated(value, dtype)
                self.value = copied(value, dtype) if fresh is None else fresh
            if self.store.runs is not None:
                self.store.runs.note_assigned(self)

    def exchange(self, old: Any, new: Any) -> None:
        """Replaces the value `old` by one of the same shape; does nothing if `old` is not the value any more.

        It counts as the same value: `assigned` stays.
        """
        with self.lock:
            if self.value is old:
                self.note_change()
                self._put(old, new)

    def _put(self, old: Any, new: Any) -> None:
        """Sets a value of the shape of the old one, in the memory of the old one if nobody reads that; lock held."""
        alone = self.store.begin_in_place(self)
        try:
            target = old if alone else self._fresh(old)
            copy_into(target, new)
            self.value = target
        finally:
            if alone:
                self.store.end_in_place()

    def update(self, function: Callable[[Any, Any], Any]) -> None:
        """Changes the value by function(old, out), which writes the new value into `out` (which may be `old`)."""
        with self.lock:
            old = self.get()
            self.note_change()
            if self.store.begin_in_place(self):
                try:
                    function(old, old)
                finally:
                    self.store.end_in_place()
            else:
                out = self._fresh(old)
                function(old, out)
                self.value = out

    def modify(self, function: Callable[[Any], None]) -> None:
        """Changes the value by function(array), which changes parts of the array in place.

        If the function raises before it writes, the value stays as it was.
        """
        with self.lock:
            array = self.get()
            self.note_change()
            if self.store.begin_in_place(self):
                try:
                    function(array)
                finally:
                    self.store.end_in_place()
            else:
                array = self.copied_value(array)
                function(array)
                self.value = array

    @staticmethod
    def change_together(cells: Sequence[VariableCell], function: Callable[[list[Any]], None]) -> None:
        """Changes several variables by function(arrays), which changes the arrays in place.

        Nobody sees only some of them changed. The locks are taken in the order of the names, so that two updates
        never wait for each other.
        """
        with ExitStack() as stack:
            for cell in sorted(set(cells), key=lambda c: c.name):
                stack.enter_context(cell.lock)
            arrays = [cell.get() for cell in cells]
            for cell in cells:
                cell.note_change()
            if cells[0].store.begin_in_place(*cells):
                try:
                    function(arrays)
                finally:
                    cells[0].store.end_in_place()
            else:
                arrays = [cell.copied_value(array) for cell, array in zip(cells, arrays, strict=True)]
                function(arrays)
                for cell, array in zip(cells, arrays, strict=True):
                    cell.value = array
