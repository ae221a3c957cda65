"""Compares a region's own kernel with the array machine before it takes the machine's place, on numbers of its own.

Both must give the same bits, so nothing needs to be known of the program that they are for: no run is held up by a
comparison with NumPy, and none can show by its bits when the kernel came.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.programs.array_machine import ArrayCode, array_steps
from graphflow._core.codegen.cpu.programs.machine import Machine
from graphflow._core.codegen.cpu.regions.region import Region, contiguous_strides, layout, output_cells
from graphflow._core.codegen.cpu.regions.region_source import region_steps
from graphflow._core.codegen.cpu.regions.scalar_text import FLOATS

_MOST_ELEMENTS: Final = 1 << 15
verdicts: dict[int, bool] = {}
"""By the kernel's address; code is never unloaded."""


def same_bits(
    machine: Machine, code: ArrayCode, sizes: Sequence[int], kernel: int, kernels: Sequence[int]
) -> bool:
    """Whether the kernel at an address does on some numbers what the machine does; NaNs count as equal.

    sizes: those that the region is for; large ones are made smaller. kernels: those of code.sources. A kernel is
    compared once.
    """
    if kernel not in verdicts:
        verdicts[kernel] = _compared(machine, code, sizes, kernel, kernels)
    return verdicts[kernel]


def _compared(
    machine: Machine, code: ArrayCode, sizes: Sequence[int], kernel: int, kernels: Sequence[int]
) -> bool:
    region, sizes = code.region, _smaller(sizes)
    found = []
    for own in (True, False):
        inputs, outputs = _memory(region, sizes)
        scratch, status = np.zeros(layout(region, sizes).scratch + 1, np.uint8), np.zeros(1, np.int64)
        operands: list[Any] = [
            [
                (a.ctypes.data, contiguous_strides(sizes, i.varies))
                for a, i in zip(inputs, region.inputs, strict=True)
            ],
            [(o.ctypes.data, None) for o in outputs],
            int(status.ctypes.data),
            int(scratch.ctypes.data),
        ]
        steps = (
            region_steps(region, kernel, sizes, *operands)
            if own
            else array_steps(code, kernels, sizes, *operands)
        )
        machine.program(steps).run()
        found.append([status, *outputs])
    return all(
        np.array_equal(mine, theirs, equal_nan=mine.dtype.name in FLOATS)
        for mine, theirs in zip(*found, strict=True)
    )


def _smaller(sizes: Sequence[int]) -> tuple[int, ...]:
    found = list(sizes)
    while np.prod(found, dtype=np.float64) > _MOST_ELEMENTS:
        largest = found.index(max(found))
        found[largest] = (found[largest] + 1) // 2
    return tuple(found)


def _memory(region: Region, sizes: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """The same numbers every time, and memory for the results; those in place are the inputs that they overwrite."""
    generator = np.random.RandomState(0)
    inputs = []
    for given in region.inputs:
        count = 1
        for size, varies in zip(sizes, given.varies, strict=True):
            count *= size if varies else 1
        numbers = generator.randn(count) * 3
        inputs.append((numbers if given.dtype in FLOATS else np.abs(numbers)).astype(given.dtype))
    outputs = [
        np.zeros(output_cells(region, index, sizes), output.dtype)
        if output.in_place is None
        else inputs[output.in_place]
        for index, output in enumerate(region.outputs)
    ]
    return inputs, outputs
