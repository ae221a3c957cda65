"""Datasets under a strategy: every tower gets elements of its own, and together they get each once.

A strategy says how a dataset is split. If it gives one dataset for several towers, they take elements of one
iterator in turn, in the order of the towers.
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


class DistributedIterator:
    """A position in a distributed dataset."""

    def __init__(self, devices: Sequence[str], iterators: Sequence[Any]) -> None:
        self._devices = devices
        self._iterators = iterators

    @property
    def initializer(self) -> Operation:
        """The operation that puts it at the first element; ValueError if it needs none."""
        return group(*[iterator.initializer for iterator in self._iterators])

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

    def __init__(self, strategy: Strategy, dataset: Any) -> None:
        if not hasattr(dataset, "make_one_shot_iterator"):
            raise TypeError(
                f"{type(strategy).__name__}.distribute_dataset() takes a gf.data.Dataset, or a function that makes "
                f"one, got {type(dataset).__name__}."
            )
        self._devices = strategy.worker_devices
        self._datasets = list(strategy.split_dataset(dataset))
        if len(self._datasets) not in (1, len(self._devices)):
            raise ValueError(
                f"{type(strategy).__name__}.split_dataset() gave {len(self._datasets)} datasets for "
                f"{len(self._devices)} towers: give one, or one for each."
            )
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


def host_of(device: str) -> str:
    """The CPU beside a device, where its input is prepared."""
    spec = DeviceSpec.from_string(device)
    if spec.device_type is not None:
        spec.device_type, spec.device_index = "CPU", 0
    return spec.to_string()


def _operation_in(element: Any) -> Operation:
    first: Tensor = next(leaf for leaf in flatten(element) if isinstance(leaf, Tensor))
    return first.op
