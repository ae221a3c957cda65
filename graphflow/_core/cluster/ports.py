"""Free ports of this machine, kept free until a server takes them."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack
from typing import Final

_FIRST, _LAST = 15000, 32000
"""Below the ports that the kernel gives to outgoing connections, which could otherwise take one meanwhile."""
_TRIES: Final = 2000


class ReservedPorts:
    """Some free ports of the loopback interface; a context manager that keeps them from other programs' random choice.

    A port is bound here, without listening, in a way that lets a server (which asks for SO_REUSEADDR, as ZeroMQ's do)
    listen at it all the same, again and again.

    Args:
        count: How many ports.
    """

    def __init__(self, count: int) -> None:
        self._sockets = ExitStack()
        self.ports: list[int] = []
        for _ in range(_TRIES):
            if len(self.ports) == count:
                return
            port = random.randrange(_FIRST, _LAST)
            found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                # Bound before the option is set, so that it fails where another program has reserved the port likewise.
                found.bind(("127.0.0.1", port))
            except OSError:
                found.close()
                continue
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._sockets.enter_context(found)
            self.ports.append(port)
        self.close()
        raise OSError(f"There are no {count} free ports between {_FIRST} and {_LAST}.")

    def close(self) -> None:
        """Gives them up."""
        self._sockets.close()

    def __enter__(self) -> ReservedPorts:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
