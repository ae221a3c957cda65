"""A discrete event simulation: a clock of events, and the resources that take simulated time.

Nothing here knows plans, tasks or clusters. Time is a number of seconds that jumps from event to event; events of one
moment come in the order in which they were asked for, so a simulation gives the same figures each time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

_NO_TIME: Final = 1e-12
"""Seconds that are none: less than what sums of seconds are rounded by."""

Then = Callable[..., None]


class Clock:
    """Simulated time, and what will happen."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Then, tuple[Any, ...]]] = []
        self._count = 0

    def at(self, when: float, then: Then, *arguments: Any) -> None:
        """Calls then(*arguments) at a time."""
        self._count += 1
        heappush(self._events, (when, self._count, then, arguments))

    def after(self, seconds: float, then: Then, *arguments: Any) -> None:
        """Calls then(*arguments) in some seconds."""
        self.at(self.now + seconds, then, *arguments)

    def run(self, ended: Callable[[], bool]) -> bool:
        """Lets things happen until `ended` says so; whether it did, and not everything came to rest before."""
        events = self._events
        while not ended():
            if not events:
                return False
            self.now, _, then, arguments = heappop(events)
            then(*arguments)
        return True


class Cores:
    """Some equal processors, which the jobs that are there share evenly; a job takes one of them at most.

    A link is one too: its jobs are messages, and their seconds those that each would take alone.

    busy: core-seconds that were computed so far.
    """

    def __init__(self, clock: Clock, count: float) -> None:
        self._clock = clock
        self._count = count
        self._jobs: list[tuple[float, int, Then, tuple[Any, ...]]] = []
        self._served = 0.0
        """Core-seconds that a job would have got that was there from the beginning."""
        self._seen = 0.0
        """When that was last reckoned."""
        self._asked = 0
        self._calling = False
        """Whether it calls those whose jobs have ended."""
        self._due = math.inf
        """When it is called next."""
        self.busy = 0.0

    def work(self, seconds: float, then: Then, *arguments: Any) -> None:
        """Computes for some core-seconds, then calls then(*arguments)."""
        if self._clock.now != self._seen:
            self._reckon()
        self._asked += 1
        heappush(self._jobs, (self._served + seconds, self._asked, then, arguments))
        if not self._calling:
            self._plan()

    def divided(self, seconds: float, pieces: int, then: Then, *arguments: Any) -> None:
        """As `work`, in equal pieces that go on at the same time."""
        if pieces < 2:
            if seconds:
                self.work(seconds, then, *arguments)
            else:
                then(*arguments)
            return
        left = [pieces]

        def one() -> None:
            left[0] -= 1
            if not left[0]:
                then(*arguments)

        for _ in range(pieces):
            self.work(seconds / pieces, one)

    def reckoned(self) -> float:
        """The core-seconds that were computed until now."""
        self._reckon()
        return self.busy

    def _reckon(self) -> None:
        now, jobs, count = self._clock.now, len(self._jobs), self._count
        if jobs:
            passed = now - self._seen
            self._served += passed * self._share()
            self.busy += passed * (jobs if jobs <= count else count)
        self._seen = now

    def _share(self) -> float:
        """The part of a processor that a job gets."""
        jobs, count = len(self._jobs), self._count
        return 1.0 if jobs <= count else count / jobs

    def _plan(self) -> None:
        """Asks to be called when the next job ends, or before: jobs that come only make those that are there later."""
        jobs = self._jobs
        if not jobs:
            return
        left = (jobs[0][0] - self._served) / self._share()
        due = self._clock.now + (left if left > 0.0 else 0.0)
        if due < self._due:
            self._due = due
            self._clock.at(due, self._look, due)

    def _look(self, due: float) -> None:
        if due != self._due:  # Another call was asked for, before this one.
            return
        self._due = math.inf
        self._reckon()
        jobs = self._jobs
        found: list[tuple[float, int, Then, tuple[Any, ...]]] = []
        ended = self._served + _NO_TIME + 4 * math.ulp(due)  # Less than that does not move the clock.
        while jobs and jobs[0][0] <= ended:
            found.append(heappop(jobs))
        self._calling = True  # What they ask for is planned once, after all.
        for _, _, then, arguments in found:
            then(*arguments)
        self._calling = False
        self._plan()


class Wire(Cores):
    """One direction of a link, of which each message gets as much as its weight says, beside those of the others.

    busy: seconds in which it carried something so far.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, 1)
        self._weights = 0.0
        """Those of all messages that are there."""

    def work(self, seconds: float, then: Then, *arguments: Any) -> None:
        """Carries what takes so many seconds alone, with a weight of one, then calls then(*arguments)."""
        self.carry(seconds, 1.0, then, *arguments)

    def carry(self, seconds: float, weight: float, then: Then, *arguments: Any) -> None:
        """As `work`; a message of twice the weight of another one gets twice as much of the link."""
        if self._clock.now != self._seen:
            self._reckon()
        self._weights += weight
        super().work(seconds / weight, self._through, weight, then, arguments)

    def _share(self) -> float:
        return 1.0 / self._weights

    def _through(self, weight: float, then: Then, arguments: tuple[Any, ...]) -> None:
        self._weights -= weight
        then(*arguments)


class Thread:
    """What does one job after the other, on cores that it shares with others.

    A job is some core-seconds, and what comes then.
    """

    def __init__(self, cores: Cores) -> None:
        self._cores = cores
        self._waiting: deque[tuple[float, Then, tuple[Any, ...]]] = deque()
        self._busy = False
        self.seconds = 0.0
        """Core-seconds of the jobs that it has ended."""

    def work(self, seconds: float, then: Then, *arguments: Any) -> None:
        """Computes for some core-seconds when its turn comes, then calls then(*arguments)."""
        self._waiting.append((seconds, then, arguments))
        if not self._busy:
            self._busy = True
            self._next()

    def _next(self) -> None:
        seconds, then, arguments = self._waiting.popleft()
        self._cores.work(seconds, self._done, seconds, then, arguments)

    def _done(self, seconds: float, then: Then, arguments: tuple[Any, ...]) -> None:
        self.seconds += seconds
        then(*arguments)
        if self._waiting:
            self._next()
        else:
            self._busy = False
