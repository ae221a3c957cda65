"""ClusterSpec: the tasks of a cluster by job, as data. No connection is made by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from graphflow._core.common.records import dataclass
from graphflow._core.transport.addresses import MOST_PORT, port_of
from graphflow.protos.plain import MessageList, PlainMessage


@dataclass
class JobDef(PlainMessage):
    """One job of a cluster.

    Args:
        name: The job's name.
        tasks: The address of each task, "host:port", by index.
    """

    _protobuf = ("cluster_pb2", "JobDef")
    name: str = ""
    tasks: dict[int, str] = field(default_factory=dict)


@dataclass
class ClusterDef(PlainMessage):
    """A cluster as a message.

    Args:
        job: Its jobs, sorted by name.
    """

    _protobuf = ("cluster_pb2", "ClusterDef")
    job: list[JobDef] = field(default_factory=lambda: MessageList(JobDef))

    def __post_init__(self) -> None:
        if not isinstance(self.job, MessageList):
            jobs, self.job = self.job, MessageList(JobDef)
            self.job.extend(jobs)


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, list | tuple):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, Mapping):
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings, got {tasks!r}."
        )
    found: dict[int, str] = {}
    for index, address in tasks.items():
        if isinstance(index, bool) or not isinstance(index, int) or index < 0:
            raise TypeError(f"A task index of job {job!r} must be an integer of at least 0, got {index!r}.")
        found[index] = text = _text(address, "Task address")
        _, colon, port = text.rpartition(":")
        if colon and port_of(port) is None:
            raise ValueError(
                f"The address of task {index} of job {job!r:.100} is host:port with a port from 0 to {MOST_PORT}, "
                f"got {text!r:.200}."
            )
    return dict(sorted(found.items()))


class ClusterSpec:
    """The tasks of a cluster (tf.train.ClusterSpec).

    Immutable.

    Args:
        cluster: {job name: list of addresses, or {task index: address} if not all indices are there}, a
            ClusterDef, or another ClusterSpec.

    Raises:
        TypeError: For anything else.
        ValueError: For an address whose port is none.

    Examples:
        >>> cluster = gf.train.ClusterSpec({"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]})
        >>> cluster.jobs, cluster.num_tasks("worker")
        (['ps', 'worker'], 2)
    """

    def __init__(self, cluster: ClusterLike) -> None:
        if isinstance(cluster, ClusterSpec):
            jobs: dict[Any, Any] = cluster._jobs
        elif isinstance(cluster, ClusterDef):
            jobs = {job.name: job.tasks for job in cluster.job}
        elif isinstance(cluster, Mapping):
            jobs = dict(cluster)
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, a "
                f"ClusterDef or a ClusterSpec, got {cluster!r}."
            )
        self._jobs: dict[str, dict[int, str]] = {}
        for name, tasks in jobs.items():
            job = _text(name, "Job name")
            self._jobs[job] = _tasks(job, tasks)

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(
                f"No such job in cluster: {job_name!r:.100}. It has: {', '.join(map(repr, self._jobs)):.200}."
            )
        return self._jobs[job_name]

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has.

        Args:
            job_name: The job.

        Returns:
            The number.

        Raises:
            ValueError: If there is no such job.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of a job's tasks, in order.

        Args:
            job_name: The job.

        Returns:
            The indices.

        Raises:
            ValueError: If there is no such job.
        """
        return list(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Args:
            job_name: The job.
            task_index: The task.

        Returns:
            The address.

        Raises:
            ValueError: If there is no such task.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(
                f"No task with index {task_index!r} in job {job_name!r}. It has: {list(tasks)!r:.200}."
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks by index, None if one is missing.

        Args:
            job_name: The job.

        Returns:
            The addresses.

        Raises:
            ValueError: If there is no such job.
        """
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict[str, Any]:
        """The jobs as lists of addresses, or as dictionaries by index if some indices are missing."""
        found: dict[str, Any] = {}
        for job, tasks in self._jobs.items():
            dense = bool(tasks) and len(tasks) == max(tasks) + 1
            found[job] = list(tasks.values()) if dense else dict(tasks)
        return found

    def as_cluster_def(self) -> ClusterDef:
        """The cluster as a message."""
        return ClusterDef([JobDef(name, dict(tasks)) for name, tasks in sorted(self._jobs.items())])

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClusterSpec | ClusterDef | Mapping):
            return NotImplemented
        try:
            return self._jobs == ClusterSpec(other)._jobs
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(frozenset((job, tuple(tasks.items())) for job, tasks in self._jobs.items()))

    def __str__(self) -> str:
        jobs = sorted(self.as_dict().items())
        return "ClusterSpec({" + ", ".join(f"{job!r}: {tasks!r}" for job, tasks in jobs) + "})"

    __repr__ = __str__


ClusterLike: TypeAlias = ClusterSpec | ClusterDef | Mapping[str, Sequence[str] | Mapping[int, str]]
"""The tasks of a cluster, or what a ClusterSpec is made of."""
