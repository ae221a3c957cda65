"""The tasks that are not there, for those who wait in a task's store for what these would do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.sync_rounds import LOST_TASKS, UNMET_TASKS


class AbsentTasks:
    """Who is not there, and since when, kept in a store. For the thread of the sockets.

    others: the other tasks, none of which was met yet. now: seconds of the monotonic clock.
    """

    def __init__(self, store: ResourceStore, others: Collection[str], now: float) -> None:
        self._store = store
        self._unmet().update(dict.fromkeys(others, now))

    def _lost(self) -> dict[str, float]:
        found: dict[str, float] = self._store.other(LOST_TASKS, dict)
        return found

    def _unmet(self) -> dict[str, float]:
        found: dict[str, float] = self._store.other(UNMET_TASKS, dict)
        return found

    def lost(self, task: str, now: float) -> None:
        """A task is gone that was there."""
        self._lost()[task] = now

    def met(self, task: str) -> None:
        """A task is there."""
        self._lost().pop(task, None)
        self._unmet().pop(task, None)

    def wake_waiting(self) -> None:
        """Who waits looks again whether it waits for one that was lost for too long."""
        if self._lost():
            self._store.wake()

    def reset_store(self, containers: Sequence[str] | None) -> None:
        """Resets containers of the store, or all of it; who comes now has the same tasks absent."""
        lost, unmet = dict(self._lost()), dict(self._unmet())
        self._store.reset(containers)
        self._lost().update(lost)
        self._unmet().update(unmet)
