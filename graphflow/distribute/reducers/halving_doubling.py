"""Recursive halving and doubling: few steps, between devices that are further apart each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import concat, identity
from graphflow.distribute.reducers.base import on_device
from graphflow.distribute.reducers.pieces import AllToAll, bounds


class HalvingDoublingReducer(AllToAll):
    """Adds up in 2 log2(n) steps (Rabenseifner, 2004): for many devices, and for values that are not large.

    In each step two devices exchange halves of what they have: they keep a half, added up with the lower device's part
    first, and in the end collect the halves again. So the bits are the same on every device. If n is no power of
    two, those beyond the largest one give their value to another device first, and get the result from it.
    """

    def exchange(self, values: Sequence[Tensor], devices: Sequence[str]) -> list[Tensor]:
        """The sum of flat values on each device.

        Args:
            values: A vector for each device.
            devices: The devices.
        """
        count = len(values)
        among = 1 << (count.bit_length() - 1)
        held: list[Any] = list(values)
        for extra in range(among, count):
            with on_device(devices[extra - among]):
                held[extra - among] = held[extra - among] + values[extra]
        held = held[:among]
        distance = among // 2
        while distance:
            halves = []
            for holder in range(among):
                with on_device(devices[holder]):
                    middle = bounds(held[holder], 2)[1]
                    halves.append((held[holder][:middle], held[holder][middle:]))
            for holder in range(among):
                upper = bool(holder & distance)
                low, high = sorted((holder, holder ^ distance))
                with on_device(devices[holder]):
                    held[holder] = halves[low][upper] + halves[high][upper]
            distance //= 2
        distance = 1
        while distance < among:
            before = list(held)
            for holder in range(among):
                low, high = sorted((holder, holder ^ distance))
                with on_device(devices[holder]):
                    held[holder] = concat([before[low], before[high]], 0)
            distance *= 2
        for extra in range(among, count):
            with on_device(devices[extra]):
                held.append(identity(held[extra - among]))
        return held
