"""Which requests of a session were taken already, so that a message which comes twice is carried out once.

A session numbers its requests from 1; its threads send them over sockets of their own, so they come nearly in order.
"""

from __future__ import annotations

from typing import Final

_WINDOW: Final = 65_536
"""A request that is so much older than the newest is taken for one that was there."""


class Requests:
    """The numbers of the requests of one session."""

    def __init__(self) -> None:
        self._all_below = 1
        self._above: set[int] = set()

    def take(self, number: int) -> bool:
        """Takes a request; False where it was taken before."""
        if number == self._all_below and not self._above:  # Nearly always.
            self._all_below = number + 1
            return True
        if number < self._all_below or number in self._above:
            return False
        self._above.add(number)
        lowest = number - _WINDOW
        if lowest - self._all_below > _WINDOW:
            self._all_below = lowest
            self._above = {n for n in self._above if n >= lowest}
        while self._all_below < lowest:  # What is not there was lost.
            self._above.discard(self._all_below)
            self._all_below += 1
        while self._all_below in self._above:
            self._above.remove(self._all_below)
            self._all_below += 1
        return True
