"""The client's side of a connection to a server: a channel for each thread, which waits for its own answers.

No other thread takes part in sending a run and waiting for its answer. One thread in the background tells the server
every few seconds that the client is there, so that the server can free what belongs to clients that are gone.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final

import numpy as np
import zmq

import graphflow.errors as errors
from graphflow._core.common.timeouts import (
    ALIVE_SECONDS,
    CLIENT_GOODBYE_MS,
    GREET_AGAIN_SECONDS,
    LOOK_UP_SECONDS,
    WELCOME_MARGIN_SECONDS,
    WHY_SECONDS,
)
from graphflow._core.transport.channel import Channel, Closed, Gone
from graphflow._core.transport.frames.message import VERSION, Kind, Message, peek
from graphflow._core.transport.frames.pieces import Pool
from graphflow._core.transport.frames.tensors import BadMessage
from graphflow._core.transport.keys import FILE, VARIABLE, Access
from graphflow._core.transport.peer_links import REFUSED_EVENTS, other_version
from graphflow._core.transport.routes import check_reach
from graphflow._core.transport.shared import PartnerMemory, SharedMemory, SharedMemoryError

_NO_ANSWERS: Final = (Kind.OUTPUT, Kind.TRACE)


class Refused(Exception):
    """The server answered with an error, whose details it holds."""

    def __init__(self, details: Mapping[str, Any]) -> None:
        super().__init__(str(details.get("message")))
        self.details = details


class Overdue(errors.DeadlineExceededError):
    """The deadline of a request has passed.

    awaited: the tasks that the server said it was waiting for. waits: what each of those that said so was waiting for.
    trouble: why there is no connection to the server, as
    far as that is known.
    """

    def __init__(self, text: str, trouble: str = "") -> None:
        super().__init__(None, None, f"{text} {trouble}".strip())
        self.awaited: list[str] = []
        self.waits: dict[str, list[str]] = {}
        self.trouble = trouble


class _Own:
    """The channel of one thread. It is closed when the thread ends, and the server then frees what it keeps for it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._pid = os.getpid()

    def __del__(self) -> None:
        if self._pid == os.getpid():
            with suppress(Exception):  # The process may be about to end.
                self.channel.leave()


class Connection:
    """A client's connection to the server at `address` (host:port). Thread-safe; not usable after a fork.

    tcp_only: whether it uses neither shared memory nor local channels. Raises PermissionError for a server on another
    machine if `access` has no keys.
    """

    def __init__(
        self, address: str, greeting: Mapping[str, Any], access: Access, tcp_only: bool = False
    ) -> None:
        check_reach(address, access.keys, LOOK_UP_SECONDS)
        self.address = address
        self._access = access
        self._tcp_only = tcp_only
        self._memory = SharedMemory(not tcp_only)
        self._pool = Pool()
        self._greeting = {
            **greeting, "token": access.shown_at(address), "session": secrets.token_hex(8),
            "memory": self._memory.address,
        }  # fmt: skip
        self.events: Callable[[Message], None] = lambda message: None
        """Called in the thread that waits for an answer, with the messages before it: events of its step."""
        self._local = threading.local()
        self._requests = count(1)
        self._closed = threading.Event()
        self._pid = os.getpid()
        self.channels: weakref.WeakSet[Channel] = weakref.WeakSet()
        self._opening = threading.Lock()
        threading.Thread(
            target=_tell_alive,
            args=(weakref.ref(self), self._closed),
            name=f"graphflow {address}",
            daemon=True,
        ).start()

    @property
    def session(self) -> str:
        """The name that the server knows the client by."""
        return str(self._greeting["session"])

    def ask(
        self, kind: Kind, b: int = 0, details: Mapping[str, Any] | None = None, tensors: Any = (), *,
        deadline: float | None = None,
    ) -> Message:  # fmt: skip
        """Sends a request and returns the answer.

        Raises Refused if the server answers with an error, UnavailableError if it is gone, DeadlineExceededError after
        `deadline` (of time.monotonic()).
        """
        channel = self._channel()
        if not channel.greeted:
            self._greet_again(channel, deadline)
        try:
            return self._exchange(channel, kind, b, details or {}, tensors, deadline)
        except Refused as refused:
            if not refused.details.get("stranger"):
                raise
        # The server has forgotten this client, which was silent for too long, and has not looked at the request.
        self._greet_again(channel, deadline)
        return self._exchange(channel, kind, b, details or {}, tensors, deadline)

    def _greet_again(self, channel: Channel, deadline: float | None) -> None:
        """Says hello for another thread, or after a loss; UnavailableError if the server is not there for long."""
        limit = (
            time.monotonic()
            + float(self._greeting.get("seconds", GREET_AGAIN_SECONDS))
            + WELCOME_MARGIN_SECONDS
        )
        if deadline is not None and deadline <= limit:
            self._hello(channel, deadline)
            return
        try:
            self._hello(channel, limit)
        except Overdue as overdue:
            text = f"The server at {self.address}, this session's target, is gone"
            raise errors.UnavailableError(
                None, None, f"{text}: {overdue.trouble}." if overdue.trouble else f"{text}."
            ) from None

    def _hello(self, channel: Channel, deadline: float | None) -> Message:
        """Says hello. The server refuses if it, or a task that it knows, was started again since the last hello."""
        try:
            welcome = self._exchange(channel, Kind.HELLO, 0, self._greeting, (), deadline)
        except Refused as refused:
            if refused.details.get("code") == errors.UNAUTHENTICATED:
                text = f"{refused}. This process has the one in {self._access.where}."
                raise Refused({**refused.details, "message": text}) from None
            raise
        try:
            self._welcomed(channel, welcome)
        except (Gone, Closed) as error:
            raise self._ended(channel, error) from None
        return welcome

    def greet(self, seconds: float) -> Message:
        """Says hello and returns the welcome, which comes once all tasks of the cluster have answered the server."""
        channel = self._channel()
        self._greeting["seconds"] = seconds
        return self._hello(channel, time.monotonic() + seconds + WELCOME_MARGIN_SECONDS)

    def _welcomed(self, channel: Channel, welcome: Message) -> None:
        channel.greeted = True
        self._greeting.setdefault("incarnations", welcome.details["incarnations"])
        if self._tcp_only:
            return
        channel.open_local_channel(welcome.details.get("lane"))
        with suppress(SharedMemoryError):  # The server is on another machine, or another user's.
            channel.memory = PartnerMemory(welcome.details.get("memory") or {})
            self._memory.has_partners = True

    def tell(self, kind: Kind, a: int) -> None:
        """Sends a message that has no answer, unless this thread has never spoken to the server."""
        own: _Own | None = getattr(self._local, "own", None)
        if own is not None and not self._closed.is_set():
            channel = own.channel
            with suppress(Gone, Closed):
                channel.send(Message(kind, a).frames())

    def close(self, given_up: bool = False) -> None:
        """Tells the server that the client leaves, and whether because of a failure; closes the sockets."""
        if self._closed.is_set() or self._pid != os.getpid():
            return
        self.tell(Kind.BYE, int(given_up))
        self._closed.set()
        with self._opening:
            channels = list(self.channels)
        for channel in channels:
            channel.close(CLIENT_GOODBYE_MS)
        self._memory.close()

    def _share(self, array: np.ndarray[Any, Any]) -> bytes | None:
        return self._memory.pin(array, self.address)

    def _channel(self) -> Channel:
        if self._closed.is_set():
            raise errors.CancelledError(None, None, "The session is closed.")
        own: _Own | None = getattr(self._local, "own", None)
        if own is None:
            channel = Channel(self.address, self._access, self._pool)
            with self._opening:
                self.channels.add(channel)
            # Another thread may have closed the session meanwhile, with the channels that there were.
            if self._closed.is_set():
                channel.close()
                raise errors.CancelledError(None, None, "The session is closed.")
            own = self._local.own = _Own(channel)
        return own.channel

    def _exchange(
        self, channel: Channel, kind: Kind, b: int, details: Mapping[str, Any], tensors: Any,
        deadline: float | None,
    ) -> Message:  # fmt: skip
        request = next(self._requests)
        share = None if channel.memory is None else self._share
        try:
            if not channel.connect(deadline):
                raise self._overdue(channel)
            channel.send(Message(kind, request, b, 0, details, tensors).frames(share))
            while True:
                answer = self._wait(channel, deadline)
                if answer.a == request or (answer.kind is Kind.FAILED and answer.a == 0):
                    break
            if (
                answer.kind is Kind.RESULT and answer.b
            ):  # It holds elements of queues, which go back otherwise.
                channel.send(Message(Kind.TOOK, request).frames())
        except (Gone, Closed) as error:
            raise self._ended(channel, error) from None
        except BaseException as error:
            if not channel.closed:
                with suppress(Gone, Closed):
                    channel.send(Message(Kind.ABORT, request, int(isinstance(error, Overdue))).frames())
                    if isinstance(error, Overdue):
                        self._ask_why(channel, request, error)
            raise
        memory = channel.memory  # Another thread may close the channel.
        if memory is not None and time.monotonic() > channel.trim_at:
            channel.trim_at = time.monotonic() + ALIVE_SECONDS
            memory.trim()
        if answer.kind is Kind.FAILED:
            raise Refused(answer.details)
        return answer

    def _ask_why(self, channel: Channel, request: int, error: Overdue) -> None:
        """Asks the server what an overdue request was waiting for, and notes the answer if it comes at once."""
        deadline = time.monotonic() + WHY_SECONDS
        asked: set[str] | None = None
        with suppress(errors.OpError):
            while asked is None or asked:
                answer = self._wait(channel, deadline)
                if answer.a != request:
                    continue
                details = answer.details
                if asked is None:
                    error.awaited = [str(task) for task in details.get("awaited", ())]
                    asked = {str(task) for task in details.get("asked", ())}
                asked.discard(str(details.get("task", "")))
                if details.get("waits"):
                    error.waits[str(details["task"])] = [str(text) for text in details["waits"]]

    def _wait(self, channel: Channel, deadline: float | None) -> Message:
        while True:
            if deadline is not None and time.monotonic() >= deadline:
                raise self._overdue(channel)
            frames = channel.receive(deadline)
            if frames is not None:
                try:
                    message = Message.of(frames, channel.memory)
                except SharedMemoryError as error:
                    text = f"The server at {self.address} is gone, or what it sent cannot be read: {error}."
                    raise errors.UnavailableError(None, None, text) from None
                except BadMessage as error:
                    head = peek(frames)
                    why = str(error) if head is None or head[0] == VERSION else f"{other_version(head[0])}."
                    raise errors.FailedPreconditionError(
                        None, None, f"What the server at {self.address} says cannot be read: {why}"
                    ) from None
                if message.kind not in _NO_ANSWERS:
                    return message
                self.events(message)
                continue
            if self._closed.is_set():
                raise Closed

    def _overdue(self, channel: Channel) -> Overdue:
        return Overdue(f"{self.address} did not answer within the time given.", channel.trouble)

    def _ended(self, channel: Channel, error: Gone | Closed) -> errors.OpError:
        """The error of a request whose channel was closed or lost."""
        if isinstance(error, Closed) or self._closed.is_set():
            return errors.CancelledError(None, None, "The session was closed during the run.")
        channel.close()
        self._local.__dict__.pop("own", None)
        self._memory.abandon(self.address)
        return self._gone(error.event)

    def _gone(self, event: int) -> errors.OpError:
        """The error that says why there is no connection any more."""
        if not event & REFUSED_EVENTS:
            return errors.UnavailableError(
                None, None, f"The server at {self.address}, this session's target, is gone."
            )
        if self._access.keys is not None:
            text = f"has no keys, or others than this session's ({FILE})"
        elif event & zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            text = self._access.other_token
        else:
            text = (
                f"needs the cluster's keys: name their folder in ConfigProto(cluster_keys=...) or in {VARIABLE}; "
                "or it is of another version of graphflow, or no server of graphflow's"
            )
        if event & zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:  # It may have died at that moment, too.
            return errors.UnavailableError(
                None,
                None,
                f"The server at {self.address} ended the connection as it began: it is gone, or {text}.",
            )
        return errors.UnauthenticatedError(None, None, f"The server at {self.address} {text}.")


def _tell_alive(connection: weakref.ref[Connection], closed: threading.Event) -> None:
    """Tells the server every few seconds that the client is there, for as long as it is."""
    channel: Channel | None = None
    while not closed.wait(ALIVE_SECONDS):
        alive = connection()
        if alive is None:
            break
        if channel is None:
            channel = Channel(alive.address, alive._access, alive._pool)
        message = Message(Kind.HELLO, details={**alive._greeting, "alive": True})
        alive._memory.trim()
        alive._pool.trim()
        del alive
        try:
            if channel.connect(time.monotonic() + ALIVE_SECONDS):
                channel.send(message.frames())
        except (Gone, Closed):  # The next word goes over a new connection.
            channel.close()
            channel = None
    if channel is not None:
        channel.close()
