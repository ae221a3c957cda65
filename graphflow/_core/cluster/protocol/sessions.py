"""Sessions: the clients of a task, for how long each is taken to be there, and which of their requests were taken.

A client has one session and a socket for each of its threads. Its session is leased: any hello extends the lease, and
one that runs out ends the session, as a goodbye does. Who said goodbye is remembered, so that what another thread of
that client had on its way does not begin the session anew. Whether a task is in use, and since when it is idle, is a
question of its sessions as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Final

import graphflow.errors as errors
from graphflow._core.cluster.protocol.requests import RequestNumbers
from graphflow._core.common.machine import Event, Instruction, Machine, Tick, hold, task_event
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import IN_USE_SECONDS, LEASE_SECONDS

MOST_SOCKETS: Final = 16_384
"""Sockets of clients that are known at once; the one known for longest has to say hello again."""
MOST_SESSIONS: Final = 4096
"""Sessions at once, and sessions that said goodbye and are remembered."""
WAS_RESET: Final = "Session.reset() ended this session: make a new one."


# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class SessionGreeted(Event):
    """A client says hello. request: the number of that hello in its session.

    observer: it only asks how the cluster is, or stops it. alive: it only says that it is there, over whatever socket.
    incarnations: those of the tasks that its session knows, from its first welcome on. seconds: how long it waits for
    its welcome. wanted: the other tasks that it wants. needs: those that it cannot do without; None for all.
    """

    socket: bytes
    session: str
    observer: bool
    request: int
    alive: bool
    incarnations: Mapping[str, str]
    seconds: float
    wanted: tuple[str, ...]
    needs: tuple[str, ...] | None


@task_event
class RequestCame(Event):
    """A request came over a socket that is known; number: its number in the session."""

    socket: bytes
    number: int


@task_event
class SocketGone(Event):
    """The thread of a client has ended that had this socket, or its process has; its session may go on."""

    socket: bytes


@task_event
class SessionLeft(Event):
    """A client has said goodbye. given_up: whether its session was closed by a failure."""

    socket: bytes
    given_up: bool


@task_event
class SessionsReset(Event):
    """Session.reset() ends all sessions: they are there until they say goodbye, but register nothing any more."""


@task_event
class ClientWelcomed(Event):
    """The session of a socket is told which lives of the other tasks are there; what it knows already stays."""

    socket: bytes
    incarnations: Mapping[str, str]


@task_event
class PlanNeeds(Event):
    """The session of a socket registers a plan on other tasks. number: of the plan. incarnations: their lives now."""

    socket: bytes
    number: int
    incarnations: Mapping[str, str]


@task_event
class WasDeaf(Event):
    """The thread of the sockets was busy for so many seconds, in which nobody could be heard of."""

    seconds: float


@task_event
class UseHeardOf(Event):
    """Another task says that it has a client."""

    task: str


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoteSession(Instruction):
    """Note in the log that a session has begun."""

    session: str


@dataclass(frozen=True, slots=True)
class AcceptSocket(Instruction):
    """Messages of a socket are taken from now on; its hello is answered when the tasks that it wants are there."""

    socket: bytes
    request: int
    seconds: float
    wanted: tuple[str, ...]
    needs: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ForgetSocket(Instruction):
    """Forget what is shared with a socket that has to make place for another one."""

    socket: bytes


@dataclass(frozen=True, slots=True)
class RefuseHello(Instruction):
    """Answer a hello with an error; code is one of graphflow.errors."""

    socket: bytes
    request: int
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class RefuseRequest(Instruction):
    """Drop a request that came before; late: it did not, but is not awaited any more, and who sent it is to be told."""

    socket: bytes
    number: int
    late: bool


@dataclass(frozen=True, slots=True)
class RefusePlan(Instruction):
    """End the registration of a plan by an error: a task that it needs was started again since its session began."""

    number: int
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class EndSocket(Instruction):
    """End the steps and registrations of a socket whose client is gone."""

    socket: bytes


@dataclass(frozen=True, slots=True)
class EndSession(Instruction):
    """End the steps of a session, and free its plans and what it keeps. sockets: those that it had."""

    session: str
    observer: bool
    given_up: bool
    sockets: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class AnnounceUse(Instruction):
    """Tell the other tasks that this one has a client."""


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Session:
    """A session that is there. heard: when it was heard of last."""

    observer: bool
    heard: float
    requests: RequestNumbers = field(default_factory=RequestNumbers)
    incarnations: dict[str, str] | None = None
    """The lives of the tasks that it works with, once it was told: what it had on others is lost."""
    was_reset: bool = False


class Sessions(Machine):
    """The sessions of the clients of one task.

    task: its name. incarnation: of this life of it, in hexadecimal. now: when it began, as in events.
    """

    def __init__(self, task: str, incarnation: str, now: float) -> None:
        self.task = task
        self.incarnation = incarnation
        self.sessions: dict[str, Session] = {}
        self.sockets: dict[bytes, str] = {}
        """The session that each socket of a client belongs to; in order, the one known for longest first."""
        self.departed: dict[str, None] = {}
        """Sessions that have said goodbye; in order, the oldest first."""
        self.users = 0
        """How many sessions there are beside those of observers."""
        self.last_use = now
        """When a client, here or on another task, was heard of last, if there is none here now."""
        self.announced = now
        """When the other tasks were told last that this one is in use."""
        self.handlers = {
            SessionGreeted: self._greeted, RequestCame: self._request_came, SocketGone: self._socket_gone,
            SessionLeft: self._left, SessionsReset: self._reset, ClientWelcomed: self._welcomed,
            PlanNeeds: self._plan_needs, WasDeaf: self._was_deaf, UseHeardOf: self._use_heard_of, Tick: self._tick,
        }  # fmt: skip

    # ---- questions, which change nothing ----

    def of(self, socket: bytes) -> Session:
        """The session of a socket that is known."""
        return self.sessions[self.sockets[socket]]

    def was_reset(self, session: str) -> bool:
        """Whether Session.reset() has ended a session that may not know it yet; from any thread."""
        found = self.sessions.get(session)
        return found is not None and found.was_reset

    def idle_seconds(self, now: float) -> float:
        """For how long neither a client nor another task that has one was heard of; from any thread."""
        return 0.0 if self.users else now - self.last_use

    # ---- what happens ----

    def _greeted(self, event: SessionGreeted) -> list[Instruction]:
        name = event.session
        if event.incarnations.get(self.task, self.incarnation) != self.incarnation:
            return [_refuse(event, errors.ABORTED, started_again(self.task))]
        if name in self.departed:
            if event.alive:
                return []  # It was on its way, over another socket, when the client said goodbye.
            return [_refuse(event, errors.ABORTED, f"{self.task} has ended this session: it said goodbye.")]
        found: list[Instruction] = []
        session = self.sessions.get(name)
        if session is None:
            if len(self.sessions) >= MOST_SESSIONS:
                text = f"{self.task} has {MOST_SESSIONS} sessions, which is the most."
                return [_refuse(event, errors.RESOURCE_EXHAUSTED, text)]
            session = self.sessions[name] = Session(event.observer, event.now)
            if not event.observer:
                self.users += 1
                self.announced = -math.inf  # The other tasks are told at the next tick.
                found.append(NoteSession(name))
        session.heard = event.now
        session.requests.take(event.request)
        if event.alive:
            return found
        if event.socket not in self.sockets and len(self.sockets) >= MOST_SOCKETS:
            oldest = next(iter(self.sockets))
            del self.sockets[oldest]
            found.append(ForgetSocket(oldest))
        self.sockets[event.socket] = name
        if event.incarnations:
            session.incarnations = dict(event.incarnations)
        accepted = AcceptSocket(event.socket, event.request, event.seconds, event.wanted, event.needs)
        return [*found, accepted]

    def _request_came(self, event: RequestCame) -> list[Instruction]:
        requests = self.sessions[self.sockets[event.socket]].requests
        if requests.take(event.number):
            return []
        return [RefuseRequest(event.socket, event.number, requests.is_late(event.number))]

    def _socket_gone(self, event: SocketGone) -> list[Instruction]:
        known = self.sockets.pop(event.socket, None) is not None
        return [EndSocket(event.socket)] if known else []

    def _left(self, event: SessionLeft) -> list[Instruction]:
        name = self.sockets[event.socket]
        self.departed[name] = None
        if len(self.departed) > MOST_SESSIONS:
            del self.departed[next(iter(self.departed))]
        return [self._end(name, event.given_up, event.now)]

    def _reset(self, event: SessionsReset) -> list[Instruction]:
        for session in self.sessions.values():
            session.was_reset = session.was_reset or not session.observer
        return []

    def _welcomed(self, event: ClientWelcomed) -> list[Instruction]:
        session = self.of(event.socket)
        if session.incarnations is None:
            session.incarnations = dict(event.incarnations)
        return []

    def _plan_needs(self, event: PlanNeeds) -> list[Instruction]:
        session = self.of(event.socket)
        if session.incarnations is None:
            session.incarnations = {}
        for task, incarnation in event.incarnations.items():
            if session.incarnations.setdefault(task, incarnation) != incarnation:
                return [RefusePlan(event.number, errors.ABORTED, started_again(task))]
        return []

    def _was_deaf(self, event: WasDeaf) -> list[Instruction]:
        for session in self.sessions.values():
            session.heard += event.seconds
        return []

    def _use_heard_of(self, event: UseHeardOf) -> list[Instruction]:
        self.last_use = event.now
        return []

    def _tick(self, event: Tick) -> list[Instruction]:
        late = [name for name, session in self.sessions.items() if session.heard < event.now - LEASE_SECONDS]
        found: list[Instruction] = [self._end(name, True, event.now) for name in late]
        if self.users and event.now - self.announced > IN_USE_SECONDS:
            self.announced = event.now
            found.append(AnnounceUse())
        return found

    def _end(self, name: str, given_up: bool, now: float) -> EndSession:
        session = self.sessions.pop(name)
        if not session.observer:
            self.users -= 1
            self.last_use = now
        sockets = tuple(socket for socket, owner in self.sockets.items() if owner == name)
        for socket in sockets:
            del self.sockets[socket]
        return EndSession(name, session.observer, given_up, sockets)

    def check(self) -> None:
        """Each socket has a session, none that said goodbye is there, and the counts and limits are kept."""
        for socket, name in self.sockets.items():
            hold(name in self.sessions, f"The socket {socket.hex()} belongs to {name}, which is not there.")
        both = self.sessions.keys() & self.departed.keys()
        hold(not both, f"{both} have said goodbye, and are there.")
        users = sum(not session.observer for session in self.sessions.values())
        hold(users == self.users, f"{users} sessions use the task, counted are {self.users}.")
        hold(
            len(self.sessions) <= MOST_SESSIONS and len(self.departed) <= MOST_SESSIONS, "Too many sessions."
        )
        hold(len(self.sockets) <= MOST_SOCKETS, "Too many sockets.")
        observers = [n for n, session in self.sessions.items() if session.observer and session.was_reset]
        hold(not observers, f"{observers} only observe, and were reset.")


def started_again(task: str) -> str:
    """What a session is told that knew a task before it was started again."""
    return (
        f"The task {task} was started again: the variables and whatever else it held for this session are lost. "
        "Make a new session, and restore or initialize them."
    )


def _refuse(event: SessionGreeted, code: int, message: str) -> RefuseHello:
    return RefuseHello(event.socket, event.request, code, message)
