"""The cluster of StatefulSets of Kubernetes, from the name of the pod, or from the API as TensorFlow has it.

A StatefulSet gives its pods names that stay: train-ps-0, train-ps-1. With a headless service each has a name in the
DNS, train-ps-0.train, which leads to another address when the pod has moved. So nobody asks the API: the variables say
how many tasks there are, and every connection looks the name up anew.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.resolvers.base import (
    JOBS_VARIABLE,
    PORT_VARIABLE,
    RPC_LAYER,
    ClusterResolver,
    count_in,
    jobs_in,
)
from graphflow._core.transport.addresses import MOST_PORT

NAME_VARIABLE: Final = "GRAPHFLOW_NAME"
"""What the names of the StatefulSets begin with: train for train-ps and train-worker."""
SERVICE_VARIABLE: Final = "GRAPHFLOW_SERVICE"
"""The headless service of the pods, by default of the name in GRAPHFLOW_NAME."""
POD_VARIABLE: Final = "GRAPHFLOW_POD"
"""The name of the pod, by default the host's."""
PORT: Final = 8470
"""The port of a pod's task, which TensorFlow chose."""


_FIRST_PROCESS: Final = Path("/proc/1/stat")


def _container_began() -> str:
    """When the first process of this container began, in ticks of its node's clock; 0 where nobody says so."""
    try:
        return _FIRST_PROCESS.read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "0"


class KubernetesClusterResolver(ClusterResolver):
    """The pods of StatefulSets as a cluster (tf.distribute.cluster_resolver.KubernetesClusterResolver).

    By default the name of the pod says which task it is, and GRAPHFLOW_JOBS, GRAPHFLOW_NAME, GRAPHFLOW_SERVICE and
    GRAPHFLOW_PORT who else there is; `graphflow launch --on kubernetes --print` writes such StatefulSets. With
    `job_to_label_mapping` the API is asked for pods with these labels, as in TensorFlow.

    Args:
        job_to_label_mapping: The selectors of each job's pods, such as {"worker": ["job-name=train-worker"]}.
        tf_server_port: The port of every task, by default what GRAPHFLOW_PORT says, else 8470.
        rpc_layer: What stands before :// in targets.
        override_client: Asks the API, by default kubernetes.client.CoreV1Api().
        variables: The environment to read, by default that of this process.

    Raises:
        ImportError: If the API is to be asked and the package kubernetes is not installed.
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int | None = None,
        rpc_layer: str = RPC_LAYER,
        override_client: Any = None,
        *,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(rpc_layer, variables)
        self._labels = job_to_label_mapping
        if override_client is not None and self._labels is None:
            self._labels = {"worker": ["job-name=tensorflow"]}
        self._port = tf_server_port
        self._client = override_client
        if self._labels is not None and override_client is None:
            import_module("kubernetes.config").load_kube_config()
            self._client = import_module("kubernetes.client").CoreV1Api()

    @staticmethod
    def is_told(variables: Mapping[str, str]) -> bool:
        """Whether an environment is that of a pod, whose jobs are named.

        Args:
            variables: The environment.
        """
        return all(variables.get(name) for name in ("KUBERNETES_SERVICE_HOST", JOBS_VARIABLE, NAME_VARIABLE))

    def _own(self) -> tuple[str | None, int | None]:
        if self._labels is not None:
            return None, None
        name = self._name()
        pod = self.variables.get(POD_VARIABLE) or socket.gethostname().partition(".")[0]
        rest, _, ordinal = pod.rpartition("-")
        jobs = self._jobs()
        for job, count in jobs.items():
            if (
                rest == f"{name}-{job}"
                and ordinal.isascii()
                and ordinal.isdigit()
                and int(ordinal[:9]) < count
            ):
                return job, int(ordinal)
        wanted = " or ".join(f"{name}-{job}-0 to {count - 1}" for job, count in jobs.items())
        raise ValueError(
            f"The name of this pod is {pod!r:.200}, and not {wanted:.500}: which task it is, its StatefulSet says by "
            f"{NAME_VARIABLE}, {JOBS_VARIABLE} and its own name."
        )

    def _name(self) -> str:
        name = self.variables.get(NAME_VARIABLE)
        if not name:
            raise ValueError(f"{NAME_VARIABLE} is not set: what the names of the StatefulSets begin with.")
        return name

    def _jobs(self) -> dict[str, int]:
        text = self.variables.get(JOBS_VARIABLE)
        if not text:
            raise ValueError(f"How many pods each job has, {JOBS_VARIABLE} must say: ps=1,worker=2.")
        return jobs_in(text)

    def cluster_spec(self) -> ClusterSpec:
        """All tasks, by the names of their pods; by their numeric addresses if the API is asked.

        Returns:
            The cluster.

        Raises:
            ValueError: If a variable is missing or wrong.
            RuntimeError: If the API names a pod that does not run.
        """
        port = self._port or count_in(self.variables, PORT_VARIABLE, lowest=1, most=MOST_PORT) or PORT
        if self._labels is not None:
            return ClusterSpec({job: self._listed(labels, port) for job, labels in self._labels.items()})
        name = self._name()
        service = self.variables.get(SERVICE_VARIABLE) or name
        return ClusterSpec(
            {
                job: [f"{name}-{job}-{index}.{service}:{port}" for index in range(count)]
                for job, count in self._jobs().items()
            }
        )

    def incarnation(self) -> str | None:
        """In which life this process's task is.

        Returns:
            What the variable GRAPHFLOW_INCARNATION says, the pod's identity, and when this container began: one that
            fails is begun anew in the same pod. None if the variable is not set.
        """
        found = super().incarnation()
        return f"{found}.{_container_began()}" if found else None

    def _listed(self, selectors: Sequence[str], port: int) -> list[str]:
        """The pods that the API has with these labels, in the order of their names for each selector."""
        found: list[str] = []
        for selector in selectors:
            pods = self._client.list_pod_for_all_namespaces(label_selector=selector).items
            for pod in sorted(pods, key=lambda pod: str(pod.metadata.name)):
                if pod.status.phase != "Running":
                    raise RuntimeError(
                        f"Pod {pod.metadata.name!r} is not running; phase: {pod.status.phase!r}."
                    )
                found.append(f"{pod.status.pod_ip}:{port}")
        return found
