"""The stages of a plan one after the other in the calling thread, for plans whose stages are too short for threads.

Progress is asked once, with the numbers of registers in place of values. Its answers are the program of every run.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import QUICK_STAGE_SECONDS
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.progress import Parts, Progress
from graphflow._core.runtime.scheduler import StageRunner


@dataclass(eq=False, slots=True)
class _Step:
    """A stage, the registers that it reads and writes, and those that nothing reads after it."""

    runner: StageRunner
    reads: list[int]
    writes: list[int]
    spent: list[int]


class InlineScheduler:
    """The stages of some parts in an order in which they can run. Thread-safe.

    timed: whether the stages are timed; `all_quick` then says whether each was quick in the last run.
    """

    def __init__(self, parts: Parts, timed: bool) -> None:
        self._timed = timed
        self.all_quick = False
        numbers = count()
        progress = Progress(parts, [next(numbers) for _ in parts.feeds])
        ready = deque(progress.ready())
        self._steps: list[_Step] = []
        while ready:
            work = ready.popleft()
            writes = [next(numbers) for _ in work.stage.fetches]
            self._steps.append(_Step(work.stage.run, list(work.values), writes, []))
            progress.done(work, writes)
            ready.extend(progress.ready())
        self._fetches: list[int] = progress.fetched()
        self._count = next(numbers)
        later = set(self._fetches)
        for step in reversed(self._steps):
            step.spent = [
                number for number in dict.fromkeys((*step.reads, *step.writes)) if number not in later
            ]
            later.update(step.reads)

    def run(self, run: RunContext, feeds: Sequence[Any]) -> list[Any]:
        """The fetched values. Raises the error of the first stage that fails."""
        registers: list[Any] = [None] * self._count
        registers[: len(feeds)] = feeds
        all_quick = True
        for step in self._steps:
            values = [step.runner.takes(registers[number]) for number in step.reads]
            for number in step.spent:
                registers[number] = None
            begun = time.perf_counter() if self._timed else 0.0
            results = step.runner.executable.run(run, values)
            if self._timed:
                step.runner.took(time.perf_counter() - begun)
                all_quick = all_quick and step.runner.seconds <= QUICK_STAGE_SECONDS
            del values
            for number, value in zip(step.writes, results, strict=True):
                registers[number] = value
            del results
        self.all_quick = all_quick
        return [registers[number] for number in self._fetches]
