"""Datasets that work ahead in threads: prefetch, and map with parallel calls.

Threads are daemons. They end when their iterator is collected, initialised anew, or its session closed. A walk and its
thread share one object; the thread refers to that object alone and not to the session, and a finalizer of the walk ends
the thread. Waiting for an element happens in ResourceStore.wait, which ends if the session is closed or the run's
deadline passes.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import Context, DatasetBase, Element, Elements, Worker
from graphflow._core.resources.datasets.mapping import MapDataset
from graphflow._core.resources.datasets.states import State


class PrefetchDataset(DatasetBase):
    """The elements, made up to `size` ahead by a thread; `automatic` lets the size be chosen."""

    AUTOMATIC = 2

    def __init__(self, origin: Origin, source: DatasetBase, size: int) -> None:
        super().__init__(origin)
        self.source = source
        self.size = self.AUTOMATIC if size < 0 else size

    def cardinality(self) -> int:
        """As many as the source has."""
        return self.source.cardinality()

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on; its thread starts at the first call."""
        inner = self.source.walk(context)
        return PrefetchElements(self, inner, context) if self.size else inner


class _Buffer(Worker):
    """The state that a prefetching thread and its consumer share. `changed` guards all of it but the source.

    The thread alone uses the source, and holds `working` then. Context.quiet stops it while the position is saved.
    """

    def __init__(self, inner: Elements, size: int) -> None:
        super().__init__()
        self.inner = inner
        self.size = size
        self.changed = Condition()
        self.items: deque[Element | BaseException | None] = deque()
        self.stopped = False
        self.started = False
        self.ended = False

    def stop(self) -> None:
        """Ends the thread, after the element that it is making."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def work(self) -> None:
        """The loop of the thread: makes elements, errors and the end, in order."""
        with np.errstate(all="ignore"):
            while self._may_go_on():
                with self.working:
                    item = self._made()
                    with self.changed:
                        self.items.append(item)
                        self.ended = item is None
                        self.changed.notify_all()

    def _may_go_on(self) -> bool:
        """Waits until there is room; False if the thread has to end."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or self.ended or len(self.items) < self.size)
            return not (self.stopped or self.ended)

    def _made(self) -> Element | BaseException | None:
        try:
            return self.inner.next(None)
        except Exception as error:
            return error


class PrefetchElements(Elements):
    """A walk that takes what its thread has made."""

    can_wait = True

    def __init__(self, dataset: PrefetchDataset, inner: Elements, context: Context) -> None:
        self._buffer = _Buffer(inner, dataset.size)
        self._name = str(dataset.origin)
        self._context = context
        self.fresh = inner.fresh
        self._finalizer = weakref.finalize(self, self._buffer.stop)
        self._finalizer.atexit = False
        context.workers.add(self._buffer)

    def next(self, run: Any) -> Element | None:
        """The next element, or the error that making it raised."""
        buffer = self._buffer
        if not buffer.started:
            buffer.started = True
            threading.Thread(target=buffer.work, name="graphflow prefetch", daemon=True).start()
        if buffer.ended and not buffer.items:
            return None
        item: Element | BaseException | None
        (item,) = self._context.store.wait(buffer.changed, lambda: self._first(run), run, self._awaited)
        if isinstance(item, BaseException):
            raise item
        return item

    def _awaited(self) -> str:
        return f"an element of {self._name}"

    def _first(self, run: Any) -> list[Any] | None:
        if run is not None:
            run.check(self._awaited)  # A run that has to end takes no element away.
        items = self._buffer.items
        if not items:
            return [None] if self._buffer.ended else None
        self._buffer.changed.notify_all()
        return [items.popleft()]

    def get_state(self) -> State:
        """The elements that are ready, and the source's position after them. An error that is ready comes again."""
        buffer = self._buffer
        state: State = {}
        with buffer.changed:
            ready = [item for item in buffer.items if isinstance(item, tuple)]
            states.put_elements(state, "ready", ready)
            state["ended"] = states.number(buffer.ended)
            states.put(state, "source", buffer.inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        buffer = self._buffer
        with buffer.changed:
            buffer.items = deque(states.get_elements(state, "ready"))
            buffer.ended = bool(states.integer(state, "ended"))
            buffer.inner.set_state(states.get(state, "source"))


class ParallelMapDataset(MapDataset):
    """A function of each element, several calls at a time, in the order of the elements.

    A function that draws random numbers is called in order, so that a seed gives the same numbers every time. A
    function that takes many elements at once needs no threads.
    """

    def __init__(self, *arguments: Any, calls: int) -> None:
        super().__init__(*arguments)
        self.calls = calls

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        runner = context.function(self.function)
        if runner.random or runner.takes_rows or self.calls == 1:
            return super().walk(context)
        return ParallelMapElements(self, self.source.walk(context), context)


class _Call:
    """One call of a function: its element, and the result or the error once it is `done`.

    If the source raised an error, there is no element; the error keeps its position among the elements.
    """

    def __init__(self, element: Element, error: BaseException | None = None) -> None:
        self.element = element
        self.done = error is not None
        self.result: Element = ()
        self.error = error
        self.from_source = error is not None

    def make(self, dataset: MapDataset, runner: Callable[..., Any], changed: Condition) -> None:
        """Makes the call, on a thread of the session."""
        try:
            with np.errstate(all="ignore"):
                self.result = dataset.call(runner, self.element)
        except BaseException as error:
            self.error = error
        with changed:
            self.done = True
            changed.notify_all()


class ParallelMapElements(Elements):
    """A walk with several calls under way, the oldest first."""

    fresh = True

    def __init__(self, dataset: ParallelMapDataset, inner: Elements, context: Context) -> None:
        self._dataset = dataset
        self._inner = inner
        self._runner = context.function(dataset.function)
        self._context = context
        self._calls: deque[_Call] = deque()
        self._waiting: deque[Element] = deque()
        self._exhausted = False
        self._changed = Condition()

    def next(self, run: Any) -> Element | None:
        """The function of the next element."""
        store = self._context.store
        while len(self._calls) < self._dataset.calls and not self._exhausted:
            try:
                element = self._waiting.popleft() if self._waiting else self._inner.next(run)
            except Exception as error:
                self._calls.append(_Call((), error))
                continue
            if element is None:
                self._exhausted = True
            else:
                self._calls.append(call := _Call(element))
                store.planner.threads().submit(call.make, self._dataset, self._runner, self._changed)
        if not self._calls:
            return None
        first = self._calls[0]
        store.wait(self._changed, lambda: first.done or None, run, self._awaited)
        self._calls.popleft()
        if isinstance(first.error, errors.OutOfRangeError) and not first.from_source:
            return None  # The function came to an end by itself.
        if first.error is not None:
            raise first.error
        return first.result

    def _awaited(self) -> str:
        return f"a call of the function of {self._dataset.origin}"

    def get_state(self) -> State:
        """The source's position, and the elements whose calls are under way, to be called again."""
        state = {"exhausted": states.number(self._exhausted)}
        under_way = [call.element for call in self._calls if not call.from_source]
        states.put_elements(state, "waiting", under_way + list(self._waiting))
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._calls.clear()
        self._waiting = deque(states.get_elements(state, "waiting"))
        self._exhausted = bool(states.integer(state, "exhausted")) and not self._waiting
        self._inner.set_state(states.get(state, "source"))
