"""Common parts of the reducers that exchange pieces of values between all devices, rather than through one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import concat, reshape, shape, size
from graphflow.distribute.reducers.base import Reducer, is_mean, on_device, part, spread, total
from graphflow.distribute.values import Mirrored, PerDevice, devices_from


class AllToAll(Reducer):
    """A reducer that leaves a sum on the device of each tower. A derived class overrides `exchange`."""

    def exchange(self, values: Sequence[Tensor], devices: Sequence[str]) -> list[Tensor]:
        """Adds values up, so that each device has the sum. This is the all-reduce algorithm.

        Args:
            values: A tensor of rank 1 for each device, all of one dtype and size; there are at least two.
            devices: The names of the devices; operations are built under gf.device(name).

        Returns:
            The sum, one tensor a device, in the order of the devices.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not say how it exchanges: override exchange()."
        )

    def reduce(self, aggregation: int, per_device_value: PerDevice, destinations: Any) -> Any:
        """The sum or mean, on the devices of `destinations`.

        Args:
            aggregation: Of gf.VariableAggregation.
            per_device_value: A value by device.
            destinations: Where it is wanted.
        """
        values, devices = list(per_device_value.values), per_device_value.devices
        wanted = devices_from(destinations)
        if len(values) == 1 or any(isinstance(value, IndexedSlices) for value in values):
            with on_device(wanted[0]):
                summed = total(aggregation, values)
            return spread(summed, wanted)
        mean = is_mean(aggregation)
        flat = []
        for value, device in zip(values, devices, strict=True):
            with on_device(device):
                flat.append(reshape(value, [-1]))
        sums = []
        for found, value, device in zip(self.exchange(flat, devices), values, devices, strict=True):
            with on_device(device):
                if mean:
                    found = part(found, len(values))
                dims = value.shape
                sums.append(reshape(found, dims if dims.is_fully_defined() else shape(value)))
        by_device = dict(zip(devices, sums, strict=True))
        if len(wanted) == 1:
            return by_device.get(wanted[0], sums[0])
        if all(device in by_device for device in wanted):
            return Mirrored([by_device[device] for device in wanted], wanted)
        return spread(sums[0], wanted)


def bounds(value: Tensor, count: int) -> list[Any]:
    """The beginnings of `count` pieces of a flat value, and the end of the last one; built on the current device."""
    length = value.shape[0].value
    whole: Any = size(value) if length is None else length
    return [whole * i // count for i in range(count)] + [whole]


def joined(pieces: Sequence[Sequence[Tensor]], devices: Sequence[str]) -> list[Tensor]:
    """The pieces of each device behind one another."""
    results = []
    for device, own in zip(devices, pieces, strict=True):
        with on_device(device):
            results.append(concat(list(own), 0) if len(own) > 1 else own[0])
    return results
