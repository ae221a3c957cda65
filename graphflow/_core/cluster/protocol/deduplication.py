"""Runs that may be asked for again: was this done, is it being done, what of it is there already.

A program repeats a run whose answer did not come, under the same number (common/request_ids.py). The repetition
computes everything anew, on values as they are then, but what the first attempt has changed on a task stays as it is
there. So a run changes each variable at most once, and one that returns has changed each of them once.

What a change is worth remembering for ends when its variable is set as a whole, as a restored checkpoint does: its
version is another one then. A checkpoint has the changes of runs that were under way when it was written, in some of
the variables: so it also has which these are, and they are remembered again when it is restored.

Threads of a task compute stages, and one of them waits while an earlier attempt of its run is in the middle of a
change. They are the server's (cluster/server/deduplicator.py), as is the lock under which it gives events to this
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from graphflow import errors
from graphflow._core.common.last_runs import LastRuns
from graphflow._core.common.machine import Instruction, Machine, StepEvent, hold, step_event
from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RequestId, RunId

Version: TypeAlias = Any
"""The value that a variable was set to as a whole; two are compared, and nothing else is done with them."""

_LATER_BEGAN = "A later attempt of this run has begun."


# ---- events ---------------------------------------------------------------------------------------------------------


@step_event
class AttemptBegun(StepEvent):
    """An attempt of a run begins, as a step of its task."""

    request: RequestId
    step: Any


@step_event
class ChangeAsked(StepEvent):
    """A stage of an attempt is about to change variables, by instructions of these names.

    versions: those that the variables have now of what was changed before, as `changed` says, by instruction.
    """

    request: RequestId
    names: Collection[str]
    versions: Mapping[str, Version]


@step_event
class ChangeEnded(StepEvent):
    """A stage that was allowed to change variables is through.

    versions: of the variables that its instructions change, by instruction; None if it has failed.
    """

    request: RequestId
    versions: Mapping[str, Version] | None


@step_event
class VariableRestored(StepEvent):
    """A variable was set to its value in a checkpoint, which has these changes of it: runs, and their instructions.

    version: that the variable has since.
    """

    changes: Sequence[tuple[RunId, str]]
    version: Version


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EndEarlier(Instruction):
    """End the step of an earlier attempt."""

    step: Any


@dataclass(frozen=True, slots=True)
class RefuseAttempt(Instruction):
    """The attempt, or its change, must not be; code is one of graphflow.errors."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class AwaitChange(Instruction):
    """Wait: an earlier attempt is in the middle of a change. Ask again when a change has ended."""


@dataclass(frozen=True, slots=True)
class MakeChange(Instruction):
    """Compute the stage, and leave out the changes of these instructions, which are there already."""

    leave_out: tuple[str, ...]


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class RunRecord:
    """What is known of a run: its latest attempt with its step, what was changed, and who changes something now."""

    latest: RequestId
    step: Any
    """None if the run is known from a checkpoint alone."""
    changed: dict[str, Version] = field(default_factory=dict)
    """The instructions whose changes were made, each with the version of its variable."""
    changing: RequestId | None = None


class Deduplication(Machine):
    """The runs of all trainers, as one task knows them. runs: where they are remembered."""

    def __init__(self, runs: LastRuns[RunRecord] | None = None) -> None:
        self.runs: LastRuns[RunRecord] = LastRuns() if runs is None else runs
        self.changing: dict[int, RunRecord] = {}
        """The runs of which a stage changes something at this moment, by the identity of the record."""
        self.repeated = 0
        """How many stages were allowed with changes left out."""
        self.handlers = {
            AttemptBegun: self._attempt_begun, ChangeAsked: self._change_asked, ChangeEnded: self._change_ended,
            VariableRestored: self._variable_restored,
        }  # fmt: skip

    # ---- questions, which change nothing ----

    @staticmethod
    def is_busy(request: RequestId) -> bool:
        """Whether an attempt of the run is changing something at this moment; from any thread."""
        return request.record is not None and request.record.changing is not None

    @staticmethod
    def changed(request: RequestId) -> Mapping[str, Version]:
        """What attempts of the run have changed."""
        found: Mapping[str, Version] = request.record.changed
        return found

    def present(self, is_there: Callable[[Version], bool]) -> list[tuple[RunId, dict[str, Version]]]:
        """What the runs have changed, as far as the variables still have it: `is_there` says so of a version."""
        found = [
            (run, {name: version for name, version in record.changed.items() if is_there(version)})
            for run, record in self.runs.items()
        ]
        return [(run, changed) for run, changed in found if changed]

    # ---- what happens ----

    def _attempt_begun(self, event: AttemptBegun) -> list[Instruction]:
        request = event.request
        try:
            record = self.runs.get(request.run)
        except errors.OpError as error:
            return [RefuseAttempt(error.error_code, error.message)]
        if record is None:
            request.record = RunRecord(request, event.step)
            self.runs.put(request.run, request.record)
            return []
        request.record = record
        if request.attempt < record.latest.attempt:
            return [RefuseAttempt(errors.ABORTED, _LATER_BEGAN)]
        earlier, record.latest, record.step = record.step, request, event.step
        return [] if earlier is None or earlier == event.step else [EndEarlier(earlier)]

    def _change_asked(self, event: ChangeAsked) -> list[Instruction]:
        record: RunRecord = event.request.record
        if record.latest is not event.request:
            return [RefuseAttempt(errors.CANCELLED, _LATER_BEGAN)]
        if record.changing is not None:
            return [AwaitChange()]
        record.changing = event.request
        self.changing[id(record)] = record
        changed = record.changed
        if not changed:
            return [MakeChange(())]
        there = [n for n in event.names if n in changed and changed[n] == event.versions.get(n)]
        self.repeated += bool(there)
        return [MakeChange(tuple(there))]

    def _change_ended(self, event: ChangeEnded) -> list[Instruction]:
        record: RunRecord = event.request.record
        record.changing = None
        del self.changing[id(record)]
        if event.versions is not None:
            record.changed.update(event.versions)
        return []

    def _variable_restored(self, event: VariableRestored) -> list[Instruction]:
        for run, name in event.changes:
            try:
                record = self.runs.get(run)
            except errors.AbortedError:  # A later call has begun, so that nobody repeats this one.
                continue
            if record is None:
                record = RunRecord(RequestId(run.line, run.call, run.index, 0), None)
                self.runs.put(run, record)
            record.changed[name] = event.version
        return []

    def check(self) -> None:
        """Each run of which something is changed knows by whom, and that is no later attempt than its latest."""
        for record in self.changing.values():
            hold(
                record.changing is not None,
                f"Nobody changes {record.latest.run}, which is said to be changed.",
            )
            if record.changing is not None:
                by, latest = record.changing, record.latest
                hold(by.run == latest.run, f"{by.run} changes what {latest.run} has done.")
                hold(by.attempt <= latest.attempt, f"The attempt {by.attempt} came after {latest.attempt}.")
