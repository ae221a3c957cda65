"""Datasets of a choice: each element from the one of several datasets that another one names; and random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import INFINITE, Context, DatasetBase, Element, Elements
from graphflow._core.resources.datasets.shuffling import Words
from graphflow._core.resources.datasets.states import State


class DirectedInterleaveDataset(DatasetBase):
    """Elements of `sources`, each of the one whose number `selector` gives next."""

    def __init__(self, origin: Origin, selector: DatasetBase, sources: Sequence[DatasetBase]) -> None:
        super().__init__(origin)
        self.selector = selector
        self.sources = sources

    def walk(self, context: Context) -> Elements:
        """A walk over all of them."""
        return DirectedInterleaveElements(
            self, self.selector.walk(context), [source.walk(context) for source in self.sources]
        )


class DirectedInterleaveElements(Elements):
    """Walks of which one is chosen; numbers of those that have come to their end are passed over."""

    def __init__(
        self, dataset: DirectedInterleaveDataset, selector: Elements, inner: Sequence[Elements]
    ) -> None:
        self._dataset = dataset
        self._selector = selector
        self._inner = inner
        self._live = set(range(len(inner)))
        self._ended = False
        self.fresh = all(one.fresh for one in inner)

    def next(self, run: Any) -> Element | None:
        """The next element of the dataset that is chosen."""
        while not self._ended:
            chosen = self._selector.next(run)
            if chosen is None:
                self._ended = True
                break
            number = int(chosen[0])
            if not 0 <= number < len(self._inner):
                raise self._dataset.error(
                    f"the number of a dataset must be between 0 and {len(self._inner) - 1}, got {number}."
                )
            element = self._inner[number].next(run) if number in self._live else None
            if element is not None:
                return element
            self._live.discard(number)
            self._ended = not self._live
        return None

    def get_state(self) -> State:
        """The positions, and which have come to their end."""
        state: State = {"ended": states.number(self._ended), "live": np.array(sorted(self._live), np.int64)}
        states.put(state, "selector", self._selector.get_state())
        for number, inner in enumerate(self._inner):
            states.put(state, str(number), inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._ended = bool(states.integer(state, "ended"))
        self._live = set(state["live"].tolist())
        self._selector.set_state(states.get(state, "selector"))
        for number, inner in enumerate(self._inner):
            inner.set_state(states.get(state, str(number)))


class RandomDataset(DatasetBase):
    """Random numbers of 32 bits, for ever."""

    def __init__(self, origin: Origin, seeds: tuple[int, int]) -> None:
        super().__init__(origin)
        self.seeds = seeds

    def cardinality(self) -> int:
        """How many elements there are."""
        return INFINITE

    def walk(self, context: Context) -> Elements:
        """A walk from the first number on."""
        return RandomElements(Words(*self.seeds))


class RandomElements(Elements):
    """Numbers one after the other."""

    fresh = True

    def __init__(self, words: Words) -> None:
        self._words = words

    def next(self, run: Any) -> Element | None:
        """The next number."""
        return (np.int64(self._words.take(1)[0]),)

    def get_state(self) -> State:
        """Where the numbers go on."""
        return self._words.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._words.set_state(state)
