"""IteratorResource: what an iterator op stands for while a graph runs, in the store under the iterator's name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from graphflow import errors
from graphflow.kernels.datasets import states
from graphflow.kernels.datasets.base import Context, Dataset, Element, Elements, Origin, owned
from graphflow.kernels.datasets.states import State

END: Final = "End of sequence"
_PAUSE: Final = 0.2


class IteratorResource:
    """An iterator: a dataset, once it is initialised, and a position in it. Thread-safe; Saveable.

    make: gives its dataset, for one that needs no initializer run: the one-shot iterator's, or after a restore that
    of the initializer which ran last before it was saved. None where there is none yet.

    The state that a checkpoint holds is taken up by the first use or initialisation after it was restored, unless that
    initialisation is with another dataset, or the saved iterator had come to its end.
    """

    begins_alike = True

    def __init__(self, origin: Origin, store: Any, make: Callable[[str], Dataset | None]) -> None:
        self.origin = origin
        self._store = store
        self._make = make
        self._lock = threading.Lock()
        self._context: Context | None = None
        self._dataset: Dataset | None = None
        self._walk: Elements | None = None
        self._ended = False
        self._restored: State = {}

    def initialize(self, dataset: Dataset, run: Any) -> None:
        """Begins at the first element of a dataset."""
        self._acquire(run)
        try:
            if "ended" in self._restored and states.integer(self._restored, "ended"):
                self._restored = {}
            self._begin(dataset)
        finally:
            self._lock.release()

    def get_next(self, run: Any) -> Element:
        """The next element, whose arrays belong to the caller.

        OutOfRangeError at the end and ever after; FailedPreconditionError before it is initialised.
        """
        self._acquire(run)
        try:
            walk = self._walk
            if walk is None:
                walk = self._first_walk()
            element = None if self._ended else walk.next(run)
            if element is None:
                self._ended = True
                raise errors.OutOfRangeError(None, None, END)
            return element if walk.fresh else tuple([owned(value) for value in element])
        finally:
            self._lock.release()

    def release(self) -> None:
        """Ends its threads."""
        if self._context is not None:
            self._context.close()

    def _acquire(self, run: Any) -> None:
        if not self._lock.acquire(blocking=False):
            while not self._lock.acquire(timeout=_PAUSE):
                run.check(lambda: f"another run that is at the iterator {self.origin.name!r}")

    def _first_walk(self) -> Elements:
        dataset = self._make(states.get_text(self._restored, "dataset"))
        if dataset is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"The iterator {self.origin} has not been initialised. Run its initializer in this session first "
                "(iterator.initializer, or the operation of make_initializer).",
            )
        return self._begin(dataset)

    def _begin(self, dataset: Dataset) -> Elements:
        self.release()
        context = Context(self._store)
        saved, self._restored = self._restored, {}
        if states.get_text(saved, "dataset") != dataset.origin.name:
            saved = {}
        if saved:
            context.set_state(states.get(saved, "functions"))
        walk = dataset.walk(context)
        if saved:
            self._go_on(walk, context, saved)
        self._context, self._dataset, self._walk = context, dataset, walk
        self._ended = bool(saved) and bool(states.integer(saved, "ended"))
        return walk

    def _go_on(self, walk: Elements, context: Context, saved: State) -> None:
        try:
            walk.set_state(states.get(saved, "walk"))
            context.set_state(states.get(saved, "functions"))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"The saved position of the iterator {self.origin} does not fit its dataset ({error}): it was saved by "
                "another program. Run its initializer, or restore a checkpoint of this program.",
            ) from error

    def get_state(self) -> State:
        """Its dataset's name and the position in it."""
        with self._lock:
            if self._walk is None or self._dataset is None or self._context is None:
                return dict(self._restored)
            state: State = {
                "dataset": states.text(self._dataset.origin.name),
                "ended": states.number(self._ended),
            }
            with self._context.quiet():
                states.put(state, "walk", self._walk.get_state())
                states.put(state, "functions", self._context.get_state())
            return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on there from its next use on."""
        with self._lock:
            self.release()
            self._restored = dict(state)
            dataset, self._walk = self._dataset, None
            if not state:
                self._dataset = None
            elif dataset is not None and states.get_text(state, "dataset") == dataset.origin.name:
                self._begin(dataset)
