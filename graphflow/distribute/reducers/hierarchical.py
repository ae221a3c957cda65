"""Reduction within each task first, then between tasks: little goes over the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import identity
from graphflow._core.ops.math.math import add_n
from graphflow.distribute.reducers.base import on_device
from graphflow.distribute.reducers.pieces import AllToAll
from graphflow.distribute.reducers.ring import RingReducer


class HierarchicalReducer(AllToAll):
    """Adds up the values of each task's devices on the first of them, those sums between the tasks, and hands out.

    Within a task values are added in the order of towers.

    Args:
        between: The reducer between the tasks, by default a ring.
    """

    def __init__(self, between: AllToAll | None = None) -> None:
        self._between = between or RingReducer()

    def exchange(self, values: Sequence[Tensor], devices: Sequence[str]) -> list[Tensor]:
        """The sum of flat values on each device.

        Args:
            values: A vector for each device.
            devices: The devices.
        """
        tasks: dict[str, list[int]] = {}
        for place, device in enumerate(devices):
            spec = DeviceSpec.from_string(device)
            task = DeviceSpec(spec.job, spec.replica, spec.task).to_string()
            tasks.setdefault(task, []).append(place)
        firsts, sums = [], []
        for places in tasks.values():
            firsts.append(devices[places[0]])
            with on_device(firsts[-1]):
                own = [values[place] for place in places]
                sums.append(add_n(own) if len(own) > 1 else own[0])
        if len(sums) > 1:
            sums = self._between.exchange(sums, firsts)
        results: list[Any] = [None] * len(values)
        for places, found in zip(tasks.values(), sums, strict=True):
            for place in places:
                with on_device(devices[place]):
                    results[place] = found if place == places[0] else identity(found)
        return results
