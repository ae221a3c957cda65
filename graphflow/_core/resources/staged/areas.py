"""Staging areas: what one run puts aside for another, in order or under keys, within a number and a size in bytes.

A run that puts waits for room, one that takes waits for what it takes. A run that takes and is given up puts back what
it has taken.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from graphflow._core.common.records import dataclass
from graphflow._core.common.waiting.conditions import Condition
from graphflow.errors import InvalidArgumentError, ResourceExhaustedError

Result = TypeVar("Result")


@dataclass(frozen=True)
class Bounds:
    """How many elements an area may hold, and how many bytes; 0 for any number."""

    capacity: int
    memory_limit: int


def _size_of(value: Any) -> int:
    """The bytes of an array; strings count with their characters."""
    if value.dtype == object:
        return sum(map(len, value.ravel().tolist()))
    return int(value.nbytes)


def _bytes(values: Iterable[Any]) -> int:
    return sum(_size_of(value) for value in values if value is not None)


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


class _Area:
    """What both kinds share: the room, and waiting for it."""

    def __init__(self, name: str, bounds: Bounds) -> None:
        self.title = f"the staging area {name!r}"
        """The area as messages call it."""
        self._bounds = bounds
        self._condition = Condition()
        self._bytes = 0

    @property
    def size(self) -> int:
        """How many elements are complete."""
        raise NotImplementedError

    def _check_fits(self, more: int) -> None:
        limit = self._bounds.memory_limit
        if 0 < limit < more:
            raise ResourceExhaustedError(
                None,
                None,
                f"Attempted to insert tensors with combined size of {more} bytes into {self.title} with a memory limit "
                f"of {limit} bytes.",
            )

    def _has_room(self, more: int, counts: bool) -> bool:
        """Whether there is room for so many bytes; counts: whether they are an element more."""
        capacity, limit = self._bounds.capacity, self._bounds.memory_limit
        return not (counts and 0 < capacity <= self.size) and not 0 < limit < self._bytes + more

    def _wait(self, run: Any, attempt: Callable[[], Result | None], what: str) -> Result:
        bounds = self._bounds
        limits = [f"{bounds.capacity} elements"] * bool(bounds.capacity)
        limits += [f"{bounds.memory_limit} bytes"] * bool(bounds.memory_limit)

        def awaited() -> str:
            most = f" of at most {' and '.join(limits)}" if limits else ""
            return f"{what} {self.title}, which holds {self.size} elements, {self._bytes} bytes{most}"

        found: Result = run.store.wait(self._condition, attempt, run, awaited)
        return found


class StagingBuffer(_Area):
    """Elements in the order in which they were put. Thread-safe."""

    def __init__(self, name: str, bounds: Bounds) -> None:
        super().__init__(name, bounds)
        self._elements: list[tuple[int, Sequence[Any]]] = []
        self._put_count = 0

    @property
    def size(self) -> int:
        """How many elements it holds."""
        return len(self._elements)

    def put(self, run: Any, values: Sequence[Any]) -> None:
        """Adds an element, waiting for room."""
        more = _bytes(values)
        self._check_fits(more)

        def attempt() -> bool | None:
            if not self._has_room(more, True):
                return None
            run.begin_change()
            self._elements.append((self._put_count, values))
            self._put_count += 1
            self._bytes += more
            self._condition.notify_all()
            return True

        self._wait(run, attempt, "room in")

    def take(self, run: Any) -> Sequence[Any]:
        """The first element, which leaves; waits for it."""

        def attempt() -> Sequence[Any] | None:
            if not self._elements:
                return None
            element = self._elements.pop(0)
            self._bytes -= _bytes(element[1])
            self._condition.notify_all()
            run.took(partial(self._give_back, element))
            return element[1]

        return self._wait(run, attempt, "an element of")

    def _give_back(self, element: tuple[int, Sequence[Any]]) -> None:
        with self._condition:
            insort(self._elements, element, key=lambda e: e[0])
            self._bytes += _bytes(element[1])
            self._condition.notify_all()

    def peek(self, run: Any, index: int) -> Sequence[Any]:
        """An element by its place, which stays; waits for it."""
        if index < 0:
            raise _invalid(f"index = {index} must be >= 0: it is the place of an element of {self.title}.")
        return self._wait(
            run,
            lambda: self._elements[index][1] if index < len(self._elements) else None,
            f"element {index} of",
        )

    def clear(self, run: Any) -> None:
        """Drops all elements."""
        with self._condition:
            run.begin_change()
            self._elements.clear()
            self._bytes = 0
            self._condition.notify_all()


class _Held(NamedTuple):
    """An element of a map: its number in the order in which elements were complete, and what was not taken of it."""

    number: int
    values: list[Any]


class StagingMap(_Area):
    """Elements by key, whose components may come and go in parts; without a key the first leaves. Thread-safe.

    The first is that with the smallest key if the map is ordered, otherwise that which was complete first.
    """

    def __init__(self, name: str, bounds: Bounds, ordered: bool) -> None:
        super().__init__(name, bounds)
        self._ordered = ordered
        self._elements: dict[int, _Held] = {}
        self._incomplete: dict[int, list[Any]] = {}
        self._numbers = itertools.count()

    @property
    def size(self) -> int:
        """How many elements are complete, and not taken whole."""
        return len(self._elements)

    @property
    def incomplete_size(self) -> int:
        """How many elements lack a component."""
        return len(self._incomplete)

    def put(self, run: Any, key: int, parts: Mapping[int, Any], count: int) -> None:
        """Puts some of the `count` components of an element, waiting for room."""
        more = _bytes(parts.values())
        self._check_fits(more)

        def attempt() -> bool | None:
            held = self._incomplete.get(key, [None] * count)
            for index in parts:
                if held[index] is not None:
                    raise _invalid(
                        f"The tensor for index '{index}' for key '{key}' was already initialized in {self.title}."
                    )
            whole = [parts.get(index, value) for index, value in enumerate(held)]
            complete = all(value is not None for value in whole)
            if not self._has_room(more, complete):
                return None
            run.begin_change()
            self._incomplete.pop(key, None)
            self._bytes += more
            if not complete:
                self._incomplete[key] = whole
            elif key in self._elements:
                self._bytes -= _bytes(whole)  # As in TensorFlow: what lies under the key stays there.
            else:
                self._elements[key] = _Held(next(self._numbers), whole)
            self._condition.notify_all()
            return True

        self._wait(run, attempt, "room in")

    def _parts(self, key: int, indices: Sequence[int]) -> list[Any]:
        values = self._elements[key].values
        for index in indices:
            if values[index] is None:
                raise _invalid(
                    f"Tensor at index '{index}' for key '{key}' has already been removed. It lay in {self.title}."
                )
        return [values[index] for index in indices]

    def peek(self, run: Any, key: int, indices: Sequence[int]) -> list[Any]:
        """Some components of an element, which stays; waits for it."""
        return self._wait(
            run, lambda: self._parts(key, indices) if key in self._elements else None, f"key {key} of"
        )

    def take(self, run: Any, key: int | None, indices: Sequence[int]) -> tuple[int, list[Any]]:
        """A key and some components of its element, which leave; that of the first key if none is given."""

        def attempt() -> tuple[int, list[Any]] | None:
            found = self._first() if key is None else key
            if found is None or found not in self._elements:
                return None
            parts = self._parts(found, indices)
            number, values = self._elements.pop(found)
            rest = [None if index in indices else value for index, value in enumerate(values)]
            if any(value is not None for value in rest):
                self._elements[found] = _Held(number, rest)
            self._bytes -= _bytes(parts)
            self._condition.notify_all()
            taken = [value if index in indices else None for index, value in enumerate(values)]
            run.took(partial(self._give_back, found, number, taken))
            return found, parts

        return self._wait(run, attempt, "an element of" if key is None else f"key {key} of")

    def _first(self) -> int | None:
        if self._ordered:
            return min(self._elements, default=None)
        return min(self._elements, key=lambda key: self._elements[key].number, default=None)

    def _give_back(self, key: int, number: int, taken: Sequence[Any]) -> None:
        with self._condition:
            held = self._elements.get(key)
            rest = held.values if held is not None and held.number == number else [None] * len(taken)
            self._elements[key] = _Held(
                number, [mine if mine is not None else other for mine, other in zip(taken, rest, strict=True)]
            )
            self._bytes += _bytes(taken)
            self._condition.notify_all()

    def clear(self, run: Any) -> None:
        """Drops all elements, also those that are incomplete."""
        with self._condition:
            run.begin_change()
            self._elements.clear()
            self._incomplete.clear()
            self._bytes = 0
            self._condition.notify_all()
