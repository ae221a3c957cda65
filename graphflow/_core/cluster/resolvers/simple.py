"""Clusters that are written down, and several resolvers as one."""

from __future__ import annotations

from collections.abc import Mapping

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.cluster.resolvers.base import ClusterResolver, master_url
from graphflow.config import ConfigProto


class SimpleClusterResolver(ClusterResolver):
    """A cluster that does not change (tf.distribute.cluster_resolver.SimpleClusterResolver).

    Args:
        cluster_spec: The cluster.
        master: What `master()` answers if no task is named.
        task_type: The job of this process's task.
        task_id: Its index.
        environment: What `environment` answers.
        num_accelerators: What `num_accelerators()` answers, a number for each type of device.
        rpc_layer: What stands before :// in targets; none by default, as in TensorFlow.

    Raises:
        TypeError: If `cluster_spec` or `master` is of another type.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Mapping[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        super().__init__(rpc_layer)
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec must be a ClusterSpec, got {cluster_spec!r}.")
        if not isinstance(master, str):
            raise TypeError(f"master must be a string, got {master!r}.")
        self._spec = cluster_spec
        self._master = master
        self._type, self._id = task_type, task_id
        self._environment = environment
        self._accelerators = dict(num_accelerators or {})

    def cluster_spec(self) -> ClusterSpec:
        """The cluster that it was given."""
        return self._spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """The target of the task that the arguments name, or else the master that it was given.

        Args:
            task_type: The job.
            task_id: The task.
            rpc_layer: What stands before "://".
        """
        named = task_type is not None and task_id is not None
        found = self.task_address(task_type, task_id) if named else self._master  # type: ignore[arg-type]
        return master_url(found, rpc_layer or self.rpc_layer)

    @property
    def environment(self) -> str:
        """What it was given."""
        return self._environment

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> Mapping[str, int]:
        """What it was given.

        Args:
            task_type: The job.
            task_id: The task.
            config_proto: A gf.ConfigProto.
        """
        return self._accelerators


class UnionClusterResolver(ClusterResolver):
    """Several resolvers as one (tf.distribute.cluster_resolver.UnionResolver).

    The tasks of a job that several have come one after the other; if one has them by index, the indices must differ.
    This process's task is the one that the first of them says.

    Args:
        *resolvers: At least one.
        rpc_layer: In place of that of the first.
        task_type: In place of that of the first.
        task_id: In place of that of the first.

    Raises:
        TypeError: If one is no ClusterResolver.
        ValueError: If there is none.
    """

    def __init__(
        self,
        *resolvers: ClusterResolver,
        rpc_layer: str | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        if not resolvers:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in resolvers:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(f"All arguments must be ClusterResolvers, got {resolver!r}.")
        super().__init__(rpc_layer or resolvers[0].rpc_layer)
        self._resolvers = resolvers
        self._type, self._id = task_type, task_id

    def _own(self) -> tuple[str | None, int | None]:
        return self._resolvers[0].task_type, self._resolvers[0].task_id

    def cluster_spec(self) -> ClusterSpec:
        """The tasks of all.

        Raises:
            KeyError: If two have a task of one job and index.
        """
        merged: dict[str, list[str] | dict[int, str]] = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                there = merged.setdefault(job, [])
                if isinstance(there, list) and isinstance(tasks, list):
                    merged[job] = [*there, *tasks]
                    continue
                before, more = (
                    dict(enumerate(found)) if isinstance(found, list) else found for found in (there, tasks)
                )
                both = sorted(before.keys() & more.keys())
                if both:
                    raise KeyError(f"Several clusters have the tasks {both} of the job {job!r}.")
                merged[job] = {**before, **more}
        return ClusterSpec(merged)

    def incarnation(self) -> str | None:
        """That which the first of them says."""
        return self._resolvers[0].incarnation()

    @property
    def environment(self) -> str:
        """That of the first."""
        return self._resolvers[0].environment

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: ConfigProto | None = None,
    ) -> Mapping[str, int]:
        """What the first of them says.

        Args:
            task_type: The job.
            task_id: The task.
            config_proto: A gf.ConfigProto.
        """
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)
