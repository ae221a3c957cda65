"""The kinds of queues: in which order elements leave, and how batches are made of them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.common.philox.generator import Philox
from graphflow._core.resources.queue_config import Element, QueueConfig
from graphflow._core.resources.queue_values import filled, zeros
from graphflow._core.resources.queues import Queue

_BLOCKS: Final = 16


class RandomShuffleQueue(Queue):
    """Gives its elements in a random order, which a seed fixes; keeps min_after_dequeue until it is closed."""

    leaves_in_order = False

    def __init__(self, name: str, config: QueueConfig) -> None:
        super().__init__(name, config)
        self._elements = []
        self._random = Philox(*config.seeds)
        self._begin = self._random.get_state()["philox"]
        self._words: list[int] = []
        self._used = 0

    def _take(self) -> Element:
        if self._used == len(self._words):
            self._begin = self._random.get_state()["philox"]
            self._words = self._random.words(_BLOCKS).tolist()
            self._used = 0
        place = self._words[self._used] % len(self._elements)
        self._used += 1
        elements = self._elements
        elements[place], elements[-1] = elements[-1], elements[place]
        element: Element = elements.pop()
        return element

    def _put_back(self, elements: Sequence[Element]) -> None:
        self._elements += elements

    def _available(self) -> int:
        return len(self._elements) - (0 if self._closed else self.config.min_after_dequeue)

    def _own_state(self) -> dict[str, Any]:
        return {"random": self._begin.copy(), "used": np.array(self._used)}

    def _set_own_state(self, state: Mapping[str, Any]) -> None:
        used = np.asarray(state.get("used"))
        if used.shape != () or used.dtype.kind != "i" or not 0 <= used <= 4 * _BLOCKS:
            raise ValueError(f"This is no state of {self.title}: its random state is missing.")
        self._elements = []
        self._random.set_state({"philox": np.asarray(state.get("random", ()))})
        self._begin = self._random.get_state()["philox"]
        self._words = self._random.words(_BLOCKS).tolist()
        self._used = int(used)


class PaddingFIFOQueue(Queue):
    """A first-in, first-out queue whose batches are padded with zeros to the largest element."""

    def _stacked(self, values: Sequence[Any], position: int) -> Any:
        assert self.config.shapes is not None
        dims = self.config.shapes[position] or ()
        largest = tuple(max((v.shape[axis] for v in values), default=d or 0) for axis, d in enumerate(dims))
        dtype = self.config.dtypes[position]
        if all(v.shape == largest for v in values):
            return filled(values, dtype, largest)
        out = zeros((len(values), *largest), dtype)
        for number, value in enumerate(values):
            out[(number, *map(slice, value.shape))] = value
        return out


class PriorityQueue(Queue):
    """Gives the element with the smallest first component, an int64; among equals the one that came first."""

    leaves_in_order = False

    def __init__(self, name: str, config: QueueConfig) -> None:
        super().__init__(name, config)
        self._elements = []

    def _put(self, element: Element) -> None:
        numbered = self._numbered(element)
        heapq.heappush(self._elements, (int(element[0]), numbered.number, numbered))

    def _take(self) -> Element:
        element: Element = heapq.heappop(self._elements)[2]
        return element

    def _put_back(self, elements: Sequence[Any]) -> None:
        for element in elements:
            heapq.heappush(self._elements, (int(element[0]), element.number, element))

    def _listed(self) -> list[Element]:
        return [element for _, _, element in sorted(self._elements, key=lambda entry: entry[:2])]


KINDS: Final[dict[str, type[Queue]]] = {
    "FIFOQueue": Queue,
    "RandomShuffleQueue": RandomShuffleQueue,
    "PaddingFIFOQueue": PaddingFIFOQueue,
    "PriorityQueue": PriorityQueue,
}
