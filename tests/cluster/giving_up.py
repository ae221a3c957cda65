"""Clients that give up or die: a cluster that keeps results from them, and what such a client does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.transport.frames.message import Kind
from tests.cluster.serving import serve_all, spec_of


class Cluster:
    """A ps with a queue and a worker, and a switch that keeps results from clients."""

    def __init__(self, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
        self.servers = serve_all(stack, spec_of(stack, ps=1, worker=1))
        self.withheld = threading.Event()
        """Set while results do not come to clients."""
        self.kept_back = 0
        for server in self.servers:
            sockets = server._service.sockets
            monkeypatch.setattr(sockets, "reply", self._reply(sockets.reply))

    def _reply(self, real: Callable[..., bool]) -> Callable[..., bool]:
        def reply(identity: bytes, frames: Sequence[Any]) -> bool:
            if self.withheld.is_set() and frames[0][3] == Kind.RESULT:
                self.kept_back += 1
                return True
            return real(identity, frames)

        return reply

    def nothing_is_kept(self) -> bool:
        return not any(
            len(s._service.steps.takings) or s._service.protocol.master.unsettled or s._service.steps.contexts
            for s in self.servers
        )


def until(there: Callable[[], bool]) -> None:
    """Waits for it, not for ever."""
    limit = time.monotonic() + 100
    while not there():
        assert time.monotonic() < limit
        time.sleep(0.01)


def gives_up(session: Any, fetch: Any, milliseconds: int = 2000) -> None:
    """Runs something whose result does not come in time, in which a busy machine computes it."""
    with pytest.raises(gf.errors.DeadlineExceededError):
        session.run(fetch, options=gf.RunOptions(timeout_in_ms=milliseconds))


def vanish(session: Any) -> None:
    """The connection of a session ends as at the end of its process: not a word is said."""
    connection = session._planner.connection
    connection._closed.set()
    for channel in list(connection.channels):
        channel.close()


def dies(session: Any, fetch: Any, cluster: Cluster) -> None:
    """A session runs something, and its process is gone while the result is on its way to it."""
    before = cluster.kept_back
    ended: list[BaseException] = []

    def take() -> None:
        try:
            session.run(fetch)
        except gf.errors.OpError as error:
            ended.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    until(lambda: cluster.kept_back > before)
    vanish(session)
    thread.join()
    assert ended
