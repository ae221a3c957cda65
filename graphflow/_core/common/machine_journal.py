"""The journal of a state machine that is none of a task's own: its last events, and the instructions that came of each.

Rounds and groups of collectives have one each, since they are there without a cluster as well. An entry is made several
times in a step: it is what there is already, and becomes data and text if somebody asks for it
(graphflow/_core/cluster/machine_journals.py). So what is kept must hold on to no tensor, and to no traceback.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

MOST_ENTRIES: Final = 256
"""Entries of each ring that are kept."""

Entry = tuple[int, float, Any, Sequence[Any]]
"""How many events there were with it, when it was, the event, what came of it."""


class MachineJournal:
    """The last entries of a machine. One thread adds at a time; any may read.

    What comes often has a ring of its own, so that it does not push out what led there.

    most, most_often: how many entries are kept of each; None for all, as a test may want.
    """

    __slots__ = ("_often", "_rare", "handled")

    def __init__(self, most: int | None = MOST_ENTRIES, most_often: int | None = MOST_ENTRIES) -> None:
        self._rare: deque[Entry] = deque(maxlen=most)
        self._often: deque[Entry] = deque(maxlen=most_often)
        self.handled = 0
        """How many events there were."""

    def add(self, now: float, event: Any, instructions: Sequence[Any], often: bool = False) -> None:
        """Keeps an event and what came of it, which nobody changes any more."""
        number = self.handled + 1
        (self._often if often else self._rare).append((number, now, event, instructions))
        self.handled = number  # At last: who reads takes what is complete.

    def read(self) -> tuple[int, list[Entry]]:
        """How many events are forgotten, and the others in their order."""
        handled = self.handled
        rings = self._rare.copy(), self._often.copy()
        found = [entry for entry in heapq.merge(*rings, key=itemgetter(0)) if entry[0] <= handled]
        return handled - len(found), found
