"""What a task remembers of the steps that may be asked for again, so that each changes a variable once.

A program that trains numbers its runs (`train.step_functions.Calls`), and repeats one whose answer did not come under
the same number. The repetition computes everything anew, on values as they are then, but what the first attempt has
changed on a task stays as it is there. So a run changes each variable at most once, and one that returns has changed
each of them once.

What a change is worth remembering for ends when its variable is set as a whole, as a restored checkpoint does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.common.timeouts import EARLIER_ATTEMPT_SECONDS
from graphflow._core.plan.passes.again import changes, without
from graphflow._core.resources.last_runs import MOST_RUNS, LastRuns, Run
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable

_MOST_NAME: Final = 64
_MOST_NUMBER: Final = 1 << 53


@dataclass(slots=True)
class Attempt:
    """One attempt of a run: which attempt it is, from 0, and the run, which all attempts have in common."""

    line: str
    call: int
    index: int
    attempt: int
    record: _Record | None = field(default=None, compare=False)
    """What its task knows of the run, once the attempt has begun there."""

    @property
    def run(self) -> Run:
        """What all attempts of the run have in common."""
        return Run(self.line, self.call, self.index, self.attempt > 0)

    def details(self) -> list[Any]:
        """As the details of a message have it."""
        return [self.line, self.call, self.index, self.attempt]

    @staticmethod
    def of(details: Any) -> Attempt:
        """From the details of a message; ValueError or TypeError for what is none."""
        line, *numbers = details
        call, index, attempt = numbers
        if not isinstance(line, str) or len(line) > _MOST_NAME or index >= MOST_RUNS:
            raise ValueError(f"An attempt is {details!r:.100}.")
        if any(type(n) is not int or not 0 <= n < _MOST_NUMBER for n in numbers):
            raise ValueError(f"An attempt is {details!r:.100}.")
        return Attempt(line, call, index, attempt)


@dataclass(eq=False)
class Changes:
    """What a stage changes: how to make what runs it with some of that left out."""

    store: ResourceStore
    plan: Any
    make: Callable[[Any], Executable]
    _found: list[tuple[str, str]] | None = None
    _cells: list[VariableCell] | None = None

    def __bool__(self) -> bool:
        return bool(self.names())

    def names(self) -> list[tuple[str, str]]:
        """The instructions that change a variable, each with the variable's name."""
        if self._found is None:
            self._found = changes(self.plan)
        return self._found

    def cells(self) -> list[VariableCell]:
        """The variables of these instructions, all of which have run."""
        if self._cells is None:
            cells = self.store.cells([variable for _, variable in self.names()])
            self._cells = [cells[variable] for _, variable in self.names()]
        return self._cells


@dataclass(eq=False, slots=True)
class _Record:
    """What is known of a run: its latest attempt, and what its attempts have changed."""

    attempt: Attempt
    step: Any
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: list[tuple[list[tuple[str, str]], list[VariableCell], list[int]]] = field(default_factory=list)
    """What stages have changed, and how often each of their variables had been set as a whole."""

    def changed(self) -> set[str]:
        """The instructions whose changes are there."""
        return {
            name
            for names, cells, counts in self.done
            for (name, _), cell, count in zip(names, cells, counts, strict=True)
            if cell.assigned == count
        }


class Once:
    """The runs of all trainers, as one task knows them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: LastRuns[_Record] = LastRuns()
        self.repeated = 0
        """How many stages were run again with changes left out."""

    def begin(self, attempt: Attempt, step: Any) -> Any:
        """An attempt begins as a step: the step of an earlier attempt, which must end now, or None.

        AbortedError where a later attempt of the run has begun, DataLossError where what earlier ones have changed
        may have been forgotten.
        """
        with self._lock:
            record = attempt.record = self._records.get(attempt.run)
            if record is None:
                attempt.record = _Record(attempt, step)
                self._records.put(attempt.run, attempt.record)
                return None
            if attempt.attempt < record.attempt.attempt:
                raise errors.AbortedError(None, None, "A later attempt of this run has begun.")
            earlier, record.attempt, record.step = record.step, attempt, step
            return earlier if earlier != step else None

    @staticmethod
    def is_busy(attempt: Attempt | None) -> bool:
        """Whether an attempt of the run is changing something at this moment."""
        return attempt is not None and attempt.record is not None and attempt.record.lock.locked()

    def carry_out(
        self, executable: Executable, changes: Changes, context: RunContext, values: Sequence[Any]
    ) -> Sequence[Any]:
        """The results of a stage that changes variables, where what was changed already is left out.

        Waits for an earlier attempt that is in the middle of it. CancelledError where a later one has begun.
        """
        attempt: Attempt = context.once
        record = attempt.record
        assert record is not None
        while not record.lock.acquire(timeout=EARLIER_ATTEMPT_SECONDS):
            context.check()
        try:
            if record.attempt is not attempt:
                raise errors.CancelledError(None, None, "A later attempt of this run has begun.")
            if record.done:
                done = record.changed()
                again = [name for name, _ in changes.names() if name in done]
                if again:
                    self.repeated += 1
                    executable = changes.make(without(changes.plan, again))
            results = executable.run(context, values)
            cells = changes.cells()
            record.done.append((changes.names(), cells, [cell.assigned for cell in cells]))
            return results
        finally:
            record.lock.release()
