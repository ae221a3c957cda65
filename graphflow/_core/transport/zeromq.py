"""The options of all ZeroMQ sockets of graphflow, and how the frames of a message go through one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import zmq

from graphflow._core.common.timeouts import HEARTBEAT_MS, HEARTBEAT_TIMEOUT_MS
from graphflow._core.transport.frames.pieces import MOST_WHOLE_BYTES, cut, is_cut
from graphflow._core.transport.frames.tensors import Buffer

MOST_WHOLE: Final = MOST_WHOLE_BYTES + 1024
"""Bytes of the largest frame that ZeroMQ takes, with what encryption adds: it has room for a stranger's, too."""
_COPY_BELOW: Final = 32 << 10
"""Bytes below which a frame is copied: tracking its memory costs more."""


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


def send(socket: zmq.Socket[bytes], frames: Sequence[Buffer], first: Sequence[bytes] = ()) -> None:
    """Sends the frames of one message; large ones are not copied, and may not change until they are out."""
    if len(frames) > 1 or is_cut(frames[0]):
        for piece in cut(frames):
            _send(socket, (*first, *piece))
        frames = [b"" if is_cut(frame) else frame for frame in frames]
    _send(socket, (*first, *frames))


def _send(socket: zmq.Socket[bytes], parts: Sequence[Any]) -> None:
    last = len(parts) - 1
    for position, part in enumerate(parts):
        more = 0 if position == last else zmq.SNDMORE
        socket.send(part, more | zmq.NOBLOCK, copy=len(part) < _COPY_BELOW)


def receive(socket: zmq.Socket[bytes]) -> list[Buffer]:
    """One message, or a piece, without waiting; zmq.Again if there is none. Large frames are not copied."""
    parts: list[Buffer] = [socket.recv(zmq.NOBLOCK)]
    more = bool(socket.getsockopt(zmq.RCVMORE))
    while more:
        frame = socket.recv(copy=False)
        more = frame.more
        parts.append(frame.bytes if len(frame) < _COPY_BELOW else frame.buffer)
    return parts


def receive_rest(socket: zmq.Socket[bytes], most_frames: int, most_bytes: int) -> list[Buffer] | None:
    """The frames of a message behind the first; None, and nothing kept, if there are more or larger ones."""
    parts: list[Buffer] | None = []
    more = bool(socket.getsockopt(zmq.RCVMORE))
    while more:
        frame = socket.recv(copy=False)
        more = frame.more
        length = len(frame)
        if parts is None or length > most_bytes or len(parts) == most_frames:
            parts = None
        else:
            parts.append(frame.bytes if length < _COPY_BELOW else frame.buffer)
    return parts
