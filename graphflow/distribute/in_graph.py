"""One client that builds a tower on every worker of a cluster, with the parameters on its parameter servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphflow._core.cluster.client.device_setter import Strategy as Placement
from graphflow._core.cluster.client.device_setter import replica_device_setter
from graphflow._core.cluster.resolvers.found import task_from_environment
from graphflow.distribute.input import InputContext
from graphflow.distribute.reducers.base import Reducer
from graphflow.distribute.sharding import shard_dataset
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.distribute.tasks import Task

if TYPE_CHECKING:
    from graphflow._core.cluster.cluster_spec import ClusterSpec
    from graphflow.config import ConfigProto


class InGraphStrategy(DistributionStrategy):
    """A tower on each worker, in one graph with one client; synchronous.

    A step runs all towers. Their gradients are added up where the variable is: on a task of the job "ps", or on the
    first worker if there are none. The cluster is given here or to configure().

    Args:
        cluster: The tasks of the cluster.
        ps_strategy: Chooses the task of the job "ps" for each variable; by default they are taken in turn.
        reducer: What adds the gradients of the towers up.
    """

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any] | None = None,
        ps_strategy: Placement | None = None,
        reducer: Reducer | None = None,
    ) -> None:
        super().__init__()
        self._ps_strategy = ps_strategy
        if reducer is not None:
            self.reducer = reducer
        self.configure(cluster_spec=cluster)

    @classmethod
    def from_environment(cls, **arguments: Any) -> InGraphStrategy:
        """For the cluster that TF_CONFIG, Slurm or Kubernetes tells.

        Args:
            **arguments: Of the strategy.

        Raises:
            ValueError: If none does.
        """
        return cls(task_from_environment()[0], **arguments)

    def configure(
        self,
        session_config: ConfigProto | None = None,
        cluster_spec: ClusterSpec | Mapping[str, Any] | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
    ) -> None:
        """Tells it the cluster.

        Args:
            session_config: A gf.ConfigProto.
            cluster_spec: The cluster.
            task_type: The job of this task.
            task_id: Its index.
        """
        self._task = Task(cluster_spec)
        self._place = replica_device_setter(
            worker_device=self.tower_devices()[0], cluster=self._task.cluster, ps_strategy=self._ps_strategy
        )

    def tower_devices(self) -> Sequence[str]:
        """The workers."""
        return self._task.workers or [""]

    def variable_devices(self, arguments: Mapping[str, Any]) -> Sequence[Any]:
        """A parameter server, the next in turn.

        Args:
            arguments: Of gf.get_variable.
        """
        return [self._place or self.tower_devices()[0]]

    def input_contexts(self) -> list[InputContext]:
        """One for each worker."""
        count = len(self.tower_devices())
        return [InputContext(count, index, count) for index in range(count)]

    def split_dataset(self, dataset: Any) -> Sequence[Any]:
        """Every worker reads its own part.

        Args:
            dataset: The dataset.
        """
        return [shard_dataset(dataset, self._task.count, index) for index in range(self._task.count)]

    @property
    def parameter_devices(self) -> list[str]:
        """The parameter servers."""
        return self._task.parameter_servers or self.worker_devices[:1]
