"""RunContext: the state of one Session.run, which its instructions share."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import graphflow.errors as errors
from graphflow._core.resources.store import CLOSED, ResourceStore


class RunContext:
    """One run: its store, per-run resources and deadline. Shared by the threads of the run.

    request_id: which attempt of a run this is, if its program may repeat runs (common/request_ids.py).
    kept: what operations keep for the session, if the store is not the session's own.
    pausable: whether the run counts as active in the store, and may leave the count while it waits. It holds no
        variable's memory then.
    replica_seconds: how long a round of synchronous training waits for workers that are gone; 0 means a few seconds.
    """

    __slots__ = (
        "__weakref__",
        "_aborted",
        "_cancelled",
        "deadline",
        "kept",
        "pausable",
        "per_run",
        "replica_seconds",
        "request_id",
        "store",
        "trace",
    )

    def __init__(self, store: ResourceStore, deadline: float | None = None) -> None:
        self.store: ResourceStore = store
        self.deadline: float | None = deadline
        self.per_run: dict[Any, Any] = {}
        self.trace: Any = None
        self.pausable: bool = False
        self.kept: dict[str, Any] | None = None
        self.request_id: Any = None
        self.replica_seconds: float = 0.0
        self._cancelled = False
        self._aborted = False

    def add_cleanup(self, key: Any, function: Callable[[], None]) -> None:
        """Has `function` called if the calling thread fails before `remove_cleanup`: it frees what others wait for."""
        self.per_run.setdefault(("cleanups", threading.get_ident()), {})[key] = function

    def remove_cleanup(self, key: Any) -> None:
        """The calling thread has freed it itself."""
        del self.per_run["cleanups", threading.get_ident()][key]

    def on_abort(self, key: Any, function: Callable[[], None]) -> None:
        """Has `function` called if the run ends before `remove_on_abort`: others wait for what it has begun."""
        self.per_run.setdefault("on_abort", {})[key] = function
        if self._aborted:  # Another device of the run has failed meanwhile.
            self._abort()

    def has_on_abort(self, key: Any) -> bool:
        """Whether `on_abort` was called with that key, and `remove_on_abort` was not."""
        return key in self.per_run.get("on_abort", ())

    def remove_on_abort(self, key: Any) -> None:
        """The run has completed what others wait for."""
        self.per_run.get("on_abort", {}).pop(key, None)

    def _abort(self) -> None:
        self._aborted = True
        functions = self.per_run.get("on_abort")
        while functions:
            try:
                _, function = functions.popitem()
            except KeyError:  # Another thread has taken the last one.
                break
            function()

    def failed(self, error: BaseException) -> None:
        """Calls the cleanups of the calling thread, and the functions that were given to `on_abort`.

        error: what the run failed with, of the thread that calls.
        """
        for function in self.per_run.pop(("cleanups", threading.get_ident()), {}).values():
            function()
        self._abort()

    def when_others_may_change(self, function: Callable[[], None]) -> None:
        """Has `function` called by the next `others_may_change` of the calling thread."""
        self.per_run["others may change", threading.get_ident()] = function

    def others_may_change(self) -> None:
        """The calling thread has read what it had to read while nobody changes it: others may go on."""
        function = self.per_run.pop(("others may change", threading.get_ident()), None)
        if function is not None:
            function()

    gives_back = False
    """Whether elements that the run has taken are put back if nobody gets its results."""

    def took(self, give_back: Callable[[], None]) -> None:
        """Elements were taken from a queue, a reader or an iterator; give_back() puts them back to where they were.

        Called while nobody else can take there, so that the next run finds the elements of a run that was given up. If
        it was given up already, they go back at once, and this raises CancelledError. Does nothing for a run whose
        caller always gets its results.
        """

    def begin_change(self) -> None:
        """Called before the run changes what others see: from then on the elements that it has taken are used.

        Raises CancelledError if they have gone back, because the run was given up.
        """

    def mine(self, name: str, make: Callable[[], Any]) -> Any:
        """An object that an operation keeps between runs of a session, such as a random state; made at first use."""
        if self.kept is None:
            return self.store.other(name, make)
        found = self.kept.get(name)
        return self.kept.setdefault(name, make()) if found is None else found

    def write(self, text: str, stream: str = "stderr") -> None:
        """Writes text to sys.stderr or sys.stdout, as they are at that time."""
        target = sys.stdout if stream == "stdout" else sys.stderr
        target.write(text)
        target.flush()

    def say_awaited(self, text: str) -> None:
        """Tells the caller, if it is another process, what the run waits for. In this process the store shows it."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the user's."""
        return function(*arguments)

    def cancel(self) -> None:
        """Asks the run to end at the next point where it checks, and ends what it waits for."""
        self._cancelled = True
        self.store.wake()
        self._abort()

    def remaining(self) -> float | None:
        """The seconds to its deadline, at least a millisecond; None if it has none."""
        return None if self.deadline is None else max(0.001, self.deadline - time.monotonic())

    def check(self, awaited: Callable[[], str] | None = None) -> None:
        """Raises CancelledError or DeadlineExceededError if the run should end; called once in each loop iteration.

        awaited: returns what the run waits for, for the message.
        """
        if self._cancelled:
            raise errors.CancelledError(None, None, "The run was cancelled.")
        if self.store.closed:
            raise errors.CancelledError(None, None, CLOSED)
        if self.deadline is not None and time.monotonic() > self.deadline:
            what = "" if awaited is None else f" It waited for {awaited()}."
            raise errors.DeadlineExceededError(
                None,
                None,
                f"Timed out waiting for notification: the operation timeout passed before the run finished.{what}",
            )
