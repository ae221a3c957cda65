"""Subgraphs: what masters register of their plans at one task, and which sessions have members of groups there.

A subgraph comes once. It is read by the server, since it brings code, and is then registered, or refused with what is
wrong with it. It is there until its master releases it or ends, or until a task that it exchanges values with is out of
reach: values may be lost then, so it is dropped, and its master is told.

A member of a group of collectives is a device, and takes part for one session at a time: if a subgraph of another
session comes that runs collectives on it, the first session is through with it. What a step does with a registered
subgraph is in task_steps.py; which plans of its own clients a master waits for is in registrations.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphflow._core.cluster.protocol.task_steps import StepKey
from graphflow._core.common.machine import Event, Instruction, Machine, hold, task_event
from graphflow._core.common.records import dataclass

Owner = tuple[int, str]
"""The incarnation of a master, and a session of it."""
GroupMember = tuple[int, str]
"""The key of a group, and a device."""

# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class SubgraphOffered(Event):
    """A master registers its subgraph here. executable: the master's incarnation, and its number there."""

    executable: StepKey
    session: str


@task_event
class SubgraphRead(Event):
    """A subgraph was read, and can be run. members: those that it runs collectives of. partners: the other tasks that
    it sends values to or receives them from.
    """

    executable: StepKey
    members: tuple[GroupMember, ...]
    partners: tuple[str, ...]


@task_event
class SubgraphUnreadable(Event):
    """A subgraph cannot be run here."""

    executable: StepKey
    error: Mapping[str, Any]


@task_event
class SubgraphReleased(Event):
    """A master wants an executable no more."""

    executable: StepKey


@task_event
class PartnerUnreachable(Event):
    """A task is out of reach: values that go to or come from it may be lost."""

    task: str
    error: Mapping[str, Any]


@task_event
class SubgraphsEnded(Event):
    """All that a master has registered ends: it is gone, or its state was reset."""

    incarnation: int


@task_event
class OwnerGone(Event):
    """A session of a master has ended, or (None) all of them. given_up: the others must not go on without it."""

    incarnation: int
    session: str | None
    given_up: bool


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadSubgraph(Instruction):
    """Read a subgraph: tell of it by `SubgraphRead` or `SubgraphUnreadable`."""

    executable: StepKey
    session: str


@dataclass(frozen=True, slots=True)
class KeepSubgraph(Instruction):
    """Let steps of a subgraph begin that was read, and tell its master."""

    executable: StepKey


@dataclass(frozen=True, slots=True)
class RefuseSubgraph(Instruction):
    """Tell the master of a subgraph that it cannot be run here."""

    executable: StepKey
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DropSubgraph(Instruction):
    """Let no step of a subgraph begin any more, and tell its master, which has to end those that run."""

    executable: StepKey
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LeaveGroups(Instruction):
    """Members leave their groups, since the session is through with them that they took part for."""

    members: tuple[GroupMember, ...]
    given_up: bool


@dataclass(frozen=True, slots=True)
class FreeKept(Instruction):
    """Free what operations have kept for a session of a master; session None: for all of them."""

    incarnation: int
    session: str | None


# ---- the machine ----------------------------------------------------------------------------------------------------


class Subgraphs(Machine):
    """What masters have registered at one task."""

    def __init__(self) -> None:
        self.reading: dict[StepKey, str] = {}
        """The subgraphs that are being read, with their sessions."""
        self.registered: dict[StepKey, tuple[str, ...]] = {}
        """The subgraphs that are there, with the tasks that they exchange values with."""
        self.latest: dict[int, int] = {}
        """The number of the executable that each master has registered last; it numbers them upwards."""
        self.members: dict[GroupMember, Owner] = {}
        """The members that sessions have here."""
        self.handlers = {
            SubgraphOffered: self._offered, SubgraphRead: self._read, SubgraphUnreadable: self._unreadable,
            SubgraphReleased: self._released, PartnerUnreachable: self._partner_unreachable,
            SubgraphsEnded: self._ended, OwnerGone: self._owner_gone,
        }  # fmt: skip

    def _offered(self, event: SubgraphOffered) -> list[Instruction]:
        master, number = event.executable
        if number <= self.latest.get(master, 0) or event.executable in self.reading:
            return []  # It came twice.
        self.reading[event.executable] = event.session
        return [ReadSubgraph(event.executable, event.session)]

    def _read(self, event: SubgraphRead) -> list[Instruction]:
        session = self.reading.pop(event.executable, None)
        if session is None:
            return []
        master, number = event.executable
        owner = master, session
        taken_over = tuple(m for m in event.members if self.members.get(m, owner) != owner)
        self.members.update(dict.fromkeys(event.members, owner))
        self.latest[master] = max(number, self.latest.get(master, 0))
        self.registered[event.executable] = event.partners
        left: list[Instruction] = [LeaveGroups(taken_over, True)] if taken_over else []
        return [*left, KeepSubgraph(event.executable)]

    def _unreadable(self, event: SubgraphUnreadable) -> list[Instruction]:
        known = self.reading.pop(event.executable, None) is not None
        return [RefuseSubgraph(event.executable, event.error)] if known else []

    def _released(self, event: SubgraphReleased) -> list[Instruction]:
        self.registered.pop(event.executable, None)
        return []

    def _partner_unreachable(self, event: PartnerUnreachable) -> list[Instruction]:
        found = [executable for executable, partners in self.registered.items() if event.task in partners]
        for executable in found:
            del self.registered[executable]
        return [DropSubgraph(executable, event.error) for executable in found]

    def _ended(self, event: SubgraphsEnded) -> list[Instruction]:
        for known in (self.reading, self.registered):
            for executable in [e for e in known if e[0] == event.incarnation]:
                del known[executable]
        return []

    def _owner_gone(self, event: OwnerGone) -> list[Instruction]:
        members = tuple(
            member
            for member, (incarnation, session) in self.members.items()
            if incarnation == event.incarnation and event.session in (None, session)
        )
        for member in members:
            del self.members[member]
        left: list[Instruction] = [LeaveGroups(members, event.given_up)] if members else []
        return [FreeKept(event.incarnation, event.session), *left]

    def check(self) -> None:
        """What is there was registered, and is not being read."""
        for executable in self.registered:
            master, number = executable
            hold(number <= self.latest.get(master, 0), f"The subgraph {executable} was never registered.")
            hold(executable not in self.reading, f"The subgraph {executable} is there, and is being read.")
