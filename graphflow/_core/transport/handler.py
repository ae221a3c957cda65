"""The object that the thread of a server's sockets calls, and how it is called."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from graphflow._core.transport.frames.tensors import Buffer

_LOG: Final = logging.getLogger("graphflow")


class Handler(Protocol):
    """The object that the thread of the sockets calls."""

    def knows(self, sender: bytes) -> bool:
        """Whether the socket of that identity has shown that it may send; a stranger may send one short frame."""
        ...

    def received(self, sender: bytes, frames: Sequence[Buffer]) -> None:
        """Takes a message from the socket of that identity."""
        ...

    def lost(self, peer: str) -> None:
        """Notes that an established connection to a peer is gone."""
        ...

    def left(self, sender: bytes) -> None:
        """The other end has closed the local channel of that identity; a new one begins with a new socket."""
        ...

    def tick(self) -> None:
        """Called every TICK_SECONDS or so."""
        ...


def guarded(function: Callable[..., None], *arguments: Any) -> None:
    """Calls a function of the handler. An error in it is a bug, which must not end the thread that all share."""
    try:
        function(*arguments)
    except Exception:
        log_bug()


def log_bug() -> None:
    """Logs the exception that is being handled, as `guarded` does: what every message comes by has no call for it."""
    _LOG.exception("A message or event could not be handled.")
