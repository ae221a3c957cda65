"""The state machines of one task, behind one entry: an event comes in, instructions for the server go out.

What the server may read of the state between two events it reads from the machines; only `handle` changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphflow._core.cluster.protocol.journal import Journal
from graphflow._core.cluster.protocol.lease import Lease
from graphflow._core.cluster.protocol.master_steps import MasterSteps
from graphflow._core.cluster.protocol.membership import Membership
from graphflow._core.cluster.protocol.queries import Queries
from graphflow._core.cluster.protocol.registrations import Registrations
from graphflow._core.cluster.protocol.sessions import Sessions
from graphflow._core.cluster.protocol.step_journal import WITH_MORE, WITH_VALUES, StepJournal, lighten
from graphflow._core.cluster.protocol.step_record import StepRecord
from graphflow._core.cluster.protocol.strangers import Strangers
from graphflow._core.cluster.protocol.subgraphs import Subgraphs
from graphflow._core.cluster.protocol.task_steps import BeginProgress, TaskSteps
from graphflow._core.cluster.protocol.welcomes import Welcomes
from graphflow._core.common.machine import Event, Instruction, StepEvent


class TaskProtocol:
    """What a task does at each event. For one thread, but for what says otherwise.

    task: its name. incarnation: of this life of it, in hexadecimal. others: the other tasks of its cluster, and their
    addresses. now: when it begins, as in events. journal: where events are kept. begin: what makes the progress of a
    step; without it no step can begin here.
    """

    def __init__(
        self,
        task: str,
        incarnation: str,
        others: Mapping[str, str],
        now: float,
        journal: Journal | None = None,
        begin: BeginProgress | None = None,
    ) -> None:
        self._begun: dict[str, Any] = {
            "task": task, "incarnation": incarnation, "others": dict(others), "begun": now,
        }  # fmt: skip
        self.lease = Lease(task)
        self.sessions = Sessions(task, incarnation, now)
        self.strangers = Strangers(task, now)
        self.membership = Membership(task, incarnation, others, self.sessions)
        self.welcomes = Welcomes(self.membership)
        self.queries = Queries(others)
        self.registrations = Registrations()
        self.subgraphs = Subgraphs()
        self.master = MasterSteps()
        self.worker = TaskSteps(task, begin or _no_progress)
        self.journal = Journal() if journal is None else journal
        self.step_journal = StepJournal()
        """The last events of steps."""
        self.step_record: StepRecord | None = None
        """Where a test has the events of steps kept."""
        self._handlers: dict[type[Event], list[Callable[[Any], list[Instruction]]]] = {}
        self._machines = (
            self.lease, self.strangers, self.membership, self.welcomes, self.sessions, self.queries, self.registrations,
            self.subgraphs,
        )  # fmt: skip
        for machine in self._machines:
            for kind, handler in machine.handlers.items():
                self._handlers.setdefault(kind, []).append(handler)
        self._step_handlers = {
            kind: (handler, kind in WITH_VALUES)
            for machine in (self.master, self.worker)
            for kind, handler in machine.handlers.items()
        }

    def handle(self, event: Event) -> list[Instruction]:
        """Takes an event; what is to be done about it, in that order."""
        found: list[Instruction] = []
        for handler in self._handlers[type(event)]:
            found += handler(event)
        self.journal.add(event, found)
        return found

    def handle_step(self, event: StepEvent) -> list[Any]:
        """Takes an event of a step; what is to be done about it, in that order. The event loses its values by that."""
        handler, brings_values = self._step_handlers[type(event)]
        found = handler(event)
        if self.step_record is not None:
            self.step_record.add(event, found)
        kept: Any = event
        if brings_values:
            kept.values = len(kept.values)
        elif type(event) in WITH_MORE:
            lighten(kept)
        journal = self.step_journal
        journal.handled += 1
        journal.events.append(kept)
        return found

    def journal_data(self, now: float) -> dict[str, Any]:
        """The journal as JSON has it, with what a replay needs to begin, and how the last steps ended."""
        return {
            **self._begun, "now": now, **self.journal.data(), "steps": self.master.data(now),
            "step_events": self.step_journal.data(),
        }  # fmt: skip

    def check(self) -> None:
        """BrokenInvariant if the state contradicts itself."""
        for machine in self._machines:
            machine.check()
        self.check_steps()

    def check_steps(self) -> None:
        """BrokenInvariant if the state of a step contradicts itself."""
        self.master.check()
        self.worker.check()


def _no_progress(parts: Any, feeds: Any, key: Any) -> Any:
    raise ValueError("no step can begin.")
