"""How stale the updates of asynchronous training are, and the limit to that.

A step reads the variables, computes gradients, and asks to be admitted. Then its update is applied, and it is done. Its
staleness is the number of updates of others that it may not have seen: those that were not done when it began to read,
and that were admitted before it. One task counts all steps of a training. So a step has one staleness, whatever the
number of variables and of the tasks that hold them.

A limit can be kept in two ways. Either a step beyond it is dropped: nothing of it is applied. Or quick workers wait: a
step begins if at most so many others are under way, and it is admitted if every step that began before it stays within
the limit. The step that began first never waits, so that the training gets on. The price of waiting is that the slowest
worker sets the pace. See Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server",
NIPS 2013, for the use of such a bound.

Nothing here is saved. A step whose run ends before it is done counts as done.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from dataclasses import field
from typing import Any

import numpy as np

from graphflow._core.common.last_runs import LastRuns
from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RunId, run_of
from graphflow._core.common.waiting.conditions import Condition
from graphflow.errors import AbortedError


@dataclass(eq=False)
class _Step:
    """A step under way. done_before: how many updates were done when it began."""

    number: int
    done_before: int
    run: weakref.ref[Any]
    admitted: bool = False
    counts: bool = True
    """Whether its update is to be counted; that of a repeated step was counted before."""


@dataclass(eq=False)
class Staleness:
    """The steps of one training. Thread-safe. limit: the most staleness, None without a limit."""

    name: str
    limit: int | None
    waits: bool
    dropped: int = 0
    _condition: Condition = field(default_factory=Condition)
    _epoch: int = field(default_factory=time.time_ns)
    _begun: int = 0
    admitted: int = 0
    _done: int = 0
    _steps: dict[int, _Step] = field(default_factory=dict)
    _over: deque[int] = field(default_factory=deque)
    """The steps whose runs have ended."""
    _outcomes: LastRuns[tuple[int, bool]] = field(default_factory=LastRuns)
    """What runs were told that may be repeated."""

    def check(self, limit: int | None, waits: bool) -> None:
        """AbortedError if another client has other limits."""
        if (limit, waits) != (self.limit, self.waits):
            raise AbortedError(
                None, None,
                f"{self.name!r} has max_staleness={self.limit} and mode={_mode(self.waits)!r}, but this run asks for "
                f"{limit} and {_mode(waits)!r}. All workers must give the same.",
            )  # fmt: skip

    # ---- a step ---------------------------------------------------------------------------------------------------

    def begin(self, run: Any) -> np.ndarray[Any, Any]:
        """Begins a step for a run, and returns its ticket. Waits if too many steps are under way."""
        step: _Step = run.store.wait(
            self._condition, lambda: self._try_begin(run), run, lambda: self._awaited("begin")
        )
        return np.array([self._epoch, step.number, step.done_before], np.int64)

    def _try_begin(self, run: Any) -> _Step | None:
        self._drop_over()
        if self.waits and self.limit is not None and len(self._steps) > self.limit:
            return None
        self._begun += 1
        number = self._begun
        step = _Step(number, self._done, weakref.ref(run, lambda _: self._is_over(number)))
        self._steps[number] = step
        return step

    def admit(self, run: Any, ticket: Any) -> tuple[int, bool]:
        """Admits a step whose gradients are computed: returns its staleness, and whether to apply its update."""
        step = self._of(ticket)
        request = run_of(run)
        found: tuple[int, bool] = run.store.wait(
            self._condition, lambda: self._try_admit(step, request), run, lambda: self._awaited("be applied")
        )
        return found

    def _try_admit(self, step: _Step, request: RunId | None) -> tuple[int, bool] | None:
        self._drop_over()
        outcome = self._outcomes.get(request)
        if outcome is not None:
            step.admitted, step.counts = True, False
            return outcome
        staleness = self.admitted - step.done_before
        if self.limit is not None:
            if not self.waits and staleness > self.limit:
                self.dropped += 1
                self._steps.pop(step.number, None)
                return self._told(request, staleness, False)
            if self.waits and not self._fits(step, self.limit):
                return None
        self.admitted += 1
        step.admitted = True
        return self._told(request, staleness, True)

    def _told(self, request: RunId | None, staleness: int, admitted: bool) -> tuple[int, bool]:
        self._outcomes.put(request, (staleness, admitted))
        self._condition.notify_all()
        return staleness, admitted

    def _fits(self, step: _Step, limit: int) -> bool:
        """Whether every step that began before this one stays within the limit, whichever of them comes first."""
        earlier = 0
        for other in self._steps.values():
            if other.number >= step.number:
                break
            if not other.admitted:
                if self.admitted + 1 - other.done_before + earlier > limit:
                    return False
                earlier += 1
        return True

    def done(self, ticket: Any) -> None:
        """Ends a step whose update was applied or dropped."""
        with self._condition:
            if int(ticket[0]) == self._epoch:
                self._end(int(ticket[1]))
            self._condition.notify_all()

    # ---- the rest -------------------------------------------------------------------------------------------------

    def _of(self, ticket: Any) -> _Step:
        epoch, number, _ = (int(n) for n in ticket)
        with self._condition:
            step = self._steps.get(number) if epoch == self._epoch else None
        if step is None:
            raise AbortedError(
                None,
                None,
                f"The task that counts the steps of {self.name!r} was started again. Run it again.",
            )
        return step

    def _end(self, number: int) -> None:
        step = self._steps.pop(number, None)
        if step is not None and step.admitted and step.counts:
            self._done += 1

    def _is_over(self, number: int) -> None:
        """Notes that the run of a step has ended; from any thread."""
        self._over.append(number)
        with self._condition:
            self._condition.notify_all()

    def _drop_over(self) -> None:
        while self._over:
            self._end(self._over.popleft())

    def _awaited(self, what: str) -> str:
        steps = list(self._steps.values())
        oldest = min((s.number for s in steps if not s.admitted), default=0)
        return f"{what} in {self.name!r}: {len(steps)} steps are on their way, the oldest of which is number {oldest}"


def _mode(waits: bool) -> str:
    return "wait" if waits else "drop"
