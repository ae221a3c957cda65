"""Registrations: plans of clients of this task, of which every task is registering its subgraph.

A plan may be run once every task of it has registered its subgraph. Until then its registration is open; it ends by
being admitted, or by one refusal, of whichever task, or because its client, a task or its session has gone. The plan
itself is kept by the server, by its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import graphflow.errors as errors
from graphflow._core.cluster.protocol.sessions import WAS_RESET, SessionsReset
from graphflow._core.common.machine import Event, Instruction, Machine, hold, task_event
from graphflow._core.common.records import dataclass

# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class RegistrationAsked(Event):
    """A client registers a plan. number: given to it by this task; larger than all before. tasks: those of the plan."""

    client: bytes
    request: int
    number: int
    tasks: tuple[str, ...]


@task_event
class SubgraphRegistered(Event):
    """A task has registered its subgraph of a plan."""

    task: str
    number: int


@task_event
class SubgraphRefused(Event):
    """A task cannot register its subgraph of a plan, or has dropped it since another one is out of its reach."""

    task: str
    number: int
    error: Mapping[str, Any]


@task_event
class RegistrationFailed(Event):
    """A plan cannot be registered: this task has found why."""

    number: int
    error: Mapping[str, Any]


@task_event
class RegistrantGone(Event):
    """A client is not there any more, or does not want a request any more. request: that one; None for all of it."""

    client: bytes
    request: int | None
    error: Mapping[str, Any]


@task_event
class PartnerLost(Event):
    """A task is gone: what it has not answered it will not."""

    task: str
    error: Mapping[str, Any]


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AdmitPlan(Instruction):
    """Every task has its subgraph: let the client run the plan, and say so. If the client is gone, free the plan."""

    number: int
    client: bytes
    request: int


@dataclass(frozen=True, slots=True)
class RefuseRegistration(Instruction):
    """Free the subgraphs of a plan that tasks may have registered, and answer the client with an error."""

    number: int
    client: bytes
    request: int
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EndDroppedPlan(Instruction):
    """A task has dropped its subgraph of a plan whose registration has ended: if it is admitted, end its steps."""

    task: str
    number: int
    error: Mapping[str, Any]


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Registration:
    """A registration that is open. pending: the tasks that have not answered."""

    client: bytes
    request: int
    tasks: tuple[str, ...]
    pending: set[str]


class Registrations(Machine):
    """The registrations of one master that are open."""

    def __init__(self) -> None:
        self.open: dict[int, Registration] = {}
        self.handlers = {
            RegistrationAsked: self._asked, SubgraphRegistered: self._taken, SubgraphRefused: self._refused,
            RegistrationFailed: self._failed, RegistrantGone: self._registrant_gone,
            PartnerLost: self._partner_lost, SessionsReset: self._reset,
        }  # fmt: skip

    def _asked(self, event: RegistrationAsked) -> list[Instruction]:
        self.open[event.number] = Registration(event.client, event.request, event.tasks, set(event.tasks))
        return [] if event.tasks else self._admit(event.number)

    def _taken(self, event: SubgraphRegistered) -> list[Instruction]:
        found = self.open.get(event.number)
        if found is None or event.task not in found.pending:
            return []
        found.pending.remove(event.task)
        return [] if found.pending else self._admit(event.number)

    def _refused(self, event: SubgraphRefused) -> list[Instruction]:
        found = self.open.get(event.number)
        if found is None or event.task not in found.tasks:
            return [EndDroppedPlan(event.task, event.number, event.error)]
        return [self._refuse(event.number, event.error)]

    def _failed(self, event: RegistrationFailed) -> list[Instruction]:
        return [self._refuse(event.number, event.error)] if event.number in self.open else []

    def _registrant_gone(self, event: RegistrantGone) -> list[Instruction]:
        ended = [
            number
            for number, found in self.open.items()
            if found.client == event.client and event.request in (None, found.request)
        ]
        return [self._refuse(number, event.error) for number in ended]

    def _partner_lost(self, event: PartnerLost) -> list[Instruction]:
        ended = [number for number, found in self.open.items() if event.task in found.pending]
        return [self._refuse(number, event.error) for number in ended]

    def _reset(self, event: SessionsReset) -> list[Instruction]:
        error = {"code": errors.ABORTED, "message": WAS_RESET, "op": None}
        return [self._refuse(number, error) for number in list(self.open)]

    def _admit(self, number: int) -> list[Instruction]:
        found = self.open.pop(number)
        return [AdmitPlan(number, found.client, found.request)]

    def _refuse(self, number: int, error: Mapping[str, Any]) -> RefuseRegistration:
        found = self.open.pop(number)
        return RefuseRegistration(number, found.client, found.request, error)

    def check(self) -> None:
        """An open registration waits for some of its own tasks."""
        for number, found in self.open.items():
            hold(bool(found.pending), f"The registration {number} is open, and waits for nobody.")
            hold(found.pending <= set(found.tasks), f"The registration {number} waits for {found.pending}.")
