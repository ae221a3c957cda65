"""Frames that nobody should send, sent to a task all the same: garbage, truncated, oversized and replayed ones.

What is replayed and truncated is recorded from a session of this process. It has the token: it comes from somebody who
may connect, or has listened to one who may.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from unittest import mock

import zmq

import graphflow as gf
from graphflow._core.transport import keys
from graphflow._core.transport.channel import Channel
from graphflow._core.transport.frames.message import VERSION, Kind

KINDS: Final = ("garbage", "truncated", "oversized", "replayed")
_UPDATES: Final = 5
_GREETING: Final = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL".ljust(64, b"\0")
_LARGE_FRAME: Final = struct.pack(">BQ", 2, 1 << 40)
"""What announces a frame of a terabyte."""
_PAUSE_SECONDS: Final = 0.002

_send = Channel.send

Frames = list[bytes]


class Sender:
    """Sends frames of a kind to the task at host:port, until the context ends; `count` says how many were sent."""

    def __init__(self, kind: str, address: str) -> None:
        self.count = 0
        self._kind, self._address = kind, address
        self._chance = random.Random(kind)
        self._stop = threading.Event()
        self._failure: Exception | None = None
        with gf.Graph().as_default() as graph:
            with gf.device("/job:ps/task:0"):
                self._variable = gf.get_variable("replayed", initializer=0.0)
                more = self._variable.assign_add(1.0)
            config = gf.ConfigProto(device_filters=["/job:ps"])
            self._recorded: list[Frames] = []
            with mock.patch.object(Channel, "send", lambda channel, frames: self._record(channel, frames)):
                self._session = gf.Session(f"zmq://{address}", graph, config)
                self._session.run(self._variable.initializer)
                for _ in range(_UPDATES):
                    self._session.run(more)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Sender:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Ends; AssertionError where a replayed request was carried out."""
        self._stop.set()
        self._thread.join(10)
        if self._failure is not None:
            raise self._failure
        value = self._session.run(self._variable)
        self._session.close()
        assert value == _UPDATES, f"{value} updates of {_UPDATES} that were sent"

    def _record(self, channel: Channel, frames: Any) -> None:
        self._recorded.append([bytes(frame) for frame in frames])
        _send(channel, frames)

    def _run(self) -> None:
        make: Callable[[], Frames] = getattr(self, f"_{self._kind}")
        try:
            with zmq.Context() as context:
                while not self._stop.is_set():
                    with context.socket(zmq.DEALER) as stranger:
                        stranger.linger = 200
                        keys.access("").prepare(stranger, self._address)
                        stranger.connect(f"tcp://{self._address}")
                        if self._kind in ("truncated", "replayed"):
                            stranger.send_multipart(self._recorded[0])  # The hello.
                        for _ in range(50):
                            stranger.send_multipart(make() or [b""])
                            self.count += 1
                            self._stop.wait(_PAUSE_SECONDS)
                    with suppress(OSError):
                        self._raw()
        except Exception as error:
            self._failure = error

    def _raw(self) -> None:
        """Bytes that are no frame, or not a whole one."""
        host, _, port = self._address.rpartition(":")
        with socket.create_connection((host, int(port)), 2) as raw:
            if self._kind == "oversized":
                raw.sendall(_GREETING + _LARGE_FRAME + bytes(1000))
            else:
                raw.sendall(
                    _GREETING[: self._chance.randrange(65)]
                    + self._chance.randbytes(self._chance.randrange(99))
                )
            self.count += 1

    def _garbage(self) -> Frames:
        chance = self._chance
        return [
            chance.randbytes(chance.choice((0, 1, 40, 41, 3000))) for _ in range(chance.choice((1, 1, 2, 5)))
        ]

    def _truncated(self) -> Frames:
        frames = list(self._chance.choice(self._recorded))
        place = self._chance.randrange(len(frames))
        frames[place] = frames[place][: self._chance.randrange(len(frames[place]) + 1)]
        return frames[: self._chance.randrange(1, len(frames) + 1)]

    def _oversized(self) -> Frames:
        header = struct.Struct("<2sBBIQQQQ")
        return self._chance.choice(
            (
                [bytes(1 << 20)],
                [b"x"] * 1000,
                [header.pack(b"GF", VERSION, Kind.HELLO, 2**32 - 1, 2**63, 1, 0, 0)],
                [header.pack(b"GF", VERSION, Kind.RUN, 9, 2**40, 1, 0, 0) + bytes(100)],
            )
        )

    def _replayed(self) -> Frames:
        return self._chance.choice(self._recorded[1:])
