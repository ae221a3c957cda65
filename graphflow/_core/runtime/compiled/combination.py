"""Combination: what an executable knows of one combination of fed shapes, on the way to its compiled plan."""

from __future__ import annotations

import logging
import sys
import threading
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.common.compile_timeouts import COMPILER_TOLD_SECONDS
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import (
    COMPILE_AGAIN_SECONDS,
    COMPILE_LOOK_SECONDS,
    LONGEST_COMPILE_AGAIN_SECONDS,
)
from graphflow._core.compiler.reasons import StaysOnNumpy, label
from graphflow._core.compiler.shapes.fed_values import NOTHING, Given, Key
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.plan.ir import Plan, walk
from graphflow._core.runtime.agreement.trial import Trial
from graphflow._core.runtime.context import RunContext

if TYPE_CHECKING:
    from graphflow._core.compiler.compile_job import CompileJob
    from graphflow._core.runtime.compiled.build import CompiledPlan
    from graphflow._core.runtime.compiled.template import Template

_LOG: Final = logging.getLogger("graphflow")
_MOST_SHAPES: Final = 256
_FEWEST_SHAPES: Final = 16
_MOST_INSTRUCTIONS: Final = 1 << 16
"""Instructions of all plans that are kept for the combinations of one executable, if these are more than the fewest."""
_LONG_UNUSED: Final = 4
"""A combination gives way to a new one if it was not used for so many runs times the combinations that are kept."""


@dataclass
class Combination:
    """What is known of one combination of fed shapes.

    shapes: those of the feeds, then the fed values that belong to it, `given` by name.
    """

    shapes: Key = ()
    given: Given = NOTHING
    filled: bool = False
    """Whether a template gave its compiled plan."""
    template: Template | None = None
    """What would have given it, if it was made in the usual way to be compared."""
    runs: int = 0
    known: Known | None = None
    job: Any = None
    compiled: CompiledPlan | None = None
    trial: Trial = field(default_factory=Trial)
    better: CompileJob | None = None
    """The job of the compiled plan if more of its kernels are to come, which the array machine stands in for."""
    reason: StaysOnNumpy | None = None
    """Why it stays on NumPy, if it does."""
    again_at: float | None = None
    """When it is tried again (time.monotonic()), if that reason may pass."""
    failures: int = 0
    used: int = 0
    """The number of its last run among all runs of the executable."""
    compared: bool = False
    """Whether its compiled plan has itself been compared with NumPy."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def try_again(self) -> bool:
        """Forgets the reason if it is time to try again; returns whether it did."""
        if self.again_at is None or time.monotonic() < self.again_at:
            return False
        self.reason = self.again_at = self.known = None
        return True

    def may_pass(self) -> None:
        """Notes that the reason is a fault of the compiler, which is asked again after a pause, longer each time."""
        pause = min(LONGEST_COMPILE_AGAIN_SECONDS, COMPILE_AGAIN_SECONDS * 2 ** min(self.failures, 20))
        self.failures += 1
        self.again_at = time.monotonic() + pause


class Room:
    """For how many combinations the plans of an executable are kept, by the size of its plan.

    for_good: whether the first ones are kept, and not those that were used last.
    """

    def __init__(self, plan: Plan, for_good: bool) -> None:
        instructions = sum(1 for _ in walk(plan))
        self._most = max(_FEWEST_SHAPES, min(_MOST_SHAPES, _MOST_INSTRUCTIONS // max(1, instructions)))
        self._for_good = for_good
        self._closed_until = 0

    def is_closed(self, runs: int) -> bool:
        """Whether new combinations run on NumPy in this run of the executable."""
        return runs < self._closed_until

    def close(self) -> None:
        """Has all new combinations run on NumPy from now on."""
        self._closed_until = sys.maxsize

    def open(self) -> None:
        """Begins again."""
        self._closed_until = 0

    def is_made(self, states: dict[Any, Combination], runs: int) -> bool:
        """Whether there is room for another combination: the one that was not used for the longest time gives way."""
        if len(states) < self._most:
            return True
        key, unused = min(list(states.items()), key=lambda entry: entry[1].used)
        until = unused.used + _LONG_UNUSED * self._most
        if self._for_good or runs < until:
            self._closed_until = sys.maxsize if self._for_good else until
            return False
        states.pop(key, None)
        return True


def wait_for_kernels(job: CompileJob, run: RunContext, plan: Plan, whole: bool) -> None:
    """Waits for the kernels. The compiler has a deadline for each of them; the run's own deadline holds, too."""
    begun = time.monotonic()
    levels = [logging.INFO] if whole else [logging.WARNING, logging.INFO]
    with job.awaited():
        while True:
            try:
                job.wait(COMPILE_LOOK_SECONDS, whole)
                return
            except TimeoutError:
                run.check(lambda: f"the compiler, which has {job.missing()} kernels to make")
            if levels and (levels[-1] == logging.INFO or time.monotonic() - begun > COMPILER_TOLD_SECONDS):
                _LOG.log(
                    levels.pop(),
                    "The plan of %s waits for the compiler, which has %d kernels to make: its bits are not to depend "
                    "on when they come. Later programs find them; `graphflow cache warm` makes them beforehand.",
                    label(plan),
                    job.missing(),
                )
