"""Which resolver a process's environment asks for, and the task that it tells."""

from __future__ import annotations

import os
from collections.abc import Mapping

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.environment import EXAMPLE, VARIABLE
from graphflow._core.cluster.on_ray.resolver import RayClusterResolver
from graphflow._core.cluster.resolvers.base import JOBS_VARIABLE, ClusterResolver
from graphflow._core.cluster.resolvers.kubernetes import KubernetesClusterResolver
from graphflow._core.cluster.resolvers.slurm import SlurmClusterResolver
from graphflow._core.cluster.resolvers.variables import HostsClusterResolver, TFConfigClusterResolver


def find_resolver(environment: Mapping[str, str] | None = None) -> ClusterResolver | None:
    """The resolver that the environment asks for, what names the cluster itself before what an engine says.

    TF_CONFIG comes first; then JOB_NAME, TASK_INDEX and the hosts of the jobs; then, if GRAPHFLOW_JOBS names the jobs,
    Ray, Slurm and Kubernetes. Without that variable a process on these is a task of no cluster of ours.

    Args:
        environment: By default that of this process.

    Returns:
        The resolver, or None if nothing there names a cluster.
    """
    variables = os.environ if environment is None else environment
    if TFConfigClusterResolver.is_told(variables):
        return TFConfigClusterResolver(variables=environment)
    if HostsClusterResolver.is_told(variables):
        return HostsClusterResolver(variables=environment)
    if RayClusterResolver.is_told(variables):
        return RayClusterResolver(variables=environment)
    if SlurmClusterResolver.is_told(variables):
        return SlurmClusterResolver(variables=environment)
    if KubernetesClusterResolver.is_told(variables):
        return KubernetesClusterResolver(variables=environment)
    return None


def resolver_from_environment(environment: Mapping[str, str] | None = None) -> ClusterResolver:
    """The resolver that the environment asks for: TF_CONFIG, JOB_NAME and the hosts, Slurm, or Kubernetes.

    Args:
        environment: By default that of this process.

    Returns:
        The resolver of the engine that has started this process.

    Raises:
        ValueError: If nothing there names a cluster; it says what would.
    """
    found = find_resolver(environment)
    if found is None:
        raise ValueError(
            f"The environment variable {VARIABLE} is not set. It names the cluster and this process's task: "
            f"{EXAMPLE}. `graphflow launch` sets it. In a step of Slurm, or a pod of a StatefulSet, {JOBS_VARIABLE} "
            "(such as ps=1,worker=2) is enough."
        )
    return found


def task_from_environment(environment: Mapping[str, str] | None = None) -> tuple[ClusterSpec, str, int]:
    """The cluster, the job and the index of this process's task, as the engine that has started it tells.

    The cluster is the one that trains: it has no job "evaluator", and for a task of that type it is empty, as a
    tf.estimator.RunConfig has it, since an evaluator computes by itself.

    Args:
        environment: By default that of this process.

    Returns:
        The cluster, the job and the index.

    Raises:
        ValueError: If the environment names no cluster, or something in it is wrong; it says what.
    """
    return resolver_from_environment(environment).task()


def local_devices_from_environment(environment: Mapping[str, str] | None = None) -> int:
    """How many CPU devices this process's task shall have, as its launcher says; 1 if it does not."""
    found = find_resolver(environment)
    return 1 if found is None else found.local_devices()
