"""RunContext: what one Session.run shares between its instructions."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from graphflow import errors
from graphflow._core.resources.store import CLOSED, ResourceStore


class RunContext:
    """One run: its store, per-run resources and deadline. Shared by the threads of the run.

    once: which attempt of a run this is, where runs are numbered so as to be repeated (cluster/once.py).
    kept: what operations keep for the session where the store is not the session's own.
    pausable: whether it counts as active in the store, and may leave the count while it waits, holding no variable's
        memory then.
    replica_seconds: how long a round of synchronous training waits for workers that are gone; 0 means a few seconds.
    """

    __slots__ = (
        "__weakref__",
        "_broken",
        "_cancelled",
        "deadline",
        "kept",
        "once",
        "pausable",
        "per_run",
        "replica_seconds",
        "store",
        "trace",
    )

    def __init__(self, store: ResourceStore, deadline: float | None = None) -> None:
        self.store = store
        self.deadline = deadline
        self.per_run: dict[Any, Any] = {}
        self.trace: Any = None
        self.pausable = False
        self.kept: dict[str, Any] | None = None
        self.once: Any = None
        self.replica_seconds = 0.0
        self._cancelled = False
        self._broken = False

    def hold(self, what: Any, free: Callable[[], None]) -> None:
        """The calling thread holds something that others wait for; free() is called where it fails before let_go."""
        self.per_run.setdefault(("held", threading.get_ident()), {})[what] = free

    def let_go(self, what: Any) -> None:
        """The calling thread holds it no more."""
        del self.per_run["held", threading.get_ident()][what]

    def pledge(self, what: Any, broken: Callable[[], None]) -> None:
        """Others count on what the run will still do; broken() is called where it ends without `redeem`."""
        self.per_run.setdefault("pledges", {})[what] = broken
        if self._broken:  # Another device of the run has failed meanwhile.
            self._break_pledges()

    def pledged(self, what: Any) -> bool:
        """Whether a pledge of that name is not redeemed yet."""
        return what in self.per_run.get("pledges", ())

    def redeem(self, what: Any) -> None:
        """The run has done what others counted on."""
        self.per_run.get("pledges", {}).pop(what, None)

    def _break_pledges(self) -> None:
        self._broken = True
        pledges = self.per_run.get("pledges")
        while pledges:
            try:
                _, broken = pledges.popitem()
            except KeyError:  # Another thread has taken the last one.
                break
            broken()

    def failed(self, error: BaseException) -> None:
        """Frees what the calling thread holds and will not come to let go; tells those who count on the run.

        error: what the run failed with, of the thread that calls.
        """
        for free in self.per_run.pop(("held", threading.get_ident()), {}).values():
            free()
        self._break_pledges()

    gives_back = False
    """Whether what it has taken goes back where nobody gets its results."""

    def took(self, give_back: Callable[[], None]) -> None:
        """Elements were taken from a queue, a reader or an iterator; give_back() puts them back to where they were.

        Called while nobody else can take there, so that who comes after a run that was given up finds them; where it
        was already, they go back at once, and this raises CancelledError. Nothing where who runs it always gets what it
        has taken, or is not asked.
        """

    def begin_change(self) -> None:
        """Something is about to change that others see, so that what was taken has been used.

        CancelledError where it has gone back, since the run was given up.
        """

    def mine(self, name: str, make: Callable[[], Any]) -> Any:
        """What an operation keeps from run to run of one session, such as a random state; made on first use."""
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
        """Says to whoever waits for the run what it waits for; here that is in the same process, and can see it."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the user's."""
        return function(*arguments)

    def cancel(self) -> None:
        """Asks the run to end at the next point where it checks, and ends what it waits for."""
        self._cancelled = True
        self.store.wake()
        self._break_pledges()

    def remaining(self) -> float | None:
        """The seconds to its deadline, at least a millisecond; None where it has none."""
        return None if self.deadline is None else max(0.001, self.deadline - time.monotonic())

    def check(self, awaited: Callable[[], str] | None = None) -> None:
        """Raises CancelledError or DeadlineExceededError where the run should end; called once a loop iteration.

        `awaited` says what it waits for.
        """
        if self._cancelled:
            raise errors.CancelledError(None, None, "The run was cancelled.")
        if self.store.closed:
            raise errors.CancelledError(None, None, CLOSED)
        if self.deadline is not None and time.monotonic() > self.deadline:
            what = "" if awaited is None else f" It waited for {awaited()}."
            raise errors.DeadlineExceededError(
                None, None, f"The operation timeout passed before the run finished.{what}"
            )
