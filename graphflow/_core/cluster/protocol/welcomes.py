"""Welcomes: clients that have said hello, and wait until the tasks that they want are connected.

A client is welcomed when all tasks that it wants are connected. A task that was there, and is not, need not be awaited
if the client says which tasks it cannot do without, and that one is none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.protocol.membership import (
    AnswerOverdue,
    HelloFailed,
    Membership,
    MemberState,
    TaskGreeted,
)
from graphflow._core.cluster.protocol.registrations import RegistrantGone
from graphflow._core.cluster.protocol.sessions import AcceptSocket, RefuseHello
from graphflow._core.common.machine import Event, Instruction, Machine, Tick, hold, task_event
from graphflow._core.common.records import dataclass

MOST_WAITING: Final = 4096
"""Clients that may wait for their welcome at once."""


# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class WelcomeAwaited(Event):
    """A socket of a session was accepted, as that instruction said, and waits for its welcome."""

    accepted: AcceptSocket


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Welcome(Instruction):
    """Answer a client's hello. incarnations, devices: of the other tasks that it wants and that are connected.

    in_use: whether the cluster has clients, as those tasks know.
    """

    socket: bytes
    request: int
    incarnations: Mapping[str, str]
    devices: tuple[str, ...]
    in_use: bool


@dataclass(frozen=True, slots=True)
class RefuseWelcome(Instruction):
    """Answer a client's hello with an error: that these tasks do not answer, or the one that is there."""

    socket: bytes
    request: int
    missing: tuple[str, ...]
    error: Mapping[str, Any] | None


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Waiting:
    """A client that waits for its welcome. needs: the tasks that it cannot do without; None for all."""

    request: int
    deadline: float
    wanted: tuple[str, ...]
    needs: tuple[str, ...] | None


class Welcomes(Machine):
    """The clients of one task that wait for their welcome. membership: the other tasks, which are asked for here."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self.waiting: dict[bytes, Waiting] = {}
        """By their sockets; in order, the one that waits for longest first."""
        self.handlers = {
            WelcomeAwaited: self._awaited, RegistrantGone: self._gone, TaskGreeted: self._look,
            AnswerOverdue: self._look, HelloFailed: self._hello_failed, Tick: self._tick,
        }  # fmt: skip

    def missing(self, waiting: Waiting) -> list[str]:
        """The tasks that a client still waits for."""
        members = self._membership.members
        found = [task for task in waiting.wanted if members[task].state is not MemberState.CONNECTED]
        if found and waiting.needs is not None:
            absent = self._membership.absent()
            found = [task for task in found if task not in absent or task in waiting.needs]
        return found

    def _awaited(self, event: WelcomeAwaited) -> list[Instruction]:
        accepted = event.accepted
        self.waiting.pop(accepted.socket, None)
        if len(self.waiting) >= MOST_WAITING:
            text = f"{MOST_WAITING} clients wait for {self._membership.task}, which is the most."
            return [RefuseHello(accepted.socket, accepted.request, errors.RESOURCE_EXHAUSTED, text)]
        deadline = event.now + accepted.seconds
        self.waiting[accepted.socket] = Waiting(accepted.request, deadline, accepted.wanted, accepted.needs)
        return self._look(event)

    def _gone(self, event: RegistrantGone) -> list[Instruction]:
        if event.request is None:
            self.waiting.pop(event.client, None)
        return []

    def _look(self, event: Event) -> list[Instruction]:
        """Welcomes those whose tasks are all there, and asks for the tasks that others wait for."""
        found: list[Instruction] = []
        for socket, waiting in list(self.waiting.items()):
            missing = self.missing(waiting)
            for task in missing:
                found += self._membership.want(task, event.now)
            if not missing:
                del self.waiting[socket]
                found.append(self._welcome(socket, waiting))
        return found

    def _welcome(self, socket: bytes, waiting: Waiting) -> Welcome:
        members = [self._membership.members[task] for task in waiting.wanted]
        there = [m for m in members if m.state is MemberState.CONNECTED]
        return Welcome(
            socket,
            waiting.request,
            {m.task: m.incarnation for m in there},
            tuple(device for m in there for device in m.devices),
            any(m.in_use or m.users for m in there),
        )

    def _hello_failed(self, event: HelloFailed) -> list[Instruction]:
        refused = [s for s, waiting in self.waiting.items() if event.task in self.missing(waiting)]
        return [RefuseWelcome(s, self.waiting.pop(s).request, (), event.error) for s in refused]

    def _tick(self, event: Tick) -> list[Instruction]:
        awaited = {task for waiting in self.waiting.values() for task in self.missing(waiting)}
        found = self._membership.give_up(event.now, awaited)
        found += self._look(event)
        for socket in [s for s, waiting in self.waiting.items() if waiting.deadline < event.now]:
            waiting = self.waiting.pop(socket)
            missing = tuple(sorted(self.missing(waiting)))
            found.append(RefuseWelcome(socket, waiting.request, missing, None))
        return found

    def check(self) -> None:
        """Who waits, waits for a task; all tasks that are awaited were said hello to, and the limit is kept."""
        members = self._membership.members
        for socket, waiting in self.waiting.items():
            missing = self.missing(waiting)
            hold(waiting.wanted != (), f"{socket.hex()} waits, and wants no task.")
            unknown = [task for task in missing if task not in members]
            hold(not unknown, f"{socket.hex()} waits for {unknown}, which are no tasks of the cluster.")
        hold(len(self.waiting) <= MOST_WAITING, "Too many clients wait.")
