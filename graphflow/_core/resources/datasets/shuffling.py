"""Shuffle: a buffer from which elements are drawn at random, in the order that TensorFlow 1.15 draws them.

If the source's elements are rows of a table, the buffer holds their numbers. Its random numbers are Philox's, a
word a draw; each epoch has seeds of its own, which a second Philox gives, unless every epoch shall be like the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from graphflow._core.common.philox.generator import Philox
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import Block, Context, DatasetBase, Element, Elements
from graphflow._core.resources.datasets.states import State

_MOST_BLOCKS: Final = 1 << 10


class Words:
    """Random 32-bit words in a row, whose position can be saved; they are made more at a time as more are taken."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._philox = Philox(seed, seed2)
        self._ready: list[int] = []
        self._given = 0
        self._blocks = 1

    def take(self, count: int) -> list[int]:
        """The next words."""
        missing = count - (len(self._ready) - self._given)
        if missing > 0:
            self._blocks = min(4 * self._blocks, _MOST_BLOCKS)
            made = self._philox.words(max(-(-missing // 4), self._blocks)).tolist()
            self._ready, self._given = self._ready[self._given :] + made, 0
        self._given += count
        return self._ready[self._given - count : self._given]

    def get_state(self) -> State:
        """The generator, and the words that were made and are still to be given."""
        return {**self._philox.get_state(), "ready": np.array(self._ready[self._given :], np.int64)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from there."""
        self._philox.set_state(state)
        self._ready, self._given = [int(word) for word in state["ready"]], 0


class ShuffleDataset(DatasetBase):
    """The elements in random order, drawn from a buffer of some size.

    again: whether each epoch has another order.
    """

    def __init__(
        self, origin: Origin, source: DatasetBase, size: int, seeds: tuple[int, int], again: bool
    ) -> None:
        super().__init__(origin)
        self.source = source
        self.size = size
        self.seeds = seeds
        self.again = again

    def cardinality(self) -> int:
        """As many as the source has."""
        return self.source.cardinality()

    def walk(self, context: Context) -> Elements:
        """A walk in the order of the next epoch."""
        epochs = context.shared(self, lambda: Words(*self.seeds))
        if self.again:
            seed, seed2 = epochs.take(2)
            words = Words(seed, seed2)
        elif self.seeds == (0, 0):
            seed, seed2 = context.shared((self, "fixed"), lambda: epochs.take(2))
            words = Words(seed, seed2)
        else:
            words = Words(*self.seeds)
        return ShuffleElements(self, self.source.walk(context), epochs, words)

    def walk_again(self, context: Context, before: Elements | None) -> Elements:
        """The walk of a repetition: it goes on with the random numbers of the walk before, as in TensorFlow."""
        if not self.again:
            return self.walk(context)
        words = before.words if isinstance(before, ShuffleElements) else Words(*self.seeds)
        return ShuffleElements(self, self.source.walk(context), words, words)


class ShuffleElements(Elements):
    """A walk with a buffer: `_buffer[i % size]` holds item i, from `_start` to `_end`."""

    def __init__(self, dataset: ShuffleDataset, inner: Elements, epochs: Words, words: Words) -> None:
        self._size = dataset.size
        self._inner = inner
        self._epochs = epochs
        self.words = words
        self._buffer: list[Any] = []
        self._start = 0
        self._end = 0
        self._arrived: list[Any] = []
        """Elements of the source on their way to the buffer."""
        self._exhausted = False
        self.table = inner.table
        self.fresh = inner.fresh

    def _receive(self, run: Any, count: int) -> None:
        """Lets `count` items arrive, fewer if the source ends."""
        missing = count - len(self._arrived)
        if self._exhausted or missing <= 0:
            return
        if self.table is not None:
            found = self._inner.ids(run, missing).tolist()
            self._arrived += found
            self._exhausted = len(found) < missing
            return
        self._exhausted = not self._inner.extend(run, self._arrived, missing)

    def _draw(self, run: Any, count: int) -> list[Any]:
        """The next items, fewer than `count` only at the end."""
        size, buffer = self._size, self._buffer
        self._receive(run, max(0, size - (self._end - self._start)) + count - 1)
        arrived = self._arrived
        room = min(size - (self._end - self._start), len(arrived))
        for item in arrived[:room]:
            if self._end < size:
                buffer.append(item)
            else:
                buffer[self._end % size] = item
            self._end += 1
        given = min(count, self._end - self._start + len(arrived) - room)
        words = self.words.take(given)
        drawn: list[Any] = []
        start = self._start
        full = min(given, len(arrived) - room) if self._end - start == size else 0
        for word, item in zip(words[:full], arrived[room:], strict=False):
            # The place that becomes free at the front is the one that the next item takes.
            front, chosen = start % size, (start + word % size) % size
            drawn.append(buffer[chosen])
            buffer[chosen] = buffer[front]
            buffer[front] = item
            start += 1
        self._end += full
        for word in words[full:]:
            front, chosen = start % size, (start + word % (self._end - start)) % size
            drawn.append(buffer[chosen])
            buffer[chosen] = buffer[front]
            start += 1
        self._start = start
        self._arrived = arrived[room + full :]
        return drawn

    def next(self, run: Any) -> Element | None:
        """The next element."""
        drawn = self._draw(run, 1)
        if not drawn:
            return None
        if self.table is not None:
            return self.table.row(drawn[0])
        element: Element = drawn[0]
        return element

    def ids(self, run: Any, count: int) -> np.ndarray[Any, Any]:
        """The next numbers."""
        return np.array(self._draw(run, count), np.int64)

    def block(self, run: Any, count: int) -> Block:
        """The next elements."""
        return super().block(run, count) if self.table is not None else Block.of(self._draw(run, count))

    def get_state(self) -> State:
        """The buffer, the random states, the source's position."""
        items = [self._buffer[i % self._size] for i in range(self._start, self._end)]
        state: State = {"exhausted": states.number(self._exhausted), "start": states.number(self._start)}
        if self.table is not None:
            state["ids"] = np.array(items, np.int64)
            state["arrived"] = np.array(self._arrived, np.int64)
        else:
            states.put_elements(state, "items", items)
            states.put_elements(state, "arrived", self._arrived)
        states.put(state, "words", self.words.get_state())
        states.put(state, "epochs", self._epochs.get_state())
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._exhausted = bool(states.integer(state, "exhausted"))
        self._start = states.integer(state, "start")
        if self.table is not None:
            items, self._arrived = state["ids"].tolist(), state["arrived"].tolist()
        else:
            items, self._arrived = states.get_elements(state, "items"), states.get_elements(state, "arrived")
        self._end = self._start + len(items)
        self._buffer = [None] * min(self._size, self._end)
        for offset, item in enumerate(items):
            self._buffer[(self._start + offset) % self._size] = item
        self.words.set_state(states.get(state, "words"))
        self._epochs.set_state(states.get(state, "epochs"))
        self._inner.set_state(states.get(state, "source"))
