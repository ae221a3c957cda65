"""Which requests of a session were taken already, so that a message which comes twice is carried out once.

A session numbers its requests from 1; its threads send them over sockets of their own, so they come nearly in order.
"""

from __future__ import annotations

from typing import Final

_WINDOW: Final = 65_536
"""A request that is so much older than the newest is not awaited any more."""
_MOST_MISSED: Final = 65_536


class RequestNumbers:
    """The numbers of the requests of one session."""

    def __init__(self) -> None:
        self._all_below = 1
        self._above: set[int] = set()
        self._missed: dict[int, None] = {}
        """Requests that did not come while they were awaited; in order, the oldest first."""
        self._skipped = range(0)
        """All that were not awaited any more as the numbers went up at once."""

    def is_late(self, number: int) -> bool:
        """Whether a request that was not taken is one that was never there: who sends it so late is to be told."""
        if number in self._missed:
            del self._missed[number]
            return True
        return number in self._skipped

    def take(self, number: int) -> bool:
        """Takes a request; False if it was taken before, or comes when it is not awaited any more."""
        if number == self._all_below and not self._above:  # Nearly always.
            self._all_below = number + 1
            return True
        if number < self._all_below or number in self._above:
            return False
        self._above.add(number)
        lowest = number - _WINDOW
        if lowest - self._all_below > _WINDOW:
            self._skipped = range(self._all_below, lowest)
            self._all_below = lowest
            self._above = {n for n in self._above if n >= lowest}
        while self._all_below < lowest:
            if self._all_below in self._above:
                self._above.remove(self._all_below)
            else:
                self._missed[self._all_below] = None
                if len(self._missed) > _MOST_MISSED:
                    del self._missed[next(iter(self._missed))]
            self._all_below += 1
        while self._all_below in self._above:
            self._above.remove(self._all_below)
            self._all_below += 1
        return True
