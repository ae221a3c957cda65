"""Barriers: elements with a key whose components come in different runs, and which are taken when they are complete.

Complete elements leave in the order in which their first components came. A run that takes and is given up puts its
elements back. No new key comes into a closed barrier, but what it has begun may be completed, unless the close cancels.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.graph import shapes
from graphflow._core.resources.queue_config import QueueConfig
from graphflow._core.resources.queue_values import filled, rows
from graphflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError

_FIRST: Final = -(2**63)
"""The number of the first insertion that brings new keys."""


class _Element(NamedTuple):
    """An element as it is sorted: by the insertion that brought its key, then by its place in that."""

    insertion: int
    place: int
    key: bytes
    values: list[Any]
    """None for a component that has not come."""


class Barrier:
    """A table of elements by key, of which complete ones can be taken. Thread-safe."""

    def __init__(self, name: str, config: QueueConfig) -> None:
        self.config = config
        self.title = f"Barrier {name!r}"
        """The barrier as messages call it."""
        self._condition = Condition()
        self._incomplete: dict[bytes, _Element] = {}
        self._ready: list[_Element] = []
        self._insertions = 0
        self._closed = False
        self._cancelled = False

    def insert(self, run: Any, component: int, keys: Sequence[bytes], values: Any) -> None:
        """Gives each key the row of `values` as one of its components."""
        parts = self._checked(component, keys, values)
        with self._condition:
            if self._closed:
                self._check_open(keys)
            seen: set[bytes] = set()
            for key in keys:
                held = self._incomplete.get(key)
                if key in seen or (held is not None and held.values[component] is not None):
                    raise InvalidArgumentError(
                        None,
                        None,
                        f"Key {key!r} already has a value for component {component} in {self.title}.",
                    )
                seen.add(key)
            run.begin_change()
            number = _FIRST + self._insertions
            brought = False
            for place, (key, value) in enumerate(zip(keys, parts, strict=True)):
                if key not in self._incomplete:
                    self._incomplete[key] = _Element(number, place, key, [None] * len(self.config.dtypes))
                    brought = True
                element = self._incomplete[key]
                element.values[component] = value
                if all(part is not None for part in element.values):
                    insort(self._ready, self._incomplete.pop(key), key=lambda e: e[:3])
            self._insertions += brought
            self._condition.notify_all()

    def _checked(self, component: int, keys: Sequence[bytes], values: Any) -> list[Any]:
        """The rows of values; InvalidArgumentError if they do not fit."""
        config = self.config
        if not 0 <= component < len(config.dtypes):
            raise InvalidArgumentError(
                None,
                None,
                f"component_index = {component} is not in [0, {len(config.dtypes)}): {self.title} has that many "
                "components.",
            )
        values = np.asarray(values)
        if not values.ndim or len(values) != len(keys):
            raise InvalidArgumentError(
                None,
                None,
                f"There are {len(keys)} keys for {self.title}, but values of shape {list(values.shape)}: a row is "
                "needed for each.",
            )
        if len(keys) and not values.size:
            raise InvalidArgumentError(
                None,
                None,
                f"Tensors with no elements are not supported in {self.title}: component {component} has shape "
                f"{list(values.shape[1:])}.",
            )
        dims = None if config.shapes is None else config.shapes[component]
        if len(keys) and not shapes.compatible(dims, values.shape[1:]):
            raise InvalidArgumentError(
                None,
                None,
                f"Shape mismatch in component {component} of {self.title}: its elements have shape "
                f"{shapes.text(dims)}, got {list(values.shape[1:])}.",
            )
        return rows(values, config.dtypes[component])

    def _check_open(self, keys: Sequence[bytes]) -> None:
        if self._cancelled or (len(keys) and not self._incomplete):
            raise CancelledError(
                None,
                None,
                f"{self.title} is closed. Pending enqueues cancelled: {self._cancelled}. Number of incomplete keys: "
                f"{len(self._incomplete)}.",
            )
        new = [key for key in keys if key not in self._incomplete]
        if new:
            raise CancelledError(
                None, None, f"{self.title} is closed, but attempted to insert a brand new key: {new[0]!r}."
            )

    def take(self, run: Any, count: int, small: bool) -> list[_Element]:
        """Takes so many complete elements, waiting for them; with `small` a closed barrier gives what it has."""
        if count < 0:
            raise InvalidArgumentError(None, None, f"num_elements must be >= 0, got {count}.")

        def attempt() -> list[_Element] | None:
            wanted = count
            if self._closed:
                there = len(self._ready)
                if small:
                    wanted = min(wanted, there)
                else:
                    there += len(self._incomplete)
                if there < max(wanted, 1):
                    raise OutOfRangeError(
                        None,
                        None,
                        f"{self.title} is closed and has insufficient elements (requested {wanted}, total size "
                        f"{there})",
                    )
            if len(self._ready) < wanted:
                return None
            taken, self._ready = self._ready[:wanted], self._ready[wanted:]
            run.took(partial(self._give_back, taken))
            return taken

        found: list[_Element] = run.store.wait(
            self._condition,
            attempt,
            run,
            lambda: (
                f"{count} complete elements of {self.title}, which holds {len(self._ready)} complete and "
                f"{len(self._incomplete)} incomplete ones"
            ),
        )
        return found

    def _give_back(self, taken: Sequence[_Element]) -> None:
        with self._condition:
            for element in taken:
                insort(self._ready, element, key=lambda e: e[:3])
            self._condition.notify_all()

    def batch(self, elements: Sequence[_Element]) -> tuple[Any, ...]:
        """The numbers of the first insertions, the keys, and each component, along a new first axis."""
        keys = np.empty(len(elements), object)
        keys[:] = [element.key for element in elements]
        columns = []
        for position, dtype in enumerate(self.config.dtypes):
            values = [element.values[position] for element in elements]
            sizes = {value.shape for value in values}
            if len(sizes) > 1:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Component {position} of {self.title} has shapes {sorted(map(list, sizes))}, which cannot be put "
                    "together. Give the barrier its shapes, so that others are refused where they are inserted.",
                )
            dims = None if self.config.shapes is None else self.config.shapes[position]
            known = tuple(d or 0 for d in dims or ())
            columns.append(filled(values, dtype, sizes.pop() if sizes else known))
        return np.array([element.insertion for element in elements], np.int64), keys, *columns

    def close(self, run: Any, cancel: bool) -> None:
        """Lets no new key in; with `cancel` incomplete elements are dropped, too."""
        with self._condition:
            if self._closed and (self._cancelled or not cancel):
                raise CancelledError(None, None, f"{self.title} is already closed.")
            self._closed, self._cancelled = True, cancel
            if cancel:
                self._incomplete.clear()
            self._condition.notify_all()

    @property
    def ready_size(self) -> int:
        """How many complete elements it holds."""
        return len(self._ready)

    @property
    def incomplete_size(self) -> int:
        """How many elements lack a component."""
        return len(self._incomplete)
