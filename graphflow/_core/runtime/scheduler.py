"""The threads that compute the stages of one run: the calling thread, and helpers if two devices have work at once.

A device computes one stage at a time; Progress says which stages can be computed. Waking another thread costs tens of
microseconds. So a helper is woken only if a stage is ready that takes longer than that, or that may wait, while the
thread which sees it has another stage to compute. A thread that has finished a stage goes on with one that is ready.

If one operation of a run may wait for another, a run is looked at: when a stage has waited for a while, helpers compute
what can begin beside it (runtime/progress.py). They count as active by themselves then.

A run with a deadline is computed on helpers alone, in the NumPy tier. There it is known which operation each thread is
computing, and the caller can return while a helper is still at work.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import graphflow.errors as errors
from graphflow._core.common.frames import current_frames
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import DEADLINE_GRACE_SECONDS, QUICK_STAGE_SECONDS
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.common.waiting.stillness import Stillness
from graphflow._core.common.waiting.wait_timeouts import WAIT_PATIENCE_SECONDS
from graphflow._core.plan.ir import Instruction
from graphflow._core.runtime.assemble import Assembled, operand
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.explain import current, first
from graphflow._core.runtime.progress import Parts, Progress, RunStage
from graphflow._core.runtime.threads import WATCHMAN, ThreadPool


class Plain(Protocol):
    """Runs a plan in the NumPy tier, and can name the operation that a thread is computing."""

    @property
    def part(self) -> Assembled:
        """The assembled function."""
        ...

    def call(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, whatever the run's deadline."""
        ...


@dataclass(eq=False, slots=True)
class StageRunner:
    """Computes a stage.

    base: the same stage in the NumPy tier. unbounded: whether it may take any time: it may wait for another run or a
    Python function, or it has a loop. seconds: about how long it takes. around: gives the context in which Scheduler
    computes it. takes: converts each value before the stage computes with it.
    """

    executable: Executable
    base: Plain
    unbounded: bool
    seconds: float = math.inf
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    takes: Callable[[Any], Any] = operand

    @property
    def slow(self) -> bool:
        """Whether it is worth a thread of its own."""
        return self.unbounded or self.seconds > QUICK_STAGE_SECONDS

    def took(self, seconds: float) -> None:
        """Notes how long it took; a first run, or one with a compilation, is soon forgotten."""
        self.seconds = (min(self.seconds, 1.0) + seconds) / 2 if seconds < self.seconds else seconds


class Scheduler:
    """One run of some parts, on several threads if that is worth it.

    transfers: the Send and the Recv of each edge. counts: whether the run counts as active in its store. each_counts:
    whether, if so, each thread of it does. thread: the one that calls, by default this one.
    """

    def __init__(
        self,
        parts: Parts,
        run: RunContext,
        feeds: Sequence[Any],
        pool: Callable[[], ThreadPool],
        transfers: Sequence[tuple[Instruction, Instruction]],
        counts: bool,
        each_counts: bool = False,
        thread: int | None = None,
    ) -> None:
        self._progress = Progress(parts, feeds)
        self._run = run
        self._thread = threading.get_ident() if thread is None else thread
        self._pool = pool
        self._transfers = transfers
        self._counts = counts
        self._each_counts = counts and each_counts
        self._watched = run.deadline is not None
        self._changed = Condition()
        self._ready: deque[RunStage] = deque()
        self._at_work: dict[RunStage, tuple[int, StageRunner]] = {}
        """The stages that are computed, each with its thread and what computes it."""
        self._still = Stillness(0)
        self._coming = 0
        """How many helpers were called and have not begun."""
        self._idle = False
        """Whether the calling thread waits for something to do."""
        self._left = False
        """Whether the caller has gone while helpers are at work."""
        self._free = dict.fromkeys(parts.stages, time.perf_counter_ns() if run.trace is not None else 0)
        """In a traced run, since when each device has waited for what its next stage receives."""
        self._error: BaseException | None = None

    def run(self) -> list[Any]:
        """The fetched values. Raises the error of the first stage that fails, after all others have ended."""
        if not self._progress.may_be_overdue:
            return self._to_the_end()
        WATCHMAN.begin(self)
        try:
            return self._to_the_end()
        finally:
            WATCHMAN.end(self)

    def _to_the_end(self, work: RunStage | None = None) -> list[Any]:
        """`run`, unless it was begun elsewhere: then with what the calling thread computes next, if anything."""
        try:
            with self._changed:
                self._ready.extend(self._progress.ready())
                if self._watched:
                    self._call_helpers(len(self._ready))
                elif work is None:
                    work = self._take()
            while True:
                while work is not None:
                    work = self._compute(work)
                with self._changed:
                    while not self._over and (self._watched or not self._ready or self._error is not None):
                        self._wait()
                    if self._over:
                        break
                    work = self._take()
        except BaseException:
            self.abandon()
            raise
        if self._error is not None:
            raise self._error
        return self._progress.fetched()

    # ---- a run that another way of computing has begun ------------------------------------------------------------

    def take_over(self, done: Sequence[Sequence[Any]]) -> RunStage:
        """Continues a run of one part: its first stages gave these results, and the calling thread is at the next.

        Returns that stage, with which `go_on` must be called when it has ended.
        """
        for results in done:
            (work,) = self._progress.ready()
            self._progress.done(work, results)
        (work,) = self._progress.ready()
        self._at_work[work] = self._thread, work.stage.run
        return work

    def go_on(self, work: RunStage, results: Sequence[Any], error: BaseException | None) -> list[Any]:
        """The fetched values, as `run` returns them, after the stage that the calling thread was at has ended."""
        if error is not None:
            if not isinstance(error, Exception):
                self.abandon()
                raise error
            self._note(error)
        return self._to_the_end(self._ended(work, results, error))

    # ---- what waits for long --------------------------------------------------------------------------------------

    def look(self) -> None:
        """See Watched: lets stages begin beside one that has waited for a while."""
        seconds = self._still.seconds(self._progress.moves)
        if seconds:
            self.overdue(seconds)

    def overdue(self, seconds: float) -> None:
        """For so long nothing has begun or ended: what can begin beside that begins."""
        with self._changed:
            if self._error is None:
                self._ready.extend(self._progress.overdue(seconds, WAIT_PATIENCE_SECONDS))
                self._call_helpers(len(self._ready))

    @property
    def _over(self) -> bool:
        return not self._at_work and (self._error is not None or self._progress.ended)

    def _wait(self) -> None:
        """Waits for a change, with the condition held; raises if the deadline has passed."""
        seconds = 0.5
        if self._run.deadline is not None:
            seconds = min(seconds, self._run.deadline + DEADLINE_GRACE_SECONDS - time.monotonic())
            if seconds <= 0:
                self._give_up()
        self._idle = not self._watched
        self._changed.wait(seconds)
        self._idle = False

    # ---- which thread computes what --------------------------------------------------------------------------------

    def _take(self) -> RunStage | None:
        """A stage for this thread, with the condition held. Calls helpers for the stages that it leaves."""
        if self._error is not None or not self._ready:
            return None
        work = self._ready.popleft()
        self._at_work[work] = (threading.get_ident(), work.stage.run)
        if self._run.trace is not None:
            for edge in work.stage.receives:
                self._run.trace(self._transfers[edge][1], self._free[work.device])
        if self._ready and (
            self._watched or work.stage.run.slow or any(w.stage.run.slow for w in self._ready)
        ):
            self._call_helpers(len(self._ready))
        return work

    def _call_helpers(self, wanted: int) -> None:
        wanted -= self._coming
        if wanted > 0 and self._idle:
            self._idle = False
            self._changed.notify()
            wanted -= 1
        for _ in range(wanted):
            self._pool().submit(self._help)
            self._coming += 1

    def _help(self) -> None:
        with self._changed:
            self._coming -= 1
            work = self._take()
        while work is not None:
            work = self._compute(work)

    def _compute(self, work: RunStage) -> RunStage | None:
        """Computes a stage; returns the next one for this thread.

        Keeps an error for the caller. What is no Exception, such as KeyboardInterrupt, is raised in the calling thread.
        """
        runner: StageRunner = work.stage.run
        results: Sequence[Any] = ()
        error: BaseException | None = None
        values = [runner.takes(value) for value in work.values]
        work.values = ()
        begun = time.perf_counter()
        own = self._thread == threading.get_ident()
        function = runner.base.call if self._watched else runner.executable.run
        try:
            with runner.around():
                if own or not self._each_counts:
                    results = function(self._run, values)
                else:
                    results = self._run.store.running(self._run, function, values)
        except BaseException as raised:
            if own and not isinstance(raised, Exception):
                raise
            self._note(raised)
            error = raised
        del values
        runner.took(time.perf_counter() - begun)
        return self._ended(work, results, error)

    def _note(self, error: BaseException) -> None:
        """A stage has failed: this is the cause, and not the errors of stages that fail because it has."""
        with self._changed:
            if self._error is None and isinstance(error, errors.DeadlineExceededError):
                error = self._with_others(error)
            self._error = self._error or error
        self._run.failed(error)

    def _ended(self, work: RunStage, results: Sequence[Any], error: BaseException | None) -> RunStage | None:
        """A stage has ended; returns the next one for this thread."""
        with self._changed:
            del self._at_work[work]
            if error is not None:
                self._fail(error)
            elif self._error is None:
                self._progress.done(work, results)
                if self._run.trace is not None:
                    self._trace_sends(work)
                found = self._progress.ready()
                found.sort(key=lambda w: w.device != work.device)
                self._ready.extend(found)
            following = self._take()
            if self._over:
                self._changed.notify()
            leaves = self._left and not self._at_work
            self._left = self._left and not leaves
        if leaves:
            self._run.store.leave()
        return following

    def _trace_sends(self, work: RunStage) -> None:
        self._free[work.device] = now = time.perf_counter_ns()
        for edge, _, _ in work.stage.sends:
            self._run.trace(self._transfers[edge][0], now)

    # ---- ends -----------------------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        """Lets no stage begin any more, and ends those that wait; with the condition held."""
        self._error = self._error or error
        self._ready.clear()
        self._run.cancel()

    def abandon(self) -> None:
        """Leaves without waiting for helpers. While one is at work, the run counts as active: it may still write."""
        with self._changed:
            self._fail(errors.CancelledError(None, None, "The run was cancelled."))
            own = threading.get_ident()
            for work in [w for w, (thread, _) in self._at_work.items() if thread == own]:
                del self._at_work[work]
            if self._at_work and self._counts and not self._left:
                self._left = True
                self._run.store.enter()

    def _give_up(self) -> None:
        if self._error is not None:  # A loop saw the deadline first, and has said where.
            raise self._error
        at_work = self._named(list(self._at_work.values()))
        keys = [self._transfers[edge][0].attrs["key"] for edge in self._progress.awaited()]
        waiting = [f"{value!r} from {source}" for value, source, _ in keys]
        found = {
            "Still running": at_work,
            "Awaited": waiting,
            "Not begun": [first(work.stage.run.base.part) for work in self._ready],
        }
        told = "".join(f" {what}: {', '.join(names)}." for what, names in found.items() if names)
        raise errors.DeadlineExceededError(
            None, None, f"The run did not finish within its operation timeout.{told}"
        )

    def _with_others(self, error: errors.OpError) -> errors.OpError:
        """The error of a wait at the deadline, with what the other threads of the run wait for at that time."""
        own = threading.get_ident()
        others = [(t, runner) for t, runner in self._at_work.values() if t != own and self._awaited_by(t)]
        if not others:
            return error
        text = f"{error.message}\nBeside it: {'; '.join(self._named(others))}."
        return type(error)(None, error.op, text).with_traceback(error.__traceback__)

    def _named(self, at_work: Sequence[tuple[int, StageRunner]]) -> list[str]:
        """The operations that threads are computing, each with what it waits for."""
        frames = current_frames()
        return [current(r.base.part, frames.get(thread)) + self._awaited_by(thread) for thread, r in at_work]

    def _awaited_by(self, thread: int) -> str:
        awaited = self._run.store.awaited(thread)
        return f", waiting for {awaited}" if awaited else ""
