"""The side of a task that answers questions about it: how it is, whether it is in use; and that stops or resets it.

A part of `Service`, which has the state: it is a module of its own because steps need none of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from graphflow import errors
from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.peers import Greeting, Peer
from graphflow._core.cluster.server import master_steps, task_steps
from graphflow._core.cluster.server.master_steps import MasterSteps
from graphflow._core.cluster.server.rounds import Rounds
from graphflow._core.cluster.server.takings import Takings
from graphflow._core.cluster.server.task_steps import TaskSteps
from graphflow._core.cluster.status import Status
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.sync_rounds import LOST_TASKS, UNMET_TASKS
from graphflow._core.transport.message import Kind, Message
from graphflow._core.transport.sockets import Sockets

OBSERVER: Final = "observer "
"""How the session of a client begins that only asks how the cluster is, or stops it."""
_USE_SECONDS: Final = 5.0
"""How often a task with a client tells the others that there is one."""


class Inquiries:
    """What `Service` does beside steps. All methods but those named so are for the thread of the sockets."""

    sockets: Sockets
    _task: str
    _devices: list[str]
    _incarnation: int
    _store: ResourceStore
    _peers: dict[str, Peer]
    _tasks_by_incarnation: dict[int, str]
    _clients: dict[bytes, str]
    _heard: dict[str, float]
    _greeting: list[Greeting]
    _master: MasterSteps
    _worker: TaskSteps
    _to_peer: Callable[[str, Message], None]
    _greet: Callable[[Peer, bool], None]
    _direct: Callable[[master_steps.Instructions], None]
    _work: Callable[[task_steps.Instructions], None]
    _release: Callable[[int], None]
    _drop_contexts: Callable[[], None]
    _end_registrations: Callable[[], None]
    _takings: Takings

    def __init__(self, address: str, stop: Callable[[], None]) -> None:
        self._reset_sessions: set[str] = set()
        """Sessions that a reset has ended, and that may not know it yet."""
        self._used = self._told_use = time.monotonic()
        self._stop = stop
        self._ending = False
        """Whether the cluster is being stopped, so that it is no news that tasks go."""
        self.status = Status(
            address, self._devices, self._incarnation, self._store, self._master, self._worker, self.sockets
        )
        answers = {Kind.STATUS: self._tell_status, Kind.RESET: self._reset, Kind.STOP: self._stopping}
        self._unmet_tasks().update(dict.fromkeys(self._peers, time.monotonic()))
        self._rounds = Rounds(
            self._task, self._peers, self._to_peer, self._reply, self._drop_pending, answers
        )

    def was_reset(self, session: str) -> bool:
        """Whether Session.reset() has ended a session; from any thread."""
        return session in self._reset_sessions

    def _look_around(self, now: float) -> None:
        """Some time has passed."""
        self._rounds.tick(now)
        self.status.tick(now)
        if self._lost_tasks():
            self._store.wake()
        if self._in_use():
            self._used = now
            if now - self._told_use > _USE_SECONDS:
                self._told_use = now
                for peer in [p for p in self._peers.values() if p.incarnation]:
                    self._greet(peer, False)

    def _lost_tasks(self) -> dict[str, float]:
        """The tasks that are gone, each with the time of that, for those who wait in the store for what they do."""
        lost: dict[str, float] = self._store.other(LOST_TASKS, dict)
        return lost

    def _unmet_tasks(self) -> dict[str, float]:
        """The tasks that were never there, each with the time since when they are awaited."""
        unmet: dict[str, float] = self._store.other(UNMET_TASKS, dict)
        return unmet

    def _in_use(self) -> bool:
        """Whether a client has a session here."""
        return any(not session.startswith(OBSERVER) for session in self._heard)

    def _say_goodbye(self) -> None:
        for peer in self._peers.values():
            if peer.incarnation:
                self._to_peer(peer.task, Message(Kind.BYE))

    @property
    def idle_seconds(self) -> float:
        """For how long neither a client nor another task that has one was heard of; from any thread."""
        return time.monotonic() - self._used

    # ---- questions to all tasks -----------------------------------------------------------------------------------

    def _ask_all(self, client: bytes, message: Message) -> None:
        self._ending = self._ending or message.kind is Kind.STOP
        self._rounds.begin(client, message)

    def _reply(self, client: bytes, message: Message) -> None:
        self.sockets.reply(client, message.frames())

    def _drop_pending(self, peer: Peer) -> None:
        """Drops what a task has not taken: it may not reach the one that comes in its place."""
        if not peer.incarnation:
            self.sockets.disconnect(peer.address)
            peer.parted()
            if any(peer.task in waiting.tasks for waiting in self._greeting):
                self._greet(peer, True)

    def _tell_status(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        sessions = {s: heard for s, heard in self._heard.items() if not s.startswith(OBSERVER)}
        return self.status.facts(sessions, self._clients)

    def _stopping(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        self._ending = True
        self._stop()
        return {"state": "stopping"}

    def _reset(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        ended = errors.AbortedError(None, None, "Session.reset() ended this step.")
        error = as_details(ended)
        for task in (self._task, *self._peers):
            self._direct(self._master.lost(task, error))
            for number in self._master.of_task(task):
                self._release(number)
        self._end_registrations()
        for key in self._worker.active:  # Of masters that may have been reset before, and have begun anew.
            self._work(self._worker.fail(key, ended))
        for incarnation in (self._incarnation, *self._tasks_by_incarnation):
            self._worker.release_master(incarnation)
        self._drop_contexts()
        self._takings.settle_all()
        self._reset_sessions |= {s for s in self._heard if not s.startswith(OBSERVER)}
        lost, unmet = dict(self._lost_tasks()), dict(self._unmet_tasks())
        self._store.reset(details.get("containers"))
        self._lost_tasks().update(lost)  # They are not there for those who come now, either.
        self._unmet_tasks().update(unmet)
        return {"state": "reset"}
