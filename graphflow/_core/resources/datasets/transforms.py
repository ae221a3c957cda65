"""Datasets that pass the elements of others on as they are: repeat, take, skip, shard, zip, concatenate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import (
    INFINITE,
    NO_IDS,
    UNKNOWN,
    Block,
    Context,
    DatasetBase,
    Element,
    Elements,
)
from graphflow._core.resources.datasets.states import State


class RepeatDataset(DatasetBase):
    """The elements again and again, `count` times, or for ever if it is negative."""

    def __init__(self, origin: Origin, source: DatasetBase, count: int) -> None:
        super().__init__(origin)
        self.source = source
        self.count = count

    def cardinality(self) -> int:
        """How many elements there are."""
        count = self.source.cardinality()
        if self.count < 0:
            return INFINITE if count else 0
        return 0 if not self.count else count * self.count if count > 0 else count

    def walk(self, context: Context) -> Elements:
        """A walk from the first time on."""
        return RepeatElements(self, context)


class RepeatElements(Elements):
    """Walks one after the other over the same dataset."""

    def __init__(self, dataset: RepeatDataset, context: Context) -> None:
        self._dataset = dataset
        self._context = context
        self._epoch = 0
        self._ended = dataset.count == 0
        self._begun = False
        """Whether this time has given an element: a source without any is not repeated for ever."""
        self._inner = dataset.source.walk_again(context, None)
        self.table = self._inner.table
        self.fresh = self._inner.fresh

    def _again(self) -> bool:
        """Goes to the next time; whether there is one."""
        count = self._dataset.count
        if self._epoch + 1 == count or (count < 0 and not self._begun):
            self._ended = True
            return False
        self._epoch += 1
        self._inner, self._begun = self._dataset.source.walk_again(self._context, self._inner), False
        return True

    def next(self, run: Any) -> Element | None:
        """The next element, of this time or of the next one that has any."""
        while not self._ended:
            element = self._inner.next(run)
            if element is not None:
                self._begun = True
                return element
            if not self._again():
                break
        return None

    def ids(self, run: Any, count: int) -> np.ndarray[Any, Any]:
        """The next numbers."""
        parts: list[np.ndarray[Any, Any]] = []
        while count and not self._ended:
            found = self._inner.ids(run, count)
            self._begun = self._begun or len(found) > 0
            parts.append(found)
            count -= len(found)
            if count and not self._again():
                break
        return parts[0] if len(parts) == 1 else np.concatenate([NO_IDS, *parts])

    def block(self, run: Any, count: int) -> Block:
        """The next elements."""
        if self.table is not None:
            return super().block(run, count)
        parts: list[Block] = []
        while count and not self._ended:
            found = self._inner.block(run, count)
            self._begun = self._begun or found.count > 0
            parts.append(found)
            count -= found.count
            if count and not self._again():
                break
        return joined(parts)

    def extend(self, run: Any, found: list[Element], count: int) -> bool:
        """Appends the next elements."""
        wanted = len(found) + count
        while not self._ended and len(found) < wanted:
            before = len(found)
            try:
                self._inner.extend(run, found, wanted - before)
            finally:
                self._begun = self._begun or len(found) > before
            if len(found) < wanted and not self._again():
                break
        return len(found) == wanted

    def get_state(self) -> State:
        """Which time it is, and the position in it."""
        state = {
            "epoch": states.number(self._epoch),
            "begun": states.number(self._begun),
            "ended": states.number(self._ended),
        }
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._epoch = states.integer(state, "epoch")
        self._begun = bool(states.integer(state, "begun"))
        self._ended = bool(states.integer(state, "ended"))
        self._inner.set_state(states.get(state, "source"))


def joined(parts: Sequence[Block]) -> Block:
    """Blocks one after the other."""
    filled = [part for part in parts if part.count]
    if len(filled) == 1:
        return filled[0]
    count = sum(part.count for part in filled)
    columns = [part.columns for part in filled if part.columns is not None]
    if len(columns) == len(filled) and _same_rows(columns):
        return Block(count, [np.concatenate(column) for column in zip(*columns, strict=True)])
    return Block.of([element for part in filled for element in part.elements()])


def _same_rows(parts: Sequence[Sequence[np.ndarray[Any, Any]]]) -> bool:
    return all(len({c.shape[1:] for c in column}) == 1 for column in zip(*parts, strict=True))


class SliceDataset(DatasetBase):
    """Some of the elements: after the first `skip` every `step`-th, at most `take` of them (all if negative)."""

    def __init__(self, origin: Origin, source: DatasetBase, skip: int, take: int, step: int = 1) -> None:
        super().__init__(origin)
        self.source = source
        self.skip = skip
        self.take = take
        self.step = step

    def cardinality(self) -> int:
        """How many elements there are."""
        count = self.source.cardinality()
        if count == UNKNOWN or (count == INFINITE and self.take < 0):
            return count
        if count == INFINITE:
            return self.take
        left = -(-max(0, count - self.skip) // self.step)
        return left if self.take < 0 else min(left, self.take)

    def walk(self, context: Context) -> Elements:
        """A walk from the first of them on."""
        return SliceElements(self, self.source.walk(context))


class SliceElements(Elements):
    """A walk that drops elements."""

    def __init__(self, dataset: SliceDataset, inner: Elements) -> None:
        self._dataset = dataset
        self._inner = inner
        self._drop = dataset.skip
        """How many to drop before the next one."""
        self._left = dataset.take
        self.table = inner.table
        self.fresh = inner.fresh

    def next(self, run: Any) -> Element | None:
        """The next that is not dropped."""
        if not self._left or not self._dropped(run):
            return None
        element = self._inner.next(run)
        if element is not None:
            self._count(1)
        return element

    def _dropped(self, run: Any) -> bool:
        """Drops what is to be dropped; False if the end came."""
        while self._drop:
            if self.table is not None:
                found = len(self._inner.ids(run, min(self._drop, _MOST_DROPPED)))
            else:
                found = int(self._inner.next(run) is not None)
            if not found:
                return False
            self._drop -= found
        return True

    def _count(self, given: int) -> None:
        self._left -= given if self._left > 0 else 0
        self._drop = self._dataset.step - 1

    def ids(self, run: Any, count: int) -> np.ndarray[Any, Any]:
        """The next numbers."""
        count = count if self._left < 0 else min(count, self._left)
        step = self._dataset.step
        if not count or not self._dropped(run):
            return NO_IDS
        found = self._inner.ids(run, (count - 1) * step + 1)
        taken = found[::step]
        if len(taken):
            self._count(len(taken))
            self._drop -= (len(found) - 1) % step
        return taken

    def block(self, run: Any, count: int) -> Block:
        """The next elements."""
        if self.table is not None or self._dataset.step > 1:
            return super().block(run, count)
        count = count if self._left < 0 else min(count, self._left)
        if not count or not self._dropped(run):
            return Block.of(())
        found = self._inner.block(run, count)
        self._count(found.count)
        return found

    def get_state(self) -> State:
        """What is still to be dropped and given."""
        state = {"drop": states.number(self._drop), "left": states.number(self._left)}
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._drop, self._left = states.integer(state, "drop"), states.integer(state, "left")
        self._inner.set_state(states.get(state, "source"))


_MOST_DROPPED = 1 << 20


class ZipDataset(DatasetBase):
    """Elements of several datasets side by side, as long as all have one."""

    def __init__(self, origin: Origin, sources: Sequence[DatasetBase]) -> None:
        super().__init__(origin)
        self.sources = sources

    def cardinality(self) -> int:
        """How many elements there are."""
        counts = [source.cardinality() for source in self.sources]
        if UNKNOWN in counts:
            return UNKNOWN
        return min((count for count in counts if count != INFINITE), default=INFINITE)

    def walk(self, context: Context) -> Elements:
        """A walk over all of them."""
        return ZipElements([source.walk(context) for source in self.sources])


class ZipElements(Elements):
    """Walks side by side."""

    def __init__(self, inner: Sequence[Elements]) -> None:
        self._inner = inner
        self._ended = False
        self.fresh = all(elements.fresh for elements in inner)

    def next(self, run: Any) -> Element | None:
        """The next of each."""
        parts: list[Element] = []
        for inner in self._inner:
            element = None if self._ended else inner.next(run)
            if element is None:
                self._ended = True
                return None
            parts.append(element)
        return tuple([component for part in parts for component in part])

    def block(self, run: Any, count: int) -> Block:
        """The next of each; if all are in columns and of the same number, side by side."""
        if self._ended or any(inner.table is None for inner in self._inner):
            return super().block(run, count)
        found = [inner.ids(run, count) for inner in self._inner]
        least = min(len(ids) for ids in found)
        self._ended = least < count
        tables = [inner.table for inner in self._inner]
        return Block(
            least,
            [c for t, ids in zip(tables, found, strict=True) if t is not None for c in t.gather(ids[:least])],
        )

    def get_state(self) -> State:
        """The positions."""
        state = {"ended": states.number(self._ended)}
        for number, inner in enumerate(self._inner):
            states.put(state, str(number), inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._ended = bool(states.integer(state, "ended"))
        for number, inner in enumerate(self._inner):
            inner.set_state(states.get(state, str(number)))


class ConcatenateDataset(DatasetBase):
    """The elements of one dataset, then those of another."""

    def __init__(self, origin: Origin, first: DatasetBase, second: DatasetBase) -> None:
        super().__init__(origin)
        self.parts = (first, second)

    def cardinality(self) -> int:
        """How many elements there are."""
        counts = [part.cardinality() for part in self.parts]
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)

    def walk(self, context: Context) -> Elements:
        """A walk over the first, then the second."""
        return ConcatenateElements(self, context)


class ConcatenateElements(Elements):
    """Two walks, one after the other."""

    def __init__(self, dataset: ConcatenateDataset, context: Context) -> None:
        self._dataset = dataset
        self._context = context
        self._part = 0
        self._inner = dataset.parts[0].walk(context)
        self.fresh = False

    def next(self, run: Any) -> Element | None:
        """The next element."""
        element = self._inner.next(run)
        if element is None and self._part == 0:
            self._go_on()
            element = self._inner.next(run)
        return element

    def _go_on(self) -> None:
        self._part = 1
        self._inner = self._dataset.parts[1].walk(self._context)

    def block(self, run: Any, count: int) -> Block:
        """The next elements."""
        found = self._inner.block(run, count)
        if found.count == count or self._part:
            return found
        self._go_on()
        return joined([found, self._inner.block(run, count - found.count)])

    def get_state(self) -> State:
        """Which of the two, and the position in it."""
        state = {"part": states.number(self._part)}
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        if states.integer(state, "part"):
            self._go_on()
        self._inner.set_state(states.get(state, "source"))
