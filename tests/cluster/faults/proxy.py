"""A TCP proxy between two tasks, each direction of which can be cut and made slow and lossy.

Where it is cut, connections stay open and nothing goes through, as on a link whose cable is out; what was on its way
goes on when the cut is over, as TCP has it. A loss is what TCP makes of one: the bytes behind it wait until it is sent
again. `reset` ends all connections at once, as a firewall does that has forgotten them.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Final

_PART: Final = 1 << 16
_SENT_AGAIN_SECONDS: Final = 0.2
"""After how long TCP sends again what was lost, at the first time; then twice as long, and so on."""
_RESET: Final = struct.pack("ii", 1, 0)


class Direction:
    """What happens to what goes one way."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._chance = random.Random(1)
        self.disturb()

    def disturb(self, cut: bool = False, delay: float = 0.0, jitter: float = 0.0, loss: float = 0.0) -> None:
        """Sets it, in seconds and as a share of the parts."""
        self._delay, self._jitter, self._loss = delay, jitter, loss
        (self._open.clear if cut else self._open.set)()

    def wait(self) -> None:
        """Waits as long as a part takes that goes now."""
        self._open.wait()
        seconds = self._delay + self._jitter * self._chance.random()
        again = _SENT_AGAIN_SECONDS
        while self._chance.random() < self._loss:
            seconds += again
            again *= 2
        if seconds:
            time.sleep(seconds)


class Proxy:
    """Passes what comes to an address of this machine on to 127.0.0.1. A context manager.

    host: another address of the loopback interface. The port is the same at both, as it is where a link is between the
    tasks: what is shown to a task at one port opens none at another.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server((host, port))
        self.address = f"{host}:{port}"
        self.there, self.back = Direction(), Direction()
        self._closed = False
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed = True
        for direction in (self.there, self.back):
            direction.disturb()
        for found in [self._listener, *self._sockets]:
            with suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)
            found.close()
        for thread in self._threads:
            thread.join(5)

    def reset(self) -> None:
        """Ends all connections without a goodbye; new ones may begin at once."""
        for found in self._sockets:
            with suppress(OSError):
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                found.shutdown(socket.SHUT_RD)
            found.close()
        self._sockets.clear()

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            self._sockets += [near, far]
            for ends in ((near, far, self.there), (far, near, self.back)):
                self._threads.append(threading.Thread(target=self._pass_on, args=ends))
                self._threads[-1].start()

    def _pass_on(self, source: socket.socket, drain: socket.socket, direction: Direction) -> None:
        with suppress(OSError):
            while data := source.recv(_PART):
                direction.wait()
                drain.sendall(data)
        with suppress(OSError):
            drain.shutdown(socket.SHUT_WR)
