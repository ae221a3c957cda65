"""Who may send to a task: clients that have begun a session, and other tasks.

A message of somebody who has not said hello with the secret is not read beyond its header. It is counted, and answered
at a bounded rate if it may be of a client that this task has forgotten (protocol/strangers.py). Reading a message never
runs code of the sender's; plans, which may bring functions, come after this. What a hello leads to is decided in
protocol/membership.py, protocol/sessions.py and protocol/welcomes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import graphflow.errors as errors
from graphflow._core.cluster.device_filters import passes
from graphflow._core.cluster.failures import as_details, details_of
from graphflow._core.cluster.protocol.membership import (
    AcceptTask,
    AnswerOverdue,
    Hello,
    Member,
    RefuseTask,
    TaskGreeted,
    TaskUnreadable,
    UseAnnounced,
    WarnTask,
)
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
from graphflow._core.cluster.protocol.strangers import (
    AnswerStranger,
    HelloRefused,
    StrangerAsked,
    StrangerTurnedAway,
    VersionDiffers,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.protocol.welcomes import RefuseWelcome, Welcome, WelcomeAwaited
from graphflow._core.cluster.server.admin import CarryOut, Tell
from graphflow._core.cluster.server.collectives.link import CollectiveLink
from graphflow._core.cluster.server.fields import name_of, seconds_of, text_of
from graphflow._core.cluster.server.links import Links
from graphflow._core.common.timeouts import CONNECT_SECONDS, MOST_CONNECT_SECONDS
from graphflow._core.resources.services import AbsentTasks
from graphflow._core.transport import token
from graphflow._core.transport.frames.message import REQUESTS, VERSION, Kind, Message, peek
from graphflow._core.transport.frames.tensors import BadMessage, Buffer
from graphflow._core.transport.keys import Access
from graphflow._core.transport.shared import SharedMemoryError
from graphflow._core.transport.sharing import Sharing

_OBSERVER: Final = "observer "
"""How the session of a client is called here that only asks how the cluster is, or stops it."""
_OF_LINKS: Final = frozenset([Kind.HELLO, Kind.LOCAL_CHANNEL])
_MISTAKES: Final = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError)
"""What reading a message's fields raises if they are not what they should be."""


class Receiver(Protocol):
    """What takes the messages of those who have said hello."""

    def from_peer(self, peer: Member, message: Message) -> None:
        """Another task has sent a message."""

    def from_client(self, client: bytes, message: Message) -> None:
        """A client has sent a message; whatever is raised is the answer."""


class Handshake:
    """Who may send to one task. For the thread of the sockets.

    groups, absent: who is told that a task is connected. tell: gives an event to the task's protocol, and carries out
    what comes of it. receiver: takes what is for it. clock: seconds that never go back.
    """

    def __init__(
        self,
        links: Links,
        protocol: TaskProtocol,
        sharing: Sharing,
        access: Access,
        groups: CollectiveLink,
        absent: AbsentTasks,
        tell: Tell,
        receiver: Receiver,
        clock: Callable[[], float],
    ) -> None:
        self._links = links
        self._task = links.task
        self._incarnation = f"{links.incarnation:x}"
        self._dropped = links.sockets.dropped
        self._clients = protocol.sessions.sockets
        self._senders = protocol.membership.sockets
        self._sharing = sharing
        self._memories = sharing.partners
        self._access = access
        self._groups = groups
        self._absent = absent
        self._tell = tell
        self._handle = protocol.handle
        self._receiver = receiver
        self._clock = clock
        self.operation_timeout_in_ms = 0
        """The deadline of runs of sessions on this master that have none of their own; 0 for none."""
        self.carry_out: CarryOut = {
            AcceptSocket: self._accept_socket, ForgetSocket: self._forget_socket, RefuseHello: self._refuse_hello,
            RefuseRequest: self._refuse_request, DropUnsent: self._drop_unsent, AnnounceUse: self._announce_use,
            Welcome: self._welcome, RefuseWelcome: self._refuse_welcome, AnswerStranger: self._answer_stranger,
            AcceptTask: self._accept_task, RefuseTask: self._refuse_task, WarnTask: self._warn_task,
        }  # fmt: skip

    def knows(self, sender: bytes) -> bool:
        """Whether the socket of that identity has said hello with the secret."""
        return sender in self._clients or sender in self._senders

    def received(self, sender: bytes, frames: Sequence[Buffer]) -> None:
        """A message came. What is none, and what comes from a stranger, is dropped."""
        peer = self._senders.get(sender)
        if peer is None and sender not in self._clients and not self._may_greet(sender, frames):
            return
        try:
            message = Message.of(frames, self._memories.get(sender if peer is None else peer.task))
        except SharedMemoryError as error:
            self.unreadable(sender, error)
            return
        except BadMessage as error:
            self._dropped.add(str(error))
            return
        if message.kind in _OF_LINKS:
            if message.kind is Kind.HELLO:
                self._hello(sender, message)
            else:
                self._links.sockets.channels.accept(sender, message.details.get("secret"))
        elif peer is not None:
            try:
                self._receiver.from_peer(peer, message)
            except _MISTAKES as error:
                self._dropped.add(f"{message.kind.name} of {peer.task}: {type(error).__name__}: {error}")
        else:
            if message.kind in REQUESTS:
                refused = self._handle(RequestCame(self._clock(), sender, message.a))
                if refused:
                    for i in refused:
                        self.carry_out[type(i)](i, message)
                    return
            try:
                self._receiver.from_client(sender, message)
            except Exception as error:  # Any request is answered: nobody may wait for ever.
                self._links.fail(sender, message.a, as_details(error))

    def unreadable(self, sender: bytes, error: SharedMemoryError) -> None:
        """What somebody sent is gone, or this process cannot open it: what it belongs to ends."""
        peer = self._senders.get(sender)
        if peer is not None:
            self._tell(TaskUnreadable(self._clock(), peer.task, str(error)))
        elif sender in self._clients:
            text = f"{self._task} cannot read what the client sent: {error}."
            self._links.fail(sender, 0, details_of(errors.UNAVAILABLE, text))

    def refuse(self, sender: bytes, frames: Sequence[Buffer], why: str) -> None:
        """A message came while this task may not serve: who waits for an answer gets one, all else is dropped."""
        self._dropped.add("This task may not serve.")
        found = peek(frames)
        if found is None:
            return
        version, kind, _, request = found
        if kind not in REQUESTS and kind != Kind.HELLO:
            return
        if sender in self._clients and version == VERSION:
            self._links.fail(sender, request, details_of(errors.UNAVAILABLE, why))
        else:
            self._tell(StrangerTurnedAway(self._clock(), sender, request, why))

    # ---- strangers ------------------------------------------------------------------------------------------------

    def _may_greet(self, sender: bytes, frames: Sequence[Buffer]) -> bool:
        """Whether a stranger's message may be a hello; what is none is dropped."""
        found = peek(frames)
        if found is None:
            self._dropped.add("A stranger's message is none of graphflow's.")
            return False
        version, kind, tensors, request = found
        if version == VERSION and kind == Kind.HELLO and not tensors:
            return True
        if version != VERSION:
            self._tell(VersionDiffers(self._clock(), sender, request, version, VERSION))
        elif kind in REQUESTS:
            self._tell(StrangerAsked(self._clock(), sender, request))
        self._dropped.add("A stranger's message is no hello.")
        return False

    def _answer_stranger(self, i: AnswerStranger, message: Message | None) -> None:
        self._links.fail(i.socket, i.request, details_of(i.code, i.message) | {"stranger": True})

    # ---- hellos ---------------------------------------------------------------------------------------------------

    def _hello(self, sender: bytes, message: Message) -> None:
        details = message.details
        if not token.same(self._access.shown_at(self._links.address), details.get("token")):
            self._dropped.add("A hello has not the right token.")
            text = f"{self._task} {self._access.other_token}."
            self._tell(HelloRefused(self._clock(), sender, errors.UNAUTHENTICATED, text))
            return
        of_task = "task" in details
        try:
            event = self._task_greeted(sender, details) if of_task else self._session_greeted(sender, message)
            self._tell(event, message)
        except (*_MISTAKES, OSError) as error:
            self._dropped.add(f"A hello was wrong: {error}")
            if of_task:
                wrong = f"ValueError: A hello was wrong: {error}"
                self._tell(HelloRefused(self._clock(), sender, errors.INTERNAL, wrong))
            else:
                self._links.fail(sender, message.a, as_details(error))

    def _session_greeted(self, sender: bytes, message: Message) -> SessionGreeted:
        """The hello of a client; raises what its fields lead to if they are wrong."""
        details = message.details
        observes, alive = bool(details.get("observer")), bool(details.get("alive"))
        session = f"{_OBSERVER if observes else ''}{name_of(details, 'session')}"
        filters = [text_of(f) for f in details.get("filters") or ()]
        seconds = seconds_of(details, CONNECT_SECONDS, MOST_CONNECT_SECONDS)
        wanted = tuple(task for task in self._links.members if not observes and passes(task, filters))
        needs = details.get("needs")
        needed = None if needs is None else tuple(task for task in wanted if needs and passes(task, needs))
        known = {text_of(task): text_of(i) for task, i in dict(details.get("incarnations") or {}).items()}
        return SessionGreeted(
            self._clock(), sender, session, observes, message.a, alive, known, seconds, wanted, needed
        )

    def _task_greeted(self, sender: bytes, details: Mapping[str, Any]) -> TaskGreeted:
        """The hello of another task; raises what its fields lead to if they are wrong."""
        task, at, answers = name_of(details, "task"), details.get("at"), details.get("answers")
        number = int(name_of(details, "incarnation"), 16)
        if not 0 < number < 1 << 64:
            raise ValueError(f"{task} cannot have the incarnation {number:x}.")
        return TaskGreeted(
            self._clock(),
            sender,
            task,
            text_of(details.get("to", self._task)),
            text_of(at) if isinstance(at, str) else "",
            f"{number:x}",
            tuple(text_of(device) for device in details.get("devices", ())),
            Hello(
                int(details.get("answer") or 0),
                answers if type(answers) is int else 0,
                bool(details.get("in_use")),
                tuple(text_of(other) for other in details.get("left", ())),
                tuple(text_of(other) for other in details.get("users", ())),
            ),
            max(0, int(details.get("life") or 0)),
        )

    # ---- clients --------------------------------------------------------------------------------------------------

    def _accept_socket(self, i: AcceptSocket, message: Message | None) -> None:
        assert message is not None
        self._sharing.met(i.socket, message.details)
        self._tell(WelcomeAwaited(self._clock(), i))

    def _forget_socket(self, i: ForgetSocket, message: Message | None) -> None:
        self._sharing.gone(i.socket)

    def _refuse_hello(self, i: RefuseHello, message: Message | None) -> None:
        self._dropped.add(f"A hello was wrong: {i.message}")
        self._links.fail(i.socket, i.request, details_of(i.code, i.message))

    def _refuse_request(self, i: RefuseRequest, message: Message | None) -> None:
        if i.late:
            text = f"The request {i.number} came later than {self._task} awaits it: send it again."
            self._links.fail(i.socket, i.number, details_of(errors.ABORTED, text))
        self._dropped.add(f"The request {i.number} came before, or too late.")

    def _welcome(self, i: Welcome, message: Message | None) -> None:
        if i.socket not in self._clients:
            return
        incarnations = {self._task: self._incarnation, **i.incarnations}
        self._tell(ClientWelcomed(self._clock(), i.socket, incarnations))
        details = {"task": self._task, "devices": sorted([*self._links.devices, *i.devices]),
                   "incarnations": incarnations, "in_use": i.in_use, "memory": self._sharing.memory.address,
                   "lane": self._links.sockets.channels.name,
                   "operation_timeout_in_ms": self.operation_timeout_in_ms}  # fmt: skip
        self._links.reply(i.socket, Message(Kind.WELCOME, i.request, details=details))

    def _refuse_welcome(self, i: RefuseWelcome, message: Message | None) -> None:
        missing = ", ".join(map(self._links.where, i.missing))
        text = f"These tasks of the cluster do not answer: {missing}."
        self._links.fail(i.socket, i.request, i.error or details_of(errors.UNAVAILABLE, text))

    # ---- other tasks ----------------------------------------------------------------------------------------------

    def _accept_task(self, i: AcceptTask, message: Message | None) -> None:
        assert message is not None
        now = self._clock()
        if i.new_life:
            self._tell(NumbersBeginAnew(now, i.task))
        self._sharing.met(i.task, message.details)
        self._absent.comes(i.task)
        if i.in_use:
            self._tell(UseHeardOf(now, i.task))
        self._links.listeners[i.task] = str(message.details.get("lane") or "")
        with self._groups.collectives.condition:
            self._groups.met(i.task)

    def _refuse_task(self, i: RefuseTask, message: Message | None) -> None:
        self._dropped.add(f"A hello was wrong: {i.message}")
        self._tell(HelloRefused(self._clock(), i.socket, i.code, i.message))

    def _warn_task(self, i: WarnTask, message: Message | None) -> None:
        self._tell(HelloRefused(self._clock(), i.socket, i.code, i.message))

    def _drop_unsent(self, i: DropUnsent, message: Message | None) -> None:
        self._tell(AnswerOverdue(self._clock(), i.task))

    def _announce_use(self, i: AnnounceUse, message: Message | None) -> None:
        self._tell(UseAnnounced(self._clock()))
