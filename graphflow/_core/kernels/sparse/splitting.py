"""NumPy kernels that take SparseTensors apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel


@kernel("SparseSplit")
def _split(node: Node) -> Kernel:
    count = node.attrs["num_split"]

    def run(axis: Any, indices: Any, values: Any, shape: Any) -> Any:
        along = int(axis)
        if not 0 <= along < len(shape):
            raise invalid(f"The axis of a split must be in the interval [0, {len(shape)}), got {along}")
        size = int(shape[along])
        if count > size:
            raise invalid(f"num_split should be between 1 and the extent of the axis ({size}), got {count}")
        lengths = np.full(count, size // count, np.int64)
        lengths[: size % count] += 1
        ends = np.cumsum(lengths)
        part_of = np.searchsorted(ends, indices[:, along], "right")
        places, chosen, extents = [], [], []
        for part, (end, length) in enumerate(zip(ends, lengths, strict=True)):
            own = part_of == part
            moved, extent = indices[own], shape.copy()
            moved[:, along] -= end - length
            extent[along] = length
            places.append(moved)
            chosen.append(values[own])
            extents.append(extent)
        return (*places, *chosen, *extents)

    return run
