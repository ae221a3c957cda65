"""What a task sends, to the other tasks and to its clients: to a task after a hello, if its connection is a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.peers import Peer
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.transport.keys import Access
from graphflow._core.transport.message import Kind, Message
from graphflow._core.transport.sharing import Sharing
from graphflow._core.transport.sockets import Sockets

_MOST_LINES: Final = 32
"""Lines of the journal that go with the word that a task cannot be reached."""


class Links:
    """What one task knows of the other tasks and sends to them and to clients. For the thread of the sockets.

    addresses: those of all tasks of the cluster. clock: seconds that never go back.
    """

    def __init__(
        self,
        task: str,
        addresses: Mapping[str, str],
        devices: Sequence[str],
        incarnation: int,
        protocol: TaskProtocol,
        sockets: Sockets,
        sharing: Sharing,
        access: Access,
        clock: Callable[[], float],
    ) -> None:
        self.task = task
        self.address = addresses[task]
        self.devices = list(devices)
        self.incarnation = incarnation
        self.peers = {t: Peer(t, address) for t, address in addresses.items() if t != task}
        self.by_address = {peer.address: peer for peer in self.peers.values()}
        self.senders: dict[bytes, Peer] = {}
        """The tasks whose sockets have said hello."""
        self.tasks_by_incarnation: dict[int, str] = {}
        """The other tasks that are there."""
        self.sockets = sockets
        self._protocol = protocol
        self._sharing = sharing
        self._access = access
        self._clock = clock
        self._hellos = count(1)

    def greet(self, peer: Peer, asks: bool, answers: int = 0) -> None:
        """Says hello. asks: whether it wants an answer; nothing that a task has said before that is heard any more."""
        if asks or not peer.greeted:
            peer.asked = next(self._hellos) if asks else 0
        others = self.peers.values()
        details = {"token": self._access.shown_at(peer.address), "task": self.task, "devices": self.devices,
                   "to": peer.task, "at": self.address,
                   "answer": peer.asked if asks else 0, "answers": answers,
                   "incarnation": f"{self.incarnation:x}", "in_use": bool(self._protocol.sessions.users),
                   "left": [p.task for p in others if p.left],
                   "users": [p.task for p in others if p.incarnation and p.in_use],
                   "memory": self._sharing.memory.address, "lane": self.sockets.listener_name}  # fmt: skip
        peer.greeted, peer.greeted_at = True, self._clock()
        self.sockets.send_to_peer(peer.address, Message(Kind.HELLO, details=details).frames())
        self.sockets.open_local_channel(peer.address, peer.listener)

    def to_peer(self, task: str, message: Message) -> None:
        """Sends to another task, after a hello if the connection has not begun with one."""
        peer = self.peers[task]
        if not peer.greeted:
            self.greet(peer, not peer.incarnation)
        share = self._sharing.share(task) if message.tensors else None
        self.sockets.send_to_peer(peer.address, message.frames(share))

    def is_there(self, task: str) -> bool:
        """Whether another task has said hello, and not ended since."""
        peer = self.peers.get(task)
        return peer is not None and bool(peer.incarnation)

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
            lines = self._protocol.journal.lines(self._clock(), _MOST_LINES)
            details = {**details, "journal": lines}
        self.sockets.reply(client, Message(Kind.FAILED, request, details=details).frames())

    def where(self, peer: Peer) -> str:
        """A task and its address, and why it does not answer, as far as that is known."""
        why = self.sockets.trouble(peer.address)
        return f"{peer.task} at {peer.address}" + (f" ({why.rstrip('.')})" if why else "")

    def say_goodbye(self) -> None:
        """Tells the tasks that are there that this one ends."""
        for peer in self.peers.values():
            if peer.incarnation:
                self.to_peer(peer.task, Message(Kind.BYE))
