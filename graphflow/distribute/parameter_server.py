"""A client for each worker, with the parameters on parameter servers: asynchronous, or in rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphflow._core.cluster.client.device_setter import Strategy as Placement
from graphflow._core.cluster.client.device_setter import replica_device_setter
from graphflow._core.cluster.resolvers.found import task_from_environment
from graphflow.distribute.input import InputContext
from graphflow.distribute.sharding import shard_dataset
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.distribute.tasks import Task

if TYPE_CHECKING:
    from graphflow._core.cluster.cluster_spec import ClusterSpec
    from graphflow._core.cluster.resolvers.base import ClusterResolver
    from graphflow.config import ConfigProto


class ParameterServerStrategy(DistributionStrategy):
    """Between-graph replication (tf.contrib.distribute.ParameterServerStrategy).

    Each worker runs this program and has one tower; variables are on tasks of the job "ps", by the rules of
    gf.train.replica_device_setter. An update goes to the one copy there is. The cluster and the task are given here
    or to configure(); without a cluster everything is in this process.

    Args:
        cluster: The tasks of the cluster.
        task_type: The job of this process's task.
        task_id: Its index in the job.
        synchronous: Whether each step waits for the gradients of all workers and applies their mean, as
            gf.train.SyncReplicasOptimizer does; optimizers then need a global step. Otherwise a worker's gradients
            are applied when they come.
        max_staleness: How many steps old gradients may be; None for no limit.
        staleness_mode: What happens to those that are older, "drop" or "wait", as in
            gf.train.BoundedStalenessOptimizer.
        ps_strategy: Chooses the task of the job "ps" for each variable; by default they are taken in turn.
        num_gpus_per_worker: 1 if the tower is on the worker's GPU, 0 if it is on its CPU.
        cluster_resolver: Tells the cluster and the task in place of the first three arguments.

    Raises:
        ValueError: A synchronous one is given a `max_staleness`, or a worker is to have several towers.
    """

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any] | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
        synchronous: bool = False,
        max_staleness: int | None = None,
        staleness_mode: str = "drop",
        ps_strategy: Placement | None = None,
        num_gpus_per_worker: int = 0,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        super().__init__()
        if num_gpus_per_worker not in (0, 1):
            raise ValueError(
                f"ParameterServerStrategy has one tower in a worker, got num_gpus_per_worker={num_gpus_per_worker}: "
                "run a worker for each GPU."
            )
        if synchronous and max_staleness is not None:
            raise ValueError("ParameterServerStrategy: max_staleness is for asynchronous training.")
        self._synchronous = synchronous
        self._max_staleness = max_staleness
        self._staleness_mode = staleness_mode
        self._ps_strategy = ps_strategy
        self._device = "/device:GPU:0" if num_gpus_per_worker else ""
        if cluster_resolver is not None:
            cluster, task_type, task_id = cluster_resolver.task()
        self.configure(None, cluster, task_type, task_id)

    @classmethod
    def from_environment(cls, **arguments: Any) -> ParameterServerStrategy:
        """For the cluster and the task that TF_CONFIG, Slurm or Kubernetes tells.

        Args:
            **arguments: Of the strategy.

        Raises:
            ValueError: If none does.
        """
        return cls(*task_from_environment(), **arguments)

    def configure(
        self,
        session_config: ConfigProto | None = None,
        cluster_spec: ClusterSpec | Mapping[str, Any] | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        """Tells it the cluster and this program's task.

        Args:
            session_config: A gf.ConfigProto.
            cluster_spec: The cluster.
            task_type: The job of this task.
            task_id: Its index.
        """
        self._task = Task(cluster_spec, task_type, task_id)
        self._place = replica_device_setter(
            worker_device=self.tower_devices()[0], cluster=self._task.cluster, ps_strategy=self._ps_strategy
        )

    def tower_devices(self) -> Sequence[str]:
        """This worker."""
        return [self._task.device + self._device]

    def variable_devices(self, arguments: Mapping[str, Any]) -> Sequence[Any]:
        """A parameter server, the next in turn.

        Args:
            arguments: Of gf.get_variable.
        """
        return [self._place or self.tower_devices()[0]]

    def input_contexts(self) -> list[InputContext]:
        """This worker's."""
        return [InputContext(self._task.count, self._task.index, self.num_towers)]

    def split_dataset(self, dataset: Any) -> Sequence[Any]:
        """This worker's part.

        Args:
            dataset: The dataset.
        """
        return [shard_dataset(dataset, self._task.count, self._task.index)]

    def training_optimizer(self, optimizer: Any) -> Any:
        """One that takes part in rounds, or knows how old gradients are.

        Args:
            optimizer: The optimizer.
        """
        if self._synchronous:
            return optimizer.in_rounds(self._task.count)
        return (
            optimizer
            if self._max_staleness is None
            else optimizer.bounded(self._max_staleness, self._staleness_mode)
        )

    @property
    def should_init(self) -> bool:
        """Whether this is the first worker, which initialises the parameters for all."""
        return self._task.is_chief

    @property
    def parameter_devices(self) -> list[str]:
        """The parameter servers."""
        return self._task.parameter_servers or self.worker_devices
