"""Who may send to a task: clients that begin a session, and other tasks.

A message of somebody who has not said hello with the secret is not read beyond its header. It is counted, and answered
at a bounded rate if it may be of a client that this task has forgotten. Reading a message never runs code of the
sender's; plans, which may bring functions, come after this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details, details_of
from graphflow._core.cluster.peers import Greeting, Peer, passes
from graphflow._core.cluster.protocol.queries import DropUnsent, NumbersBeginAnew
from graphflow._core.cluster.protocol.sessions import (
    AcceptSocket,
    AnnounceUse,
    ClientWelcomed,
    ForgetSocket,
    RefuseHello,
    RefuseRequest,
    RequestCame,
    SessionGreeted,
    UseHeardOf,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.server.admin import CarryOut, Tell
from graphflow._core.cluster.server.collectives import CollectiveLink
from graphflow._core.cluster.server.fields import name_of, seconds_of, text_of
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.subgraphs import Subgraphs
from graphflow._core.common.timeouts import CONNECT_SECONDS, GREET_GONE_SECONDS, MOST_CONNECT_SECONDS
from graphflow._core.resources.services import AbsentTasks
from graphflow._core.transport import token
from graphflow._core.transport.dropped import Rate
from graphflow._core.transport.keys import Access
from graphflow._core.transport.message import VERSION, Kind, Message, peek
from graphflow._core.transport.shared import SharedMemoryError
from graphflow._core.transport.sharing import Sharing
from graphflow._core.transport.tensors import BadMessage, Buffer

MOST_GREETINGS: Final = 4096
"""Clients that may wait for their welcome at once."""
ANSWERS_A_SECOND: Final = 50
"""Answers to strangers: what they do not fetch is kept for them."""
_MOST_UNANSWERED: Final = 4096
_OBSERVER: Final = "observer "
"""How the session of a client is called here that only asks how the cluster is, or stops it."""
_REQUESTS: Final = frozenset([Kind.RUN, Kind.REGISTER, Kind.STATUS, Kind.RESET, Kind.STOP])
_OF_LINKS: Final = frozenset([Kind.HELLO, Kind.LOCAL_CHANNEL])
_MISTAKES: Final = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError)
"""What reading a message's fields raises where they are not what they should be."""


class Receiver(Protocol):
    """What takes the messages of those who have said hello."""

    def from_peer(self, peer: Peer, message: Message) -> None:
        """Another task has sent a message."""

    def from_client(self, client: bytes, message: Message) -> None:
        """A client has sent a message; whatever is raised is the answer."""

    def task_ended(self, peer: Peer, what: str) -> None:
        """A task is not there any more, of which the sentence "The task {what}." says why."""


class Handshake:
    """Who may send to one task. For the thread of the sockets.

    tell: gives an event to the task's protocol, and carries out what comes of it. receiver: takes what is for it.
    clock: seconds that never go back.
    """

    def __init__(
        self,
        links: Links,
        protocol: TaskProtocol,
        sharing: Sharing,
        access: Access,
        subgraphs: Subgraphs,
        groups: CollectiveLink,
        absent: AbsentTasks,
        tell: Tell,
        receiver: Receiver,
        clock: Callable[[], float],
    ) -> None:
        self._links = links
        self._task = links.task
        self._sockets = links.sockets
        self._protocol = protocol
        self._sessions = protocol.sessions
        self._sharing = sharing
        self._access = access
        self._subgraphs = subgraphs
        self._groups = groups
        self._absent = absent
        self._tell = tell
        self._receiver = receiver
        self._clock = clock
        self.waiting: list[Greeting] = []
        """The clients that wait for their welcome."""
        self._answers = Rate(ANSWERS_A_SECOND, clock)
        self._unanswered: deque[tuple[bytes, int, Mapping[str, Any]]] = deque(maxlen=_MOST_UNANSWERED)
        """The requests of strangers that are still to be answered; what is beyond that never is."""
        self.carry_out: CarryOut = {
            AcceptSocket: self._accept_socket, ForgetSocket: self._forget_socket, RefuseHello: self._refuse_hello,
            RefuseRequest: self._refuse_request, DropUnsent: self._drop_unsent, AnnounceUse: self._announce_use,
        }  # fmt: skip

    def knows(self, sender: bytes) -> bool:
        """Whether the socket of that identity has said hello with the secret."""
        return sender in self._sessions.sockets or sender in self._links.senders

    def received(self, sender: bytes, frames: Sequence[Buffer]) -> None:
        """A message came. What is none, and what comes from a stranger, is dropped."""
        peer = self._links.senders.get(sender)
        if peer is None and sender not in self._sessions.sockets and not self._may_greet(sender, frames):
            return
        try:
            message = Message.of(frames, self._sharing.of(sender if peer is None else peer.task))
        except SharedMemoryError as error:
            self.unreadable(sender, error)
            return
        except BadMessage as error:
            self._sockets.dropped.add(str(error))
            return
        if message.kind in _OF_LINKS:
            if message.kind is Kind.HELLO:
                self._hello(sender, message)
            else:
                self._sockets.accept_local_channel(sender, message.details.get("secret"))
        elif peer is not None:
            try:
                self._receiver.from_peer(peer, message)
            except _MISTAKES as error:
                self._sockets.dropped.add(
                    f"{message.kind.name} of {peer.task}: {type(error).__name__}: {error}"
                )
        else:
            request = message.kind in _REQUESTS
            if request and self._tell(RequestCame(self._clock(), sender, message.a), message):
                return  # It was refused.
            try:
                self._receiver.from_client(sender, message)
            except Exception as error:  # Any request is answered: nobody may wait for ever.
                self._links.fail(sender, message.a, as_details(error))

    def unreadable(self, sender: bytes, error: SharedMemoryError) -> None:
        """What somebody sent is gone, or this process cannot open it: what it belongs to ends."""
        peer = self._links.senders.get(sender)
        if peer is not None:
            self._receiver.task_ended(peer, f"sent what cannot be read ({error})")
            self._links.greet(peer, True)
        elif sender in self._sessions.sockets:
            text = f"{self._task} cannot read what the client sent: {error}."
            self._links.fail(sender, 0, as_details(errors.UnavailableError(None, None, text)))

    def _may_greet(self, sender: bytes, frames: Sequence[Buffer]) -> bool:
        """Whether a stranger's message may be a hello; what is none is dropped."""
        found = peek(frames)
        if found is None:
            self._sockets.dropped.add("A stranger's message is none of graphflow's.")
            return False
        version, kind, tensors, request = found
        if version == VERSION and kind == Kind.HELLO and not tensors:
            return True
        if version != VERSION:
            text = f"{self._task} speaks version {VERSION} of the protocol, not {version}."
            self._answer_stranger(sender, request, errors.FailedPreconditionError(None, None, text))
        elif kind in _REQUESTS:
            text = f"{self._task} does not know this client: it was silent for too long, or the task is a new one."
            self._answer_stranger(sender, request, errors.AbortedError(None, None, text))
        self._sockets.dropped.add("A stranger's message is no hello.")
        return False

    def _answer_stranger(self, sender: bytes, request: int, error: Exception) -> None:
        """Answers, now or when the rate allows it: it may be one of many clients that were forgotten at once."""
        details = as_details(error) | {"stranger": True}
        if not self._unanswered and self._answers.allows():
            self._links.fail(sender, request, details)
        else:
            self._unanswered.append((sender, request, details))

    def _answer_strangers(self) -> None:
        while self._unanswered and self._answers.allows():
            self._links.fail(*self._unanswered.popleft())

    # ---- hellos ---------------------------------------------------------------------------------------------------

    def _hello(self, sender: bytes, message: Message) -> None:
        details = message.details
        if not token.same(self._access.shown_at(self._links.address), details.get("token")):
            self._sockets.dropped.add("A hello has not the right token.")
            self._answer_stranger(
                sender,
                0,
                errors.UnauthenticatedError(None, None, f"{self._task} {self._access.other_token}."),
            )
            return
        try:
            if "task" in details:
                self._meet(sender, details)
            else:
                self._greet_client(sender, message)
        except (*_MISTAKES, OSError, errors.OpError) as error:
            self._sockets.dropped.add(f"A hello was wrong: {error}")
            if "task" in details:
                found = (
                    error if isinstance(error, errors.OpError) else ValueError(f"A hello was wrong: {error}")
                )
                self._answer_stranger(sender, 0, found)
            else:
                self._links.fail(sender, message.a, as_details(error))

    def _greet_client(self, sender: bytes, message: Message) -> None:
        details = message.details
        observes, alive = bool(details.get("observer")), bool(details.get("alive"))
        session = f"{_OBSERVER if observes else ''}{name_of(details, 'session')}"
        filters = [text_of(f) for f in details.get("filters") or ()]
        seconds = seconds_of(details, CONNECT_SECONDS, MOST_CONNECT_SECONDS)
        wanted = tuple(task for task in self._links.peers if not observes and passes(task, filters))
        needs = details.get("needs")
        needed = None if needs is None else tuple(task for task in wanted if needs and passes(task, needs))
        known = {text_of(task): text_of(i) for task, i in dict(details.get("incarnations") or {}).items()}
        event = SessionGreeted(
            self._clock(), sender, session, observes, message.a, alive, known, seconds, wanted, needed
        )
        self._tell(event, message)

    def _accept_socket(self, i: AcceptSocket, message: Message | None) -> None:
        """The client of a socket waits for its welcome."""
        assert message is not None
        self._sharing.met(i.socket, message.details)
        self.forget_client(i.socket)
        if len(self.waiting) >= MOST_GREETINGS:
            text = f"{MOST_GREETINGS} clients wait for {self._task}, which is the most."
            raise errors.ResourceExhaustedError(None, None, text)
        deadline = self._clock() + i.seconds
        needs = None if i.needs is None else set(i.needs)
        self.waiting.append(Greeting(i.socket, i.request, set(), deadline, set(i.wanted), needs))
        self._welcome_those_ready()

    def _forget_socket(self, i: ForgetSocket, message: Message | None) -> None:
        self._sharing.gone(i.socket)

    def _refuse_hello(self, i: RefuseHello, message: Message | None) -> None:
        self._sockets.dropped.add(f"A hello was wrong: {i.message}")
        self._links.fail(i.socket, i.request, details_of(i.code, i.message))

    def _refuse_request(self, i: RefuseRequest, message: Message | None) -> None:
        if i.late:
            text = f"The request {i.number} came later than {self._task} awaits it: send it again."
            self._links.fail(i.socket, i.number, details_of(errors.ABORTED, text))
        self._sockets.dropped.add(f"The request {i.number} came before, or too late.")

    def _drop_unsent(self, i: DropUnsent, message: Message | None) -> None:
        peer = self._links.peers[i.task]
        if not peer.incarnation:
            self._sockets.disconnect(peer.address)
            peer.parted()
            if any(peer.task in waiting.tasks for waiting in self.waiting):
                self._links.greet(peer, True)

    def _announce_use(self, i: AnnounceUse, message: Message | None) -> None:
        for peer in [p for p in self._links.peers.values() if p.incarnation]:
            self._links.greet(peer, False)

    def _meet(self, sender: bytes, details: Mapping[str, Any]) -> None:
        """Another task says hello."""
        peer = self._peer_of(sender, details)
        number = int(name_of(details, "incarnation"), 16)
        incarnation = f"{number:x}"
        wanted, answers = int(details.get("answer") or 0), details.get("answers")
        devices = [text_of(d) for d in details.get("devices", ())]
        owner = self._links.tasks_by_incarnation.get(number, peer.task)
        if not 0 < number < 1 << 64 or number == self._links.incarnation or owner != peer.task:
            raise ValueError(f"{peer.task} cannot have the incarnation {number:x}.")
        if sender in self._sessions.sockets:
            raise ValueError(f"A client calls itself {peer.task}.")
        if peer.asked and not wanted and answers != peer.asked:
            return  # It has not heard yet that it was forgotten; what it says until then it will take back.
        if peer.incarnation and peer.incarnation != incarnation:
            # What a process has said last may come after what the next one says first: who is there will answer.
            self._receiver.task_ended(peer, "was started again")
            self._links.greet(peer, True)
            return
        if peer.incarnation and wanted:
            self._receiver.task_ended(peer, "had lost its connection to this task")
        if peer.last != incarnation:
            self._tell(NumbersBeginAnew(self._clock(), peer.task))
        peer.incarnation = peer.last = incarnation
        peer.devices = devices
        peer.left, peer.asked = False, 0
        peer.others_left = {text_of(task) for task in details.get("left", ())}
        peer.in_use = bool(details.get("in_use"))
        peer.users = {text_of(task) for task in details.get("users", ())} - {self._task}
        self._links.senders[sender] = peer
        self._sharing.met(peer.task, details)
        self._absent.comes(peer.task)
        self._links.tasks_by_incarnation[number] = peer.task
        if details.get("in_use"):
            self._tell(UseHeardOf(self._clock(), peer.task))
        peer.listener = str(details.get("lane") or "")
        if wanted:
            self._links.greet(peer, False, wanted)
        elif peer.greeted:
            self._sockets.open_local_channel(peer.address, peer.listener)
        with self._groups.collectives.condition:
            self._groups.met(peer.task)
        self._welcome_those_ready()

    def _peer_of(self, sender: bytes, details: Mapping[str, Any]) -> Peer:
        """The task that says hello; FailedPreconditionError where its cluster is not this task's."""
        name, to, at = name_of(details, "task"), details.get("to", self._task), details.get("at")
        differ = "The ClusterSpecs of the two differ: give all tasks the same."
        if name == self._task:
            text = f"{name} is at {self._links.address} already: two processes were started as this task."
            raise errors.FailedPreconditionError(None, None, text)
        if to != self._task:
            text = f"At {self._links.address} is {self._task}, and not {text_of(to)}. {differ}"
            raise errors.FailedPreconditionError(None, None, text)
        peer = self._links.peers.get(name)
        if peer is None:
            text = f"{name} is not in the cluster of {self._task}, which has {', '.join(self._links.peers)}. {differ}"
            raise errors.FailedPreconditionError(None, None, text)
        if details.get("answer") and isinstance(at, str) and at != peer.address and not peer.incarnation:
            # The two may mean the same; if not, this is why it hears no answer.
            text = f"{self._task} has {name} at {peer.address}, while it says that it is at {text_of(at)}. {differ}"
            self._answer_stranger(sender, 0, errors.FailedPreconditionError(None, None, text))
        return peer

    def lost(self, peer: str) -> None:
        """The connection to a peer is gone."""
        found = self._links.by_address[peer]
        self._sockets.disconnect(peer)
        found.parted()
        if found.incarnation:
            self._receiver.task_ended(found, "is gone")
        if found.left:  # Where only this direction was cut, it has to know that its plans are dropped.
            self._links.greet(found, True)

    def _welcome_those_ready(self) -> None:
        """Welcomes the clients whose tasks are all there; greets those that are waited for."""
        there = {task: peer for task, peer in self._links.peers.items() if peer.incarnation}
        left = {task for task, peer in self._links.peers.items() if peer.left}
        left = left.union(*(peer.others_left for peer in there.values())) - there.keys()
        for waiting in list(self.waiting):
            dispensable = set() if waiting.needs is None else left - waiting.needs
            waiting.tasks = waiting.wanted - there.keys() - dispensable
            try:
                for task in waiting.tasks:
                    if not self._links.peers[task].greeted:
                        self._links.greet(self._links.peers[task], True)
            except OSError as error:  # It is on another machine, and there are no keys.
                self.waiting.remove(waiting)
                self._links.peers[task].parted()
                self._links.fail(waiting.client, waiting.request, as_details(error))
                continue
            if waiting.tasks:
                continue
            self.waiting.remove(waiting)
            found = [there[task] for task in waiting.wanted if task in there]
            devices = sorted(self._links.devices + [d for peer in found for d in peer.devices])
            incarnations = {self._task: f"{self._links.incarnation:x}"} | {
                p.task: p.incarnation for p in found
            }
            if waiting.client not in self._sessions.sockets:
                continue
            self._tell(ClientWelcomed(self._clock(), waiting.client, incarnations))
            details = {"task": self._task, "devices": devices, "incarnations": incarnations,
                       "in_use": any(peer.in_use or peer.users for peer in found),
                       "memory": self._sharing.memory.address, "lane": self._sockets.listener_name}  # fmt: skip
            self._links.reply(waiting.client, Message(Kind.WELCOME, waiting.request, details=details))

    def forget_client(self, client: bytes) -> None:
        """A client does not wait for its welcome any more."""
        self.waiting[:] = [w for w in self.waiting if w.client != client]

    def tick(self, now: float) -> None:
        """Tells the clients that have waited for long enough which tasks are missing; gives up those long gone."""
        awaited = {task for waiting in self.waiting for task in waiting.tasks}
        for peer in self._links.peers.values():
            long_gone = peer.left and peer.greeted and peer.greeted_at < now - GREET_GONE_SECONDS
            if long_gone and peer.task not in awaited:
                self._sockets.disconnect(peer.address)
                peer.parted()
                self._subgraphs.separate(peer, "is gone")
        self._answer_strangers()
        self._welcome_those_ready()
        for waiting in [w for w in self.waiting if w.deadline < now]:
            self.waiting.remove(waiting)
            missing = ", ".join(self._links.where(self._links.peers[t]) for t in sorted(waiting.tasks))
            error = errors.UnavailableError(
                None, None, f"These tasks of the cluster do not answer: {missing}."
            )
            self._links.fail(waiting.client, waiting.request, as_details(error))
