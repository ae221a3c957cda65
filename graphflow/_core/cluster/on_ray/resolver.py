"""The resolver of a process that Ray has started, or of one that only asks where the tasks of a cluster on Ray are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any, Final

from graphflow._core.cluster.on_ray.registry import NAMESPACE, registry_name
from graphflow._core.cluster.resolvers.base import (
    INCARNATION_VARIABLE,
    JOBS_VARIABLE,
    count_in,
    jobs_in,
    seconds_in,
)
from graphflow._core.cluster.resolvers.moving import MovingClusterResolver, Place
from graphflow._core.common.timeouts import REGISTRY_ANSWER_SECONDS

RAY_VARIABLE: Final = "GRAPHFLOW_RAY_CLUSTER"
"""The name of the cluster on Ray that this process belongs to."""
JOB_VARIABLE: Final = "GRAPHFLOW_JOB"
"""The job of this process's task."""
TASK_VARIABLE: Final = "GRAPHFLOW_TASK"
"""The index of this process's task."""
HOST_VARIABLE: Final = "GRAPHFLOW_HOST"
"""The address by which the other tasks reach this process's machine."""
LEASE_VARIABLE: Final = "GRAPHFLOW_LEASE_SECONDS"
"""For how long a task may serve after its lease was renewed."""
_MOST_LIVES: Final = 999_999_999


class RayClusterResolver(MovingClusterResolver):
    """The tasks of a cluster on Ray, which `gf.cluster.RayCluster` makes.

    Args:
        variables: the environment to read, by default that of this process.

    Raises:
        ValueError: if there is no such cluster.
    """

    def __init__(self, *, variables: Mapping[str, str] | None = None) -> None:
        found = os.environ if variables is None else variables
        self._cluster = found[RAY_VARIABLE]
        job = found.get(JOB_VARIABLE) or None
        super().__init__(
            self._cluster,
            jobs_in(found[JOBS_VARIABLE]),
            job,
            count_in(found, TASK_VARIABLE),
            life=count_in(found, INCARNATION_VARIABLE, most=_MOST_LIVES) or 0,
            host=found.get(HOST_VARIABLE) or "127.0.0.1",
            lease_seconds=seconds_in(found, LEASE_VARIABLE),
        )
        self._variables = variables
        self._registry: Any = None

    @staticmethod
    def is_told(variables: Mapping[str, str]) -> bool:
        """Whether an environment is that of a task on Ray."""
        return bool(variables.get(RAY_VARIABLE) and variables.get(JOBS_VARIABLE))

    def ask(self, question: str, *arguments: Any, seconds: float = REGISTRY_ANSWER_SECONDS) -> Any:
        """The registry's answer to a question, which is the name of a method of its."""
        ray = import_module("ray")
        if self._registry is None:
            self._registry = ray.get_actor(registry_name(self._cluster), namespace=NAMESPACE)
        return ray.get(getattr(self._registry, question).remote(*arguments), timeout=seconds)

    @property
    def own_name(self) -> str:
        """What this process's task is called on Ray."""
        return f"{self.task_type}-{self.task_id}"

    def place(self, task_type: str, task_id: int) -> Place | None:
        """Where a task serves now; None if no life of it does."""
        found = self.ask("place", f"{task_type}-{task_id}")
        return None if found is None else Place(**found)

    def publish(self, place: Place) -> None:
        """Tells the registry where this process's task serves."""
        self.ask("publish", self.own_name, asdict(place))

    def renew(self) -> bool:
        """Asks the registry whether this life of the task may go on."""
        return bool(self.ask("renew", self.own_name, self.life, seconds=max(1.0, self.lease_seconds / 2)))
