"""Reduction around a ring: every device sends to the next one only, and all of them at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import identity
from graphflow.distribute.reducers.base import on_device
from graphflow.distribute.reducers.pieces import AllToAll, bounds, joined


class RingReducer(AllToAll):
    """Adds up around a ring (Patarasuk and Yuan, 2009); each of n devices sends 2 (n - 1) / n of a value's bytes.

    A value is cut into as many pieces as there are devices. Piece i is added up in the order of the devices from i on,
    so every device has the same bits, the same in every run. Sparse values are gathered on one device.
    """

    def exchange(self, values: Sequence[Tensor], devices: Sequence[str]) -> list[Tensor]:
        """The sum of flat values on each device.

        Args:
            values: A vector for each device.
            devices: The devices.
        """
        count = len(values)
        pieces: list[list[Any]] = [[None] * count for _ in values]
        for holder, (value, device) in enumerate(zip(values, devices, strict=True)):
            with on_device(device):
                places = bounds(value, count)
                pieces[holder] = [value[places[i] : places[i + 1]] for i in range(count)]
        for step in range(count - 1):
            for holder in range(count):  # What goes on at the same time: no two of these touch one piece.
                piece, after = (holder - step) % count, (holder + 1) % count
                with on_device(devices[after]):
                    pieces[after][piece] = pieces[holder][piece] + pieces[after][piece]
        for step in range(count - 1):
            for holder in range(count):
                piece, after = (holder + 1 - step) % count, (holder + 1) % count
                with on_device(devices[after]):
                    pieces[after][piece] = identity(pieces[holder][piece])
        return joined(pieces, devices)
