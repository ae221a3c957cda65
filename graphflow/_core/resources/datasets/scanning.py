"""Datasets that remember what went by: scan, take_while, unique; and one that leaves out what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import (
    INTERRUPTIONS,
    Context,
    DatasetBase,
    Element,
    Elements,
    owned,
)
from graphflow._core.resources.datasets.mapping import FunctionDataset, MapDataset
from graphflow._core.resources.datasets.states import State


class ScanDataset(MapDataset):
    """What a function of a state and each element gives beside the next state. state: the first one."""

    keeps_count = True

    def __init__(self, *arguments: Any, state: Element) -> None:
        super().__init__(*arguments)
        self.state = state

    def walk(self, context: Context) -> Elements:
        """A walk from the first element and the first state on."""
        return ScanElements(self, self.source.walk(context), context)


class ScanElements(Elements):
    """A walk with a state."""

    fresh = True

    def __init__(self, dataset: ScanDataset, inner: Elements, context: Context) -> None:
        self._dataset = dataset
        self._inner = inner
        self._runner = context.function(dataset.function)
        self._state = dataset.state

    def next(self, run: Any) -> Element | None:
        """What the function gives for the next element."""
        element = self._inner.next(run)
        if element is None:
            return None
        found = self._dataset.call(self._runner, (*self._state, *element))
        count = len(self._state)
        self._state = tuple([owned(value) for value in found[:count]])
        return found[count:]

    def get_state(self) -> State:
        """The source's position, and the state."""
        state: State = {}
        states.put_elements(state, "state", [self._state])
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        (self._state,) = states.get_elements(state, "state") if self._state else [()]
        self._inner.set_state(states.get(state, "source"))


class TakeWhileDataset(FunctionDataset):
    """The elements before the first for which a function is false."""

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return TakeWhileElements(self, self.source.walk(context), context)


class TakeWhileElements(Elements):
    """A walk that may end before its source."""

    def __init__(self, dataset: TakeWhileDataset, inner: Elements, context: Context) -> None:
        self._dataset = dataset
        self._inner = inner
        self._runner = context.function(dataset.function)
        self._ended = False
        self.fresh = inner.fresh

    def next(self, run: Any) -> Element | None:
        """The next element, if the function is true for it."""
        element = None if self._ended else self._inner.next(run)
        if element is not None and not bool(self._dataset.call(self._runner, element)[0]):
            element = None
        self._ended = element is None
        return element

    def get_state(self) -> State:
        """The source's position, and whether the end has come."""
        state: State = {"ended": states.number(self._ended)}
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._ended = bool(states.integer(state, "ended"))
        self._inner.set_state(states.get(state, "source"))


class UniqueDataset(DatasetBase):
    """The elements without those that came before; each has one component."""

    def __init__(self, origin: Origin, source: DatasetBase) -> None:
        super().__init__(origin)
        self.source = source

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return UniqueElements(self.source.walk(context))


class UniqueElements(Elements):
    """A walk that knows all elements it has given."""

    def __init__(self, inner: Elements) -> None:
        self._inner = inner
        self._seen: dict[Any, Element] = {}
        self.fresh = inner.fresh

    def next(self, run: Any) -> Element | None:
        """The next element that is new."""
        while True:
            element = self._inner.next(run)
            if element is None:
                return None
            array = np.asarray(element[0])
            key = array.shape, tuple(array.ravel().tolist())
            if key not in self._seen:
                self._seen[key] = tuple([owned(value) for value in element])
                return element

    def get_state(self) -> State:
        """The source's position, and the elements that were given."""
        state: State = {}
        states.put_elements(state, "seen", list(self._seen.values()))
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._seen = {}
        for element in states.get_elements(state, "seen"):
            array = np.asarray(element[0])
            self._seen[array.shape, tuple(array.ravel().tolist())] = element
        self._inner.set_state(states.get(state, "source"))


class IgnoreErrorsDataset(DatasetBase):
    """The elements that could be made."""

    def __init__(self, origin: Origin, source: DatasetBase) -> None:
        super().__init__(origin)
        self.source = source

    def cardinality(self) -> int:
        """As many as the source has."""
        return self.source.cardinality()

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return IgnoreErrorsElements(self.source.walk(context))


class IgnoreErrorsElements(Elements):
    """A walk that goes on after an error."""

    def __init__(self, inner: Elements) -> None:
        self._inner = inner
        self.fresh = inner.fresh

    def next(self, run: Any) -> Element | None:
        """The next element that can be made."""
        while True:
            try:
                return self._inner.next(run)
            except INTERRUPTIONS:
                raise
            except errors.OpError:
                if run is not None:
                    run.check()

    def get_state(self) -> State:
        """The source's."""
        return self._inner.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._inner.set_state(state)
