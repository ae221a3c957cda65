"""ClusterResolver: what every engine is asked. Who am I, who else, where is a task now, and in which life.

Nothing is kept: each question is answered from what the engine says at that moment, so that a task which has moved is
found where it is. Where an engine gives names that stay while addresses change, the names are the answer, and each
connection looks them up anew.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import Final

from graphflow._core.cluster.client.control import cluster_status
from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.runtime.devices import device_names
from graphflow.config import ConfigProto

RPC_LAYER: Final = "zmq"
"""How sessions reach a master: what stands before :// in its target."""
JOBS_VARIABLE: Final = "GRAPHFLOW_JOBS"
"""The tasks of each job where an engine only knows numbers: ps=2,worker=4."""
PORT_VARIABLE: Final = "GRAPHFLOW_PORT"
"""The port of the tasks, or the first of those on a machine."""
INCARNATION_VARIABLE: Final = "GRAPHFLOW_INCARNATION"
"""The life of this process's task: another text each time that it is begun anew."""
LOCAL_DEVICES_VARIABLE: Final = "GRAPHFLOW_LOCAL_DEVICES"
"""How many CPU devices each task has."""
_MOST_TASKS: Final = 1 << 20


def master_url(master: str, rpc_layer: str | None) -> str:
    """The target of a session for an address, which keeps the scheme that it has."""
    return f"{rpc_layer}://{master}" if master and rpc_layer and "://" not in master else master


def count_in(variables: Mapping[str, str], name: str, lowest: int = 0, most: int = _MOST_TASKS) -> int | None:
    """The number that a variable holds; None if it is not set, ValueError if it is none from `lowest` to `most`."""
    text = variables.get(name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and lowest <= int(text) <= most):
        raise ValueError(f"{name} must be a number from {lowest} to {most}, got {text[:100]!r}.")
    return int(text)


def seconds_in(variables: Mapping[str, str], name: str) -> float:
    """The seconds that a variable holds; 0 if it is not set, ValueError if they are no time."""
    text = variables.get(name)
    try:
        found = float(text or 0.0)
    except ValueError:
        found = math.nan
    if not 0.0 <= found < math.inf:
        raise ValueError(f"{name} must be a number of seconds, got {text!r:.100}.")
    return found


def jobs_in(text: str) -> dict[str, int]:
    """The jobs of "ps=2,worker=4", sorted by name, those without tasks left out; ValueError for anything else."""
    jobs: dict[str, int] = {}
    for part in text.split(","):
        job, sign, count = (word.strip() for word in part.partition("="))
        number = int(count) if count.isascii() and count.isdigit() and len(count) < 8 else -1
        if not (sign and job.isascii() and job.isidentifier() and 0 <= number <= _MOST_TASKS) or job in jobs:
            raise ValueError(
                f"{JOBS_VARIABLE} must name each job once, with the number of its tasks, as in ps=1,worker=2; "
                f"got {text[:200]!r}."
            )
        jobs[job] = number
    found = {job: count for job, count in sorted(jobs.items()) if count}
    if not found:
        raise ValueError(f"{JOBS_VARIABLE} must have at least one task, got {text[:200]!r}.")
    return found


class ClusterResolver(ABC):
    """What an engine knows of a cluster (tf.distribute.cluster_resolver.ClusterResolver).

    Args:
        rpc_layer: What stands before :// in targets; None for nothing.
        variables: The environment's variables; by default this process's.

    Attributes:
        task_type: The job of this process's task; None if the engine does not say.
        task_id: Its index in the job, or None.
        rpc_layer: What stands before :// in targets.
    """

    def __init__(self, rpc_layer: str | None = RPC_LAYER, variables: Mapping[str, str] | None = None) -> None:
        self._variables = variables
        self._type: str | None = None
        self._id: int | None = None
        self.rpc_layer = rpc_layer

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment that it reads: that of this process, as it is at the moment, or the one that it was given."""
        return os.environ if self._variables is None else self._variables

    @property
    def task_type(self) -> str | None:
        """The job of this process's task."""
        return self._type if self._type is not None else self._own()[0]

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._type = value

    @property
    def task_id(self) -> int | None:
        """The index of this process's task in its job."""
        return self._id if self._id is not None else self._own()[1]

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._id = value

    def _own(self) -> tuple[str | None, int | None]:
        """Who this process is, as the engine says now."""
        return None, None

    @abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """All tasks, where they are now.

        Returns:
            The cluster, which is asked of the engine each time.

        Raises:
            ValueError: If what the engine says is no cluster; it names what is wrong.
        """

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The target of a session at a task.

        Args:
            task_type: Its job, by default that of this process.
            task_id: Its index, by default that of this process.
            rpc_layer: What stands before ://, by default that of the resolver.

        Returns:
            zmq://host:port; "" if neither the arguments nor the engine name a task.

        Raises:
            ValueError: If there is no such task.
        """
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        if job is None or index is None:
            return ""
        return master_url(self.task_address(job, index), rpc_layer or self.rpc_layer)

    def task_address(self, task_type: str, task_id: int) -> str:
        """Where a task is now.

        Args:
            task_type: Its job.
            task_id: Its index in the job.

        Returns:
            host:port. The host may be a name, whose address may change.

        Raises:
            ValueError: If there is no such task.
        """
        return self.cluster_spec().task_address(task_type, task_id)

    def incarnation(self) -> str | None:
        """In which life this process's task is.

        Returns:
            A text that is another one each time that the engine begins the task anew; None if it does not say.
        """
        return self.variables.get(INCARNATION_VARIABLE) or None

    def task(self) -> tuple[ClusterSpec, str, int]:
        """The cluster, and this process's place in it.

        Returns:
            The cluster, the job and the index of this process's task.

        Raises:
            ValueError: If the engine does not say which task this process is, or names one that is not in the cluster.
        """
        cluster, job, index = self.cluster_spec(), self.task_type, self.task_id
        if job is None or index is None:
            raise ValueError(
                f"{type(self).__name__} does not say which task of {cluster!s:.200} this process is."
            )
        cluster.task_address(job, index)
        return cluster, job, index

    def local_devices(self) -> int:
        """How many CPU devices this process's task shall have.

        Returns:
            What the variable GRAPHFLOW_LOCAL_DEVICES says, by default 1.

        Raises:
            ValueError: If that is no number.
        """
        return count_in(self.variables, LOCAL_DEVICES_VARIABLE, lowest=1, most=4096) or 1

    @property
    def environment(self) -> str:
        """Where it runs, in TensorFlow's words: "" for everywhere but inside of Google."""
        return ""

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> Mapping[str, int]:
        """How many accelerators a task has.

        Args:
            task_type: Its job, by default that of this process.
            task_id: Its index, by default that of this process.
            config_proto: Limits the devices of this process, if no task is named and none known.

        Returns:
            The number of devices by their type, those of the type CPU left out. The task's server is asked.

        Raises:
            ValueError: If there is no such task.
            graphflow.errors.UnavailableError: if it does not answer.
        """
        target = self.master(task_type, task_id)
        if not target:
            names = device_names("/job:localhost/replica:0/task:0", config_proto or ConfigProto())
        else:
            address = target.partition("://")[2]
            names = [
                name
                for task in cluster_status(target)
                if task["address"] == address
                for name in task.get("devices", ())
            ]
        types = Counter(name.rpartition("device:")[2].partition(":")[0] for name in names)
        del types["CPU"]
        return dict(types)
