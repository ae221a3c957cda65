"""Device functions that put variables on parameter servers and the rest on a worker.

They are given to gf.device(); the graph asks them about each new operation. Which parameter server takes a variable
is decided by a strategy, a function of the operation that returns a task's index.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

from graphflow._core.cluster.cluster_spec import ClusterLike, ClusterSpec
from graphflow._core.graph import devices, shapes
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.elements import Operation

Strategy = Callable[[Operation], int]

STANDARD_PS_OPS: Final = (
    "Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
    "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2",
    "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp",
)  # fmt: skip


class RoundRobinStrategy:
    """Gives the tasks out in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Operation) -> int:
        """The task for an operation."""
        task = self._next
        self._next = (task + 1) % self._num_tasks
        return task


class RandomStrategy:
    """Gives a task out by a hash of the operation's name and a seed (tf.contrib.training.RandomStrategy).

    Every process that builds the same names decides alike.

    Args:
        num_ps_tasks: How many parameter servers there are.
        seed: The op's own seed; with the graph's it decides what is drawn.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Operation) -> int:
        """The task for an operation.

        Args:
            op: The operation.

        Returns:
            The index of its task.
        """
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False)
        return int(digest.hexdigest(), 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """Gives out the task with the least load so far (tf.contrib.training.GreedyLoadBalancingStrategy).

    Of equally loaded tasks the first is taken.

    Args:
        num_tasks: How many parameter servers there are.
        load_fn: The load that an operation adds, such as byte_size_load_fn.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._loads = [0.0] * num_tasks
        self._load_of = load_fn

    def __call__(self, op: Operation) -> int:
        """The task for an operation.

        Args:
            op: The operation.

        Returns:
            The index of its task.
        """
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_of(op)
        return task


def byte_size_load_fn(op: Operation) -> int:
    """The bytes of an operation's result: the load that a variable is (tf.contrib.training.byte_size_load_fn).

    Args:
        op: The operation.

    Returns:
        The number of bytes.

    Raises:
        ValueError: If it has other than one result, or one of unknown shape.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op.name!r} must have a single output, it has {len(op.outputs)}.")
    output = op.outputs[0]
    size = shapes.size_of(output.dims)
    if size is None:
        raise ValueError(f"The shape {shapes.text(output.dims)} of {output.name!r} is not fully defined.")
    return size * output.dtype.size


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: ClusterLike | None = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> Callable[[Operation], str] | None:
    """A device function for between-graph replication (tf.train.replica_device_setter).

    Variables (`ps_ops`) go to tasks of `ps_device`, in turn or as `ps_strategy` says, all else to `worker_device`.
    What an operation says of its device itself is kept and completed; with merge_devices=False it is not even
    completed.

    None if there are none.

    Args:
        ps_tasks: The number of parameter servers, taken from `cluster` (a ClusterSpec or dictionary) if
            given.
        ps_device: The job of the variables.
        worker_device: The device of all else.
        merge_devices: Whether devices asked for are completed, and not replaced.
        cluster: A ClusterSpec, which says how many parameter servers there are.
        ps_ops: The types of op that go to parameter servers.
        ps_strategy: A function of an operation that gives the index of its task; by default in turn.

    Returns:
        A function of an operation, for gf.device.

    Raises:
        TypeError: If the strategy cannot be called.
    """
    ps_spec = DeviceSpec.from_string(ps_device or "")
    if cluster is not None:
        tasks = ClusterSpec(cluster).as_dict().get(ps_spec.job or "")
        ps_tasks = len(tasks) if tasks else 0
    if ps_tasks == 0:
        return None
    strategy = RoundRobinStrategy(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError(f"ps_strategy must be callable, got {strategy!r}.")
    placed_on_ps = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)

    def device_function(op: Operation) -> str:
        if op.device and not merge_devices:
            return op.device
        if not ps_device or op.type not in placed_on_ps:
            return devices.merge(worker_device or "", op.device)
        spec = DeviceSpec.from_string(ps_device)
        own_job = DeviceSpec.from_string(op.device).job
        if spec.job and own_job in (None, spec.job):
            spec.task = strategy(op)
        return devices.merge(spec.to_string(), op.device)

    return device_function
