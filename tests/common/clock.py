"""A clock that a test winds: it takes the place of the module `time` in a module that asks for the time."""

from __future__ import annotations

from collections.abc import Callable


class Clock:
    """Seconds that pass if something sleeps, or if they are added to `now`.

    on_sleep: is called after each sleep.
    """

    def __init__(self, on_sleep: Callable[[], object] = lambda: None) -> None:
        self.now = 1000.0
        self.sleeps = 0
        self._on_sleep = on_sleep

    def monotonic(self) -> float:
        """The time."""
        return self.now

    time = perf_counter = monotonic

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        assert seconds > 0
        self.now += seconds
        self.sleeps += 1
        self._on_sleep()
