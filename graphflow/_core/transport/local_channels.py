"""Local channels: Unix sockets for the messages of a link whose two ends are processes of one user on one machine.

ZeroMQ hands every message from thread to thread four times on its way; a socket that the waiting thread itself reads is
six times as fast. A link always begins over ZeroMQ, which authenticates, and which notices that a connection or a
process is gone. Over the link each end tells the name of its listener, and whoever sends may then open a local channel
to it. The sender writes a secret into the local channel and says the same secret over the link, so both come from the
same process. From that message on all messages of the link go through the local channel, and none before
it is read, so they stay in order.

A listener is a Unix socket in a folder beside the user's token, which other users cannot enter: one that all may
connect to they could keep full. The kernel says, too, whose process has connected.
"""

from __future__ import annotations

import errno
import hmac
import os
import re
import secrets
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from graphflow._core.common.files.own_files import own_folder
from graphflow._core.common.timeouts import (
    LISTENER_MAKING_SECONDS,
    LOCAL_CHANNEL_ACCEPT_SECONDS,
    LOCAL_CHANNEL_SLICE_SECONDS,
)
from graphflow._core.transport import token
from graphflow._core.transport.frames.tensors import MOST_TENSORS, BadMessage, Buffer

MOST_FRAME_BYTES: Final = 1 << 40
"""Bytes of the largest frame that is taken; the connection that brings a larger one is closed."""
MOST_FRAMES: Final = 1 + MOST_TENSORS
SECRET_BYTES: Final = 32
_HEAD: Final = struct.Struct("<QQ")
"""Number of frames and length of the first; the lengths of the others, 8 bytes each, and the frames follow."""
_NAME: Final = re.compile(r"graphflow-[0-9a-f]{32}")
_READ: Final = 64 << 10
_JOIN_BELOW: Final = 64 << 10
"""Bytes of a message below which it is put together: one write is cheaper than a list of parts."""
_MOST_PARTS: Final = 256
"""Parts that one write takes; Linux takes 1,024."""
_MOST_WAITING: Final = 64
_MOST_REMOVED: Final = 256
_NO_FILES: Final = errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM
_USABLE: Final = sys.platform == "linux"
_CREDENTIALS: Final = struct.Struct("3i")


class LocalChannelBroken(OSError):
    """The other end is gone, or what came from it is no message."""


class NoFiles(OSError):
    """This process has no file left for a local channel; it may have one in a moment."""


class Parser:
    """Takes what comes through a local channel apart into messages."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._wanted = 0

    def messages(self, data: bytes) -> list[list[Buffer]]:
        """The messages that end in these bytes, which follow those of the last call; BadMessage if there are none.

        The frames of a large message share its memory.
        """
        if not self._rest and len(data) >= _HEAD.size:  # Nearly always it is one message, of one frame.
            count, length = _HEAD.unpack_from(data)
            if count == 1 and length == len(data) - _HEAD.size:
                return [[data[_HEAD.size :]]]
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return []
            data = bytes(self._rest)
            self._rest = bytearray()
        found: list[list[Buffer]] = []
        position, end = 0, len(data)
        while position < end:
            frames, position, self._wanted = _first(data, position, end)
            if frames is None:
                self._rest += memoryview(data)[position:]
                break
            found.append(frames)
        return found


def _first(data: bytes, start: int, end: int) -> tuple[list[Buffer] | None, int, int]:
    """The message that begins at `start`, and its end; None, `start` and the bytes that it needs if some lack."""
    body = start + _HEAD.size
    if body > end:
        return None, start, _HEAD.size
    count, length = _HEAD.unpack_from(data, start)
    if count == 1 and length <= end - body:
        return [data[body : body + length]], body + length, 0
    if not 0 < count <= MOST_FRAMES:
        raise BadMessage(f"A message of {count} frames came.")
    body += 8 * (count - 1)
    if body > end:
        return None, start, body - start
    lengths = (length, *struct.unpack_from(f"<{count - 1}Q", data, start + _HEAD.size))
    if max(lengths) > MOST_FRAME_BYTES:
        raise BadMessage(f"A frame of {max(lengths)} bytes came.")
    if body + sum(lengths) > end:
        return None, start, body - start + sum(lengths)
    view = memoryview(data)
    frames: list[Buffer] = []
    for length in lengths:
        frames.append(view[body : body + length] if length > _READ else data[body : body + length])
        body += length
    return frames, body, 0


def packed(frames: Sequence[Buffer]) -> list[Buffer]:
    """A message as what is written into a local channel; large frames are not copied."""
    first = frames[0]
    if len(frames) == 1:
        head = _HEAD.pack(1, len(first))
        return [head + first] if len(first) < _JOIN_BELOW else [head, first]
    head = struct.pack(f"<{1 + len(frames)}Q", len(frames), *map(len, frames))
    if sum(map(len, frames)) < _JOIN_BELOW:
        return [b"".join((head, *frames))]
    return [head, *frames]


class LocalChannel:
    """One end of a local channel that never waits: what cannot be written yet is kept until `flush`. For one thread."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._parser = Parser()
        self._waiting: deque[memoryview] = deque()
        """What is still to be written."""
        end.setblocking(False)

    def fileno(self) -> int:
        """The number of its file, to wait for it."""
        return self._socket.fileno()

    @property
    def waits(self) -> bool:
        """Whether something is still to be written."""
        return bool(self._waiting)

    def send(self, frames: Sequence[Buffer]) -> bool:
        """Writes a message, as far as there is room; whether it is out.

        LocalChannelBroken if the other end is gone.
        """
        parts = packed(frames)
        if len(parts) == 1 and not self._waiting:
            whole = parts[0]
            try:
                written = self._socket.send(whole)
            except BlockingIOError:
                written = 0
            except OSError as error:
                raise LocalChannelBroken(*error.args) from None
            if written == len(whole):
                return True
            self._waiting.append(memoryview(whole)[written:])
            return False
        self._waiting.extend(memoryview(part) for part in parts if len(part))
        self.flush()
        return not self._waiting

    def flush(self) -> None:
        """Writes what is kept, as far as there is room."""
        while self._waiting:
            parts = [self._waiting[n] for n in range(min(len(self._waiting), _MOST_PARTS))]
            try:
                written = self._socket.sendmsg(parts)
            except BlockingIOError:
                return
            except OSError as error:
                raise LocalChannelBroken(*error.args) from None
            while written:
                part = self._waiting.popleft()
                if len(part) > written:
                    self._waiting.appendleft(part[written:])
                written -= min(written, len(part))

    def receive(self) -> list[list[Buffer]]:
        """The messages that came meanwhile, at once; LocalChannelBroken if the other end is gone."""
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return []
        except OSError as error:
            raise LocalChannelBroken(*error.args) from None
        if not data:
            raise LocalChannelBroken("The other end is gone.")
        return self._parser.messages(data)

    def discard(self) -> None:
        """Drops what is kept, and ends writing: the other end is told, if it is there, and what it sent can be read."""
        self._waiting.clear()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Closes it; what is kept is dropped."""
        self._waiting.clear()
        self._socket.close()


class BlockingLocalChannel:
    """A client's end of a local channel: one thread sends and waits; any may close it."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._parser = Parser()
        self._ready: deque[list[Buffer]] = deque()
        self._poll = select.poll()
        self._poll.register(end, select.POLLIN)
        whole, part = divmod(LOCAL_CHANNEL_SLICE_SECONDS, 1)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            end.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(whole), int(1e6 * part)))

    def send(self, frames: Sequence[Buffer], blocked: Callable[[], None]) -> None:
        """Writes a message; `blocked` is called now and then while there is no room, and may raise."""
        for part in packed(frames):
            written = 0
            while written < len(part):
                try:
                    written += self._socket.send(memoryview(part)[written:] if written else part)
                except BlockingIOError:
                    blocked()
                except OSError as error:
                    raise LocalChannelBroken(*error.args) from None

    def receive(self, seconds: float | None = None) -> list[Buffer] | None:
        """The next message; None if none came in some time, or after so many seconds.

        LocalChannelBroken as in `LocalChannel`.
        """
        while not self._ready:
            if seconds is not None and not self._poll.poll(1000 * seconds):
                return None
            try:
                data = self._socket.recv(_READ)
            except BlockingIOError:
                return None
            except OSError as error:
                raise LocalChannelBroken(*error.args) from None
            if not data:
                raise LocalChannelBroken("The other end is gone.")
            try:
                self._ready.extend(self._parser.messages(data))
            except BadMessage as error:
                raise LocalChannelBroken(str(error)) from None
        return self._ready.popleft()

    def wake(self) -> None:
        """Ends the waiting of the thread that uses it, from any thread: to it, the other end is gone."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes it, in the thread that uses it, or in any if no thread does."""
        self._socket.close()


class Listener:
    """Accepts the local channels of a process; its name is "" if this machine has none. For one thread."""

    def __init__(self, wanted: bool = True) -> None:
        self.name = ""
        self._wanted = _USABLE and wanted
        self._socket: socket.socket | None = None
        self._waiting: deque[tuple[float, socket.socket]] = deque()
        """Who has connected, since when, and was not claimed yet."""
        if self._wanted:
            _remove_dead_listeners()
            self._open()

    def _open(self) -> None:
        listener = None
        name = f"graphflow-{secrets.token_hex(16)}"
        try:
            listener = _new_socket()
            with _folder() as folder:
                listener.bind(f"{folder}/{name}")
                os.chmod(f"{folder}/{name}", 0o600)
            listener.listen(_MOST_WAITING)
        except OSError:
            if listener is not None:
                listener.close()  # The cluster works without local channels.
            return
        self.name, self._socket = name, listener

    def accept(self, secret: object) -> LocalChannel | None:
        """The local channel into which this secret was written; None if there is none.

        NoFiles if there may be one that this process has no file for: what was written into it stays there.
        """
        if not isinstance(secret, str) or len(secret) != 2 * SECRET_BYTES:
            return None
        all_are_in = self._let_in()
        for position, (_, end) in enumerate(self._waiting):
            try:
                found = end.recv(SECRET_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except OSError:
                continue
            if hmac.compare_digest(found.hex().encode(), secret.encode("utf-8", "replace")):
                end.recv(SECRET_BYTES)
                del self._waiting[position]
                return LocalChannel(end)
        if not all_are_in:
            raise NoFiles("No file is left for a local channel.")
        return None

    def trim(self) -> None:
        """Closes connections that have ended, or were not accepted for some seconds.

        There are such: every process that starts connects to the other listeners to see which of them are dead.
        """
        if self._socket is None and self._wanted:
            self._open()
        self._let_in()
        limit = time.monotonic() - LOCAL_CHANNEL_ACCEPT_SECONDS
        waiting, self._waiting = self._waiting, deque()
        for since, end in waiting:
            if since < limit or _has_ended(end):
                end.close()
            else:
                self._waiting.append((since, end))

    def _let_in(self) -> bool:
        """Lets those in who have connected; whether these are all of them, else no file is left."""
        while self._socket is not None:
            try:
                end, _ = self._socket.accept()
            except BlockingIOError:
                return True
            except OSError as error:
                if error.errno in _NO_FILES:
                    return False
                self.shut()
                return True
            if not _of_this_user(end):
                end.close()
                continue
            self._waiting.append((time.monotonic(), end))
            if len(self._waiting) > _MOST_WAITING:
                self._waiting.popleft()[1].close()
        return True

    def close(self) -> None:
        """Accepts no more local channels; those that were accepted stay."""
        self._wanted = False
        self.shut()

    def shut(self) -> None:
        """Closes all connections that were not accepted: the other ends notice; `trim` opens another listener."""
        name, self.name = self.name, ""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            with suppress(OSError), _folder() as folder:
                os.unlink(f"{folder}/{name}")
        while self._waiting:
            self._waiting.popleft()[1].close()


def connect(name: object) -> tuple[socket.socket, str] | None:
    """A socket to the listener of that name, and the secret that was written there, in hexadecimal.

    None if this user has no such listener here: it is on another machine, or in another network namespace.
    """
    if not _USABLE or not isinstance(name, str) or not _NAME.fullmatch(name):
        return None
    end = _new_socket()
    secret = secrets.token_bytes(SECRET_BYTES)
    try:
        with _folder() as folder:
            end.connect(f"{folder}/{name}")
        if _of_this_user(end) and end.send(secret) == SECRET_BYTES:
            end.setblocking(True)
            return end, secret.hex()
    except OSError:
        pass
    end.close()
    return None


def _new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)


@contextmanager
def _folder() -> Iterator[str]:
    """The folder with this user's listeners: by a short name, as that of a Unix socket has to be."""
    opened = os.open(own_folder(token.path().parent / "doors"), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)


def _remove_dead_listeners() -> None:
    """Removes the sockets of listeners whose processes were killed, unless they are so young that one is being made."""
    with suppress(OSError), _folder() as folder:
        for name in [n for n in os.listdir(folder) if _NAME.fullmatch(n)][:_MOST_REMOVED]:
            path = f"{folder}/{name}"
            with suppress(OSError), _new_socket() as probe:
                if time.time() - os.lstat(path).st_mtime > LISTENER_MAKING_SECONDS:
                    try:
                        probe.connect(path)
                    except ConnectionRefusedError:
                        os.unlink(path)


def _has_ended(end: socket.socket) -> bool:
    """Whether nothing comes, or will, since the other end is closed."""
    try:
        return not end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _of_this_user(end: socket.socket) -> bool:
    found = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(found)[1] == os.geteuid())
