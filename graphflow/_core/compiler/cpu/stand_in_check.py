"""Compares the kernels that are made for a shape with what stands in for them, before they take its place.

Both must give the same bits, so nothing needs to be known of the program that they are for (as in
codegen/cpu/programs/array_check.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.programs.machine import Machine
from graphflow._core.compiler.nodes import KernelNode, StandIn
from graphflow._core.compiler.values import Value

_MOST_IMAGES: Final = 2
_verdicts: dict[tuple[int, ...], bool] = {}
"""By the addresses of the kernels; code is never unloaded."""


def same_bits(
    machine: Machine, node: KernelNode, stand_in: StandIn, own: Sequence[int], kernels: Sequence[int]
) -> bool:
    """Whether a node's own kernels do on some numbers what those do that stand in for them; NaNs count as equal.

    own, kernels: the addresses of both. The kernels of a node are compared once, on its first images alone.
    """
    key = tuple(own)
    if key not in _verdicts:
        found = []
        for emit, addresses in ((stand_in.own, own), (stand_in.emit, kernels)):
            memory = _Memory(node, stand_in.most)
            machine.program(emit(addresses, memory.address, memory.images)).run()
            found.append(memory.results())
        _verdicts[key] = all(
            np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in zip(*found, strict=True)
        )
    return _verdicts[key]


class _Memory:
    """What a node reads, the same numbers every time, and room for what it makes: of some of its images."""

    def __init__(self, node: KernelNode, most: int) -> None:
        self.images = min(most, _MOST_IMAGES)
        self._most = most
        self._makes = node.makes
        self._generator = np.random.RandomState(0)
        self._arrays: dict[tuple[str, int], Any] = {}
        for value in node.reads:
            self.address(value)

    def address(self, value: Value) -> int:
        """Where a value lies here."""
        key = value.root, value.offset
        if key not in self._arrays:
            shape = value.shape
            if self._most and shape[0] == self._most:
                shape = (self.images, *shape[1:])  # Of what else is as long the rest is zero.
            array = np.zeros(value.shape, value.dtype)
            if value.root not in self._makes:
                array[: shape[0]] = self._generator.randn(*shape)
            self._arrays[key] = array
        return int(self._arrays[key].ctypes.data)

    def results(self) -> list[Any]:
        """What was made."""
        return [array for (root, _), array in self._arrays.items() if root in self._makes]
