"""Strangers: connections that have not shown yet that they may be there. How they are refused, and what they may use.

ZeroMQ takes a message whole before anybody sees it, however many frames it has, so a stranger must not get as far as
sending one. Every connection begins with a proof. Without keys that is ZeroMQ's PLAIN mechanism with a password that
follows from the user's token (https://rfc.zeromq.org/spec/24); with the keys of a cluster it is CURVE
(https://rfc.zeromq.org/spec/26). Until then ZeroMQ takes commands of the handshake and nothing else, each at most as
long as a frame may be, and ends the connection after some seconds.

ZeroMQ does not limit the number of connections, so this module does: beyond a number it closes some strangers. Those
that have been there for long are closed first, the oldest first. If all came just now, chance decides; otherwise
whoever connects fastest would drive out all others. So strangers cost a task at most `MOST_STRANGERS` files and as many
frames.

ZeroMQ asks whether a password or a key is the right one (https://rfc.zeromq.org/spec/27), and the thread of the sockets
answers. Each server has a context of its own for that, since another server of this process may have other secrets.
"""

from __future__ import annotations

import errno
import hmac
import os
import random
import resource
import socket
import struct
import time
from contextlib import suppress
from typing import Any, Final

import zmq
import zmq.utils.z85

from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import OLD_STRANGER_SECONDS, STRANGER_SECONDS
from graphflow._core.transport.congestion import unpace
from graphflow._core.transport.dropped import Dropped
from graphflow._core.transport.keys import PLAIN_USER, Access

MOST_STRANGERS: Final = 128
"""Connections at once that have not shown that they may be there. With a frame each that is 64 MiB; a cluster whose
tasks all start at once has fewer for a moment, and those of it that are closed come again."""
MOST_STRANGER_BYTES: Final = 64 << 10
"""Bytes of the one frame that is taken of a connection before its hello."""
_SHARE_OF_FILES: Final = 2
"""Strangers may use one part in so many of the files that this process may still open."""
_FEWEST: Final = 8
"""So many strangers are let in even if files are short, since every connection is a stranger's at first."""
_BACKLOG: Final = 1024
"""Connections that the kernel keeps for ZeroMQ. Without room it drops them, and the other side tries again only after
a second."""
_EVENTS_AT_ONCE: Final = 256
"""Events that are handled before other work has its turn."""
_DOMAIN: Final = "graphflow"
_ENDPOINT: Final = "inproc://zeromq.zap.01"
_MONITOR: Final = "inproc://graphflow.strangers"
_EVENTS: Final = (
    zmq.EVENT_ACCEPTED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
)
_ENDED: Final = "It ended without having shown that it may connect."
_NO_PROTOCOL: Final = "It speaks another protocol, has another cluster's key, or none."
_NEWS: Final = struct.Struct("=Hi")
"""ZeroMQ's message about a connection: the event, and a value, which is the number of the file for most events."""


@dataclass(slots=True)
class _Stranger:
    """A connection that has not shown yet that it may be there: the inode of its file, and since when it is there."""

    inode: int
    since: float


class Gate:
    """Refuses strangers at the ROUTER of a task. For the thread of the sockets; `close` is for any thread."""

    def __init__(
        self, context: zmq.Context[Any], router: zmq.Socket[bytes], access: Access, name: str
    ) -> None:
        self._router = router
        self._access = access
        self._password = b""
        self._port = 0
        self.strangers: dict[int, _Stranger] = {}
        """The strangers by the numbers of their files, the oldest first.

        If there are any, `came` has to be told the file of each message.
        """
        self._room = MOST_STRANGERS
        self._other_secret = f"It has another token or key than the one in {access.where}."
        self._why = ""
        """The reason for the last refusal, for the connection whose end ZeroMQ reports next."""
        self._nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._spare = os.dup(self._nothing)
        """A spare file, whose number `_end` uses: closing a stranger must not need a new file."""
        self.refused = Dropped(name, "connections were refused")
        self._questions: zmq.Socket[bytes] = context.socket(zmq.REP)
        self._questions.bind(_ENDPOINT)
        router.setsockopt_string(zmq.ZAP_DOMAIN, _DOMAIN)
        router.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        router.setsockopt(zmq.HANDSHAKE_IVL, int(1000 * STRANGER_SECONDS))
        router.setsockopt(zmq.BACKLOG, _BACKLOG)
        if access.keys is None:
            router.plain_server = True
        else:
            router.curve_server = True
            router.curve_secretkey = access.keys.server_secret
        router.monitor(_MONITOR, _EVENTS)
        self._monitor: zmq.Socket[bytes] = context.socket(zmq.PAIR)
        self._monitor.setsockopt(zmq.RCVHWM, 0)  # Else ZeroMQ's thread would wait here for this one.
        self._monitor.connect(_MONITOR)

    def bound(self, endpoint: str, port: int = 0) -> None:
        """The ROUTER listens at this endpoint, as tcp://127.0.0.1:2222; others connect to `port` if it is given."""
        self._port = int(endpoint.rpartition(":")[2])
        self._password = self._access.shown_at(f":{port or self._port}").encode()

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes], zmq.Socket[bytes]]:
        """The sockets that bring news: ZeroMQ's questions, and the events of connections."""
        return self._questions, self._monitor

    @property
    def count(self) -> int:
        """How many strangers are connected."""
        return len(self.strangers)

    def came(self, file: int) -> None:
        """A message came over the connection that has this file: it is no stranger's."""
        if self.strangers.pop(file, None) is not None:
            unpace(file, self._port)

    # ---- questions --------------------------------------------------------------------------------------------------

    def answer(self) -> bool:
        """Answers ZeroMQ's questions whether a password or key is right; returns whether there may be more questions.

        Before each answer it notes all events so far. Otherwise a connection that was let in could send its hello
        before it is noted as a stranger, would be taken for one from then on, and be closed.
        """
        for _ in range(_EVENTS_AT_ONCE):
            try:
                _, number, domain, _, _, mechanism, *credentials = self._questions.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return False
            fits = domain == _DOMAIN.encode() and self._fits(mechanism, credentials)
            while self.look():
                pass
            status = [b"200", b"OK"] if fits else [b"400", b"This is not the task's token or key."]
            self._questions.send_multipart([b"1.0", number, *status, b"", b""])
        return True

    def _fits(self, mechanism: bytes, credentials: list[bytes]) -> bool:
        if self._access.keys is not None:
            mine = zmq.utils.z85.decode(self._access.keys.client_public)
            return mechanism == b"CURVE" and credentials == [mine]
        if mechanism != b"PLAIN" or len(credentials) != 2 or not self._password:
            return False
        user, password = credentials
        return user == PLAIN_USER and hmac.compare_digest(password, self._password)

    # ---- connections ------------------------------------------------------------------------------------------------

    def look(self) -> bool:
        """Notes which connections came and went; returns whether there may be more events."""
        for _ in range(_EVENTS_AT_ONCE):
            try:
                news = self._monitor.recv(zmq.NOBLOCK)
            except zmq.Again:
                return False
            self._monitor.recv()  # The address, which is the same for all.
            self._note(*_NEWS.unpack(news))
        return True

    def _note(self, event: int, value: int) -> None:
        if event == zmq.EVENT_ACCEPTED:
            with suppress(OSError):  # It may be gone again.
                self.strangers.pop(value, None)
                self.strangers[value] = _Stranger(os.fstat(value).st_ino, time.monotonic())
        elif event == zmq.EVENT_DISCONNECTED:
            gone = self.strangers.pop(value, None)
            why, self._why = self._why, ""
            if gone is not None and not why and time.monotonic() - gone.since > 0.9 * STRANGER_SECONDS:
                why = f"It did not show within {STRANGER_SECONDS:g} s that it may connect."
            if why:
                self.refused.add(why)
            elif gone is not None:  # Maybe it only looked whether somebody listens.
                self.refused.add(_ENDED, log=False)
        else:
            self._why = _NO_PROTOCOL if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL else self._other_secret

    @property
    def crowded(self) -> bool:
        """Whether there are too many strangers. Then `thin_out` is to be called, after the messages that have come."""
        return len(self.strangers) > self._room

    def thin_out(self) -> None:
        """Closes the strangers that have been there for longest, down to the number that may be there."""
        self._shed(self._room)

    def tick(self) -> None:
        """Finds out how many strangers there is room for."""
        self._room = MOST_STRANGERS
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if most == resource.RLIM_INFINITY:
            return
        try:
            used = len(os.listdir("/proc/self/fd")) - len(self.strangers)
        except OSError as error:
            used = most if error.errno in (errno.EMFILE, errno.ENFILE) else 0
        self._room = max(_FEWEST, min(MOST_STRANGERS, (most - used) // _SHARE_OF_FILES))

    def _shed(self, most: int) -> None:
        long_ago = time.monotonic() - OLD_STRANGER_SECONDS
        while len(self.strangers) > most:
            file = next(iter(self.strangers))
            if self.strangers[file].since > long_ago:
                file = random.choice(list(self.strangers))
            if self._end(file, self.strangers.pop(file)):
                self.refused.add(f"More than {most} that have not shown that they may connect were there.")

    def _end(self, file: int, stranger: _Stranger) -> bool:
        """Shuts a connection down, so that ZeroMQ closes it; returns whether it was still there.

        The number of its file may have been given to another file since. So the file is copied first, and the copy is
        checked. The copy takes the number of the spare file, as strangers may have used up all others.
        """
        try:
            os.dup2(file, self._spare, inheritable=False)
        except OSError:
            return False
        try:
            found = socket.socket(fileno=self._spare)
        except OSError:  # It is no socket.
            os.dup2(self._nothing, self._spare, inheritable=False)
            return False
        same = True
        with suppress(OSError):
            same = os.fstat(self._spare).st_ino == stranger.inode and found.getsockname()[1] == self._port
            if same:
                found.shutdown(socket.SHUT_RDWR)
        found.detach()
        os.dup2(self._nothing, self._spare, inheritable=False)
        return same

    def close(self) -> None:
        """Closes its sockets; the ROUTER is closed after that."""
        self._router.monitor(None, 0)
        self._monitor.close()
        self._questions.close()
        os.close(self._spare)
        os.close(self._nothing)
