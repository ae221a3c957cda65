"""The sockets of a process: one thread owns them all, and calls one handler with every message that comes.

A server binds a ROUTER and opens a DEALER to each peer that it sends to. So between servers a message goes from the
sender's DEALER to the receiver's ROUTER. A client has a DEALER of its own in each of its threads and gets its answers
on it. ZeroMQ's queues have no limit here, since at a limit it would drop messages or block silently; the number of
steps under way bounds them. ZeroMQ's heartbeats notice a peer that goes without closing, and the handler is told.

If both ends are on one machine, a local channel (socket_channels.py) carries what one of these sockets would. The
handler names the receiver as before.

No connection gets a message through before it has shown that it may (strangers.py). From a sender whose hello has not
come, and whom the handler does not know yet, one short frame is taken. Everything else is dropped unread.
"""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import zmq

from graphflow._core.common.timeouts import (
    LOCAL_CHANNEL_FILE_SECONDS,
    PORT_RELEASE_SECONDS,
    SERVER_GOODBYE_MS,
    TICK_SECONDS,
)
from graphflow._core.transport.dropped import Dropped
from graphflow._core.transport.files import READ, Files
from graphflow._core.transport.frames.pieces import Pieces, Pool
from graphflow._core.transport.frames.tensors import BadMessage, Buffer
from graphflow._core.transport.handler import Handler, guarded, log_bug
from graphflow._core.transport.keys import Access
from graphflow._core.transport.local_channels import (
    MOST_FRAME_BYTES,
    MOST_FRAMES,
    LocalChannelBroken,
)
from graphflow._core.transport.peer_links import PeerLinks
from graphflow._core.transport.socket_channels import SocketChannels
from graphflow._core.transport.strangers import MOST_STRANGER_BYTES, Gate
from graphflow._core.transport.zeromq import AT_ONCE, is_readable, options, receive_rest, send

_BIND_TRIES: Final = 25
"""How often a port that is in use is tried within PORT_RELEASE_SECONDS."""
_MESSAGES_AT_ONCE: Final = 64


def _file(socket: zmq.Socket[bytes]) -> int:
    """The file that becomes readable when something may have happened to a socket."""
    found = socket.getsockopt(zmq.FD)
    assert isinstance(found, int)
    return found


def _forgotten(context: zmq.Context[Any], sockets: Sequence[zmq.Socket[bytes]]) -> None:
    """Closes the sockets of a server that was made, and neither started nor stopped: ZeroMQ would wait for them."""
    if not context.closed:
        for socket in sockets:
            socket.close(0)
        context.term()


class Sockets:
    """All sockets of a server. Made and started in any thread; after that only its own thread uses it, and `call`.

    access: the proof that connections have to show, and that is shown to others.
    local_channels: whether it accepts and opens local channels.
    """

    def __init__(
        self,
        handler: Handler,
        identity: bytes,
        name: str,
        access: Access,
        local_channels: bool = True,
    ) -> None:
        self._handler = handler
        self.dropped = Dropped(name)
        self._context: zmq.Context[Any] = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        options(self._router)
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self.gate = Gate(self._context, self._router, access, name)
        self._gate_used = True
        """Whether the gate may have news that its files do not show any more."""
        self.peers = PeerLinks(self._context, identity, access, self.call, self._peer_lost)
        self._files = Files()
        self._router_used = True
        """Whether the router was used: that may have taken ZeroMQ's signal that a message came."""
        self._pool = Pool()
        self._pieces: dict[bytes, Pieces] = {}
        """The unfinished messages of senders who send in pieces."""
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._calls: deque[Callable[[], None]] = deque()
        self._waking = threading.Lock()
        """Held while the pipe is written to or closed: after closing, its number may belong to another file."""
        self._ended = False
        self.channels = SocketChannels(
            local_channels, handler, self._files, self.dropped, self.peers,
            self.send_to_peer, self._take, self._calls.append, self._make_room,
        )  # fmt: skip
        self.tick_by = math.inf
        """By when, of time.monotonic(), the handler's tick has to come before any message is taken."""
        self.messages_in = self.bytes_in = self.messages_out = self.bytes_out = 0
        """Counts since the start."""
        self._thread = threading.Thread(target=self._loop, name=f"graphflow {name}", daemon=True)
        weakref.finalize(self, _forgotten, self._context, (self._router, *self.gate.sockets)).atexit = False

    def bind(self, endpoint: str, port: int = 0) -> str:
        """Listens at an endpoint such as tcp://127.0.0.1:0; returns it with its port. OSError if it is taken.

        port: the one that others connect to, if it leads to that of the endpoint and is another one.
        """
        deadline = time.monotonic() + PORT_RELEASE_SECONDS
        self._router.setsockopt(zmq.IPV6, int("[" in endpoint))
        while True:
            try:
                self._router.bind(endpoint)
                break
            except zmq.ZMQError as error:
                if error.errno != zmq.EADDRINUSE or time.monotonic() > deadline:
                    raise OSError(error.errno, f"{endpoint}: {error.strerror}") from error
            time.sleep(PORT_RELEASE_SECONDS / _BIND_TRIES)
        bound = str(self._router.getsockopt_string(zmq.LAST_ENDPOINT))
        self.gate.bound(bound, port)
        return bound

    def start(self) -> None:
        """Begins to call the handler."""
        self._thread.start()

    def call(self, function: Callable[[], None]) -> None:
        """Has the thread of the sockets call a function soon; from any thread."""
        self._calls.append(function)
        with self._waking, suppress(BlockingIOError):  # Then it has been woken often enough.
            if self._writer >= 0:
                os.write(self._writer, b"x")

    @property
    def here(self) -> bool:
        """Whether the caller is the thread of the sockets."""
        return threading.current_thread() is self._thread

    def send_to_peer(self, address: str, frames: Sequence[Buffer]) -> None:
        """Sends to the server at host:port; what cannot go out yet goes when the connection is there.

        PermissionError if that is on another machine and there are no keys.
        """
        channel = self.channels.outgoing.get(address)
        if channel is None:
            self.peers.send(address, frames)
        else:
            try:
                if not channel.send(frames):
                    self._files.until_writable(channel, True)
            except LocalChannelBroken:
                self.channels.broken(address, channel)
        self.messages_out += 1
        self.bytes_out += sum(map(len, frames))

    def reply(self, identity: bytes, frames: Sequence[Buffer]) -> bool:
        """Sends to the process that has sent with this identity; False if it is gone."""
        channel = self.channels.incoming.get(identity)
        try:
            if channel is None:
                self._router_used = True
                if not send(self._router, frames, identity):
                    return False
            elif not channel.send(frames):
                self._files.until_writable(channel, True)
        except LocalChannelBroken:
            if channel is not None:
                self.channels.end_writing(channel)
            return False
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                return False
            raise
        self.messages_out += 1
        self.bytes_out += sum(map(len, frames))
        return True

    def disconnect(self, address: str, linger_ms: int = 0) -> None:
        """Closes the connection to a peer; what was not sent is dropped, after `linger_ms` in the background."""
        self.channels.disconnect(address)
        self.peers.disconnect(address, linger_ms)

    def trouble(self, address: str) -> str:
        """Why nobody answers at the address of a peer, as far as that is known; "" if it is not."""
        return self.peers.trouble(address)

    def _peer_lost(self, address: str) -> None:
        guarded(self._handler.lost, address)

    def stop(self, seconds: float = 2.0) -> None:
        """Ends the thread and closes every socket; from any thread but its own."""
        if self._thread.ident is None:
            self._close()
            return
        self.call(self._end)
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _end(self) -> None:
        self._ended = True

    # ---- the thread -----------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        files = self._files
        files.watch(self._reader, lambda _: self._drain_calls())
        files.watch(_file(self._router), self._drain_router)
        for news in self.gate.sockets:
            files.watch(_file(news), lambda _: self._touch_gate())
        next_tick = time.monotonic()
        try:
            while not self._ended:
                at_once = self._router_used or self._gate_used or self._calls
                ready = files.wait(
                    0 if at_once else LOCAL_CHANNEL_FILE_SECONDS if self.channels.due else TICK_SECONDS
                )
                now = time.monotonic()
                if now >= self.tick_by:
                    guarded(self._handler.tick)
                for number, events in ready:
                    called = files.called.get(number)
                    if called is not None:  # Else it was closed by what came before.
                        try:
                            called(events)
                        except Exception:
                            log_bug()
                if self._calls:
                    self._drain_calls()
                if self._router_used:
                    self._drain_router()
                if self._gate_used:
                    self._look_at_gate()
                if self.channels.due:
                    self.channels.accept_due()
                if now >= next_tick:
                    next_tick = now + TICK_SECONDS
                    self._router_used = self._gate_used = True
                    self.gate.tick()
                    guarded(self.peers.look)
                    self.channels.trim()
                    self._pool.trim()
                    self._pieces = {s: p for s, p in self._pieces.items() if self._handler.knows(s)}
                    guarded(self._handler.tick)
        finally:
            self._close()

    def _touch_gate(self) -> None:
        self._gate_used = True

    def _make_room(self) -> None:
        """Closes strangers, who hold files."""
        self.gate.tick()
        self._gate_used = True

    def _look_at_gate(self) -> None:
        """Has the gate answer ZeroMQ's questions, and closes strangers if there are too many."""
        asked, news = self.gate.answer(), self.gate.look()
        self._gate_used = asked or news
        if self.gate.crowded:
            self._router_used = True
            while self._router_used:  # Whoever has said hello is no stranger.
                self._drain_router()
            self.gate.thin_out()

    def _close(self) -> None:
        if self._router.closed:
            return
        self.channels.shut()
        self.peers.close(SERVER_GOODBYE_MS)
        self._files.close()
        self.gate.close()
        self._router.close()
        self._context.term()
        with self._waking:
            os.close(self._reader)
            os.close(self._writer)
            self._writer = -1

    def _drain_calls(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._reader, 4096)
        while self._calls:
            guarded(self._calls.popleft())

    def _drain_router(self, events: int = READ) -> None:
        """Takes the messages that have come, up to a number: if it was reached, the router may have more.

        Otherwise ZeroMQ gives a signal when the next one comes, since the last thing was to ask for one.
        """
        router, gate, knows = self._router, self.gate, self._handler.knows
        for _ in range(_MESSAGES_AT_ONCE):
            try:
                if gate.strangers:
                    first = router.recv(AT_ONCE, copy=False)
                    gate.came(int(first.get(zmq.SRCFD)))
                    sender = first.bytes
                else:
                    sender = router.recv(AT_ONCE)
            except zmq.Again:
                self._router_used = False
                return
            if knows(sender):
                frames = receive_rest(router, MOST_FRAMES, MOST_FRAME_BYTES)
                if frames is not None and (len(frames) > 1 or sender in self._pieces):
                    frames = self._put_together(sender, frames)
                    if frames is None:
                        continue
            else:
                frames = receive_rest(router, 1, MOST_STRANGER_BYTES)
            if frames is None:
                self.dropped.add("It is larger than a hello.")
                continue
            self._take(sender, frames)
            if not is_readable(router):  # What was sent meanwhile may have taken the signal, too.
                self._router_used = False
                return
        self._router_used = True

    def _put_together(self, sender: bytes, frames: list[Buffer]) -> list[Buffer] | None:
        """The message that these frames complete; None if pieces are still to come, or if they make no message."""
        pieces = self._pieces.get(sender)
        if pieces is None:
            pieces = self._pieces[sender] = Pieces(self._pool)
        try:
            return pieces.take(frames)
        except BadMessage as error:
            self.dropped.add(str(error))
            return None

    def _take(self, sender: bytes, frames: Sequence[Buffer]) -> None:
        self.messages_in += 1
        self.bytes_in += sum(map(len, frames))
        try:
            self._handler.received(sender, frames)
        except Exception:
            log_bug()
