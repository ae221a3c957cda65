"""The stages of a plan one after the other in the calling thread, for plans whose stages are too short for threads.

Progress is asked once, with the numbers of registers in place of values. Its answers are the program of every run.

So it is, too, where one operation of a plan for one device may wait for another. When a stage has waited for a while, a
Scheduler takes the run over where it is (InlineRun).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import QUICK_STAGE_SECONDS
from graphflow._core.common.waiting.stillness import Stillness
from graphflow._core.plan.ir import Instruction
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.progress import Parts, Progress, RunStage
from graphflow._core.runtime.scheduler import Scheduler, StageRunner
from graphflow._core.runtime.threads import WATCHMAN, ThreadPool


@dataclass(eq=False, slots=True)
class _Step:
    """A stage, the registers that it reads and writes, and those that nothing reads after it.

    patience: see PartStage.
    """

    runner: StageRunner
    reads: list[int]
    writes: list[int]
    spent: list[int]
    patience: float


class InlineScheduler:
    """The stages of some parts in an order in which they can run. Thread-safe.

    timed: whether the stages are timed; `all_quick` then says whether each was quick in the last run.
    """

    def __init__(self, parts: Parts, timed: bool) -> None:
        self._timed = timed
        self.parts = parts
        self.all_quick = False
        numbers = count()
        progress = Progress(parts, [next(numbers) for _ in parts.feeds])
        ready = deque(progress.ready())
        self.steps: list[_Step] = []
        while ready:
            work = ready.popleft()
            writes = [next(numbers) for _ in work.stage.fetches]
            self.steps.append(_Step(work.stage.run, list(work.values), writes, [], work.stage.patience))
            progress.done(work, writes)
            ready.extend(progress.ready())
        self.fetches: list[int] = progress.fetched()
        self._count = next(numbers)
        later = set(self.fetches)
        for step in reversed(self.steps):
            step.spent = [
                number for number in dict.fromkeys((*step.reads, *step.writes)) if number not in later
            ]
            later.update(step.reads)

    def registers(self, feeds: Sequence[Any]) -> list[Any]:
        """The registers of a run that begins."""
        found: list[Any] = [None] * self._count
        found[: len(feeds)] = feeds
        return found

    def run(self, run: RunContext, feeds: Sequence[Any]) -> list[Any]:
        """The fetched values. Raises the error of the first stage that fails."""
        registers = self.registers(feeds)
        all_quick = True
        for step in self.steps:
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
        return [registers[number] for number in self.fetches]


class InlineRun:
    """A run of the stages of one part, of which one may wait for another.

    The other arguments are those of Scheduler.
    """

    def __init__(
        self,
        inline: InlineScheduler,
        run: RunContext,
        feeds: Sequence[Any],
        pool: Callable[[], ThreadPool],
        transfers: Sequence[tuple[Instruction, Instruction]],
        counts: bool,
    ) -> None:
        self._inline = inline
        self._run = run
        self._rest = pool, transfers, counts
        self._fed = len(feeds)
        self._registers = inline.registers(feeds)
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        """Held while the run goes from one step to the next, or is taken over."""
        self._at = -1
        """The step that is computed."""
        self._still = Stillness(-1)
        """Of the step that is computed."""
        self._taken: tuple[Scheduler, RunStage] | None = None
        """What has taken the run over, and the stage that this thread is at."""

    def values(self) -> list[Any]:
        """The fetched values. Raises the error of the first stage that fails."""
        try:
            WATCHMAN.begin(self)
            return self._values()
        except BaseException:
            if self._taken is not None:
                self._taken[0].abandon()
            raise
        finally:
            WATCHMAN.end(self)

    def _values(self) -> list[Any]:
        registers = self._registers
        for number, step in enumerate(self._inline.steps):
            with self._lock:
                self._at = number
                values = [step.runner.takes(registers[place]) for place in step.reads]
                for place in step.spent:
                    registers[place] = None
            results: Sequence[Any] = ()
            error: BaseException | None = None
            try:
                results = step.runner.executable.run(self._run, values)
            except BaseException as raised:
                with self._lock:
                    self._at = -1
                if self._taken is None:
                    raise
                error = raised
            del values
            with self._lock:
                taken = self._taken
                if taken is None:
                    self._at = -1
                    for place, value in zip(step.writes, results, strict=True):
                        registers[place] = value
            if taken is not None:
                scheduler, work = taken
                return scheduler.go_on(work, results, error)
            del results
        return [registers[place] for place in self._inline.fetches]

    def look(self) -> None:
        """See Watched: has a Scheduler take over when a stage has waited for a while."""
        if self._taken is not None:
            self._taken[0].look()
            return
        at = self._at
        seconds = self._still.seconds(at)
        if at >= 0 and 0 < self._inline.steps[at].patience <= seconds:
            with self._lock:
                if self._at == at and self._taken is None:
                    self._take_over(at, seconds)

    def _take_over(self, at: int, seconds: float) -> None:
        """Hands the run to a Scheduler, with the lock held."""
        pool, transfers, counts = self._rest
        registers, inline = self._registers, self._inline
        fed = registers[: self._fed]
        scheduler = Scheduler(inline.parts, self._run, fed, pool, transfers, counts, True, self._thread)
        done = [[registers[place] for place in step.writes] for step in inline.steps[:at]]
        self._taken = scheduler, scheduler.take_over(done)
        registers[:] = [None] * len(registers)  # It has them, and drops each when it is spent.
        scheduler.overdue(seconds)
