"""Datasets under a strategy: every tower gets elements of its own, and together they get each once.

A strategy says how a dataset is split, or an input function makes each part. If there is one dataset for several
towers, they take elements of one iterator in turn, in the order of the towers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow.distribute.context import Strategy
from graphflow.distribute.values import regroup
from graphflow.nest import flatten


class InputContext:
    """Which part of the input an input function is to make (tf.distribute.InputContext).

    Args:
        num_input_pipelines: How many input functions are called for a model.
        input_pipeline_id: Which of these calls it is.
        num_replicas_in_sync: How many towers take part in a step.
    """

    def __init__(
        self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1
    ) -> None:
        self.num_input_pipelines: int = num_input_pipelines
        self.input_pipeline_id: int = input_pipeline_id
        self.num_replicas_in_sync: int = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size of a tower's batch.

        Args:
            global_batch_size: That of the batches of a step together.

        Raises:
            ValueError: If it is no multiple of the number of towers.
        """
        size, rest = divmod(global_batch_size, self.num_replicas_in_sync)
        if rest:
            raise ValueError(
                f"The global_batch_size {global_batch_size} is not divisible by num_replicas_in_sync "
                f"{self.num_replicas_in_sync}."
            )
        return size


class DistributedIterator:
    """A position in a distributed dataset."""

    def __init__(self, devices: Sequence[str], iterators: Sequence[Any]) -> None:
        self._devices = devices
        self._iterators = iterators

    @property
    def initializer(self) -> Operation:
        """The operation that puts it at the first element; ValueError if it needs none."""
        return group(*[iterator.initializer for iterator in self._iterators])

    def initialize(self) -> list[Operation]:
        """What puts it at the first element, as a list of operations."""
        return [self.initializer]

    def get_next(self, name: str | None = None) -> Any:
        """The towers' next elements, as one structure of PerDevice values. OutOfRangeError at the end, when run."""
        graph = get_default_graph()
        towers = len(self._devices)
        if len(self._iterators) == towers:
            own = []
            for device, iterator in zip(self._devices, self._iterators, strict=True):
                with graph.device(host_of(device)):
                    own.append(iterator.get_next(name))
            return regroup(own, self._devices)
        elements: list[Any] = []
        before: list[Operation] = []
        for _ in range(towers):
            with graph.control_dependencies(before):
                elements.append(self._iterators[0].get_next(name))
            before = [_operation_in(elements[-1])]
        return regroup(elements, self._devices)


class DistributedDataset:
    """A dataset that a strategy has split (what distribute_dataset returns).

    If there are several towers, an element for each is made ahead, on the host of its device.
    """

    def __init__(self, strategy: Strategy, datasets: Sequence[Any]) -> None:
        self._devices = strategy.worker_devices
        self._datasets = list(datasets)
        if strategy.num_towers > 1:
            ahead = len(self._devices) // len(self._datasets)
            self._datasets = [part.prefetch(ahead) for part in self._datasets]
        self._one_shot: DistributedIterator | None = None

    @property
    def output_types(self) -> Any:
        """The structure of the dtypes of a tower's element."""
        return self._datasets[0].output_types

    @property
    def output_shapes(self) -> Any:
        """The structure of the shapes of a tower's element."""
        return self._datasets[0].output_shapes

    def make_one_shot_iterator(self) -> DistributedIterator:
        """An iterator that needs no initializer."""
        return self._made(lambda dataset: dataset.make_one_shot_iterator())

    def make_initializable_iterator(self) -> DistributedIterator:
        """An iterator that begins when its initializer has run."""
        return self._made(lambda dataset: dataset.make_initializable_iterator())

    def get_next(self) -> Any:
        """The next elements of a one-shot iterator, made at the first call."""
        if self._one_shot is None:
            self._one_shot = self.make_one_shot_iterator()
        return self._one_shot.get_next()

    def _made(self, make: Callable[[Any], Any]) -> DistributedIterator:
        graph = get_default_graph()
        iterators = []
        for index, dataset in enumerate(self._datasets):
            with graph.device(host_of(self._devices[index])):
                iterators.append(make(dataset))
        return DistributedIterator(self._devices, iterators)


def split(strategy: Strategy, dataset: Any) -> DistributedDataset:
    """The dataset, split as the strategy says; TypeError if it is none, ValueError for a wrong number of parts."""
    if not _is_dataset(dataset):
        raise TypeError(
            f"{type(strategy).__name__}.distribute_dataset() takes a gf.data.Dataset, or a function that makes "
            f"one, got {type(dataset).__name__}."
        )
    parts = strategy.split_dataset(dataset)
    if len(parts) not in (1, len(strategy.worker_devices)):
        raise ValueError(
            f"{type(strategy).__name__}.split_dataset() gave {len(parts)} datasets for "
            f"{len(strategy.worker_devices)} towers: give one, or one for each."
        )
    return DistributedDataset(strategy, parts)


def made_by(
    strategy: Strategy, input_fn: Callable[[InputContext], Any], contexts: Sequence[InputContext]
) -> DistributedDataset:
    """The datasets that an input function makes, one for each context; ValueError if it makes something else."""
    parts = [input_fn(context) for context in contexts]
    if not all(map(_is_dataset, parts)):
        raise ValueError(
            f"Under {type(strategy).__name__} an input_fn must return a gf.data.Dataset, whose elements the towers "
            f"take in turn, got {type(parts[0]).__name__}."
        )
    return DistributedDataset(strategy, parts)


def _is_dataset(value: Any) -> bool:
    return hasattr(value, "make_one_shot_iterator")


def host_of(device: str) -> str:
    """The CPU beside a device, where its input is prepared."""
    spec = DeviceSpec.from_string(device)
    if spec.device_type is not None:
        spec.device_type, spec.device_index = "CPU", 0
    return spec.to_string()


def _operation_in(element: Any) -> Operation:
    first: Tensor = next(leaf for leaf in flatten(element) if isinstance(leaf, Tensor))
    return first.op
