"""Elements gathered by a key: windows of one key each, of which a function makes datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import Context, DatasetBase, Element, Elements, owned
from graphflow._core.resources.datasets.lists import ListDataset
from graphflow._core.resources.datasets.mapping import MapDataset
from graphflow._core.resources.datasets.states import State


class GroupByWindowDataset(DatasetBase):
    """The datasets that a function makes of windows: so many elements of one key, in the order in which they fill.

    functions: from an element to its key, from a key and a window to a dataset, and from a key to the size of its
    windows; each with the values of its last inputs.
    """

    def __init__(
        self,
        origin: Origin,
        source: DatasetBase,
        functions: Sequence[tuple[LoweredFunction, Sequence[Any]]],
    ) -> None:
        super().__init__(origin)
        self.source = source
        self.key, self.reduce, self.size = (
            MapDataset(origin, source, function, captured) for function, captured in functions
        )

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return GroupByWindowElements(self, self.source.walk(context), context)


class GroupByWindowElements(Elements):
    """A walk that gathers elements until a window is full; at the end come those that are not, by their keys."""

    def __init__(self, dataset: GroupByWindowDataset, inner: Elements, context: Context) -> None:
        self._dataset = dataset
        self._inner = inner
        self._context = context
        self._runners = [
            context.function(one.function) for one in (dataset.key, dataset.reduce, dataset.size)
        ]
        self._groups: dict[int, list[Element]] = {}
        self._sizes: dict[int, int] = {}
        self._window: tuple[int, list[Element], Any] | None = None
        """The key and the elements of the window whose dataset is walked over, and the random states before."""
        self._walk: Elements | None = None
        self._ended = False

    def next(self, run: Any) -> Element | None:
        """The next element of the dataset of a window."""
        while True:
            if self._walk is not None:
                found = self._walk.next(run)
                if found is not None:
                    return found
                self._walk = self._window = None
            full = self._full(run)
            if full is None:
                return None
            self._open(*full)

    def _full(self, run: Any) -> tuple[int, list[Element]] | None:
        """The next window, None at the end."""
        key_runner, _, size_runner = self._runners
        while not self._ended:
            element = self._inner.next(run)
            if element is None:
                self._ended = True
                break
            key = int(self._dataset.key.call(key_runner, element)[0])
            if key not in self._groups:
                size = int(self._dataset.size.call(size_runner, (np.int64(key),))[0])
                if size <= 0:
                    raise self._dataset.error(
                        f"Window size must be greater than zero, but got {size}.", errors.InvalidArgumentError
                    )
                self._groups[key], self._sizes[key] = [], size
            self._groups[key].append(tuple(owned(value) for value in element))
            if len(self._groups[key]) == self._sizes[key]:
                return key, self._groups.pop(key)
        if not self._groups:
            return None
        key = min(self._groups)
        return key, self._groups.pop(key)

    def _open(self, key: int, elements: list[Element]) -> None:
        runner = self._runners[1]
        drawn = runner.get_state() if runner.random else {}
        window = ListDataset(self._dataset.origin, elements)
        (made,) = self._dataset.reduce.call(runner, (np.int64(key), window))
        self._window, self._walk = (key, elements, drawn), made.walk(self._context)

    def get_state(self) -> State:
        """The source's position, what was gathered, and the position in the open window."""
        state: State = {"ended": states.number(self._ended)}
        for key, elements in self._groups.items():
            group: State = {"size": states.number(self._sizes[key])}
            states.put_elements(group, "elements", elements)
            states.put(state, f"group {key}", group)
        if self._window is not None and self._walk is not None:
            key, elements, drawn = self._window
            window: State = {"key": states.number(key)}
            states.put_elements(window, "elements", elements)
            states.put(window, "drawn", drawn)
            states.put(window, "walk", self._walk.get_state())
            states.put(state, "window", window)
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on there: the dataset of the open window is made again."""
        self._ended = bool(states.integer(state, "ended"))
        self._groups, self._sizes = {}, {}
        for name, group in states.parts({k: v for k, v in state.items() if "/" in k}).items():
            if name.startswith("group "):
                key = int(name.removeprefix("group "))
                self._groups[key] = states.get_elements(group, "elements")
                self._sizes[key] = states.integer(group, "size")
        self._inner.set_state(states.get(state, "source"))
        self._window = self._walk = None
        window = states.get(state, "window")
        if window:
            runner = self._runners[1]
            now = runner.get_state()
            runner.set_state(states.get(window, "drawn"))
            self._open(states.integer(window, "key"), states.get_elements(window, "elements"))
            assert self._walk is not None
            self._walk.set_state(states.get(window, "walk"))
            runner.set_state(now)


class GroupByReducerDataset(DatasetBase):
    """A state for each key, into which all its elements went; the elements are made of the last states, by their keys.

    functions: from an element to its key, from a key to its first state, from a state and an element to the next state,
    and from a state to an element; each with the values of its last inputs.
    """

    def __init__(
        self,
        origin: Origin,
        source: DatasetBase,
        functions: Sequence[tuple[LoweredFunction, Sequence[Any]]],
    ) -> None:
        super().__init__(origin)
        self.source = source
        self.functions = [MapDataset(origin, source, function, captured) for function, captured in functions]

    def walk(self, context: Context) -> Elements:
        """A walk from the first key on."""
        return GroupByReducerElements(self, self.source.walk(context), context)


class GroupByReducerElements(Elements):
    """A walk that takes all elements at its first step."""

    fresh = True

    def __init__(self, dataset: GroupByReducerDataset, inner: Elements, context: Context) -> None:
        self._inner = inner
        self._calls = [partial(one.call, context.function(one.function)) for one in dataset.functions]
        self._states: dict[int, Element] = {}
        self._exhausted = False

    def next(self, run: Any) -> Element | None:
        """What becomes of the state of the next key."""
        key_of, first, following, last = self._calls
        while not self._exhausted:
            element = self._inner.next(run)
            if element is None:
                self._exhausted = True
                break
            key = int(key_of(element)[0])
            state = self._states[key] if key in self._states else first((np.int64(key),))
            self._states[key] = following((*state, *element))
        return last(self._states.pop(min(self._states))) if self._states else None

    def get_state(self) -> State:
        """The source's position, and the states of the keys that are to come."""
        state: State = {"exhausted": states.number(self._exhausted)}
        state["keys"] = np.array(list(self._states), np.int64)
        states.put_elements(state, "states", list(self._states.values()))
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._exhausted = bool(states.integer(state, "exhausted"))
        self._states = dict(zip(state["keys"].tolist(), states.get_elements(state, "states"), strict=True))
        self._inner.set_state(states.get(state, "source"))
