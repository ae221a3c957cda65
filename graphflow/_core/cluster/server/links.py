"""What a task sends, to the other tasks and to its clients: to a task after a hello, if its connection is a new one.

Which tasks are connected, and when a hello is due, is in graphflow/_core/cluster/protocol/membership.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.machine_journals import Block, MachineJournals
from graphflow._core.cluster.protocol.membership import (
    Disconnect,
    HelloFailed,
    Member,
    OpenChannel,
    SayHello,
    TaskSilent,
    TaskWanted,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.server.admin import CarryOut, Tell
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.keys import Access
from graphflow._core.transport.sharing import Sharing
from graphflow._core.transport.sockets import Sockets

_MOST_LINES: Final = 32
"""Lines of the journal that go with the word that a task cannot be reached."""
_MOST_MACHINE_LINES: Final = 12
"""Those of them that may be of rounds and groups of collectives."""


class Links:
    """The ways from one task to the others and to its clients. For the thread of the sockets.

    tell: gives an event to the task's protocol, and carries out what comes of it. clock: seconds that never go back.
    journals: those of the task's rounds and groups.
    """

    def __init__(
        self,
        devices: Sequence[str],
        incarnation: int,
        protocol: TaskProtocol,
        sockets: Sockets,
        sharing: Sharing,
        access: Access,
        tell: Tell,
        clock: Callable[[], float],
        journals: MachineJournals,
    ) -> None:
        self.task = protocol.membership.task
        self.devices = list(devices)
        self.incarnation = incarnation
        self.members = protocol.membership.members
        """The other tasks."""
        self.tasks_by_incarnation = protocol.membership.tasks_by_incarnation
        """Those that are connected."""
        self.sockets = sockets
        self.listeners: dict[str, str] = {}
        """Where tasks of this machine accept local channels, as their hellos say."""
        self._unsent: dict[str, OSError] = {}
        """Why a hello could not be sent, by task."""
        self._protocol = protocol
        self._sharing = sharing
        self._access = access
        self._tell = tell
        self._clock = clock
        self.journals = journals
        self.life = 0
        """Which life of the task this is, as its engine or its pod counts them; 0 if none does."""
        self.carry_out: CarryOut = {
            SayHello: self._say_hello, OpenChannel: self._open_channel, Disconnect: self._disconnect,
        }  # fmt: skip

    @property
    def address(self) -> str:
        """Where this task listens."""
        return self._protocol.membership.address

    def _say_hello(self, i: SayHello, message: Message | None) -> None:
        address, hello = self.members[i.task].address, i.hello
        details = {"token": self._access.shown_at(address), "task": self.task, "devices": self.devices,
                   "to": i.task, "at": self.address, "answer": hello.asks, "answers": hello.answers,
                   "incarnation": f"{self.incarnation:x}", "in_use": hello.in_use, "left": list(hello.absent),
                   "users": list(hello.users), "memory": self._sharing.memory.address,
                   "lane": self.sockets.channels.name, "life": self.life}  # fmt: skip
        self._unsent.pop(i.task, None)
        try:
            self.sockets.send_to_peer(address, Message(Kind.HELLO, details=details).frames())
        except OSError as error:  # It is on another machine, and there are no keys.
            self._unsent[i.task] = error
            self._tell(HelloFailed(self._clock(), i.task, as_details(error)))
            return
        self.sockets.channels.open(address, self.listeners.get(i.task, ""))

    def _open_channel(self, i: OpenChannel, message: Message | None) -> None:
        self.sockets.channels.open(self.members[i.task].address, self.listeners.get(i.task, ""))

    def _disconnect(self, i: Disconnect, message: Message | None) -> None:
        self.sockets.disconnect(self.members[i.task].address)

    def want(self, task: str) -> None:
        """Says hello to a task, unless the connection to it has begun with one. OSError if that cannot be sent."""
        if not self.members[task].greeted:
            self._tell(TaskWanted(self._clock(), task))
            error = self._unsent.get(task)
            if error is not None:
                raise error

    def to_peer(self, task: str, message: Message) -> None:
        """Sends to another task, after a hello if the connection has not begun with one."""
        member = self.members[task]
        if not member.greeted:
            self.want(task)
            if not member.greeted:
                return  # This task may not serve now, and says nothing.
        share = self._sharing.shares.get(task) if message.tensors else None
        self.sockets.send_to_peer(member.address, message.frames(share))

    def check_master(self, peer: Member, message: Message) -> None:
        """ValueError unless the number `a` of a message is the incarnation of the task that sends it."""
        if self.tasks_by_incarnation.get(message.a) != peer.task:
            raise ValueError("only the master of a step may send this.")

    def is_there(self, task: str) -> bool:
        """Whether another task of the cluster is connected."""
        member = self.members.get(task)
        return member is not None and bool(member.incarnation)

    def to_master(self, incarnation: int, message: Message) -> None:
        """Sends to the master of that incarnation, if it is still there."""
        task = self.tasks_by_incarnation.get(incarnation)
        if task is not None:
            self.to_peer(task, message)

    def reply(self, client: bytes, message: Message) -> None:
        """Sends to a client."""
        self.sockets.reply(client, message.frames())

    def fail(self, client: bytes, request: int, details: Mapping[str, Any]) -> None:
        """Answers a request of a client by an error; if a task cannot be reached, with what is known of it."""
        if details.get("code") == errors.UNAVAILABLE:
            details = {**details, "journal": self._journal_lines()}
        self.sockets.reply(client, Message(Kind.FAILED, request, details=details).frames())

    def _journal_lines(self) -> list[str]:
        """The last lines of the journal; those of rounds and groups, which are many, leave room for the task's own."""
        now = self._clock()
        machines = _last(self.journals.blocks(now), _MOST_MACHINE_LINES)
        room = _MOST_LINES - sum(len(lines) for _, lines in machines)
        journal = self._protocol.journal
        own = _last([(e.event.now - now, journal.lines_of(e, now)) for e in journal.entries], room)
        return [line for _, lines in sorted([*own, *machines], key=lambda b: b[0]) for line in lines]

    def silence(self) -> None:
        """Tells the tasks that are connected that this one does not serve any more; then says nothing."""
        self.say_goodbye()
        self._tell(TaskSilent(self._clock()))

    def where(self, task: str) -> str:
        """A task and its address, and why it does not answer, as far as that is known."""
        address = self.members[task].address
        why = self.sockets.trouble(address)
        return f"{task} at {address}" + (f" ({why.rstrip('.')})" if why else "")

    def say_goodbye(self) -> None:
        """Tells the tasks that are connected that this one ends."""
        for member in self._protocol.membership.connected():
            self.to_peer(member.task, Message(Kind.BYE))


def _last(blocks: Sequence[Block], most: int) -> list[Block]:
    """The last blocks that have so many lines together; the first of them may have lost its beginning."""
    found: list[Block] = []
    for age, lines in reversed(blocks):
        if most <= 0:
            break
        found.append((age, lines[-most:]))
        most -= len(lines)
    return found[::-1]
