"""What a task says of itself when it is asked how it is."""

from __future__ import annotations

import os
import platform
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.server.deduplicator import Deduplicator
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.waits import Waits
from graphflow._core.common.timeouts import RATE_SAMPLE_SECONDS, RATE_SECONDS
from graphflow._core.resources.store import ResourceStore


class Status:
    """Gathers what a task can tell: it only reads counters that are there anyway. For the thread of the sockets."""

    def __init__(
        self,
        links: Links,
        store: ResourceStore,
        protocol: TaskProtocol,
        deduplicator: Deduplicator,
        clock: Callable[[], float],
        waits: Waits,
    ) -> None:
        self._waits = waits
        self._links = links
        self._store = store
        self._sockets = links.sockets
        self._protocol = protocol
        self._master = protocol.master
        self._worker = protocol.worker
        self._deduplicator = deduplicator
        self._clock = clock
        self.tasks_lost = 0
        """How often another task was lost."""
        self._begun = clock()
        self._samples: deque[tuple[float, int, int]] = deque([(self._begun, 0, 0)])

    def tick(self, now: float) -> None:
        """Takes a sample of the counts of steps and of parts now and then, from which rates are made."""
        if now - self._samples[-1][0] >= RATE_SAMPLE_SECONDS:
            self._samples.append((now, self._master.begun, self._worker.begun))
            while now - self._samples[0][0] > RATE_SECONDS and len(self._samples) > 2:
                self._samples.popleft()

    def facts(self) -> dict[str, Any]:
        """All of it, as data.

        "steps" has two counts: of the steps that this task began for its clients, as their master, and of the parts
        that it took in steps, whoever their master is.
        """
        now = self._clock()
        then, begun, taken = self._samples[0]
        seconds = max(now - then, 1e-3)
        sessions = self._protocol.sessions
        owners = list(sessions.sockets.values())
        return {
            "address": self._links.address,
            "state": "serving",
            "incarnation": f"{self._links.incarnation:016x}",
            "uptime_seconds": round(now - self._begun, 3),
            "host": platform.node(),
            "pid": os.getpid(),
            "devices": list(self._links.devices),
            "sessions": [
                {"session": s, "threads": owners.count(s), "heard_seconds_ago": round(now - found.heard, 3)}
                for s, found in sessions.sessions.items()
                if not found.observer
            ],
            "variables": [_variable(cell) for cell in self._store.variables()],
            "resources": {name: type(value).__name__ for name, value in self._store.others().items()},
            "traffic": {
                "messages_in": self._sockets.messages_in,
                "bytes_in": self._sockets.bytes_in,
                "messages_out": self._sockets.messages_out,
                "bytes_out": self._sockets.bytes_out,
                "messages_dropped": self._sockets.dropped.count,
            },
            "strangers": {
                "connected": self._sockets.gate.count,
                "refused": self._sockets.gate.refused.count,
                "why": self._sockets.gate.refused.latest,
            },
            "steps": {
                "begun_as_master": self._master.begun,
                "in_flight_as_master": self._master.in_flight,
                "per_second_as_master": round((self._master.begun - begun) / seconds, 2),
                "taken_part_in": self._worker.begun,
                "in_flight": len(self._worker.active),
                "per_second": round((self._worker.begun - taken) / seconds, 2),
            },
            **self._waits.facts(now),
            "recovery": {
                "tasks_lost": self.tasks_lost,
                "runs_repeated": self._deduplicator.repeated,
            },
        }


def _variable(cell: Any) -> dict[str, Any]:
    value = cell.value
    return {
        "name": cell.name,
        "dtype": cell.dtype.name,
        "shape": None if value is None else list(np.shape(value)),
        "bytes": 0 if value is None else int(value.nbytes),
    }
