"""Which task of a cluster a program is, for strategies that span one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphflow._core.cluster.cluster_spec import ClusterSpec

WORKER_JOBS: Final = ("chief", "master", "worker")
"""The jobs whose tasks compute, in the order in which they count."""


class Task:
    """A cluster and this program's place in it; cluster None stands for no cluster.

    ValueError if the cluster has no workers, or no such task.
    """

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any] | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        self.cluster: ClusterSpec | None = None if not cluster else ClusterSpec(cluster)
        self.type: str = task_type or "worker"
        self.id: int = task_id or 0
        self.workers: list[str] = []
        if self.cluster is None:
            return
        for job in WORKER_JOBS:
            if job in self.cluster.jobs:
                self.workers += [f"/job:{job}/task:{index}" for index in self.cluster.task_indices(job)]
        if not self.workers:
            raise ValueError(f"The cluster {self.cluster} has no tasks of a job named 'worker'.")
        if task_type is None:
            return
        if self.type not in self.cluster.jobs or self.id not in self.cluster.task_indices(self.type):
            raise ValueError(f"The cluster {self.cluster} has no task {self.type}:{self.id}.")

    @property
    def device(self) -> str:
        """This task, as a device name."""
        return "" if self.cluster is None else f"/job:{self.type}/task:{self.id}"

    @property
    def index(self) -> int:
        """Which of the workers it is; 0 for one that is none."""
        return self.workers.index(self.device) if self.device in self.workers else 0

    @property
    def count(self) -> int:
        """The number of workers."""
        return max(1, len(self.workers))

    @property
    def is_chief(self) -> bool:
        """Whether it is the first worker."""
        return self.index == 0

    @property
    def parameter_servers(self) -> list[str]:
        """The devices of the parameter servers."""
        count = self.cluster.num_tasks("ps") if self.cluster is not None and "ps" in self.cluster.jobs else 0
        return [f"/job:ps/task:{index}" for index in range(count)]
