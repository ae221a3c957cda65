"""How often a session that lost its peers is made anew, and the record of it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from graphflow._core.common.timeouts import FIRST_RECOVERY_SECONDS, LONGEST_RECOVERY_SECONDS


@dataclass(frozen=True)
class Recovery:
    """One making anew of a session: the error that caused it, the global steps before and after, seconds since 1970.

    A step is None if there is no global step, or it could not be read.
    """

    reason: Exception
    from_step: int | None
    to_step: int | None
    wall_time: float

    def moved(self) -> str:
        """The meaning of the recovery for the training, in a sentence."""
        before, after = self.from_step, self.to_step
        if after is None:
            return "There is no global step."
        if before is None:
            return f"Training goes on from step {after}."
        if after < before:
            return f"Training goes back from step {before} to step {after}: {before - after} steps are lost."
        if after > before:
            return f"Training goes on from step {after}; this process saw step {before} last."
        return f"Training goes on from step {after}; no step that this process saw is lost."


class RecoveryBudget:
    """At most so many recoveries within a span of time; the pauses between those that follow each other at once grow.

    The first is made at once; then 0.1 s, 0.2 s, and so on to 10 s, until a run succeeds.
    """

    def __init__(self, most: int, window_secs: float) -> None:
        if most < 0 or window_secs <= 0:
            raise ValueError(
                "max_recoveries must not be negative, and recovery_window_secs must be positive; got "
                f"{most!r} and {window_secs!r}."
            )
        self.most = most
        self.window_secs = window_secs
        self._times: deque[float] = deque()
        self._pause = 0.0

    def take(self) -> float | None:
        """The seconds to wait before the next recovery, or None if there were too many."""
        now = time.monotonic()
        while self._times and now - self._times[0] > self.window_secs:
            self._times.popleft()
        if len(self._times) >= self.most:
            return None
        self._times.append(now)
        pause = self._pause
        self._pause = min(max(FIRST_RECOVERY_SECONDS, 2 * pause), LONGEST_RECOVERY_SECONDS)
        return pause

    def succeeded(self) -> None:
        """A run succeeded: the next recovery is made at once again."""
        self._pause = 0.0

    def __str__(self) -> str:
        return f"at most {self.most} in {self.window_secs:g} s"
