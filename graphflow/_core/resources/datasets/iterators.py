"""IteratorResource: the state of an iterator while a graph runs, in the store under the iterator's name.

A run on a task of a cluster may be given up after an element was taken for it. The element then goes back and is the
next one (runtime/context.py). A walk cannot take an element back, so such elements are kept beside the walk. A walk
that puts elements together cannot be interrupted without losing some either. It goes on to its next element, which then
goes back. If the run has a deadline and ends, the walk goes on in a thread, which has the iterator until then.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.timeouts import ITERATOR_LOOK_SECONDS
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import Context, DatasetBase, Element, Elements, owned
from graphflow._core.resources.datasets.states import State

END: Final = "End of sequence"


class _Patient:
    """A run, as a walk sees it that must not be interrupted: it ends only if the walk is dropped or its store is
    closed.

    here: whether the walk goes on in the run's own thread. If not, the run waits for it, and is paused already.
    """

    def __init__(self, run: Any, dropped: Callable[[], bool], here: bool) -> None:
        self.store = run.store
        self.pausable = here and run.pausable
        self._run = run
        self._dropped = dropped

    def remaining(self) -> float | None:
        return None

    def check(self, awaited: Callable[[], str] | None = None) -> None:
        if self.store.closed or self._dropped():
            self._run.check(awaited)


class _Step:
    """A walk that makes its next element in a thread; `left`: whether no run waits for the element any more."""

    def __init__(self) -> None:
        self.changed = Condition()
        self.done = False
        self.left = False
        self.element: Element | None = None
        self.error: BaseException | None = None

    def make(self, walk: Elements, run: Any, alone: Callable[[_Step], None]) -> None:
        """Makes the element; then calls alone(step) if no run waits for it any more."""
        try:
            with np.errstate(all="ignore"):
                self.element = walk.next(run)
        except BaseException as error:
            self.error = error
        with self.changed:
            self.done = True
            self.changed.notify_all()
        if self.left:
            alone(self)


class _Left(Exception):
    """A run stopped waiting for a step, which still has the iterator; `error`: why it stopped."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class IteratorResource:
    """An iterator: a dataset, once it is initialised, and a position in it. Thread-safe; Saveable.

    make: makes its dataset without a run of the initializer: that of a one-shot iterator, or after a restore that of
    the initializer which ran last before saving. None if there is none yet.

    The first use or initialisation after a restore takes up the restored state. It does not if it is an initialisation
    with another dataset, or if the saved iterator had come to its end.
    """

    begins_alike = True

    def __init__(
        self,
        origin: Origin,
        store: Any,
        make: Callable[[str], DatasetBase | None],
        types: Sequence[DType] = (),
        shapes: Sequence[Any] = (),
    ) -> None:
        self.origin = origin
        self._types, self._shapes = types, shapes
        self._store = store
        self._make = make
        self._lock = threading.Lock()
        self._context: Context | None = None
        self._dataset: DatasetBase | None = None
        self._walk: Elements | None = None
        self._ended = False
        self._restored: State = {}
        self._anew = 0
        """How many runs of initializers wait for the iterator."""
        self._given = 0
        """How many elements its walk has made; the count is the number of the last one."""
        self._life = 0
        """How many walks there were."""
        self._returned: list[tuple[int, Element]] = []
        """A heap of the elements that came back; guarded by `_returning`."""
        self._returning = threading.RLock()

    def check(self, types: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        """Raises InvalidArgumentError if its elements may not have these types and shapes."""
        if len(types) != len(self._types):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Number of components does not match: expected {len(types)} types but got {len(self._types)}, of the "
                f"iterator {self.origin}.",
            )
        for number, (wanted, found) in enumerate(zip(types, self._types, strict=True)):
            if wanted is not found:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Data type mismatch at component {number}: expected {wanted.name} but got {found.name}, of the "
                    f"iterator {self.origin}.",
                )
        for number, (asked, given) in enumerate(zip(shapes, self._shapes, strict=True)):
            if not asked.is_compatible_with(given):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Incompatible shapes at component {number}: expected {asked} but got {given}, of the iterator "
                    f"{self.origin}.",
                )

    def initialize(self, dataset: DatasetBase, run: Any) -> None:
        """Begins at the first element of a dataset."""
        with self._returning:
            self._anew += 1
        try:
            self._acquire(run)
        finally:
            with self._returning:
                self._anew -= 1
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
        found = self._acquire(run, self._first_returned)
        if found is not None:
            return found
        try:
            found = self._first_returned(run)
            if found is None:
                found = self._following(run)
        except _Left as left:
            raise left.error from None
        except BaseException:
            self._lock.release()
            raise
        self._lock.release()
        return found

    def _following(self, run: Any) -> Element:
        """The next element of the walk, or one that came back meanwhile."""
        walk = self._walk
        if walk is None:
            walk = self._first_walk()
        element = None if self._ended else self._next(walk, run)
        if element is not None and not run.gives_back:
            self._given += 1
            return element if walk.fresh else tuple([owned(value) for value in element])
        self._came(walk, element)
        found = self._first_returned(run)
        if found is None:
            raise errors.OutOfRangeError(None, None, END)
        return found

    def _next(self, walk: Elements, run: Any) -> Element | None:
        """The next element of the walk; none is lost if the run ends first. Raises _Left if the walk goes on then."""
        if walk.can_wait or (run.deadline is None and not run.gives_back):
            return walk.next(run)
        patient = _Patient(run, lambda: self._anew > 0, run.gives_back)
        if run.gives_back:
            return walk.next(patient)
        step = _Step()
        self._store.planner.threads().submit(step.make, walk, patient, self._went_on)
        try:
            self._store.wait(step.changed, lambda: step.done or None, run, self._awaited)
        except BaseException as error:
            with step.changed:
                step.left = not step.done
            if step.left:
                raise _Left(error) from None
            if step.error is None:
                self._came(walk, step.element)
            raise
        if step.error is not None:
            raise step.error
        return step.element

    def _went_on(self, step: _Step) -> None:
        """Takes the element of a step that was left, in its thread, which releases the iterator."""
        assert self._walk is not None
        if step.error is None:
            self._came(self._walk, step.element)
        self._lock.release()

    def _awaited(self) -> str:
        return f"an element of the iterator {self.origin.name!r}"

    def _came(self, walk: Elements, element: Element | None) -> None:
        """Counts the next element of the walk, or notes its end."""
        if element is None:
            self._ended = True
            return
        if not walk.fresh:
            element = tuple([owned(value) for value in element])
        self._given += 1
        with self._returning:
            heapq.heappush(self._returned, (self._given, element))

    def _first_returned(self, run: Any) -> Element | None:
        """The first of the elements that came back; None if there is none."""
        with self._returning:
            if not self._returned:
                return None
            number, element = heapq.heappop(self._returned)
            run.took(partial(self._give_back, self._life, number, element))
            return element

    def _give_back(self, life: int, number: int, element: Element) -> None:
        """Takes an element back, from any thread; forgets it if another walk has begun."""
        with self._returning:
            if life == self._life:
                heapq.heappush(self._returned, (number, element))

    def _live_anew(self, returned: list[Element]) -> None:
        """From now on elements that were taken before do not come back; the given elements come first."""
        with self._returning:
            self._life += 1
            self._given = len(returned)
            self._returned = list(enumerate(returned, 1))

    def release(self) -> None:
        """Ends its threads."""
        if self._context is not None:
            self._context.close()

    def _acquire(
        self, run: Any, instead: Callable[[Any], Element | None] = lambda run: None
    ) -> Element | None:
        """Waits for the lock, or for an element that came back: returns None with the lock held, or that element."""
        if not self._lock.acquire(blocking=False):
            while not self._lock.acquire(timeout=ITERATOR_LOOK_SECONDS):
                run.check(lambda: f"another run that is at the iterator {self.origin.name!r}")
                found = instead(run)
                if found is not None:
                    return found
        return None

    def _first_walk(self) -> Elements:
        dataset = self._make(states.get_text(self._restored, "dataset"))
        if dataset is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                f"The iterator has not been initialized: {self.origin}. Run its initializer in this session first "
                "(iterator.initializer, or the operation of make_initializer).",
            )
        return self._begin(dataset)

    def _begin(self, dataset: DatasetBase) -> Elements:
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
        self._live_anew(states.get_elements(saved, "returned") if "returned.count" in saved else [])
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
            with self._returning:
                returned = [element for _, element in sorted(self._returned, key=lambda entry: entry[0])]
            if returned:
                state["ended"] = states.number(False)
                states.put_elements(state, "returned", returned)
            with self._context.quiet():
                states.put(state, "walk", self._walk.get_state())
                states.put(state, "functions", self._context.get_state())
            return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state at the next use of the iterator."""
        with self._lock:
            self.release()
            self._live_anew([])
            self._restored = dict(state)
            dataset, self._walk = self._dataset, None
            if not state:
                self._dataset = None
            elif dataset is not None and states.get_text(state, "dataset") == dataset.origin.name:
                self._begin(dataset)
