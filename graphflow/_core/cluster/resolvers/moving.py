"""Resolvers of engines that begin a task anew somewhere else: a task publishes where it is, and others ask for it.

The addresses of such a cluster are names, which stay. Where a task is now, and in which life, is asked each time that a
connection to it is made, in a thread of its own (transport/names.py), as the address of a host's name is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Final
from zlib import crc32

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.resolvers.base import RPC_LAYER, ClusterResolver
from graphflow._core.common.records import dataclass
from graphflow._core.transport.addresses import MOST_PORT
from graphflow._core.transport.names import NAMES

_MOST_LETTERS: Final = 200
"""Of the name of a cluster, which becomes part of the names of its tasks."""


def _name(host: str) -> str:
    """The name of a task. Nobody listens at its port, which what is shown to the task without keys is made of."""
    return f"{host}:{1 + crc32(host.encode()) % MOST_PORT}"


@dataclass(frozen=True)
class Place:
    """Where a task is, and in which life.

    Args:
        address: The host and the port, host:port.
        life: The number of this life of the task; 0 if its engine does not count.
        incarnation: The incarnation of its server, in hexadecimal.
    """

    address: str
    life: int = 0
    incarnation: str = ""


class MovingClusterResolver(ClusterResolver):
    """The tasks of an engine that begins them anew elsewhere. Others derive from it, and say `place` and `publish`.

    Args:
        name: Of the cluster, which its tasks' names end with.
        jobs: How many tasks each job has.
        task_type: The job of this process's task; None for a process that only asks.
        task_id: Its index.
        life: The number of this life of the task, which the engine counts from 1 upwards; 0 if it does not count.
        host: The address by which the other tasks reach this process's machine.
        lease_seconds: For how long a task may serve after the engine has renewed its lease; 0 for ever.

    Raises:
        ValueError: If the name cannot be one.
    """

    def __init__(
        self,
        name: str,
        jobs: Mapping[str, int],
        task_type: str | None = None,
        task_id: int | None = None,
        *,
        life: int = 0,
        host: str = "127.0.0.1",
        lease_seconds: float = 0.0,
    ) -> None:
        super().__init__(RPC_LAYER)
        if not 0 < len(name) <= _MOST_LETTERS or not name.isprintable() or " " in name:
            raise ValueError(
                f"The name of a cluster is 1 to {_MOST_LETTERS} printable letters without spaces, got {name!r:.200}."
            )
        self._spec = ClusterSpec(
            {job: [_name(f"{job}-{i}.{name}") for i in range(count)] for job, count in jobs.items() if count}
        )
        self._type, self._id = task_type, task_id
        self.life = life
        self.host = host
        self.lease_seconds = lease_seconds

    def cluster_spec(self) -> ClusterSpec:
        """All tasks, by the names that they keep."""
        return self._spec

    @abstractmethod
    def place(self, task_type: str, task_id: int) -> Place | None:
        """Where a task is now, and in which life. Asked at each connection; it may take its time.

        Args:
            task_type: Its job.
            task_id: Its index in the job.

        Returns:
            The place; None if the task is nowhere at the moment.
        """

    @abstractmethod
    def publish(self, place: Place) -> None:
        """This process's task serves at a place from now on.

        Args:
            place: What `place` is to answer for it.
        """

    def renew(self) -> bool:
        """Asks the engine that this process's task may serve for `lease_seconds` more, counted from before the call.

        Returns:
            Whether it may; False if another life has taken its place, or will.

        Raises:
            Exception: If the engine cannot be asked. It is asked again, until the lease lapses.
        """
        return True

    def taken(self) -> None:
        """Another life of this process's task has its place, and this one serves no more; called once, in a thread."""

    def release(self) -> None:
        """This process's task has ended in order: another life of it may begin at once."""

    def incarnation(self) -> str | None:
        """The number of this life of the task, as a text; None if the engine does not count."""
        return str(self.life) if self.life else None

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The target of a session at a task, wherever that is when the session connects.

        Args:
            task_type: Its job, by default that of this process.
            task_id: Its index, by default that of this process.
            rpc_layer: What stands before ://, by default zmq.

        Returns:
            The target; "" if neither the arguments nor the engine name a task. This process knows what it means.
        """
        self.follow()
        return super().master(task_type, task_id, rpc_layer)

    def follow(self) -> Callable[[], None]:
        """From now on connections of this process to these tasks ask where they are; what it returns ends that."""
        followed = {
            self._spec.task_address(job, index): _Locate(self, job, index)
            for job in self._spec.jobs
            for index in self._spec.task_indices(job)
        }
        for address, locate in followed.items():
            NAMES.follow(address, locate)

        def end() -> None:
            for address, locate in followed.items():
                NAMES.leave(address, locate)

        return end


@dataclass(frozen=True)
class _Locate:
    """Asks a resolver where a task is; equal to what asks the same."""

    resolver: MovingClusterResolver
    job: str
    index: int

    def __call__(self) -> str:
        found = self.resolver.place(self.job, self.index)
        return "" if found is None else found.address
