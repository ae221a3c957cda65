"""The options of all ZeroMQ sockets of graphflow, and how the frames of a message go through one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import zmq
from zmq.backend import Socket as BackendSocket

from graphflow._core.common.timeouts import HEARTBEAT_MS, HEARTBEAT_TIMEOUT_MS
from graphflow._core.transport.frames.pieces import MOST_WHOLE_BYTES, cut, is_cut
from graphflow._core.transport.frames.tensors import Buffer

MOST_WHOLE: Final = MOST_WHOLE_BYTES + 1024
"""Bytes of the largest frame that ZeroMQ takes, with what encryption adds: it has room for a stranger's, too."""
_COPY_BELOW: Final = 32 << 10
"""Bytes below which a frame is copied: tracking its memory costs more."""
AT_ONCE: Final = int(zmq.NOBLOCK)
"""Flags as numbers: Python's flags take a microsecond to be put together, and every frame has some."""
_MORE: Final = int(zmq.SNDMORE | zmq.NOBLOCK)
_EVENTS: Final = int(zmq.EVENTS)
_RCVMORE: Final = int(zmq.RCVMORE)
_put: Final = BackendSocket.send
"""What `zmq.Socket.send` calls, beside which it looks for what goes through other sockets than these."""
_POLLIN: Final = int(zmq.POLLIN)


def options(socket: zmq.Socket[bytes], endpoint: str = "") -> None:
    """Sets the options that every socket has; `endpoint`: at which it will listen, or to which it will connect."""
    socket.setsockopt(zmq.IPV6, int("[" in endpoint))
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, 0)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MOST_WHOLE)
    socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS)
    socket.setsockopt(zmq.RECONNECT_IVL, 20)
    socket.setsockopt(zmq.RECONNECT_IVL_MAX, 500)


def send(socket: zmq.Socket[bytes], frames: Sequence[Buffer], to: bytes = b"") -> bool:
    """Sends the frames of one message; False if there is nobody to send to, since the connection was refused.

    Large frames are not copied, and may not change until they are out. to: the identity of the receiver, for a socket
    that has several.
    """
    first = frames[0]
    try:
        if len(frames) == 1 and len(first) < _COPY_BELOW:  # As most are.
            if to:
                _put(socket, to, _MORE)
            _put(socket, first, AT_ONCE)
            return True
        if len(frames) > 1 or is_cut(first):
            for piece in cut(frames):
                _send(socket, piece, to)
            frames = [b"" if is_cut(frame) else frame for frame in frames]
        _send(socket, frames, to)
    except zmq.Again:
        return False
    return True


def _send(socket: zmq.Socket[bytes], parts: Sequence[Buffer], to: bytes) -> None:
    if to:
        socket.send(to, _MORE)
    last = len(parts) - 1
    for position, part in enumerate(parts):
        socket.send(part, AT_ONCE if position == last else _MORE, copy=len(part) < _COPY_BELOW)


def is_readable(socket: zmq.Socket[bytes]) -> bool:
    """Whether there is a message. It has to be asked again after every use of the socket."""
    events = socket.getsockopt(_EVENTS)
    assert isinstance(events, int)
    return bool(events & _POLLIN)


def receive(socket: zmq.Socket[bytes], flags: int = AT_ONCE) -> list[Buffer]:
    """One message, or a piece, by default without waiting; zmq.Again if there is none. Large frames are not copied."""
    parts: list[Buffer] = [socket.recv(flags)]
    more = socket.getsockopt(_RCVMORE)
    while more:
        frame = socket.recv(AT_ONCE, copy=False)
        more = frame.more
        parts.append(frame.bytes if len(frame) < _COPY_BELOW else frame.buffer)
    return parts


def receive_rest(socket: zmq.Socket[bytes], most_frames: int, most_bytes: int) -> list[Buffer] | None:
    """The frames of a message behind the first, one or more; None, and nothing kept, if they are more or larger."""
    first = socket.recv(
        AT_ONCE
    )  # Most have this one alone, and a copy of it costs less than an object for the frame.
    parts: list[Buffer] | None = None if len(first) > most_bytes else [first]
    more = socket.getsockopt(_RCVMORE)
    while more:
        frame = socket.recv(AT_ONCE, copy=False)
        more = frame.more
        length = len(frame)
        if parts is None or length > most_bytes or len(parts) == most_frames:
            parts = None
        else:
            parts.append(frame.bytes if length < _COPY_BELOW else frame.buffer)
    return parts
