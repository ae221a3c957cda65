"""A reducer and a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graphflow as gf
from graphflow import extend


class TreeReducer(extend.AllToAll):
    """Adds up in pairs, then pairs of pairs, and hands the sum back the same way."""

    def exchange(self, values: Sequence[gf.Tensor], devices: Sequence[str]) -> list[gf.Tensor]:
        """The sum on each device."""
        sums = list(values)
        step = 1
        while step < len(sums):
            for left in range(0, len(sums) - step, 2 * step):
                with gf.device(devices[left]):
                    sums[left] = sums[left] + sums[left + step]
            step *= 2
        while step > 1:
            step //= 2
            for left in range(0, len(sums) - step, 2 * step):
                with gf.device(devices[left + step]):
                    sums[left + step] = gf.identity(sums[left])
        return sums


class MirroredByTree(extend.DistributionStrategy):
    """A copy of each variable on each device, whose gradients are added up in a tree."""

    reducer = TreeReducer()

    def __init__(self, devices: Sequence[str]) -> None:
        super().__init__()
        self._devices = list(devices)

    def tower_devices(self) -> Sequence[str]:
        """Those given."""
        return self._devices

    def variable_devices(self, arguments: Any) -> Sequence[str]:
        """A copy on each."""
        return self._devices
