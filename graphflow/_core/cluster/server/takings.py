"""Elements that steps have taken on a task, from queues, readers and iterators, until their clients have them.

A client that gives a run up, or dies, has not got what was taken for it: the element goes back to its place. It does
not if the step has changed something else: then it has been used, and would be used twice. Whether a client has its
results only the client can say, so it does, if they hold elements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from graphflow._core.cluster.protocol.task_steps import StepKey
from graphflow._core.cluster.server.step_output import StepContext

GiveBack = Callable[[], None]


class Takings:
    """What the steps of one task have taken. Not thread-safe: one thread calls it."""

    def __init__(self) -> None:
        self._kept: dict[StepKey, Sequence[GiveBack]] = {}
        """Of the steps that are through here, and whose clients may not have their results yet."""

    def __len__(self) -> int:
        return len(self._kept)

    def through(self, context: StepContext) -> bool:
        """A step has come to its end here: whether it has taken what may have to go back."""
        if not context.takings or context.changed:
            return False
        self._kept[context.key] = context.takings
        return True

    def settle(self, key: StepKey, back: bool) -> None:
        """The client of a step has its results, or will not get them, if elements go `back`."""
        found = self._kept.pop(key, ())
        if back:
            for give_back in found:
                give_back()

    def settle_all(self, masters: Collection[int] | None = None) -> None:
        """What was taken for masters that are gone goes back; without `masters` all is forgotten, with the queues."""
        if masters is None:
            self._kept.clear()
            return
        for key in [k for k in self._kept if k[0] in masters]:
            self.settle(key, True)
