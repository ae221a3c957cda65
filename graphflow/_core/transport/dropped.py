"""Counts messages that are dropped, and logs that now and then: a sender of rubbish must not fill the log."""

from __future__ import annotations

import logging
import time
from typing import Final

from graphflow._core.common.timeouts import DROPPED_LOG_SECONDS

_LOG: Final = logging.getLogger("graphflow")


class Dropped:
    """The messages that a server has dropped, or the like, and why the last one was. For one thread."""

    def __init__(self, name: str, what: str = "messages were dropped") -> None:
        self._name = name
        self._what = what
        self._logged = 0
        self._next = 0.0
        self.count = 0
        """The number of dropped messages since the start."""
        self.latest = ""
        """Why the last one was dropped."""

    def add(self, reason: str, log: bool = True) -> None:
        """Counts one; logs at most one line in ten seconds, and none for what needs none."""
        self.count += 1
        self.latest = reason
        now = time.monotonic()
        if log and now >= self._next:
            self._next = now + DROPPED_LOG_SECONDS
            new, self._logged = self.count - self._logged, self.count
            _LOG.warning("%s: %d %s (%d so far): %.300s", self._name, new, self._what, self.count, reason)
