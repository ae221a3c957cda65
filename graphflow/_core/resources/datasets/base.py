"""Datasets while a graph runs: descriptions (DatasetBase, as in TensorFlow's kernels) and walks over them (Elements).

A description is immutable; an op of the graph makes it. Elements is one walk over it, with a position that can be
saved. An element is a tuple of arrays, one for each component. If the elements are rows of a table in memory, such as
slices of arrays, a walk also returns numbers of rows: a shuffle then moves numbers, and a batch copies each row once.
"""

from __future__ import annotations

import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import ITERATOR_HOLD_SECONDS
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.states import State
from graphflow._core.resources.services import ElementFunction, FunctionService

Element: TypeAlias = tuple[Any, ...]


INFINITE: Final = -1
UNKNOWN: Final = -2
"""What is said of the number of elements if there is none, or it is not known before they are made."""
INTERRUPTIONS = (errors.CancelledError, errors.DeadlineExceededError, errors.AbortedError)
"""Errors of the run that waits, not of an element."""


class Table(Protocol):
    """Elements in memory, by number."""

    def gather(self, ids: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        """The components of some rows, each in an array of its own."""
        ...

    def row(self, number: int) -> Element:
        """One element."""
        ...


@dataclass(frozen=True)
class Block:
    """Some elements in order: `columns`, one array a component with a row for each, or else `rows`, one by one."""

    count: int
    columns: Sequence[np.ndarray[Any, Any]] | None
    rows: Sequence[Element] = ()

    @staticmethod
    def of(rows: Sequence[Element]) -> Block:
        """A block of single elements."""
        return Block(len(rows), None, rows)

    def stacked(self) -> Block:
        """The same with columns, if the elements of each component have one shape and dtype; otherwise itself."""
        if self.columns is not None or not self.rows:
            return self
        columns: list[np.ndarray[Any, Any]] = []
        for values in zip(*self.rows, strict=True):
            column = _column(values)
            if column is None:
                return self
            columns.append(column)
        return Block(self.count, columns, self.rows)

    def elements(self) -> list[Element]:
        """The elements one by one."""
        if self.columns is None or self.rows:
            return list(self.rows)
        return [tuple([boxed(column[i]) for column in self.columns]) for i in range(self.count)]


def _column(values: Sequence[Any]) -> np.ndarray[Any, Any] | None:
    """Values one below the other, in memory of their own; None if they differ in shape or dtype."""
    first = values[0]
    shape, dtype = np.shape(first), getattr(first, "dtype", None)
    if dtype is None or not isinstance(first, np.ndarray | np.generic):
        return None
    result = np.empty((len(values), *shape), dtype)
    for row, value in enumerate(values):
        if np.shape(value) != shape or getattr(value, "dtype", None) != dtype:
            return None
        result[row] = value[()] if not shape else value
    return result


class Worker:
    """A part of a walk with threads; a thread holds `working` while it makes an element."""

    def __init__(self) -> None:
        self.working = threading.Lock()

    def stop(self) -> None:
        """Ends the threads, after the elements that they are making."""


class Context:
    """The state that the walks of one iterator share: functions with their random states, and all that outlives an
    epoch.

    store: the session's. workers: the parts of walks with threads, while they are in use.
    """

    def __init__(self, store: Any) -> None:
        self._store = weakref.ref(store)
        self._functions: dict[Any, ElementFunction] = {}
        self._shared: dict[Any, Any] = {}
        self._restored: dict[str, State] = {}
        self.workers: weakref.WeakSet[Worker] = weakref.WeakSet()

    @property
    def store(self) -> Any:
        """The store; a thread that works ahead does not keep it alive."""
        return self._store()

    def function(self, function: Any) -> ElementFunction:
        """The runner of a LoweredFunction, made at its first use."""
        runner = self._functions.get(function)
        if runner is None:
            planner: FunctionService = self.store.planner
            runner = self._functions[function] = planner.function(function, self.store)
            restored = self._restored.pop(function.name, None)
            if restored is not None:
                runner.set_state(restored)
        return runner

    def function_named(self, name: str) -> ElementFunction:
        """The runner of a function that is in use; ValueError if none of that name is."""
        for function, runner in self._functions.items():
            if function.name == name:
                return runner
        raise ValueError(f"The saved position needs the function {name!r}, which the dataset does not have.")

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """An object that outlives one walk over a dataset, such as a cache."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def get_state(self) -> State:
        """The states of the functions, by their names."""
        state: State = {}
        for function, runner in self._functions.items():
            states.put(state, function.name, runner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores the states of functions: at once for those in use, at first use for the others."""
        self._restored = states.parts(state)
        for function, runner in self._functions.items():
            restored = self._restored.pop(function.name, None)
            if restored is not None:
                runner.set_state(restored)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Inside, no thread makes an element, so that positions and random states fit together.

        Waits until the threads have made their elements; CancelledError if the session is closed meanwhile.
        """
        held: list[Worker] = []
        try:
            while not self._hold(held):
                store = self.store
                if store is None or store.closed:
                    raise errors.CancelledError(None, None, "The session was closed.")
                time.sleep(ITERATOR_HOLD_SECONDS)
            yield
        finally:
            for worker in held:
                worker.working.release()

    def _hold(self, held: list[Worker]) -> bool:
        """Takes the locks of all workers, or none, since one may wait for an element of another."""
        for worker in list(self.workers):
            if not worker.working.acquire(blocking=False):
                for other in held:
                    other.working.release()
                held.clear()
                return False
            held.append(worker)
        return True

    def close(self) -> None:
        """Ends the threads."""
        for worker in list(self.workers):
            worker.stop()


class DatasetBase(states.Component, ABC):
    """A description of elements; `origin` is the op that it comes from."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin

    @abstractmethod
    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""

    def walk_again(self, context: Context, before: Elements | None) -> Elements:
        """A walk for a repetition: the first, or the one after the walk `before`."""
        return self.walk(context)

    def cardinality(self) -> int:
        """How many elements there are; INFINITE or UNKNOWN."""
        return UNKNOWN

    def as_state(self) -> State:
        """What from_state makes it of again, if it is a component of an element; UnimplementedError if it cannot be."""
        raise self.error(
            "this dataset is a component of an element that an iterator holds, and no checkpoint can keep it: take its "
            "elements at once, with flat_map or interleave, or use window.",
            errors.UnimplementedError,
        )

    def error(self, message: str, kind: type[errors.OpError] = errors.InvalidArgumentError) -> errors.OpError:
        """An error of this dataset."""
        return kind(None, None, f"{self.origin}: {message}")


class Elements(ABC):
    """One walk over a dataset. Used by one thread at a time.

    fresh: whether its arrays belong to the receiver. table: the table whose rows ids() numbers, or None. can_wait:
    whether nothing is lost if a run is interrupted while it waits for an element.
    """

    fresh = False
    can_wait = False
    table: Table | None = None

    @abstractmethod
    def next(self, run: Any) -> Element | None:
        """The next element, None at the end and ever after. run: the run that waits; None for a thread of the store."""

    def ids(self, run: Any, count: int) -> np.ndarray[Any, Any]:
        """The next numbers of rows of the table, fewer than `count` only at the end; only if there is a table."""
        raise TypeError("These elements are no rows of a table.")

    def block(self, run: Any, count: int) -> Block:
        """The next elements, fewer than `count` only at the end.

        If it raises, the elements before the error are lost.
        """
        if self.table is not None:
            ids = self.ids(run, count)
            return Block(len(ids), self.table.gather(ids))
        rows: list[Element] = []
        while len(rows) < count and (element := self.next(run)) is not None:
            rows.append(element)
        return Block.of(rows)

    def extend(self, run: Any, found: list[Element], count: int) -> bool:
        """Appends the next `count` elements to a list; False if the end came before. If it raises, none is lost."""
        wanted = len(found) + count
        while len(found) < wanted:
            element = self.next(run)
            if element is None:
                return False
            found.append(element)
        return True

    @abstractmethod
    def get_state(self) -> State:
        """The position, as arrays by name."""

    @abstractmethod
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned, on a new walk over an equal dataset."""


class TableElements(Elements):
    """A walk whose elements are rows of a table: subclasses say which."""

    table: Table

    def next(self, run: Any) -> Element | None:
        """The next element."""
        ids = self.ids(run, 1)
        return self.table.row(int(ids[0])) if len(ids) else None


def boxed(value: Any) -> Any:
    """A value as kernels take it: a single string is an array, a single number a NumPy scalar."""
    if isinstance(value, bytes | str):
        return np.array(value, object)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
        return value[()]
    return value


def owned(value: Any) -> Any:
    """The value, or a copy if something else may refer to its memory."""
    return value.copy() if isinstance(value, np.ndarray) and value.ndim else value


NO_IDS = np.empty(0, np.int64)
