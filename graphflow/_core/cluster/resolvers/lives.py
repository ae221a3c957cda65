"""Lives: the engine's side of leases. Which life of each task is the present one, and when the next may begin.

It does no input or output and reads no clock: who keeps it, such as an actor on Ray, says when something is asked. A
task counts its lease from before it asks, and this from when it is asked, and some more for clocks that do not go
alike; so a task is silent before another life of it begins.
"""

from __future__ import annotations

import math
from typing import Final

from graphflow._core.cluster.resolvers.moving import Place
from graphflow._core.common.records import dataclass

MARGIN: Final = 0.1
"""The part of a lease by which it is taken to last longer here than at the task."""


@dataclass
class _Life:
    """The present life of a task."""

    number: int = 0
    until: float = -math.inf
    """When its lease has lapsed for certain."""
    place: Place | None = None
    claimants: tuple[str, ...] = ()
    """Who has asked to begin the next life, in order: the last one will. From then on the lease is not renewed."""


class Lives:
    """The lives of the tasks of one cluster. Not thread-safe.

    lease_seconds: the length of a lease.
    """

    def __init__(self, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        self._tasks: dict[str, _Life] = {}

    def _of(self, task: str) -> _Life:
        return self._tasks.setdefault(task, _Life())

    def begin(self, task: str, who: str, now: float) -> tuple[int, float]:
        """Begins the next life of a task, once the present one is silent.

        Args:
            task: its name.
            who: who wants to be that life, a text that nobody else has; who asks later comes before who asked earlier.
            now: the time, of a clock that never goes back.

        Returns:
            The number of the life, and 0.0; or 0, and the seconds after which to ask again.

        Raises:
            ValueError: if somebody else has asked since.
        """
        life = self._of(task)
        if who in life.claimants[:-1]:
            raise ValueError(f"Another process has begun to be {task} meanwhile.")
        if who not in life.claimants:
            life.claimants += (who,)
        if now < life.until:
            return 0, life.until - now
        self._tasks[task] = _Life(life.number + 1, self._lapse(now))
        return life.number + 1, 0.0

    def renew(self, task: str, number: int, now: float) -> bool:
        """Renews the lease of a life; whether it may serve: it is the present one, and nobody waits for its end.

        One that was released has ended: a question of its that was on its way does not keep the next one waiting.
        """
        life = self._of(task)
        if number != life.number or life.claimants or life.until == -math.inf:
            return False
        life.until = max(life.until, self._lapse(now))
        return True

    def publish(self, task: str, place: Place) -> bool:
        """Notes where a life of a task is; whether it is the present one."""
        life = self._of(task)
        if place.life != life.number:
            return False
        life.place = place
        return True

    def release(self, task: str, number: int) -> None:
        """A life of a task has ended for certain: the next one may begin at once."""
        life = self._of(task)
        if number == life.number:
            life.until, life.place = -math.inf, None

    def place(self, task: str) -> Place | None:
        """Where a task is; None while it is nowhere."""
        return self._of(task).place

    def lapsed(self, now: float) -> list[str]:
        """The tasks that have begun, and are silent for certain."""
        return [task for task, life in self._tasks.items() if life.number and -math.inf < life.until <= now]

    def _lapse(self, now: float) -> float:
        return now + self.lease_seconds * (1 + MARGIN)
