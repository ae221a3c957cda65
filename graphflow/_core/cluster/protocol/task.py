"""The state machines of one task, behind one entry: an event comes in, instructions for the server go out.

What the server may read of the state between two events it reads from the machines; only `handle` changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from graphflow._core.cluster.protocol.journal import Journal
from graphflow._core.cluster.protocol.machine import Event, Instruction
from graphflow._core.cluster.protocol.queries import Queries
from graphflow._core.cluster.protocol.registrations import Registrations
from graphflow._core.cluster.protocol.sessions import Sessions


class TaskProtocol:
    """What a task does at each event. For one thread, but for what says otherwise.

    task: its name. incarnation: of this life of it, in hexadecimal. others: the other tasks of its cluster. now: when
    it begins, as in events. journal: where events are kept.
    """

    def __init__(
        self,
        task: str,
        incarnation: str,
        others: Collection[str],
        now: float,
        journal: Journal | None = None,
    ) -> None:
        self._begun: dict[str, Any] = {
            "task": task, "incarnation": incarnation, "others": list(others), "begun": now,
        }  # fmt: skip
        self.sessions = Sessions(task, incarnation, now)
        self.queries = Queries(others)
        self.registrations = Registrations()
        self.journal = Journal() if journal is None else journal
        self._handlers: dict[type[Event], list[Callable[[Any], list[Instruction]]]] = {}
        for machine in (self.sessions, self.queries, self.registrations):
            for kind, handler in machine.handlers.items():
                self._handlers.setdefault(kind, []).append(handler)

    def handle(self, event: Event) -> list[Instruction]:
        """Takes an event; what is to be done about it, in that order."""
        found: list[Instruction] = []
        for handler in self._handlers[type(event)]:
            found += handler(event)
        self.journal.add(event, found)
        return found

    def journal_data(self, now: float) -> dict[str, Any]:
        """The journal as JSON has it, with what a replay needs to begin."""
        return {**self._begun, "now": now, **self.journal.data()}

    def check(self) -> None:
        """BrokenInvariant where the state contradicts itself."""
        self.sessions.check()
        self.queries.check()
        self.registrations.check()
