"""A client for each worker, with a copy of each variable on every worker, kept equal by all-reduce; no servers.

The first worker's values count when training begins, or goes on: the others take theirs from it. What does so belongs
to each variable's initializer, and is in the collection SHARING for sessions that restore a checkpoint instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from graphflow._core.cluster.resolvers.found import local_devices_from_environment, task_from_environment
from graphflow._core.common.timeouts import COLLECTIVE_SECONDS
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import identity, zeros_like
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.distributed.collectives import (
    all_gather,
    all_reduce,
    all_to_all,
    broadcast_recv,
    broadcast_send,
)
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow.distribute.input import InputContext
from graphflow.distribute.reducers.base import Reducer, copied, is_mean, spread
from graphflow.distribute.reducers.compressing import CompressingReducer
from graphflow.distribute.reducers.exchange import Exchange
from graphflow.distribute.reducers.packing import PackingReducer
from graphflow.distribute.sharding import shard_dataset
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.distribute.tasks import Task
from graphflow.distribute.values import Mirrored, PerDevice, devices_from

if TYPE_CHECKING:
    from graphflow._core.cluster.cluster_spec import ClusterSpec
    from graphflow.config import ConfigProto

SHARING: Final = "sharing_variables"
"""The collection of operations by which all workers take the first one's value of a variable; all have to run them."""
_TOWERS: Final = 0x7E0
_WORKERS: Final = 0x7E1
"""The keys of the groups of all towers, and of one device of each worker."""

_counts: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()


def _next_key() -> int:
    """The key of one more collective of a strategy's in the graph: the same in all programs that build the same."""
    graph = get_default_graph()
    _counts[graph] = _counts.get(graph, 0) + 1
    return _counts[graph]


class AllReduce(Reducer):
    """Reduces over the towers of all workers by collectives; each tower gets the result on its device.

    Args:
        members: How many towers there are in all.
        timeout: How many seconds to wait for the others, who are named then.
    """

    def __init__(self, members: int, timeout: float = COLLECTIVE_SECONDS) -> None:
        self._members = members
        self._timeout = timeout

    def reduce(self, aggregation: int, per_device_value: PerDevice, destinations: Any) -> Any:
        """The sum or mean over all towers, on the devices of `destinations`.

        Args:
            aggregation: Of gf.VariableAggregation.
            per_device_value: A value by device.
            destinations: Where it is wanted.
        """
        mean = is_mean(aggregation)
        devices = per_device_value.devices
        key = _next_key()
        sparse = isinstance(per_device_value.values[0], IndexedSlices)
        other = _next_key() if sparse else 0
        results: list[Any] = []
        for device, value in zip(devices, per_device_value.values, strict=True):
            with get_default_graph().device(device):
                if isinstance(value, IndexedSlices):
                    results.append(self._gathered(value, mean, key, other))
                else:
                    final = "div" if mean else "id"
                    keys = (self._members, _TOWERS, key)
                    results.append(all_reduce(value, *keys, final=final, timeout=self._timeout))
        results = _all_or_none(results, devices)
        wanted = devices_from(destinations)
        if wanted == devices:
            return results[0] if len(results) == 1 else Mirrored(results, devices)
        return spread(results[0], wanted)

    def _gathered(self, value: IndexedSlices, mean: bool, rows_key: int, indices_key: int) -> IndexedSlices:
        rows = value.values / self._members if mean else value.values
        return IndexedSlices(
            all_gather(rows, self._members, _TOWERS, rows_key, timeout=self._timeout),
            all_gather(value.indices, self._members, _TOWERS, indices_key, timeout=self._timeout),
            value.dense_shape,
        )


def _all_or_none(results: Sequence[Any], devices: Sequence[str]) -> list[Any]:
    """The results, of which each needs all: who runs one has every tower of this program take part."""
    if len(results) == 1:
        return list(results)
    parts = [[r.values, r.indices] if isinstance(r, IndexedSlices) else [r] for r in results]
    together: list[Any] = []
    with get_default_graph().control_dependencies([tensor.op for own in parts for tensor in own]):
        for result, device in zip(results, devices, strict=True):
            with get_default_graph().device(device):
                together.append(copied(result))
    return together


class CollectiveExchange(Exchange):
    """Between the towers of several programs, by collectives.

    Args:
        members: How many towers there are in all.
        first: The number of this program's first tower among all.
        timeout: How many seconds to wait for the others, who are named then.
    """

    def __init__(self, members: int, first: int, timeout: float = COLLECTIVE_SECONDS) -> None:
        self._members = members
        self._first = first
        self._timeout = timeout

    def members(self, devices: Sequence[str]) -> int:
        """How many towers there are in all.

        Args:
            devices: The devices of this program's towers.
        """
        return self._members

    def rank(self, place: int) -> int:
        """The number of a tower among all.

        Args:
            place: Its number among those of this program.
        """
        return self._first + place

    def all_to_all(self, rows: Sequence[Tensor], devices: Sequence[str]) -> list[Tensor]:
        """Gives row i of every tower to tower i.

        Args:
            rows: Of each of this program's towers a tensor of rank 2, with a row for each tower there is.
            devices: The devices of this program's towers.
        """
        return self._on_each(all_to_all, rows, devices)

    def gather(
        self, rows: Sequence[Tensor], devices: Sequence[str], destinations: Sequence[str]
    ) -> list[Tensor]:
        """Gives the rows of all towers to each destination.

        Args:
            rows: Of each of this program's towers a tensor of one row.
            devices: The devices of this program's towers.
            destinations: Where the rows are needed.
        """
        found = _all_or_none(self._on_each(all_gather, rows, devices), devices)
        if list(destinations) == list(devices):
            return found
        copies = []
        for device in destinations:
            with get_default_graph().device(device):
                copies.append(identity(found[0]))
        return copies

    def _on_each(
        self, collective: Callable[..., Tensor], rows: Sequence[Tensor], devices: Sequence[str]
    ) -> list[Tensor]:
        keys = (self._members, _TOWERS, _next_key())
        results = []
        for own, device in zip(rows, devices, strict=True):
            with get_default_graph().device(device):
                results.append(collective(own, *keys, timeout=self._timeout))
        return results


class CollectiveAllReduceStrategy(DistributionStrategy):
    """Synchronous training by programs that each have all variables (tf.contrib.distribute's).

    Every worker of the cluster runs the program, with one tower, or one on each of `num_devices` CPU devices. The
    cluster and the task are given here or to configure(). If a worker is gone, the others' steps raise
    UnavailableError that names it.

    Args:
        cluster: The tasks of the cluster.
        task_type: The job of this process's task.
        task_id: Its index in the job.
        num_devices: How many CPU devices of each worker have a tower.
        reducer: What adds the gradients of the towers up: by default an AllReduce of buckets; or one that
            compresses, such as an EightBitReducer, between all towers of all workers.
        timeout: How many seconds a step waits for the others before DeadlineExceededError names them.
        num_gpus_per_worker: How many GPUs of each worker have a tower, in place of CPU devices; 0 for none.
        communication: Has no effect: values go between workers in one way.

    Raises:
        ValueError: There is no device.
    """

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any] | None = None,
        task_type: str | None = None,
        task_id: int | None = None,
        num_devices: int = 1,
        reducer: Reducer | None = None,
        timeout: float = COLLECTIVE_SECONDS,
        num_gpus_per_worker: int = 0,
        communication: Any = None,
    ) -> None:
        super().__init__()
        if num_devices < 1:
            raise ValueError(f"num_devices must be at least 1, got {num_devices}.")
        self._kind = "GPU" if num_gpus_per_worker else "CPU"
        self._local = num_gpus_per_worker or num_devices
        self._timeout = timeout
        self._given_reducer = reducer
        self.configure(None, cluster, task_type, task_id)

    @classmethod
    def from_environment(cls, **arguments: Any) -> CollectiveAllReduceStrategy:
        """For the cluster and the task that TF_CONFIG, Slurm or Kubernetes tells.

        Args:
            **arguments: Of the strategy.

        Raises:
            ValueError: If none does.
        """
        arguments.setdefault("num_devices", local_devices_from_environment())
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
        whole = PackingReducer(AllReduce(self.num_towers, self._timeout))
        given = self._given_reducer
        if isinstance(given, CompressingReducer):
            first = self._task.index * self._local
            given = given.between(CollectiveExchange(self.num_towers, first, self._timeout), whole)
        self.reducer: Reducer = given or whole

    @property
    def num_towers(self) -> int:
        """The number of towers of all workers."""
        return self._task.count * self._local

    def tower_devices(self) -> Sequence[str]:
        """This worker's devices."""
        if self._local == 1 and self._kind == "CPU":
            return [self._task.device]
        return [f"{self._task.device}/device:{self._kind}:{index}" for index in range(self._local)]

    def variable_devices(self, arguments: Mapping[str, Any]) -> Sequence[str]:
        """This worker's devices: every one has a copy.

        Args:
            arguments: Of gf.get_variable.
        """
        return self.tower_devices()

    def input_contexts(self) -> list[InputContext]:
        """This worker's."""
        return [InputContext(self._task.count, self._task.index, self.num_towers)]

    def split_dataset(self, dataset: Any) -> Sequence[Any]:
        """This worker's part, of which its towers take in turn.

        Args:
            dataset: The dataset.
        """
        return [shard_dataset(dataset, self._task.count, self._task.index)]

    def _create_variable(self, next_creator: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        collections = kwargs.get("collections") or ()
        made = super()._create_variable(next_creator, *args, **kwargs)
        if self._task.count > 1 and GraphKeys.LOCAL_VARIABLES not in collections:
            self._share(made)
        return made

    def _share(self, variable: Any) -> None:
        """Lets the variable begin with the first worker's value."""
        copies = self.unwrap(variable)
        first, graph = copies[0], variable.graph
        if (
            first.synchronization == VariableSynchronization.ON_READ
            and first.aggregation == VariableAggregation.SUM
        ):
            if not self._task.is_chief:  # What all have adds up: the first worker's value is the whole of it.
                with graph.control_dependencies(None), graph.name_scope(f"{first.op.name}/share/"):
                    again = group(*[assign(copy, zeros_like(copy)) for copy in copies])
                graph.add_to_collection(SHARING, again)
            return
        keys = (self._task.count, _WORKERS, _next_key())
        with (
            graph.control_dependencies(None),
            graph.name_scope(f"{first.op.name}/share/"),
            graph.device(first.device),
        ):
            if self._task.is_chief:
                with graph.control_dependencies([variable.initializer]):
                    begins = broadcast_send(first, *keys, timeout=self._timeout).op
                again = broadcast_send(first, *keys, timeout=self._timeout).op
            else:
                value = broadcast_recv(first.shape, first.dtype, *keys, timeout=self._timeout)
                begins = again = group(*[assign(copy, value) for copy in copies])
        variable.set_initializer(variable.initial_value, begins)
        graph.add_to_collection(SHARING, again)
