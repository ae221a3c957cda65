"""Values that there is one of for each tower or device, and how structures of them are taken apart and put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphflow._core.graph.devices import name_of
from graphflow._core.graph.elements import Operation, Tensor
from graphflow.distribute.context import current


class DistributedValues:
    """One value for each tower or device.

    Args:
        values: The values in the order of the towers; or a dictionary {device: value}.
        devices: Their devices; by default none, or the dictionary's.

    Raises:
        ValueError: There are no values, or another number of devices.
    """

    def __init__(
        self, values: Sequence[Any] | Mapping[str, Any], devices: Sequence[str] | None = None
    ) -> None:
        if isinstance(values, Mapping):
            values, devices = list(values.values()), list(values)
        self.values: tuple[Any, ...] = tuple(values)
        given = [""] * len(self.values) if devices is None else devices
        self.devices: list[str] = [name_of(device) for device in given]
        if len(self.devices) != len(self.values) or not self.values:
            raise ValueError(
                f"{type(self).__name__}: {len(self.values)} values for {len(self.devices)} devices."
            )

    def get(self, device: str | None = None) -> Any:
        """The value on a device, by default that of the tower or copy that is being built.

        Args:
            device: The device; by default the current one's.

        Raises:
            ValueError: If there is none, or across towers.
        """
        if device is not None:
            name = name_of(device)
            if name not in self.devices:
                raise ValueError(f"{self!r} has no value on {device!r}, only on {self.devices}.")
            return self.values[self.devices.index(name)]
        context = current()
        index = None if context is None else context.index
        if index is None:
            raise ValueError(
                f"{self!r} has a value for each tower, and this is outside of any: use unwrap() or reduce()."
            )
        return self.values[index]

    def on_device(self, device: str) -> bool:
        """Whether it has a value on a device.

        Args:
            device: The device.
        """
        return name_of(device) in self.devices

    def _as_graph_element(self) -> Any:
        raise TypeError(self._advice())

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}. {self._advice()}")

    def _advice(self) -> str:
        return (
            f"A {type(self).__name__} holds a value for each tower or device, and one is needed here: take one of "
            "strategy.unwrap(value), or strategy.reduce() them. A tower gets its own if the whole is an argument of "
            "call_for_each_tower()."
        )

    def __repr__(self) -> str:
        pairs = ", ".join(
            f"{device!r}: {value!r}" for device, value in zip(self.devices, self.values, strict=True)
        )
        return f"{type(self).__name__}({{{pairs}}})"


class PerDevice(DistributedValues):
    """A value for each tower; they may differ."""


class Mirrored(DistributedValues):
    """A value on each device; they are equal."""


def whole(value: Any) -> Any:
    """The variable that a copy belongs to; the value itself if it is none."""
    return getattr(value, "container_variable", value)


def select(index: int, structure: Any) -> Any:
    """The structure with what is distributed replaced by its value of that index.

    Args:
        index: The number of a tower.
        structure: A structure, some leaves of which are distributed.

    Returns:
        The structure of that tower.
    """

    def chosen(leaf: Any) -> Any:
        if not isinstance(leaf, DistributedValues):
            return leaf
        return leaf.values[index if len(leaf.values) > 1 else 0]

    return _mapped(chosen, structure)


def _mapped(function: Callable[[Any], Any], structure: Any) -> Any:
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_mapped(function, item) for item in structure))
    if type(structure) in (list, tuple):
        return type(structure)(_mapped(function, item) for item in structure)
    if type(structure) is dict:
        return {key: _mapped(function, item) for key, item in structure.items()}
    return function(structure)


def regroup(results: Sequence[Any], devices: Sequence[str], wrap: type[DistributedValues] = PerDevice) -> Any:
    """The results of all towers as one structure, whose leaves are distributed.

    A leaf that is the same object for all stays itself, and copies of one variable become that variable. If the
    structures differ, they are leaves.
    """
    first = results[0]
    if all(result is first for result in results):
        return first
    if type(first) in (list, tuple) or (isinstance(first, tuple) and hasattr(first, "_fields")):
        if all(type(r) is type(first) and len(r) == len(first) for r in results):
            items = [regroup(column, devices, wrap) for column in zip(*results, strict=True)]
            return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    elif type(first) is dict and all(type(r) is dict and r.keys() == first.keys() for r in results):
        return {key: regroup([r[key] for r in results], devices, wrap) for key in first}
    container = whole(first)
    if container is not first and all(whole(result) is container for result in results):
        return container
    return wrap(results, devices)


def devices_from(destinations: Any) -> list[str]:
    """The devices that are meant.

    Args:
        destinations: A device, a list of devices, a variable (those of its copies), a tensor or a distributed value.

    Returns:
        The names of the devices.
    """
    if isinstance(destinations, DistributedValues):
        return destinations.devices
    copies = getattr(destinations, "copies", None)
    if copies is not None:
        return [name_of(copy.device) for copy in copies]
    if isinstance(destinations, list | tuple):
        return [device for item in destinations for device in devices_from(item)]
    device = getattr(destinations, "device", destinations)
    return [name_of(device)]


def operations_of(value: Any) -> list[Operation]:
    """The operations of a tensor or operation, or of what holds several."""
    if isinstance(value, DistributedValues):
        return [op for item in value.values for op in operations_of(item)]
    return [value.op if isinstance(value, Tensor) else value]
