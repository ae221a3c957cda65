"""Membership: which other tasks of the cluster are there, as this task knows from their hellos and goodbyes.

A connection to another task begins with a hello, and a hello may ask for an answer. A task that has said hello is
connected. What it takes part in goes on until it says goodbye, its connection ends, or it was started again. Then all
of that ends at once, here and at every task that hears of it, and only another hello connects the task again. So no
message of an earlier connection, or of an earlier life, is taken for one of the present.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.protocol.sessions import Sessions
from graphflow._core.common.machine import Event, Instruction, Machine, Shared, hold, task_event
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import GREET_GONE_SECONDS

DIFFER: Final = "The ClusterSpecs of the two differ: give all tasks the same."


class MemberState(StrEnum):
    """What one task knows of another one."""

    UNKNOWN = "unknown"
    """It has not said hello to this life of the task."""
    CONNECTED = "connected"
    """It has said hello, and nothing has ended that since."""
    SUSPECTED = "suspected"
    """It was connected, and is asked by a hello whether it is there."""
    DEPARTED = "departed"
    """It was connected, and said goodbye; nothing is sent to it."""
    FAILED = "failed"
    """It was connected, and is gone without a goodbye; nothing is sent to it."""


@dataclass(frozen=True, slots=True)
class Hello(Shared):
    """What a task tells another one of itself and of the others, with its name and address.

    asks: the number of the hello that wants an answer; 0 if it wants none. answers: the number of the hello that it
    answers. in_use: whether it has a client. absent: tasks that it was connected to, and is not now. users: tasks of
    which it knows that they have a client.
    """

    asks: int
    answers: int
    in_use: bool
    absent: tuple[str, ...]
    users: tuple[str, ...]


# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class Listening(Event):
    """This task listens at an address, host:port."""

    address: str


@task_event
class TaskGreeted(Event):
    """Another task says hello, with the secret of the cluster.

    to: whom it means. at: where it says that it is; "" if it does not say so. incarnation: of its life, in hexadecimal.
    life: which of its lives that is, as its engine counts them; 0 if none does.
    """

    socket: bytes
    task: str
    to: str
    at: str
    incarnation: str
    devices: tuple[str, ...]
    hello: Hello
    life: int = 0


@task_event
class TaskWanted(Event):
    """Something is to be sent to a task, or somebody needs it, and the connection to it has not begun with a hello."""

    task: str


@task_event
class ConnectionLost(Event):
    """The connection to a task has ended."""

    task: str


@task_event
class TaskLeft(Event):
    """A task has said goodbye."""

    task: str


@task_event
class TaskUnreadable(Event):
    """A message of a task cannot be read: what it belongs to is lost."""

    task: str
    why: str


@task_event
class HelloFailed(Event):
    """A hello cannot be sent to a task, now or later."""

    task: str
    error: Mapping[str, Any]


@task_event
class AnswerOverdue(Event):
    """A task has not answered a query in time."""

    task: str


@task_event
class UseAnnounced(Event):
    """The other tasks are to hear that this one has a client."""


@task_event
class TaskSilent(Event):
    """This task may not serve now: it is connected to nobody, and says hello to nobody."""


@task_event
class TaskServes(Event):
    """This task may serve again: those that it was connected to are said hello to."""


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SayHello(Instruction):
    """Send a task a hello, and open a local channel to it if that can be."""

    task: str
    hello: Hello


@dataclass(frozen=True, slots=True)
class OpenChannel(Instruction):
    """Open a local channel to a task that has said hello, and was said hello to, if that can be."""

    task: str


@dataclass(frozen=True, slots=True)
class AcceptTask(Instruction):
    """A task is connected: note what its hello says of memory and channels, and tell who waits for it.

    new_life: it was not connected before in this life of its. in_use: whether it has a client.
    """

    task: str
    new_life: bool
    in_use: bool


@dataclass(frozen=True, slots=True)
class RefuseTask(Instruction):
    """Answer a hello of a task with an error; code is one of graphflow.errors."""

    socket: bytes
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class WarnTask(Instruction):
    """Answer a hello of a task with an error which says why it may hear no other answer."""

    socket: bytes
    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Disconnect(Instruction):
    """Close the connection to a task, and drop what was not sent."""

    task: str


@dataclass(frozen=True, slots=True)
class EndTask(Instruction):
    """End what a task takes part in, and the connection to it.

    incarnation: of the life that was connected. why: ends the sentence "The task ...". sockets: those that it had.
    """

    task: str
    incarnation: str
    why: str
    departed: bool
    sockets: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class SeparateTask(Instruction):
    """Drop the plans whose values go to or come from a task that does not answer."""

    task: str


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Member:
    """Another task. What its hello has said is there while it is connected."""

    task: str
    address: str
    state: MemberState = MemberState.UNKNOWN
    incarnation: str = ""
    """Of its life, while it is connected."""
    last: str = ""
    """The incarnation that it had when it was connected last."""
    life: int = 0
    """The latest of its lives that was heard of, as its engine counts them; what earlier ones say does not count."""
    greeted: bool = False
    """Whether the connection to it began with a hello, without which it takes nothing."""
    asked: int = 0
    """The number of the hello that wants an answer and has none yet; 0 if there is none."""
    greeted_at: float = 0.0
    """When it was said hello to last."""
    devices: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    """The tasks that it was connected to, and is not, as its hello says."""
    users: frozenset[str] = frozenset()
    """The tasks that have a client, as its hello says."""
    in_use: bool = False
    """Whether it had a client when it said hello last."""

    @property
    def was_there(self) -> bool:
        """Whether it was connected once, and is not now."""
        return self.state not in (MemberState.UNKNOWN, MemberState.CONNECTED)


class Membership(Machine):
    """The other tasks of one task's cluster.

    task: its name. incarnation: of this life of it, in hexadecimal. addresses: those of the other tasks. sessions: its
    clients, which are read here.
    """

    def __init__(self, task: str, incarnation: str, addresses: Mapping[str, str], sessions: Sessions) -> None:
        self.task = task
        self.address = ""
        """Where this task listens, once it does."""
        self.incarnation = incarnation
        self.members = {other: Member(other, address) for other, address in addresses.items()}
        self.sockets: dict[bytes, Member] = {}
        """The sockets of connected tasks."""
        self.tasks_by_incarnation: dict[int, str] = {}
        """The connected tasks."""
        self.silent = False
        """Whether this task may not serve now."""
        self.hellos = 0
        """How many hellos wanted an answer: the number of the last one."""
        self._sessions = sessions
        self.handlers = {
            Listening: self._listening, TaskGreeted: self._greeted, TaskWanted: self._wanted,
            ConnectionLost: self._connection_lost, TaskLeft: self._left, TaskUnreadable: self._unreadable,
            HelloFailed: self._hello_failed, AnswerOverdue: self._answer_overdue,
            UseAnnounced: self._use_announced, TaskSilent: self._fall_silent, TaskServes: self._serve_again,
        }  # fmt: skip

    # ---- questions, which change nothing ----

    def connected(self) -> list[Member]:
        """The tasks that are connected."""
        return [m for m in self.members.values() if m.state is MemberState.CONNECTED]

    def absent(self) -> set[str]:
        """The tasks that were there and are not, as this task or one that is connected knows."""
        connected = self.connected()
        found = {m.task for m in self.members.values() if m.was_there}
        return found.union(*(m.absent for m in connected)) - {m.task for m in connected}

    # ---- hellos ----

    def _listening(self, event: Listening) -> list[Instruction]:
        self.address = event.address
        return []

    def _greeted(self, event: TaskGreeted) -> list[Instruction]:
        refused = self._refusal(event)
        if refused is not None:
            return [refused]
        member, hello, now = self.members[event.task], event.hello, event.now
        found: list[Instruction] = []
        connected = member.state is MemberState.CONNECTED
        if hello.asks and event.at and event.at != member.address and not connected:
            # The two may mean the same; if not, this is why it hears no answer.
            text = f"{self.task} has {event.task} at {member.address}, while it says that it is at {event.at}. {DIFFER}"
            found.append(WarnTask(event.socket, errors.FAILED_PRECONDITION, text))
        if member.asked and not hello.asks and hello.answers != member.asked:
            return found  # It does not know yet that it was forgotten; what it says until then it will take back.
        if connected and member.incarnation != event.incarnation and event.life > member.life > 0:
            # There is no doubt which of the two is there: the engine has begun it after the other.
            found.append(self._end(member, "was started again"))
            connected = False
        if connected and member.incarnation != event.incarnation:
            # What a process has said last may come after what the next one says first: who is there will answer.
            return [*found, self._end(member, "was started again"), self._hello(member, now, True)]
        if connected and hello.asks:
            found.append(self._end(member, "had lost its connection to this task"))
        found.append(AcceptTask(event.task, member.last != event.incarnation, hello.in_use))
        member.state, member.asked = MemberState.CONNECTED, 0
        member.incarnation = member.last = event.incarnation
        member.life = max(member.life, event.life)
        member.devices, member.in_use = event.devices, hello.in_use
        member.absent, member.users = frozenset(hello.absent), frozenset(hello.users) - {self.task}
        self.sockets[event.socket] = member
        self.tasks_by_incarnation[int(event.incarnation, 16)] = event.task
        if hello.asks:
            found.append(self._hello(member, now, False, hello.asks))
        elif member.greeted:
            found.append(OpenChannel(event.task))
        return found

    def _refusal(self, event: TaskGreeted) -> RefuseTask | None:
        """What a hello is answered that cannot be of a task of this cluster."""
        name, code = event.task, errors.FAILED_PRECONDITION
        if name == self.task:
            text = f"{name} is at {self.address} already: two processes were started as this task."
        elif event.to != self.task:
            text = f"At {self.address} is {self.task}, and not {event.to}. {DIFFER}"
        elif name not in self.members:
            text = (
                f"{name} is not in the cluster of {self.task}, which has {', '.join(self.members)}. {DIFFER}"
            )
        elif 0 < event.life < self.members[name].life:
            text = (
                f"This is life {event.life} of {name}, and life {self.members[name].life} of it was begun since: "
                "what an earlier one says does not count any more."
            )
        else:
            code = errors.INTERNAL
            owner = self.tasks_by_incarnation.get(int(event.incarnation, 16), name)
            if event.incarnation == self.incarnation or owner != name:
                text = (
                    f"ValueError: A hello was wrong: {name} cannot have the incarnation {event.incarnation}."
                )
            elif event.socket in self._sessions.sockets:
                text = f"ValueError: A hello was wrong: A client calls itself {name}."
            else:
                return None
        return RefuseTask(event.socket, code, text)

    def _hello(self, member: Member, now: float, asks: bool, answers: int = 0) -> SayHello:
        """A hello. asks: it wants an answer, and nothing that the task has said before that is heard any more."""
        if asks:
            self.hellos += 1
        if asks or not member.greeted:
            member.asked = self.hellos if asks else 0
        if asks and member.was_there:
            member.state = MemberState.SUSPECTED
        member.greeted, member.greeted_at = True, now
        others = self.members.values()
        absent = tuple(m.task for m in others if m.was_there)
        users = tuple(m.task for m in others if m.state is MemberState.CONNECTED and m.in_use)
        number = member.asked if asks else 0
        return SayHello(member.task, Hello(number, answers, bool(self._sessions.users), absent, users))

    def want(self, task: str, now: float) -> list[Instruction]:
        """Says hello to a task unless the connection to it has begun with one; if it is not connected, it is asked."""
        member = self.members[task]
        if member.greeted or self.silent:
            return []
        return [self._hello(member, now, member.state is not MemberState.CONNECTED)]

    def _wanted(self, event: TaskWanted) -> list[Instruction]:
        return self.want(event.task, event.now)

    def _use_announced(self, event: UseAnnounced) -> list[Instruction]:
        return [self._hello(member, event.now, False) for member in self.connected()]

    def _fall_silent(self, event: TaskSilent) -> list[Instruction]:
        self.silent = True
        found: list[Instruction] = []
        for member in self.members.values():
            if member.state is MemberState.CONNECTED:
                found.append(self._end(member, "is not heard any more, since this task may not serve"))
            elif member.greeted:
                found.append(self._disconnect(member))
        return found

    def _serve_again(self, event: TaskServes) -> list[Instruction]:
        self.silent = False
        return [self._hello(m, event.now, True) for m in self.members.values() if m.was_there]

    # ---- ends ----

    def _connection_lost(self, event: ConnectionLost) -> list[Instruction]:
        member = self.members[event.task]
        found: list[Instruction] = [self._disconnect(member)]
        if member.state is MemberState.CONNECTED:
            found.append(self._end(member, "is gone"))
        if member.was_there and not self.silent:
            # If this direction alone was cut, it has to know that its plans are dropped.
            found.append(self._hello(member, event.now, True))
        return found

    def _left(self, event: TaskLeft) -> list[Instruction]:
        member = self.members[event.task]
        return [self._end(member, "has ended", True)] if member.state is MemberState.CONNECTED else []

    def _unreadable(self, event: TaskUnreadable) -> list[Instruction]:
        member = self.members[event.task]
        if member.state is not MemberState.CONNECTED:
            return []
        ended = self._end(member, f"sent what cannot be read ({event.why})")
        return [ended, self._hello(member, event.now, True)]

    def _hello_failed(self, event: HelloFailed) -> list[Instruction]:
        self._begins_anew(self.members[event.task])
        return []

    def _answer_overdue(self, event: AnswerOverdue) -> list[Instruction]:
        member = self.members[event.task]
        return [] if member.state is MemberState.CONNECTED else [self._disconnect(member)]

    def give_up(self, now: float, awaited: Collection[str]) -> list[Instruction]:
        """Gives up the tasks that do not answer, and that nobody awaits."""
        found: list[Instruction] = []
        for member in self.members.values():
            suspected = member.state is MemberState.SUSPECTED and member.task not in awaited
            if suspected and member.greeted_at < now - GREET_GONE_SECONDS:
                found += [self._disconnect(member), SeparateTask(member.task)]
        return found

    def _begins_anew(self, member: Member) -> None:
        """The connection to a task ends: the next one begins with a hello."""
        member.greeted, member.asked = False, 0
        if member.state is MemberState.SUSPECTED:
            member.state = MemberState.FAILED

    def _disconnect(self, member: Member) -> Disconnect:
        self._begins_anew(member)
        return Disconnect(member.task)

    def _end(self, member: Member, why: str, departed: bool = False) -> EndTask:
        self._begins_anew(member)
        member.state = MemberState.DEPARTED if departed else MemberState.FAILED
        incarnation, member.incarnation = member.incarnation, ""
        del self.tasks_by_incarnation[int(incarnation, 16)]
        sockets = tuple(socket for socket, owner in self.sockets.items() if owner is member)
        for socket in sockets:
            del self.sockets[socket]
        return EndTask(member.task, incarnation, why, departed, sockets)

    def check(self) -> None:
        """A task is connected exactly if it has an incarnation and a socket; who is asked is said hello to."""
        there = {m.task: m for m in self.connected()}
        greeted = [m.task for m in self.members.values() if m.greeted]
        hold(not (self.silent and greeted), f"This task is silent, and has said hello to {greeted}.")
        hold(
            {int(m.incarnation, 16): task for task, m in there.items()} == self.tasks_by_incarnation,
            f"{self.tasks_by_incarnation} are the tasks, and connected are {list(there)}.",
        )
        hold({m.task for m in self.sockets.values()} == there.keys(), "A task has no socket, or too many.")
        for m in self.members.values():
            hold(m.task in there or not m.incarnation, f"{m.task} is {m.state}, and has an incarnation.")
            hold(m.greeted or not m.asked, f"{m.task} is asked, and was not said hello to.")
            awaited = m.greeted and m.task not in there
            hold(awaited == bool(m.asked), f"{m.task} is {m.state}: is its answer awaited or not?")
            quiet = m.state in (MemberState.DEPARTED, MemberState.FAILED)
            hold(not (quiet and m.greeted), f"{m.task} is {m.state}, and was said hello to.")
            hold(m.state is not MemberState.SUSPECTED or m.greeted, f"{m.task} is suspected, and not asked.")
            hold(not m.was_there or bool(m.last), f"{m.task} is {m.state}, and was never connected.")
