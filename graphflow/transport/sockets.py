"""The sockets of a process: one thread owns them all, and calls one handler with what comes.

A server binds a ROUTER and opens a DEALER to each peer it sends to; messages between servers go one way each, from the
sender's DEALER to the receiver's ROUTER. A client has a DEALER of its own in each of its threads and gets its answers
on it. Queues have no limit in ZeroMQ, which would drop or block silently; what is on its way is bounded by the steps
that are. ZeroMQ's own heartbeats notice a peer that goes without closing; the handler is told of it.

From whom the handler does not know, one short frame is taken, and everything else is dropped before it is looked at.
With the keys of a cluster nobody gets that far without them: the same thread answers ZeroMQ's question whether a key
may connect (https://rfc.zeromq.org/spec/27), in a context of the server's own, since another server of this process may
have other keys.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

import zmq
import zmq.utils.z85
from zmq.utils.monitor import recv_monitor_message

from graphflow.transport.dropped import Dropped
from graphflow.transport.keys import ClusterKeys, as_client, check_reach
from graphflow.transport.tensors import MOST_TENSORS, Buffer

HEARTBEAT_MS: Final = 1000
HEARTBEAT_TIMEOUT_MS: Final = 3000
"""With the time to the next heartbeat, and to the next look, a silent peer is noticed within 5 s."""
MOST_FRAME_BYTES: Final = 1 << 34
"""Bytes of the largest frame that is taken; ZeroMQ closes the connection that brings a larger one."""
MOST_FRAMES: Final = 1 + MOST_TENSORS
MOST_STRANGER_BYTES: Final = 64 << 10
"""Bytes of the one frame that is taken from whom the handler does not know."""
_TICK_MS: Final = 250
_GOODBYE_MS: Final = 200
"""How long the last messages to peers have to go out, in the background, when a server ends."""
_RELEASE_SECONDS: Final = 0.5
"""How long a port may be in use still by a server that was just closed: ZeroMQ closes sockets in the background."""
_COPY_BELOW: Final = 32 << 10
"""Bytes below which a frame is copied: tracking its memory costs more."""
_DOMAIN: Final = "graphflow"
_LOG = logging.getLogger("graphflow")


class Handler(Protocol):
    """What the thread of the sockets calls."""

    def knows(self, sender: bytes) -> bool:
        """Whether the socket of that identity has shown that it may send; a stranger may send one short frame."""
        ...

    def received(self, sender: bytes, frames: Sequence[Buffer]) -> None:
        """A message came in from the socket of that identity."""
        ...

    def lost(self, peer: str) -> None:
        """The connection to a peer that had been there is gone."""
        ...

    def tick(self) -> None:
        """Some time has passed."""
        ...


def options(socket: zmq.Socket[bytes]) -> None:
    """What every socket of graphflow's has."""
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, 0)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MOST_FRAME_BYTES)
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS)
    socket.setsockopt(zmq.RECONNECT_IVL, 20)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)


def send(socket: zmq.Socket[bytes], frames: Sequence[Buffer], first: Sequence[bytes] = ()) -> None:
    """Sends the frames of one message; large ones are not copied, and may not change until they are out."""
    parts: list[Any] = [*first, *frames]
    last = len(parts) - 1
    for position, part in enumerate(parts):
        more = 0 if position == last else zmq.SNDMORE
        socket.send(part, more | zmq.NOBLOCK, copy=len(part) < _COPY_BELOW)


def receive(socket: zmq.Socket[bytes]) -> list[Buffer]:
    """One message, without waiting; zmq.Again where there is none. Large frames are not copied."""
    parts: list[Buffer] = [socket.recv(zmq.NOBLOCK)]
    while socket.getsockopt(zmq.RCVMORE):
        frame = socket.recv(copy=False)
        parts.append(frame.bytes if len(frame) < _COPY_BELOW else frame.buffer)
    return parts


def _receive_rest(socket: zmq.Socket[bytes], most_frames: int, most_bytes: int) -> list[Buffer] | None:
    """The frames of a message behind the first; None, and nothing kept, where there are more or larger ones."""
    parts: list[Buffer] | None = []
    while socket.getsockopt(zmq.RCVMORE):
        frame = socket.recv(copy=False)
        length = len(frame)
        if parts is None or length > most_bytes or len(parts) == most_frames:
            parts = None
        else:
            parts.append(frame.bytes if length < _COPY_BELOW else frame.buffer)
    return parts


class Sockets:
    """All sockets of a server. Made and started in any thread; but for `call`, only its own thread uses it.

    keys: those of the cluster, without which nobody connects; None where the server is for its machine alone.
    """

    def __init__(self, handler: Handler, identity: bytes, name: str, keys: ClusterKeys | None = None) -> None:
        self._handler = handler
        self._identity = identity
        self._keys = keys
        self.dropped = Dropped(name)
        self._context: zmq.Context[Any] = zmq.Context.instance() if keys is None else zmq.Context()
        self._door = None if keys is None else self._context.socket(zmq.REP)
        self._router = self._context.socket(zmq.ROUTER)
        options(self._router)
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        self._router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        if keys is not None and self._door is not None:
            self._door.bind("inproc://zeromq.zap.01")
            self._router.curve_server = True
            self._router.curve_secretkey = keys.server_secret
            self._router.setsockopt_string(zmq.ZAP_DOMAIN, _DOMAIN)
            self._router.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        self._peers: dict[str, zmq.Socket[bytes]] = {}
        self._monitors: dict[zmq.Socket[bytes], str] = {}
        self._poller = zmq.Poller()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._calls: deque[Callable[[], None]] = deque()
        self._waking = threading.Lock()
        """Held while the pipe is written to or closed: its number may be another file's right after."""
        self._ended = False
        self.messages_in = self.bytes_in = self.messages_out = self.bytes_out = 0
        """What went through since the start."""
        self._thread = threading.Thread(target=self._loop, name=f"graphflow {name}", daemon=True)

    def bind(self, endpoint: str) -> str:
        """Listens at an endpoint such as tcp://127.0.0.1:0; the endpoint with its port. OSError where it is taken."""
        deadline = time.monotonic() + _RELEASE_SECONDS
        while True:
            try:
                self._router.bind(endpoint)
                break
            except zmq.ZMQError as error:
                if error.errno != zmq.EADDRINUSE or time.monotonic() > deadline:
                    raise OSError(error.errno, f"{endpoint}: {error.strerror}") from error
            time.sleep(0.02)
        return str(self._router.getsockopt_string(zmq.LAST_ENDPOINT))

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

        PermissionError where that is on another machine and there are no keys.
        """
        socket = self._peers.get(address)
        send(self._connect(address) if socket is None else socket, frames)
        self._count_out(frames)

    def reply(self, identity: bytes, frames: Sequence[Buffer]) -> bool:
        """Sends to who has sent with this identity; False where it is gone."""
        try:
            send(self._router, frames, (identity,))
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                return False
            raise
        self._count_out(frames)
        return True

    def _count_out(self, frames: Sequence[Buffer]) -> None:
        self.messages_out += 1
        self.bytes_out += sum(map(len, frames))

    def disconnect(self, address: str, linger_ms: int = 0) -> None:
        """Closes the connection to a peer; what was not sent is dropped, after `linger_ms` in the background."""
        socket = self._peers.pop(address, None)
        if socket is None:
            return
        for monitor in [m for m, name in self._monitors.items() if name == address]:
            del self._monitors[monitor]
            socket.disable_monitor()
            monitor.close()
        socket.close(linger_ms)

    def _connect(self, address: str) -> zmq.Socket[bytes]:
        check_reach(address, self._keys)
        socket: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        self._peers[address] = socket
        options(socket)
        if self._keys is not None:
            as_client(socket, self._keys)
        socket.setsockopt(zmq.ROUTING_ID, self._identity)
        monitor = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._monitors[monitor] = address
        socket.connect(f"tcp://{address}")
        return socket

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
        self._poller.register(self._router, zmq.POLLIN)
        self._poller.register(self._reader, zmq.POLLIN)
        if self._door is not None:
            self._poller.register(self._door, zmq.POLLIN)
        next_tick = time.monotonic()
        try:
            while not self._ended:
                events = [socket for socket, _ in self._poller.poll(_TICK_MS)]
                if self._reader in events:
                    self._drain_calls()
                if self._router in events:
                    self._drain_router()
                if self._door in events:
                    self._guarded(self._open_door)
                if time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + _TICK_MS / 1000
                    for monitor in list(self._monitors):
                        self._look_at(monitor)
                    self._guarded(self._handler.tick)
        finally:
            self._close()

    def _close(self) -> None:
        if self._router.closed:
            return
        for address in list(self._peers):
            self.disconnect(address, _GOODBYE_MS)
        self._router.close()
        if self._door is not None:
            self._door.close()
            self._context.term()
        with self._waking:
            os.close(self._reader)
            os.close(self._writer)
            self._writer = -1

    def _guarded(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls the handler; an error in it is a bug, which must not end the thread for everybody else."""
        try:
            function(*arguments)
        except Exception:
            _LOG.exception("A message or event could not be handled.")

    def _drain_calls(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._reader, 4096)
        while self._calls:
            self._guarded(self._calls.popleft())

    def _drain_router(self) -> None:
        for _ in range(64):
            try:
                sender = self._router.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            if self._handler.knows(sender):
                frames = _receive_rest(self._router, MOST_FRAMES, MOST_FRAME_BYTES)
            else:
                frames = _receive_rest(self._router, 1, MOST_STRANGER_BYTES)
            if frames is None:
                self.dropped.add("It is larger than a hello.")
                continue
            self.messages_in += 1
            self.bytes_in += sum(map(len, frames))
            self._guarded(self._handler.received, sender, frames)

    def _open_door(self) -> None:
        """Answers ZeroMQ's question whether the key of who connects is the one of this cluster's clients."""
        assert self._door is not None and self._keys is not None
        _, number, domain, address, _, mechanism, *credentials = self._door.recv_multipart(zmq.NOBLOCK)
        mine = zmq.utils.z85.decode(self._keys.client_public)
        if mechanism == b"CURVE" and domain == _DOMAIN.encode() and credentials == [mine]:
            status = [b"200", b"OK"]
        else:
            status = [b"400", b"The key is not this cluster's."]
            self.dropped.add(
                f"A connection from {address.decode('ascii', 'replace')} had another cluster's key."
            )
        self._door.send_multipart([b"1.0", number, *status, b"", b""])

    def _look_at(self, monitor: zmq.Socket[bytes]) -> None:
        """Looks whether a connection is gone: only now and then, as every socket that is waited for costs time."""
        try:
            recv_monitor_message(monitor, zmq.NOBLOCK)
        except zmq.Again:
            return
        address = self._monitors.get(monitor)
        if address is not None:
            self._guarded(self._handler.lost, address)
