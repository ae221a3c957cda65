"""Channel: the connection of one thread of a client to a server, on which the thread waits for its answers.

It begins as a ZeroMQ socket. If the server is on the same machine, a local channel (local_channels.py) then carries the
messages. The socket is kept for what ZeroMQ knows: whether the server is still there.

ZeroMQ's sockets are not thread-safe: closing one while another thread sends on it ends the process. So a channel that
its own thread is using is not closed by another thread. That thread asks for it, and the own thread closes it.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import zmq
from zmq.utils.monitor import recv_monitor_message

from graphflow._core.common.timeouts import (
    LOCAL_CHANNEL_SLICE_SECONDS,
    LOST_GOODBYE_MS,
    MOST_RECONNECT_PAUSE_MS,
    NAME_LOOK_SECONDS,
    RECONNECT_SECONDS,
    UNHEARD_RECONNECT_SECONDS,
)
from graphflow._core.transport.congestion import unpace
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.frames.pieces import Pieces, Pool
from graphflow._core.transport.frames.tensors import Buffer
from graphflow._core.transport.keys import Access
from graphflow._core.transport.local_channels import BlockingLocalChannel, LocalChannelBroken, connect
from graphflow._core.transport.peer_links import REFUSED_EVENTS
from graphflow._core.transport.routes import Route
from graphflow._core.transport.shared import PartnerMemory
from graphflow._core.transport.zeromq import options, receive, send

_DEFINITE_EVENTS: Final = zmq.EVENT_HANDSHAKE_FAILED_AUTH, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
_MOST_TRIES: Final = 20
"""How often a connection may end before it stands. A server with too many strangers closes some, and ZeroMQ connects
them again, within about two seconds for so many tries."""
_MOST_UNSURE: Final = 8


class Gone(Exception):
    """The connection is gone; `event` is the reason that ZeroMQ gives."""

    def __init__(self, event: int) -> None:
        super().__init__(event)
        self.event = event


class Closed(Exception):
    """The channel was closed, maybe by another thread."""


class Channel:
    """The connection of one thread to a server. Any thread may close it.

    pool: the memory for frames that come over the network.
    """

    def __init__(self, address: str, access: Access, pool: Pool) -> None:
        self.route = Route(address, access.keys)
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        options(self._socket)
        self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, MOST_RECONNECT_PAUSE_MS)
        access.prepare(self._socket, address)
        self._socket.setsockopt(zmq.ROUTING_ID, secrets.token_bytes(9))
        self._monitor: zmq.Socket[bytes] = self._socket.get_monitor_socket(
            zmq.EVENT_CONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | REFUSED_EVENTS
        )
        self._file = -1
        """The number of the connection's file, as ZeroMQ has told it."""
        self._tries = 0
        self._tried_until = math.inf
        self._wait_ms = -1
        """For how long ZeroMQ waits for a message."""
        self._pieces = Pieces(pool)
        self._local_channel: BlockingLocalChannel | None = None
        self._guard = threading.RLock()  # A signal's handler may close the session.
        self._users = 0
        """How many calls are using the socket and the local channel, which stay open for as long."""
        self._closed = False
        self._linger_ms = 0
        self._end = ""
        """The endpoint that it is connected to; "" before that."""
        self._stands = False
        """Whether the connection is established."""
        self._unsure: list[Sequence[Buffer]] = []
        """The messages sent before the first answer: they may have to be sent again, maybe to another address."""
        self._heard = False
        """Whether any message has come."""
        self.greeted = False
        self.memory: PartnerMemory | None = None
        """The memory that the server shares with this process, if it shares any."""
        self.trim_at = 0.0

    def connect(self, deadline: float | None) -> bool:
        """Connects to the server; returns whether its address was found by `deadline` (of time.monotonic())."""
        if self._end:
            return True
        self._begin()
        try:
            while not self._end:
                self._turn()
                if self._end:
                    break
                if self._closed:
                    raise Closed
                if deadline is not None and time.monotonic() >= deadline:
                    return False
                time.sleep(NAME_LOOK_SECONDS)
        finally:
            self._done()
        return True

    @property
    def trouble(self) -> str:
        """Why there is no connection, as far as that is known; "" if there is one."""
        return "" if self._stands else self.route.trouble

    def _turn(self) -> None:
        """Connects, or changes to another address if the route has a better one."""
        end = self.route.choose()
        if not end:
            return
        if self._end:
            self._socket.disconnect(self._end)
        self._socket.setsockopt(zmq.IPV6, int("[" in end))
        self._socket.connect(end)
        self._end = end
        for frames in self._unsure:
            self._send(frames)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def _begin(self) -> None:
        """A call uses the socket and the local channel from now on; `_done` must follow."""
        with self._guard:
            self._users += 1
            if not self._closed:
                return
        self._done()
        raise Closed

    def _done(self) -> None:
        with self._guard:
            self._users -= 1
            last = self._closed and not self._users
        if last:
            self._free()

    def open_local_channel(self, listener: object) -> None:
        """Uses a local channel from now on, if the listener that the server has named is on this machine."""
        if self._local_channel is not None:
            return
        found = connect(listener)
        if found is None:
            return
        try:
            self._begin()
            try:
                self._send(Message(Kind.LOCAL_CHANNEL, details={"secret": found[1]}).frames())
                self._local_channel = BlockingLocalChannel(found[0])
            finally:
                self._done()
        except BaseException:
            found[0].close()
            raise

    def send(self, frames: Sequence[Buffer]) -> None:
        """Sends a message. Raises Gone if the server is gone, Closed if another thread has closed the channel."""
        with self._guard:  # As in _begin() and _done(), without the calls: every run comes by here.
            if self._closed:
                raise Closed
            self._users += 1
        try:
            if self._local_channel is not None:
                self._local_channel.send(frames, self._check)
                return
            if not self._stands:
                self._check()
            if not self._heard and len(self._unsure) < _MOST_UNSURE:
                self._unsure.append(frames)
            self._send(frames)
        except LocalChannelBroken:
            raise self._broken() from None
        finally:
            with self._guard:
                self._users -= 1
                last = self._closed and not self._users
            if last:
                self._free()

    def _send(self, frames: Sequence[Buffer]) -> None:
        if not send(self._socket, frames):
            self._check()
            raise Gone(zmq.EVENT_DISCONNECTED)

    def receive(self, deadline: float | None) -> list[Buffer] | None:
        """The next message; None if none came for a while, or by `deadline` (of time.monotonic()).

        Raises Gone or Closed if none will come any more.
        """
        with self._guard:  # As in _begin() and _done(), without the calls: every run comes by here.
            if self._closed:
                raise Closed
            self._users += 1
        try:
            left = None
            if deadline is not None:
                left = min(LOCAL_CHANNEL_SLICE_SECONDS, max(0.0, deadline - time.monotonic()))
            if self._local_channel is not None:
                found = self._local_channel.receive(left)
            else:
                found = self._from_socket(LOCAL_CHANNEL_SLICE_SECONDS if left is None else left)
            if found is None:
                self._check()
            return found
        except LocalChannelBroken:
            raise self._broken() from None
        finally:
            with self._guard:
                self._users -= 1
                last = self._closed and not self._users
            if last:
                self._free()

    def _from_socket(self, seconds: float) -> list[Buffer] | None:
        """The next message that comes through ZeroMQ; None after so many seconds, or if it was a piece."""
        wait_ms = int(1000 * seconds + 0.999)
        if wait_ms != self._wait_ms:
            self._socket.setsockopt(zmq.RCVTIMEO, wait_ms)
            self._wait_ms = wait_ms
        try:
            frames = receive(self._socket, 0)
        except zmq.Again:
            return None
        if not self._heard:
            self._stands = self._heard = True
            self._unsure.clear()
        return self._pieces.take(frames)

    def _check(self) -> None:
        """Raises Gone if ZeroMQ has noticed that the connection is gone, Closed if another thread has closed it."""
        if self._closed:
            raise Closed
        while True:
            try:
                news = recv_monitor_message(self._monitor, zmq.NOBLOCK)
            except zmq.Again:
                break
            event = int(news["event"])
            if event == zmq.EVENT_CONNECTED:
                self._file = int(news["value"])
            elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                unpace(self._file, self.route.port)
                self._stands = True
                self._tried_until = math.inf
            elif self._heard or event in _DEFINITE_EVENTS or self._tries >= _MOST_TRIES:
                raise Gone(event)
            elif self._stands:  # It came to stand, and was ended before its hello was taken: it comes again.
                self._stands = False
                self._tries += 1
                self._tried_until = time.monotonic() + UNHEARD_RECONNECT_SECONDS
                for frames in self._unsure:
                    self._send(frames)
            elif event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
                self._tries += 1
                self._tried_until = time.monotonic() + RECONNECT_SECONDS
                if self._tries >= _MOST_TRIES:
                    raise Gone(event)
        if not self._stands:
            if time.monotonic() > self._tried_until:
                raise Gone(zmq.EVENT_DISCONNECTED)
            self._turn()

    def _broken(self) -> Exception:
        if self._local_channel is not None:
            self._local_channel.close()
        return Closed() if self._closed else Gone(zmq.EVENT_DISCONNECTED)

    def leave(self) -> None:
        """Says goodbye for this channel alone, and closes it: its thread has ended, and the session may go on."""
        if not self.closed:
            with suppress(Gone, Closed):
                if self.greeted:
                    self.send(Message(Kind.BYE, 0, 1).frames())
            self.close(LOST_GOODBYE_MS)

    def close(self, linger_ms: int = 0) -> None:
        """Closes the channel; a thread that waits for an answer gets Closed.

        linger_ms: for how long the last messages may still be sent, in the background.
        """
        with self._guard:
            if self._closed:
                return
            self._closed, self._linger_ms = True, linger_ms
            unused, local_channel = not self._users, self._local_channel
        if unused:
            self._free()
        elif local_channel is not None:
            local_channel.wake()

    def _free(self) -> None:
        """Closes the sockets. No call uses them, and none will."""
        if self._socket.closed:
            return
        self._socket.disable_monitor()
        self._monitor.close()
        self.memory = None
        self._socket.close(self._linger_ms)
        if self._local_channel is not None:
            self._local_channel.close()
