"""The sockets of a process: one thread owns them all, and calls one handler with what comes.

A server binds a ROUTER and opens a DEALER to each peer it sends to; messages between servers go one way each, from the
sender's DEALER to the receiver's ROUTER. A client has a DEALER of its own in each of its threads and gets its answers
on it. Queues have no limit in ZeroMQ, which would drop or block silently; what is on its way is bounded by the steps
that are. ZeroMQ's own heartbeats notice a peer that goes without closing; the handler is told of it.

Where both ends are on one machine a lane (lanes.py) carries what one of these sockets would, in one of the directions
between servers, in both to a client. The handler names the receiver as before; a broken lane is a lost connection.

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
from functools import partial
from typing import Any, Final, Protocol

import zmq
import zmq.utils.z85

from graphflow.transport.dropped import Dropped
from graphflow.transport.files import WRITE, Files
from graphflow.transport.keys import ClusterKeys
from graphflow.transport.lanes import MOST_FRAME_BYTES, MOST_FRAMES, Door, Lane, LaneBroken, connect
from graphflow.transport.message import Kind, Message
from graphflow.transport.peer_links import PeerLinks
from graphflow.transport.pieces import Pieces, Pool
from graphflow.transport.tensors import BadMessage, Buffer
from graphflow.transport.zeromq import options, receive_rest, send

MOST_STRANGER_BYTES: Final = 64 << 10
"""Bytes of the one frame that is taken from whom the handler does not know."""
_TICK_SECONDS: Final = 0.25
_GOODBYE_MS: Final = 200
"""How long the last messages to peers have to go out, in the background, when a server ends."""
_RELEASE_SECONDS: Final = 0.5
"""How long a port may be in use still by a server that was just closed: ZeroMQ closes sockets in the background."""
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


def _file(socket: zmq.Socket[bytes]) -> int:
    """The file that shows that something may have happened to a socket."""
    found = socket.getsockopt(zmq.FD)
    assert isinstance(found, int)
    return found


def _readable(socket: zmq.Socket[bytes]) -> bool:
    """Whether there is a message. After everything that is done with a socket this has to be asked anew."""
    events = socket.getsockopt(zmq.EVENTS)
    assert isinstance(events, int)
    return bool(events & zmq.POLLIN)


class Sockets:
    """All sockets of a server. Made and started in any thread; but for `call`, only its own thread uses it.

    keys: those of the cluster, without which nobody connects; None where the server is for its machine alone.
    lanes: whether it takes and opens lanes.
    """

    def __init__(
        self,
        handler: Handler,
        identity: bytes,
        name: str,
        keys: ClusterKeys | None = None,
        lanes: bool = True,
    ) -> None:
        self._handler = handler
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
        self._peers = PeerLinks(self._context, identity, keys, self.call, self._peer_lost)
        self._files = Files()
        self._router_used = True
        """Whether something was done with the router, which takes ZeroMQ's signal that a message came."""
        self._lane_door = Door(lanes)
        self._lanes_in: dict[bytes, Lane] = {}
        """The lanes that others have opened, by the identity of who did: what they send, and the answers to clients."""
        self._lanes_out: dict[str, Lane] = {}
        """The lanes to peers, by their addresses."""
        self._pool = Pool()
        self._pieces: dict[bytes, Pieces] = {}
        """What senders have sent pieces of."""
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
        self._router.setsockopt(zmq.IPV6, int("[" in endpoint))
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
        lane = self._lanes_out.get(address)
        if lane is None:
            self._peers.send(address, frames)
        else:
            try:
                if not lane.send(frames):
                    self._files.until_writable(lane, True)
            except LaneBroken:  # The handler may be in the middle of something.
                self._calls.append(lambda: self._lane_out_broken(address, lane))
        self._count_out(frames)

    def reply(self, identity: bytes, frames: Sequence[Buffer]) -> bool:
        """Sends to who has sent with this identity; False where it is gone."""
        lane = self._lanes_in.get(identity)
        try:
            if lane is None:
                self._router_used = True
                send(self._router, frames, (identity,))
            elif not lane.send(frames):
                self._files.until_writable(lane, True)
        except LaneBroken:
            if lane is not None:
                self._end_writing(lane)
            return False
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                return False
            raise
        self._count_out(frames)
        return True

    def _count_out(self, frames: Sequence[Buffer]) -> None:
        self.messages_out += 1
        self.bytes_out += len(frames[0]) if len(frames) == 1 else sum(map(len, frames))

    def disconnect(self, address: str, linger_ms: int = 0) -> None:
        """Closes the connection to a peer; what was not sent is dropped, after `linger_ms` in the background."""
        lane = self._lanes_out.pop(address, None)
        if lane is not None:
            self._close_lane(lane)
        self._peers.disconnect(address, linger_ms)

    def trouble(self, address: str) -> str:
        """Why nobody answers at the address of a peer, as far as that is known; "" where it is not."""
        return self._peers.trouble(address)

    def _peer_lost(self, address: str) -> None:
        self._guarded(self._handler.lost, address)

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

    # ---- lanes ----------------------------------------------------------------------------------------------------

    @property
    def door(self) -> str:
        """The name of the door to which others may open lanes; "" where there is none."""
        return self._lane_door.name

    def open_lane(self, address: str, door: object) -> None:
        """Sends to a peer that has said the name of its door through a lane from now on, where that is on this machine.

        The connection to the peer has to have begun with a hello.
        """
        if not self._lane_door.name or address in self._lanes_out or address not in self._peers:
            return
        found = connect(door)
        if found is None:
            return
        end, secret = found
        self.send_to_peer(address, Message(Kind.LANE, details={"secret": secret}).frames())
        lane = self._lanes_out[address] = Lane(end)
        self._files.watch(lane, partial(self._use_lane_out, address, lane))

    def take_lane(self, identity: bytes, secret: object) -> None:
        """What comes from this identity comes through the lane with that secret from now on, and answers go there."""
        lane = self._lane_door.claim(secret)
        if lane is None:
            self.dropped.add("There is no such lane.")
            return
        self.close_lane(identity)
        self._lanes_in[identity] = lane
        self._files.watch(lane, partial(self._use_lane_in, identity, lane))

    def close_lane(self, identity: bytes) -> None:
        """Takes nothing more through the lane of an identity, where it has one."""
        lane = self._lanes_in.pop(identity, None)
        if lane is not None:
            self._close_lane(lane)

    def _close_lane(self, lane: Lane) -> None:
        self._files.unwatch(lane)
        lane.close()

    def _end_writing(self, lane: Lane) -> None:
        """Writes nothing more into a lane that others have opened; what they have said last is taken: maybe a BYE."""
        lane.discard()
        self._files.until_writable(lane, False)

    def _use_lane_in(self, identity: bytes, lane: Lane, events: int) -> None:
        if events & WRITE:
            try:
                self._write(lane)
            except LaneBroken:
                self._end_writing(lane)
        try:
            found = lane.receive()
        except (LaneBroken, BadMessage) as error:
            if isinstance(error, BadMessage):
                self.dropped.add(str(error))
            self.close_lane(identity)
            return
        for frames in found:
            self._take(identity, frames)
            if self._lanes_in.get(identity) is not lane:
                return

    def _use_lane_out(self, address: str, lane: Lane, events: int) -> None:
        try:
            if events & WRITE:
                self._write(lane)
            if events & ~WRITE and lane.receive():
                raise LaneBroken("A lane to a peer brings nothing.")
        except (LaneBroken, BadMessage):  # What the peer has sent last is taken first: maybe that it ends.
            self._calls.append(lambda: self._lane_out_broken(address, lane))

    def _lane_out_broken(self, address: str, lane: Lane) -> None:
        if self._lanes_out.get(address) is lane:
            self._handler.lost(address)

    def _write(self, lane: Lane) -> None:
        lane.flush()
        if not lane.waits:
            self._files.until_writable(lane, False)

    # ---- the thread -----------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        files = self._files
        files.watch(self._reader, lambda _: self._drain_calls())
        files.watch(_file(self._router), lambda _: self._touch_router())
        if self._door is not None:
            files.watch(_file(self._door), lambda _: self._open_door())
        next_tick = time.monotonic()
        try:
            while not self._ended:
                for number, events in files.wait(0 if self._router_used or self._calls else _TICK_SECONDS):
                    called = files.called.get(number)
                    if called is not None:  # Else it was closed by what came before.
                        self._guarded(called, events)
                if self._calls:
                    self._drain_calls()
                if self._router_used:
                    self._router_used = _readable(self._router)
                    if self._router_used:
                        self._drain_router()
                if time.monotonic() >= next_tick:
                    next_tick = time.monotonic() + _TICK_SECONDS
                    self._router_used = True
                    self._guarded(self._peers.look)
                    self._lane_door.trim()
                    self._pool.trim()
                    self._pieces = {s: p for s, p in self._pieces.items() if self._handler.knows(s)}
                    self._guarded(self._handler.tick)
        finally:
            self._close()

    def _touch_router(self) -> None:
        self._router_used = True

    def _close(self) -> None:
        if self._router.closed:
            return
        for address in list(self._lanes_out):
            self._close_lane(self._lanes_out.pop(address))
        self._peers.close(_GOODBYE_MS)
        for identity in list(self._lanes_in):
            self.close_lane(identity)
        self._lane_door.close()
        self._files.close()
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
                frames = receive_rest(self._router, MOST_FRAMES, MOST_FRAME_BYTES)
                if frames is not None and (len(frames) > 1 or sender in self._pieces):
                    frames = self._put_together(sender, frames)
                    if frames is None:
                        continue
            else:
                frames = receive_rest(self._router, 1, MOST_STRANGER_BYTES)
            if frames is None:
                self.dropped.add("It is larger than a hello.")
                continue
            self._take(sender, frames)

    def _put_together(self, sender: bytes, frames: list[Buffer]) -> list[Buffer] | None:
        """The message of which this is the end; None where more is to come, or it is none."""
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
        self.bytes_in += len(frames[0]) if len(frames) == 1 else sum(map(len, frames))
        self._guarded(self._handler.received, sender, frames)

    def _open_door(self) -> None:
        """Answers ZeroMQ's question whether the key of who connects is the one of this cluster's clients."""
        assert self._door is not None and self._keys is not None
        while _readable(self._door):
            self._answer_at_door(self._door, self._keys)

    def _answer_at_door(self, door: zmq.Socket[bytes], keys: ClusterKeys) -> None:
        _, number, domain, address, _, mechanism, *credentials = door.recv_multipart(zmq.NOBLOCK)
        mine = zmq.utils.z85.decode(keys.client_public)
        if mechanism == b"CURVE" and domain == _DOMAIN.encode() and credentials == [mine]:
            status = [b"200", b"OK"]
        else:
            status = [b"400", b"The key is not this cluster's."]
            self.dropped.add(
                f"A connection from {address.decode('ascii', 'replace')} had another cluster's key."
            )
        door.send_multipart([b"1.0", number, *status, b"", b""])
