"""When a hook acts: every so many steps or seconds.

SecondOrStepTimer is TensorFlow's: it counts from the step at which it triggered last. The hooks of this package
use timers that count from step 0 instead, so that a program which was killed and restarted acts at the same global
steps as one which was not, and therefore runs the same fetches at the same steps. In a program that is not disturbed
the two agree.
"""

from __future__ import annotations

import threading
import time
from typing import Any


def check_period(every_secs: float | None, every_steps: int | None) -> None:
    """Raises ValueError unless exactly one period is given, and it is positive."""
    if (every_secs is None) == (every_steps is None):
        raise ValueError(
            "Give exactly one of a number of seconds and a number of steps; got "
            f"every_secs={every_secs!r} and every_steps={every_steps!r}."
        )
    given = every_steps if every_secs is None else every_secs
    if given is not None and given <= 0:
        name = "every_n_secs" if every_steps is None else "every_n_iter"
        raise ValueError(f"The period between two actions must be positive: invalid {name}={given!r}.")


class SecondOrStepTimer:
    """Triggers when a number of seconds passed or steps were made since it triggered (tf.train.SecondOrStepTimer).

    Args:
        every_secs: The period in seconds, or None.
        every_steps: The period in steps, or None.

    Raises:
        ValueError: Unless exactly one of the two is given.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets that it triggered: it triggers at the next step it is asked about."""
        self._last_triggered_step: int | None = None
        self._last_triggered_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Whether it should trigger at `step`; never twice for the same one.

        Args:
            step: The step.
        """
        if self._last_triggered_step is None or self._last_triggered_time is None:
            return True
        if self._last_triggered_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_triggered_time + self._every_secs
        assert self._every_steps is not None
        return step >= self._last_triggered_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that it triggered; the seconds and steps since the time before, (None, None) at the first time.

        Args:
            step: The step.
        """
        now = time.time()
        elapsed: tuple[float | None, int | None] = (None, None)
        if self._last_triggered_step is not None and self._last_triggered_time is not None:
            elapsed = (now - self._last_triggered_time, step - self._last_triggered_step)
        self._last_triggered_step, self._last_triggered_time = step, now
        return elapsed

    def last_triggered_step(self) -> int | None:
        """The step at which it triggered last, or None."""
        return self._last_triggered_step


class ReachedTimer:
    """Triggers after a run that reached or passed step `offset`, `offset` + period, `offset` + twice the period, ...

    With a period in seconds it triggers by the clock. `start` says from which step on.
    """

    def __init__(
        self, every_secs: float | None = None, every_steps: int | None = None, offset: int = 0
    ) -> None:
        check_period(every_secs, every_steps)
        self._secs = every_secs
        self._steps = every_steps or 1
        self._offset = offset
        self.next: int = 0
        """The step that it waits for; of no meaning if it goes by the clock."""
        self.last_step: int = 0
        self.last_time: float = 0.0

    def start(self, step: int) -> None:
        """The step at which a session begins: made, or gone back to."""
        self.note(step)

    def count_from(self, step: int) -> None:
        """As `start`, where nobody has said that a session begins: the steps are counted from this one."""
        self._offset = step
        self.note(step)

    def due(self, step: int) -> bool:
        """Whether to act, now that `step` is reached."""
        if self._secs is None:
            return step >= self.next
        return step != self.last_step and time.monotonic() - self.last_time >= self._secs

    def note(self, step: int) -> tuple[float, int]:
        """Notes that it acted at `step`; the seconds and steps since the time before."""
        now = time.monotonic()
        elapsed = now - self.last_time, step - self.last_step
        self.last_step, self.last_time = step, now
        self.next = self._first_after(step)
        return elapsed

    def _first_after(self, step: int) -> int:
        return step + 1 + (self._offset - step - 1) % self._steps


class ExpectedTimer(ReachedTimer):
    """As ReachedTimer, but asked before a run, about the step that the run is expected to reach.

    A run that turns out not to move the step does not use up its turn, once: so a look at the step before the
    training loop changes nothing that happens in the loop. If the step stays longer, as in an evaluation, runs
    are counted instead.
    """

    def __init__(
        self, every_secs: float | None = None, every_steps: int | None = None, offset: int = 1
    ) -> None:
        super().__init__(every_secs, every_steps, offset)
        self._idle = 0
        self._seen = -1
        self._still = 0
        self._fresh = True

    def start(self, step: int) -> None:
        """The step at which a session begins; by the clock, its first run is due."""
        super().start(step)
        self._idle, self._seen, self._still, self._fresh = 0, -1, 0, True

    def due(self, step: int) -> bool:
        """Whether to act in the run that is expected to reach `step`."""
        if self._secs is not None:
            return self._fresh or time.monotonic() - self.last_time >= self._secs
        if step >= self.next:
            return True
        if step != self._seen:
            self._seen, self._still = step, 0
            return False
        self._still += 1
        return self._still >= self._steps

    def acted(self, before: int, after: int) -> tuple[float, int] | None:
        """Notes that it acted in a run between two steps; the seconds and steps since, None at the first time."""
        first, self._fresh = self._fresh, False
        elapsed = self.note(after)
        self._idle = 0 if after > before else self._idle + 1
        if self._idle > 1:
            self.next: int = self._first_after(after + 1)
        self._seen, self._still = after + 1, 0
        return None if first else elapsed


class ThisRun(threading.local):
    """The values that a hook sets before a run and needs after it, for each thread, as several may run at once."""

    asked = False
    """Whether the hook acts after the run."""
    before: Any = 0
    """The step before the run."""
