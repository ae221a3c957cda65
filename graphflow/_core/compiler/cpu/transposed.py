"""Large transposed values that statements or kernels take, or who fetches them: they are copied by tiles first.

A loop along one axis that steps from row to row of the other touches a line of the cache for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.kernels import nnkernels
from graphflow._core.codegen.cpu.regions.region import collapse
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value, row_major
from graphflow._core.plan.ir import Instruction

_LARGE: Final = 1 << 16
"""Elements of which a copy is worth its kernel; fewer lie in a core's cache."""
_NARROW: Final = 16
"""Rows or columns of matrices that need no tiles."""


def side_by_side(lowering: Lowering, i: Instruction, value: Value) -> Value:
    """The value, or a copy of it if it is made of large matrices that lie in memory transposed."""
    if value.contiguous or value.size < _LARGE or value.root in lowering.ever_written:
        return value
    sizes, walked, _ = collapse(value.shape, [value.strides, row_major(value.shape)])
    if len(sizes) not in (2, 3):
        return value
    rows, columns = sizes[-2:]
    batch = sizes[0] if len(sizes) == 3 else 1
    if walked[0] != (*([rows * columns] if len(sizes) == 3 else []), 1, rows) or min(rows, columns) < _NARROW:
        return value
    copy = lowering.temporary(value.root, value.dtype, value.shape)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return nnkernels.transpose_steps(kernels[0], address(value), address(copy), batch, rows, columns)

    source = nnkernels.transpose_source(np.dtype(value.dtype).itemsize)
    lowering.add(KernelNode(i, [value], [copy.root], sources=[source], emit=emit))
    return copy


def lower_in_order(lowering: Lowering) -> None:
    """Makes the nodes of a whole plan; what it hands out lies in order, since NumPy copies other arrays slowly."""
    lowering.run()
    fetched = {name for name in lowering.plan.fetches if name in lowering.values}
    for i in lowering.plan.instructions:
        for name in fetched.intersection(i.outputs):
            value = lowering.in_order(i, lowering.values[name])
            lowering.values[name] = _handed_out(lowering, i, value)


def _handed_out(lowering: Lowering, i: Instruction, value: Value) -> Value:
    """A fetched value, or a copy of it if it is a large view whose elements do not lie side by side.

    NumPy would copy it on one core, and backwards one element after the other.
    """
    if value.size < _LARGE or value.contiguous or value.root in lowering.ever_written:
        return value
    return lowering.compact(i, value)
