"""A program of a stranger's that floods a task: python flooder.py KIND PORT SECONDS [COUNT [DATA]].

It connects to this machine alone, stops by itself, and uses plain sockets, so that it may break every rule. It writes a
line when the flood has begun, and at the end one with what it did, as JSON.
"""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

MOST_SECONDS: Final = 120.0
MOST_BYTES: Final = 24 << 30
BLOCK: Final = bytes(1 << 16)


def greeting(mechanism: bytes) -> bytes:
    """What ZMTP 3.1 begins with."""
    return b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01" + mechanism.ljust(20, b"\0") + bytes(32)


def command(name: bytes, body: bytes = b"") -> bytes:
    data = bytes([len(name)]) + name + body
    if len(data) < 256:
        return b"\x04" + bytes([len(data)]) + data
    return b"\x06" + struct.pack(">Q", len(data)) + data


def frame(data: bytes, more: bool = False) -> bytes:
    if len(data) < 256:
        return bytes([int(more), len(data)]) + data
    return bytes([2 | int(more)]) + struct.pack(">Q", len(data)) + data


def ready(identity: bytes = b"") -> bytes:
    """The metadata of a DEALER, with which NULL ends its handshake."""
    body = b"".join(
        bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
        for name, value in ((b"Socket-Type", b"DEALER"), (b"Identity", identity))
    )
    return command(b"READY", body)


def hello(size: int) -> bytes:
    """A hello with a wrong token, of so many bytes."""
    details = json.dumps({"token": "0" * 64, "session": "s", "x": "x" * (size - 200)}).encode()
    return struct.pack("<2sBBIQQQQ", b"GF", 3, 1, 0, len(details), 1, 0, 0) + details


def plain(password: bytes, user: bytes = b"graphflow") -> bytes:
    """The command with which PLAIN begins."""
    return command(b"HELLO", bytes([len(user)]) + user + bytes([len(password)]) + password)


class Flooder:
    """Floods the task at a port of this machine for some seconds."""

    def __init__(self, port: int, seconds: float, count: int, data: bytes) -> None:
        self.address = ("127.0.0.1", port)
        self.seconds = min(seconds, MOST_SECONDS)
        self.end = time.monotonic() + self.seconds
        self._last = self.end + MOST_SECONDS
        self.count, self.data = count, data
        self.connections = self.refused = self.bytes = self.most_open = 0
        self.answers: set[bytes] = set()
        self._chance = random.Random(7)

    @property
    def goes_on(self) -> bool:
        """Until its seconds are over, but not before it has connected: a busy machine may take longer for that."""
        now = time.monotonic()
        return (now < self.end or not self.connections and now < self._last) and self.bytes < MOST_BYTES

    def connect(self) -> socket.socket | None:
        try:
            found = socket.create_connection(self.address, 2)
        except OSError:
            self.refused += 1
            return None
        if not self.connections:
            self.end = time.monotonic() + self.seconds
        self.connections += 1
        return found

    def send(self, to: socket.socket, data: bytes) -> bool:
        """Whether it went out whole."""
        try:
            to.sendall(data)
        except OSError:
            self.refused += 1
            return False
        self.bytes += len(data)
        return True

    def stream(self, first: bytes, blocks: Callable[[], bytes]) -> None:
        """Connection after connection, on which it sends until it is thrown out."""
        while self.goes_on:
            stranger = self.connect()
            if stranger is None:
                continue
            with stranger:
                stranger.settimeout(0.5)
                going = self.send(stranger, first)
                while going and self.goes_on:
                    going = self.send(stranger, blocks())
                with suppress(OSError):
                    self.answers.add(stranger.recv(4096)[64:])

    def hold(self, first: bytes, each_second: bytes = b"") -> None:
        """So many connections at once, which stay; those that were closed are opened again."""
        held: list[socket.socket] = []
        spoken = time.monotonic()
        while self.goes_on:
            while len(held) < self.count and self.goes_on:
                stranger = self.connect()
                if stranger is None:
                    break
                if self.send(stranger, first):
                    stranger.setblocking(False)
                    held.append(stranger)
            self.most_open = max(self.most_open, len(held))
            time.sleep(0.02)
            speak = each_second if time.monotonic() - spoken > 1 else b""
            if speak:
                spoken = time.monotonic()
            held = [s for s in held if self._is_open(s, speak)]
        for stranger in held:
            stranger.close()

    def _is_open(self, stranger: socket.socket, speak: bytes) -> bool:
        try:
            if speak:
                stranger.send(speak)
            if stranger.recv(4096):
                return True
        except BlockingIOError:
            return True
        except OSError:
            pass
        self.refused += 1
        stranger.close()
        return False

    # ---- kinds ------------------------------------------------------------------------------------------------------

    def multipart(self) -> None:
        block = frame(b"x" * 200, more=True) * 300
        self.stream(greeting(b"NULL") + ready(), lambda: block)

    def large_multipart(self) -> None:
        block = frame(bytes(200_000), more=True)
        self.stream(greeting(b"NULL") + ready(), lambda: block)

    def frame(self) -> None:
        self.stream(greeting(b"NULL") + ready() + b"\x02" + struct.pack(">Q", 8 << 30), lambda: BLOCK)

    def handshake_frame(self) -> None:
        """A command of the handshake that is announced with 8 GiB."""
        self.stream(greeting(b"PLAIN") + b"\x06" + struct.pack(">Q", 8 << 30), lambda: BLOCK)

    def handshake_frames(self) -> None:
        """As many commands of the handshake as may be, each all but whole: as long as is taken, and kept there."""
        self.hold(greeting(b"PLAIN") + b"\x06" + struct.pack(">Q", 256 << 10) + bytes(250 << 10))

    def small(self) -> None:
        block = frame(b"x") * 20_000
        self.stream(greeting(b"NULL") + ready(), lambda: block)

    def hellos(self) -> None:
        block = frame(hello(64_000))
        self.stream(greeting(b"NULL") + ready(), lambda: block)

    def token(self) -> None:
        """Guesses the password, and says hello with it."""
        self.stream(
            greeting(b"PLAIN") + plain(b"0" * 64) + command(b"INITIATE") + frame(hello(4000)),
            lambda: frame(hello(4000)),
        )

    def half(self) -> None:
        self.hold(greeting(b"PLAIN"))

    def half_curve(self) -> None:
        self.hold(greeting(b"CURVE"))

    def idle(self) -> None:
        self.hold(b"")

    def slow(self) -> None:
        self.hold(greeting(b"PLAIN")[:10], b"\0")

    def churn(self) -> None:
        while self.goes_on:
            stranger = self.connect()
            if stranger is not None:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                stranger.close()

    def churn_greeting(self) -> None:
        while self.goes_on:
            stranger = self.connect()
            if stranger is not None:
                with stranger:
                    self.send(stranger, greeting(b"PLAIN") + plain(b"0" * 64))

    def garbage(self) -> None:
        self.stream(b"", lambda: self._chance.randbytes(4096))

    def identity(self) -> None:
        """Calls itself by the name of another client, and says that it goes: before, during and after the proof."""
        goodbye = frame(struct.pack("<2sBBIQQQQ", b"GF", 3, 18, 0, 0, 0, 0, 0))
        metadata = ready(self.data)
        name = metadata[metadata.index(b"READY") + 5 :]
        firsts = (
            greeting(b"NULL") + metadata,
            greeting(b"PLAIN") + command(b"INITIATE", name),
            greeting(b"PLAIN") + metadata,
            greeting(b"PLAIN") + plain(b"0" * 64) + command(b"INITIATE", name),
        )
        while self.goes_on:
            for first in firsts:
                stranger = self.connect()
                if stranger is not None:
                    with stranger, suppress(OSError):
                        stranger.settimeout(0.05)
                        self.send(stranger, first + goodbye * 9)
                        while stranger.recv(4096):
                            pass

    def replay(self) -> None:
        """Says again what somebody with the secret has said elsewhere."""
        while self.goes_on:
            stranger = self.connect()
            if stranger is not None:
                with stranger, suppress(OSError):
                    stranger.settimeout(0.05)
                    self.send(stranger, self.data)
                    while stranger.recv(4096):
                        pass

    def mechanisms(self) -> None:
        """Every mechanism there is and some that there are not, and commands that have no place where they come."""
        firsts: Iterator[bytes] = iter(())
        names = (b"NULL", b"CURVE", b"GSSAPI", b"", b"\xff" * 20, b"PLAIN", b"PLAINX", b"plain")
        bodies = (
            ready(b"x" * 255), plain(b"", b""), plain(b"x" * 255, b"x" * 255), command(b"WELCOME"),
            command(b"INITIATE"), command(b"ERROR", b"\xff" * 9), command(b"PING", b"\0\0x"),
            b"\x04\0", b"\x06" + b"\xff" * 8,
            command(b"HELLO", bytes(196)), command(b"HELLO", b"\xff\xff"), command(b"x" * 255), frame(b"x"), frame(b""),
        )  # fmt: skip
        while self.goes_on:
            first = next(firsts, None)
            if first is None:
                pairs = [greeting(n) + b for n in names for b in bodies]
                firsts = iter(self._chance.sample(pairs, len(pairs)))
                continue
            stranger = self.connect()
            if stranger is not None:
                with stranger, suppress(OSError):
                    stranger.settimeout(0.02)
                    self.send(stranger, first + self._chance.choice(bodies))
                    self.answers.add(stranger.recv(4096)[64:])


def main(kind: str, port: str, seconds: str, count: str = "400", data: str = "") -> None:
    os.nice(19)  # As if it came from another machine: not this one's cores are what is to be short.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, int(count) + 100), most))
    flooder = Flooder(int(port), float(seconds), int(count), bytes.fromhex(data))
    print("begun", flush=True)
    getattr(flooder, kind)()
    print(json.dumps({
        "connections": flooder.connections, "refused": flooder.refused, "bytes": flooder.bytes,
        "most_open": flooder.most_open, "answers": sorted(a.hex() for a in flooder.answers)[:50],
    }))  # fmt: skip


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(errno.errorcode.get(error.errno or 0, str(error)))
