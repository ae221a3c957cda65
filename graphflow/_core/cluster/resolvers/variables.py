"""Resolvers of what a launcher writes into the environment: TF_CONFIG, or a variable for each job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.environment import VARIABLE, cluster_in, cluster_of, parsed, task_in
from graphflow._core.cluster.resolvers.base import RPC_LAYER, ClusterResolver, count_in, master_url

_HOSTS: Final = {"chief": "CHIEF_HOSTS", "ps": "PS_HOSTS", "worker": "WORKER_HOSTS"}


class TFConfigClusterResolver(ClusterResolver):
    """The cluster in the environment variable TF_CONFIG (tf.distribute.cluster_resolver.TFConfigClusterResolver).

    Args:
        task_type: In place of the type that TF_CONFIG has.
        task_id: In place of the index that TF_CONFIG has.
        rpc_layer: In place of "rpc_layer" in TF_CONFIG; without both it is zmq.
        environment: What `environment` answers.
        variables: The environment to read, by default that of this process.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
        *,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(rpc_layer, variables)
        self._type = None if task_type is None else str(task_type)
        self._id = None if task_id is None else int(task_id)
        self._environment = environment

    @property
    def _config(self) -> dict[str, Any]:
        text = self.variables.get(VARIABLE)
        return parsed(text) if text else {}

    @staticmethod
    def is_told(variables: Mapping[str, str]) -> bool:
        """Whether an environment has what it reads.

        Args:
            variables: The environment.
        """
        return bool(variables.get(VARIABLE))

    def _own(self) -> tuple[str | None, int | None]:
        task = self._config.get("task", {})
        try:
            return (
                str(task["type"]) if "type" in task else None,
                int(task["index"]) if "index" in task else None,
            )
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f'"task" in {VARIABLE} must be an object like {{"type": "worker", "index": 0}}, got {task!r:.200}.'
            ) from None

    def cluster_spec(self) -> ClusterSpec:
        """The cluster in TF_CONFIG, an evaluator included; an empty one if there is none."""
        config = self._config
        return cluster_in(config) if "cluster" in config else ClusterSpec({})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The target of a task; "session_master" if TF_CONFIG has that, "" for a cluster of one task or none.

        Args:
            task_type: The job.
            task_id: The task.
            rpc_layer: What stands before "://".
        """
        config = self._config
        if config.get("session_master") is not None:
            return str(config["session_master"])
        tasks = self.cluster_spec().as_dict()
        if sum(map(len, tasks.values())) < 2:
            return ""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            raise RuntimeError(f'{VARIABLE} has no "task", and the arguments do not name one.')
        layer = rpc_layer or self.rpc_layer or config.get("rpc_layer") or RPC_LAYER
        return master_url(self.task_address(job, index), layer)

    def task(self) -> tuple[ClusterSpec, str, int]:
        """The cluster that trains, and this process's place in it; for an evaluator it is empty."""
        config = dict(self._config)
        told = config.get("task")
        if isinstance(told, dict):
            given = {"type": self._type, "index": self._id}
            config["task"] = {**told, **{name: value for name, value in given.items() if value is not None}}
        return task_in(config)

    def local_devices(self) -> int:
        """What "local_devices" in TF_CONFIG says, by default 1.

        Raises:
            ValueError: If that is no number of at least 1.
        """
        count = self._config.get("local_devices", 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(
                f'"local_devices" in {VARIABLE} must be a number of at least 1, got {count!r:.200}.'
            )
        return count

    @property
    def environment(self) -> str:
        """What it was given, else "environment" in TF_CONFIG, else ""."""
        return str(self._config.get("environment", "") if self._environment is None else self._environment)


class HostsClusterResolver(ClusterResolver):
    """The cluster in JOB_NAME, TASK_INDEX, PS_HOSTS, WORKER_HOSTS and CHIEF_HOSTS, as `graphflow launch` sets them.

    Args:
        variables: The environment to read, by default that of this process.
    """

    def __init__(self, *, variables: Mapping[str, str] | None = None) -> None:
        super().__init__(variables=variables)

    @staticmethod
    def is_told(variables: Mapping[str, str]) -> bool:
        """Whether an environment has what it reads; JOB_NAME alone is set by other programs, too.

        Args:
            variables: The environment.
        """
        hosts = any(variables.get(name) for name in _HOSTS.values())
        return hosts and bool(variables.get("JOB_NAME")) and bool(variables.get("TASK_INDEX"))

    def _own(self) -> tuple[str | None, int | None]:
        return self.variables.get("JOB_NAME") or None, count_in(self.variables, "TASK_INDEX")

    def cluster_spec(self) -> ClusterSpec:
        """The tasks that the variables list."""
        listed = {job: self.variables.get(name, "") for job, name in _HOSTS.items()}
        jobs = {job: [host.strip() for host in text.split(",")] for job, text in listed.items() if text}
        return cluster_of(jobs, "PS_HOSTS, WORKER_HOSTS and CHIEF_HOSTS")
