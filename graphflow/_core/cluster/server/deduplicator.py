"""Runs that may be repeated, on one task: the threads that compute their stages, and wait for one another.

What is decided is the machine's, cluster/protocol/deduplication.py: which attempt counts, and what of a stage is left
out. Here stages are computed with that left out, and a thread waits while an earlier attempt changes something.

A checkpoint has the values of variables and what is remembered of the runs that have changed them, both of one moment:
a stage that reads or sets them is computed while no other one changes variables for such a run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

import numpy as np

from graphflow._core.checkpoint.saved_runs import pack_runs, unpack_runs
from graphflow._core.cluster.failures import details_of, from_details
from graphflow._core.cluster.protocol.deduplication import (
    AttemptBegun,
    AwaitChange,
    ChangeAsked,
    ChangeEnded,
    Deduplication,
    MakeChange,
    RefuseAttempt,
    RunRecord,
    VariableRestored,
)
from graphflow._core.common.files.file_timeouts import UNDISTURBED_SECONDS
from graphflow._core.common.last_runs import LastRuns
from graphflow._core.common.records import dataclass
from graphflow._core.common.request_ids import RequestId, RunId
from graphflow._core.common.timeouts import EARLIER_ATTEMPT_SECONDS
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.plan.passes.repeated import changes, without
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable

_log: Final = logging.getLogger("graphflow")
Result = TypeVar("Result")


@dataclass(eq=False)
class Changes:
    """What a stage changes: how to make what runs it with some of that left out.

    blocks: whether it may wait for other runs meanwhile.
    """

    store: ResourceStore
    plan: Any
    make: Callable[[Any], Executable]
    blocks: bool = False
    _found: list[tuple[str, str]] | None = None
    _names: tuple[str, ...] = ()
    _cells: dict[str, VariableCell] | None = None

    def __bool__(self) -> bool:
        return bool(self.names())

    def names(self) -> tuple[str, ...]:
        """The instructions that change a variable."""
        if self._found is None:
            self._found = changes(self.plan)
            self._names = tuple(name for name, _ in self._found)
        return self._names

    def versions(self) -> dict[str, tuple[VariableCell, int]]:
        """For each of these instructions, all of which have run, its variable and how often that was set as a whole."""
        if self._cells is None:
            self.names()
            found = self._found or []
            cells = self.store.cells([variable for _, variable in found])
            self._cells = {name: cells[variable] for name, variable in found}
        return {name: (cell, cell.assigned) for name, cell in self._cells.items()}


class Deduplicator:
    """The runs of all trainers, as one task knows them. Thread-safe. runs: where they are remembered."""

    def __init__(self, runs: LastRuns[RunRecord] | None = None) -> None:
        self.machine = Deduplication(runs)
        self._condition = Condition()
        self.at_work = 0
        """How many stages are changing something, but for those that may wait for other runs."""
        self._undisturbed = 0
        """How many stages want that nothing is changed meanwhile."""
        self.restoring: dict[str, Sequence[tuple[RunId, str]]] = {}
        """Variables that are about to be set to what a checkpoint has, each with the changes that are in it."""

    @property
    def repeated(self) -> int:
        """How many stages were run again with changes left out."""
        return self.machine.repeated

    def begin(self, request: RequestId, step: Any) -> Any:
        """An attempt begins as a step: the step of an earlier attempt, which must end now, or None.

        Raises:
            AbortedError: a later attempt of the run has begun.
            DataLossError: what earlier attempts have changed may have been forgotten.
        """
        with self._condition:
            found = self._handle(AttemptBegun(time.monotonic(), request, step))
        return None if found is None else found.step

    def is_busy(self, request: RequestId) -> bool:
        """Whether a change of the run has to wait: for an earlier attempt, or for a checkpoint."""
        return self._undisturbed > 0 or self.machine.is_busy(request)

    def carry_out(
        self, executable: Executable, changes: Changes, context: RunContext, values: Sequence[Any]
    ) -> Sequence[Any]:
        """The results of a stage that changes variables, if what was changed already is left out.

        Waits for an earlier attempt that is in the middle of it. CancelledError if a later one has begun.
        """
        request: RequestId = context.request_id
        leave_out = self._begin_change(request, changes, context)
        versions = None
        try:
            if leave_out:
                executable = changes.make(without(changes.plan, leave_out))
            results = executable.run(context, values)
            versions = changes.versions()
            return results
        finally:
            with self._condition:
                self._handle(ChangeEnded(time.monotonic(), request, versions))
                self.at_work -= not changes.blocks
                self._condition.notify_all()

    def _begin_change(self, request: RequestId, changes: Changes, context: RunContext) -> tuple[str, ...]:
        """The instructions to leave out, once nobody else changes something for this run."""
        names = changes.names()
        while True:
            with self._condition:
                if not self._undisturbed:
                    now = {
                        name: (cell, cell.assigned)
                        for name, (cell, _) in self.machine.changed(request).items()
                    }
                    found = self._handle(ChangeAsked(time.monotonic(), request, names, now))
                    if isinstance(found, MakeChange):
                        self.at_work += not changes.blocks
                        return found.leave_out
                    assert isinstance(found, AwaitChange)
                self._condition.wait(EARLIER_ATTEMPT_SECONDS)
            context.check()

    # ---- checkpoints ----------------------------------------------------------------------------------------------

    def undisturbed(
        self,
        function: Callable[[RunContext, Sequence[Any]], Result],
        context: RunContext,
        values: Sequence[Any],
    ) -> Result:
        """function(context, values), while nothing is changed for runs that may be repeated.

        It waits for the stages that do so now, unless they may wait for other runs, or take so long that they might.
        What is computed may end that before its own end: `context.others_may_change`.
        """
        ended: list[None] = []

        def end() -> None:
            with self._condition:
                if not ended:
                    ended.append(None)
                    self._undisturbed -= 1
                    self._condition.notify_all()

        limit = time.monotonic() + UNDISTURBED_SECONDS
        with self._condition:
            self._undisturbed += 1
        try:
            while self.at_work:
                context.check()
                if time.monotonic() > limit:
                    _log.warning(
                        "A checkpoint is read or written while a stage that changes variables has taken %.0f s: what "
                        "that has done may count again, should the checkpoint be restored while it is repeated.",
                        UNDISTURBED_SECONDS,
                    )  # fmt: skip
                    break
                with self._condition:
                    if self.at_work:
                        self._condition.wait(EARLIER_ATTEMPT_SECONDS)
            context.when_others_may_change(end)
            return function(context, values)
        finally:
            context.others_may_change()
            end()

    def get_state(
        self, more: Iterable[tuple[RunId, str, VariableCell]] = ()
    ) -> Mapping[str, np.ndarray[Any, Any]]:
        """Which runs have changed what, as far as the variables have it at this moment.

        more: runs that have changed a variable otherwise, each with a name for that.
        """
        with self._condition:
            found = self.machine.present(lambda version: bool(version[0].assigned == version[1]))
        own = ((run, {n: v[0].name for n, v in changed.items()}) for run, changed in found)
        return pack_runs(chain(own, ((run, {name: cell.name}) for run, name, cell in more)))

    @staticmethod
    def has_changed(request: RequestId, name: str, cell: VariableCell) -> bool:
        """Whether the value that a variable was set to has what a run has changed under a name."""
        record: RunRecord | None = request.record
        return record is not None and record.changed.get(name) == (cell, cell.assigned)

    def set_state(
        self, state: Mapping[str, np.ndarray[Any, Any]], variables: Collection[str], present: Collection[str]
    ) -> None:
        """Some of the variables are about to be set to values that have the changes which a state says.

        ValueError for a state that get_state cannot have returned. present: those that are here.
        """
        changes = unpack_runs(state)
        with self._condition:
            self.restoring = {n: changes.get(n, ()) for n in variables if n in changes or n in present}

    def note_assigned(self, cell: VariableCell) -> None:
        """A variable was set as a whole; with its lock held."""
        if self.restoring:
            with self._condition:
                found = self.restoring.pop(cell.name, None)
                if found:
                    self._handle(VariableRestored(time.monotonic(), found, (cell, cell.assigned)))

    def _handle(self, event: Any) -> Any:
        """The one instruction that came of an event, or None; raises what refuses it. With the condition held."""
        found = self.machine.handlers[type(event)](event)
        if not found:
            return None
        if isinstance(found[0], RefuseAttempt):
            raise from_details(details_of(found[0].code, found[0].message), None)
        return found[0]
