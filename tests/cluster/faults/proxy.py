"""A TCP proxy between two tasks, which can be cut and made slow.

Where it is cut, connections stay open and nothing goes through, as on a link whose cable is out; what was on its way
goes on when the cut is over, as TCP has it.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress


class Proxy:
    """Passes what comes to `port` of this machine on to another port. A context manager."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        self.open = threading.Event()
        self.open.set()
        self.delay_seconds = 0.0
        self._closed = False
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed = True
        self.open.set()
        for found in [self._door, *self._sockets]:
            with suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)
            found.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while not self._closed:
            try:
                near, _ = self._door.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()
                continue
            self._sockets += [near, far]
            for ends in ((near, far), (far, near)):
                self._threads.append(threading.Thread(target=self._pass_on, args=ends))
                self._threads[-1].start()

    def _pass_on(self, source: socket.socket, drain: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self.open.wait()
                if self.delay_seconds:
                    time.sleep(self.delay_seconds)
                drain.sendall(data)
        with suppress(OSError):
            drain.shutdown(socket.SHUT_WR)
