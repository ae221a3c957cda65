"""Reduction to one device: all towers send their value to one, which adds them up and sends the result back."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow.distribute.reducers.base import Reducer, spread, total
from graphflow.distribute.values import PerDevice, devices_from


class ReductionToOneDevice(Reducer):
    """Adds up on one device (tf.contrib.distribute.ReductionToOneDeviceCrossTowerOps).

    Values are added in the order of the towers.

    Args:
        reduce_to_device: Where; by default the first destination.
    """

    def __init__(self, reduce_to_device: str | None = None) -> None:
        self._device = reduce_to_device

    def reduce(self, aggregation: int, per_device_value: PerDevice, destinations: Any) -> Any:
        """The sum or mean, on the devices of `destinations`.

        Args:
            aggregation: Of gf.VariableAggregation.
            per_device_value: A value by device.
            destinations: Where it is wanted.
        """
        devices = devices_from(destinations)
        with get_default_graph().device(self._device or devices[0]):
            summed = total(aggregation, per_device_value.values)
        return spread(summed, devices)
