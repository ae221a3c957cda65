"""The actor that knows where the tasks of a cluster on Ray are, and in which life each is."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any, Final

from graphflow._core.cluster.on_ray.handout import KeyHandout
from graphflow._core.cluster.resolvers.lives import Lives
from graphflow._core.cluster.resolvers.moving import Place
from graphflow._core.common.records import dataclass

NAMESPACE: Final = "graphflow"
"""Where the actors of clusters have their names."""


def registry_name(cluster: str) -> str:
    """The name of the actor that keeps the leases of a cluster."""
    return f"{cluster}/registry"


@dataclass(frozen=True)
class TaskEvent:
    """Something that has happened to a task of a cluster on Ray.

    Args:
        kind: "started", "lost", "restarted", or "moved" if it was started again on another node.
        job: the job of the task.
        index: its index in the job.
        life: the number of the life of the task that has begun, or was lost.
        host: the address of the node on which that life is, or was.
        seconds: when, since the cluster began.
    """

    kind: str
    job: str
    index: int
    life: int
    host: str
    seconds: float


@dataclass
class _Process:
    """The process that is the present life of a task. begun: when the kernel began it: its number may be used again."""

    node: str
    host: str
    pid: int
    begun: str
    lost: bool = False


class Registry:
    """Keeps lives and leases, and what has happened. For one thread, as an actor has.

    lease_seconds: the length of a lease. host: the address of its node.
    """

    def __init__(self, lease_seconds: float, host: str = "127.0.0.1") -> None:
        self._host = host
        self._handout: KeyHandout | None = None
        self._lives = Lives(lease_seconds)
        self._began = time.monotonic()
        self._processes: dict[str, _Process] = {}
        self._numbers: dict[str, int] = {}
        self._events: list[TaskEvent] = []

    def hand_out(self, public: bytes) -> tuple[str, bytes]:
        """Where the key of the cluster is for who has this public key, and the public key of who hands it out."""
        if self._handout is None:
            self._handout = KeyHandout(self._host)
        return self._handout.expect(public)

    def begin(self, task: str, who: str, node: str, host: str, pid: int, begun: str) -> tuple[int, float]:
        """Begins the next life of a task, as Lives does; who is a process of a node."""
        now = time.monotonic()
        if task in self._processes:
            self._note_loss(task)
        number, wait = self._lives.begin(task, who, now)
        if number:
            before = self._processes.get(task)
            kind = "started" if before is None else "restarted" if before.node == node else "moved"
            self._processes[task] = _Process(node, host, pid, begun)
            self._numbers[task] = number
            self._note(kind, task)
        return number, wait

    def process(self, task: str) -> tuple[int, str, int, str] | None:
        """The present life of a task, its node, process and when that began; None before the first."""
        found = self._processes.get(task)
        return None if found is None else (self._numbers[task], found.node, found.pid, found.begun)

    def renew(self, task: str, number: int) -> bool:
        """Whether a life of a task may go on."""
        return self._lives.renew(task, number, time.monotonic())

    def publish(self, task: str, place: dict[str, Any]) -> bool:
        """Notes where a life of a task serves."""
        return self._lives.publish(task, Place(**place))

    def release(self, task: str, number: int) -> None:
        """A life of a task has ended for certain."""
        self._lives.release(task, number)

    def place(self, task: str) -> dict[str, Any] | None:
        """Where a task serves."""
        found = self._lives.place(task)
        return None if found is None else asdict(found)

    def lapsed(self) -> list[tuple[str, int]]:
        """The tasks that are silent for certain, and in which life."""
        found = self._lives.lapsed(time.monotonic())
        for task in found:
            self._note_loss(task)
        return [(task, self._numbers[task]) for task in found]

    def host(self, task: str) -> str:
        """On which host a task is, or was last."""
        found = self._processes.get(task)
        return "" if found is None else found.host

    def events(self) -> list[dict[str, Any]]:
        """All that has happened."""
        return [asdict(event) for event in self._events]

    def _note_loss(self, task: str) -> None:
        process = self._processes[task]
        if not process.lost:
            process.lost = True
            self._note("lost", task)

    def _note(self, kind: str, task: str) -> None:
        job, _, index = task.rpartition("-")
        seconds = round(time.monotonic() - self._began, 3)
        process = self._processes[task]
        self._events.append(TaskEvent(kind, job, int(index), self._numbers[task], process.host, seconds))
