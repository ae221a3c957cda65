"""The queues behind gf.FIFOQueue and its kin: their elements, and the requests that wait.

Requests that put wait in one line, requests that take in another. Only the first request in a line moves elements, so
that requests are met in the order in which they came. A request for many elements moves as many as it can and waits for
the rest, as in TensorFlow: a batch may be larger than the queue. A request that is cancelled while it takes puts its
elements back.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.resources.queue_config import Element, QueueConfig
from graphflow._core.resources.queue_states import components, packed
from graphflow._core.resources.queue_values import filled
from graphflow.errors import CancelledError, InvalidArgumentError, OutOfRangeError


class _Numbered(tuple[Any, ...]):
    """An element with its number in the order of arrival, so that an element that is put back regains its position."""

    number: int


class _Request:
    """A request that waits in line: `taken` is what it has so far, `pending` what an enqueue still has to put.

    owed: whether no run waits for it: its elements waited for room when a state was saved, and go before all others.
    """

    __slots__ = ("cancelled", "owed", "pending", "taken")

    def __init__(self, owed: Iterable[Element] = ()) -> None:
        self.cancelled = False
        self.taken: list[Element] = []
        self.pending = deque(owed)
        self.owed = bool(self.pending)


class Queue:
    """A first-in, first-out queue, and what all kinds of queues share. Thread-safe; Saveable.

    Elements that are put must be the queue's own: nobody changes them later.
    """

    def __init__(self, name: str, config: QueueConfig) -> None:
        self.name = name
        self.config = config
        self.title = f"{config.kind} {name!r}"
        """The queue as messages call it."""
        self._condition = Condition()
        self._givers: deque[_Request] = deque()
        self._takers: deque[_Request] = deque()
        self._closed = False
        self._elements: Any = deque()
        self._numbers = itertools.count()
        self._life = 0
        """How often its state was set. Elements that were taken before that do not go back."""

    # ---- what kinds of queues differ in ---------------------------------------------------------------------------

    def _numbered(self, element: Element) -> _Numbered:
        found = _Numbered(element)
        found.number = next(self._numbers)
        return found

    def _put(self, element: Element) -> None:
        self._elements.append(self._numbered(element))

    def _take(self) -> Element:
        element: Element = self._elements.popleft()
        return element

    def _put_back(self, elements: Sequence[Any]) -> None:
        for element in reversed(elements):
            place = 0  # Few are before it: those that went back, too.
            while place < len(self._elements) and self._elements[place].number < element.number:
                place += 1
            self._elements.insert(place, element)

    def _listed(self) -> list[Element]:
        """The elements, in the order in which set_state puts them again."""
        return list(self._elements)

    def _available(self) -> int:
        """How many elements may be taken now."""
        return len(self._elements)

    leaves_in_order = True
    """Whether elements leave about in the order of arrival, so that those of one batch may share memory."""

    # ---- putting --------------------------------------------------------------------------------------------------

    def enqueue(self, run: Any, elements: Sequence[Element], rows: bool = False) -> None:
        """Puts elements of one shape, waiting for room; CancelledError if the queue is or becomes closed.

        rows: whether they came as rows of one tensor, for messages.
        """
        self.config.check_shapes(elements[:1], len(elements) if rows else None)
        with self._condition:
            if not self._givers and not self._closed and self._room() >= len(elements):
                run.begin_change()
                for element in elements:
                    self._put(element)
                self._condition.notify_all()
                return
        self._stand(run, self._givers, lambda request: self._giving(run, request, elements), "room in")

    def _giving(self, run: Any, request: _Request, elements: Sequence[Element]) -> Callable[[], bool | None]:
        pending = request.pending
        pending.extend(elements)

        def attempt() -> bool | None:
            if request.cancelled:
                raise CancelledError(None, None, f"Enqueue operation was cancelled: {self.title} was closed.")
            if self._givers[0] is not request:
                return None
            if self._closed:
                raise CancelledError(None, None, f"{self.title} is closed.")
            moved = False
            if pending and self._room() > 0:
                run.begin_change()
            while pending and self._room() > 0:
                self._put(pending.popleft())
                moved = True
            if moved:
                self._condition.notify_all()
            return None if pending else True

        return attempt

    def close(self, run: Any, cancel: bool) -> None:
        """Closes the queue: after the enqueues that wait, or at once with `cancel`, which ends them.

        Raises CancelledError if the queue is closed already, unless `cancel`.
        """
        if cancel:
            with self._condition:
                self._closed = True
                self._forget_owed()
                for request in self._givers:
                    request.cancelled = True
                self._condition.notify_all()
            return
        self._stand(run, self._givers, self._closing, "the enqueues that came before in")

    def _closing(self, request: _Request) -> Callable[[], bool | None]:
        def attempt() -> bool | None:
            if request.cancelled:
                return True
            if self._givers[0] is not request:
                return None
            if self._closed:
                raise CancelledError(None, None, f"{self.title} is already closed.")
            self._closed = True
            self._condition.notify_all()
            return True

        return attempt

    # ---- taking ---------------------------------------------------------------------------------------------------

    def dequeue(
        self,
        run: Any,
        count: int,
        up_to: bool = False,
        stall_check: Callable[[], None] | None = None,
        instead: Callable[[], bool] | None = None,
    ) -> list[Element]:
        """Takes `count` elements, waiting for them.

        OutOfRangeError if the queue is closed and has fewer; with `up_to` only if it has none. stall_check: raises
        if the wait is in vain, see ResourceStore.wait. instead: for a reader, which keeps what it takes: whether it
        needs no element any more, as wake() makes it look again; then none is taken.
        """
        if count < 0:
            raise InvalidArgumentError(None, None, f"Cannot dequeue {count} elements.")
        if not count:
            return []
        with self._condition:
            if not self._takers and self._available() >= count:
                taken = [self._take() for _ in range(count)]
                self._settle()
                self._condition.notify_all()
                if instead is None:
                    run.took(partial(self._give_back, taken, self._life))
                return taken
        what = "an element of" if count == 1 else f"{count} elements of"
        found: list[Element] = self._stand(
            run,
            self._takers,
            lambda request: self._taking(run, request, count, up_to, instead),
            what,
            stall_check,
        )
        return found

    def _give_back(self, elements: Sequence[Element], life: int) -> None:
        """Puts elements back that `dequeue` has returned, to the positions that they had."""
        with self._condition:
            if life == self._life:
                self._put_back(elements)
                self._condition.notify_all()

    def wake(self) -> None:
        """Has the waiting requests try again."""
        with self._condition:
            self._condition.notify_all()

    def _taking(
        self, run: Any, request: _Request, count: int, up_to: bool, instead: Callable[[], bool] | None
    ) -> Callable[[], list[Element] | None]:
        def attempt() -> list[Element] | None:
            if instead is not None and instead():
                return []
            if self._takers[0] is not request:
                return None
            there = len(self._elements) + len(request.taken)
            wanted = count
            if self._closed and there < count:
                if not up_to or not there:
                    raise OutOfRangeError(
                        None,
                        None,
                        f"{self.title} is closed and has insufficient elements (requested {count}, current size "
                        f"{there})",
                    )
                wanted = there
            moved = False
            while len(request.taken) < wanted and self._available() > 0:
                request.taken.append(self._take())
                self._settle()
                moved = True
            if moved:
                self._condition.notify_all()
            if len(request.taken) < wanted:
                return None
            result, request.taken = request.taken, []
            if instead is None:
                run.took(partial(self._give_back, result, self._life))
            return result

        return attempt

    def _settle(self) -> None:
        """Puts the elements of `owed` requests as far as there is room."""
        while self._givers and self._givers[0].owed:
            pending = self._givers[0].pending
            while pending and self._room() > 0:
                self._put(pending.popleft())
            if pending:
                return
            self._givers.popleft()

    def _forget_owed(self) -> None:
        for request in [request for request in self._givers if request.owed]:
            self._givers.remove(request)

    # ---- waiting --------------------------------------------------------------------------------------------------

    def _stand(
        self,
        run: Any,
        line: deque[_Request],
        begin: Callable[[_Request], Callable[[], Any]],
        what: str,
        stall_check: Callable[[], None] | None = None,
    ) -> Any:
        """Adds a request to a line, and waits until an attempt returns something."""
        request = _Request()
        attempt = begin(request)

        def awaited() -> str:
            held = len(self._elements)
            limit = f" of at most {self.config.capacity}" if self.config.capacity >= 0 else ""
            kept = self.config.min_after_dequeue
            rest = f", {kept} of which stay in it" if kept else ""
            return f"{what} {self.title}, which holds {held}{limit} elements{rest}"

        try:
            with self._condition:
                line.append(request)
            return run.store.wait(self._condition, attempt, run, awaited, stall_check)
        finally:
            with self._condition:
                line.remove(request)
                if request.taken:
                    self._put_back(request.taken)
                self._condition.notify_all()

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many elements it holds."""
        return len(self._elements)

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    def batch(self, elements: Sequence[Element]) -> tuple[Any, ...]:
        """The elements as one array for each component, along a new first axis."""
        return tuple(
            self._stacked([e[position] for e in elements], position)
            for position in range(len(self.config.dtypes))
        )

    def _stacked(self, values: Sequence[Any], position: int) -> Any:
        assert self.config.shapes is not None
        dims = self.config.shapes[position]
        assert dims is not None
        return filled(values, self.config.dtypes[position], tuple(d or 0 for d in dims))

    def _room(self) -> int:
        capacity = self.config.capacity
        return 1 << 62 if capacity < 0 else capacity - len(self._elements)

    # ---- saving ---------------------------------------------------------------------------------------------------

    def get_state(self) -> Mapping[str, Any]:
        """The elements, and whether it is closed: "closed", "size", and "0", "1", ... for the components.

        What a waiting dequeue has taken and what a waiting enqueue has still to put is among them; "waiting" counts it.
        A component whose elements have one shape is one array; otherwise the elements are "0/0", "0/1", ...
        """
        with self._condition:
            taken = [e for request in self._takers for e in request.taken]
            pending = [e for request in self._givers if not request.cancelled for e in request.pending]
            elements = taken + self._listed() + pending
            counts = {"size": len(elements), "waiting": len(taken) + len(pending), "closed": self._closed}
            state = {name: np.array(count) for name, count in counts.items()} | self._own_state()
        return state | packed(elements, self.config.dtypes)

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned; ValueError for anything that it cannot have returned.

        Enqueues that wait are over: what they were to put is of the time before.
        """
        elements = list(zip(*components(state, self.config, self.title), strict=True))
        try:
            self.config.check_shapes(elements)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from error
        with self._condition:
            self._life += 1
            self._set_own_state(state)
            while self._elements:
                self._take()
            self._closed = bool(state["closed"])
            self._forget_owed()
            for request in (*self._takers, *self._givers):
                request.taken.clear()
                request.pending.clear()
            room = max(0, self._room())
            for element in elements[:room]:
                self._put(element)
            if elements[room:]:
                self._givers.appendleft(_Request(elements[room:]))
            self._condition.notify_all()

    def _own_state(self) -> dict[str, Any]:
        return {}

    def _set_own_state(self, state: Mapping[str, Any]) -> None:
        pass
