"""Datasets of elements that are held in memory, and windows of elements, which are such datasets."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

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
from graphflow._core.resources.datasets.states import State


class ListDataset(DatasetBase):
    """Elements that are there, as those of a window are."""

    kept_as = "elements"

    def __init__(self, origin: Origin, elements: Sequence[Element]) -> None:
        super().__init__(origin)
        self.elements = elements

    def cardinality(self) -> int:
        """How many elements there are."""
        return len(self.elements)

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return _ListElements(self.elements)

    def as_state(self) -> State:
        """The elements."""
        state: State = {}
        states.put_origin(state, self.origin)
        states.put_elements(state, "elements", self.elements)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ListDataset:
        """The dataset of these elements."""
        return cls(states.get_origin(state), states.get_elements(state, "elements"))


class _ListElements(Elements):
    def __init__(self, elements: Sequence[Element]) -> None:
        self._elements = elements
        self._position = 0

    def next(self, run: Any) -> Element | None:
        if self._position == len(self._elements):
            return None
        self._position += 1
        return self._elements[self._position - 1]

    def get_state(self) -> State:
        return {"position": states.number(self._position)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._position = states.integer(state, "position")


class WindowDataset(DatasetBase):
    """Windows of `size` elements that are `stride` apart, each `shift` after the one before.

    sizes: these three, size, shift and stride. An element has a dataset for each component of the source's elements.
    """

    def __init__(
        self, origin: Origin, source: DatasetBase, sizes: Sequence[int], drop_remainder: bool
    ) -> None:
        super().__init__(origin)
        self.source = source
        self.size, self.shift, self.stride = sizes
        self.drop_remainder = drop_remainder

    def cardinality(self) -> int:
        """How many elements there are."""
        count = self.source.cardinality()
        if count < 0:
            return count
        if not self.drop_remainder:
            return -(-count // self.shift)
        return max(0, (count - (self.size - 1) * self.stride - 1) // self.shift + 1)

    def walk(self, context: Context) -> Elements:
        """A walk from the first window on."""
        return WindowElements(self, self.source.walk(context))


class WindowElements(Elements):
    """A walk over windows. An element that could not be made fails the windows that hold it, and no other."""

    fresh = True

    def __init__(self, dataset: WindowDataset, inner: Elements) -> None:
        self._dataset = dataset
        self._inner = inner
        self._buffer: deque[Element | errors.OpError] = deque()
        """From the first element of the next window on."""
        self._drop = 0
        """How many elements of the source lie before the next window and after the buffer."""
        self._exhausted = False

    def next(self, run: Any) -> Element | None:
        """The next window."""
        dataset, buffer = self._dataset, self._buffer
        span = (dataset.size - 1) * dataset.stride + 1
        while self._drop and not self._exhausted:
            self._take(run)
            self._drop -= 1
        while len(buffer) < span and not self._exhausted:
            taken = self._take(run)
            if taken is not None:
                buffer.append(taken)
        if not buffer or (dataset.drop_remainder and len(buffer) < span):
            return None
        found = [buffer[i] for i in range(0, min(span, len(buffer)), dataset.stride)]
        self._drop = max(0, dataset.shift - len(buffer))
        for _ in range(min(dataset.shift, len(buffer))):
            buffer.popleft()
        elements: list[Element] = []
        for item in found:
            if isinstance(item, errors.OpError):
                raise item
            elements.append(item)
        columns = zip(*elements, strict=True)
        return tuple([ListDataset(dataset.origin, [(value,) for value in column]) for column in columns])

    def _take(self, run: Any) -> Element | errors.OpError | None:
        try:
            element = self._inner.next(run)
        except INTERRUPTIONS:
            raise
        except errors.OpError as error:
            return error
        if element is None:
            self._exhausted = True
            return None
        return element if self._inner.fresh else tuple([owned(value) for value in element])

    def get_state(self) -> State:
        """The source's position, and the elements of the next window that were taken."""
        state: State = {"exhausted": states.number(self._exhausted), "drop": states.number(self._drop)}
        for number, item in enumerate(self._buffer):
            if isinstance(item, errors.OpError):
                states.put(state, f"error {number}", states.error(item))
        states.put_elements(state, "buffer", [item for item in self._buffer if isinstance(item, tuple)])
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._exhausted = bool(states.integer(state, "exhausted"))
        self._drop = states.integer(state, "drop")
        self._buffer = deque(states.get_elements(state, "buffer"))
        nested = states.parts({name: value for name, value in state.items() if "/" in name})
        errors_of = {int(n.removeprefix("error ")): s for n, s in nested.items() if n.startswith("error ")}
        for number in sorted(errors_of):
            self._buffer.insert(number, states.get_error(errors_of[number]))
        self._inner.set_state(states.get(state, "source"))
