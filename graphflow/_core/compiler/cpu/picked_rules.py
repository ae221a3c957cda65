"""Rules of slices that take one place along the first axis, x[i], whose number is computed, as loops do in each turn.

The number is made a row's number by a statement, and the row is taken as a gather takes it. The gradient is zero but
for that row. All other slices whose places are computed stay with NumPy, since the sizes of their results are too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from graphflow._core.compiler.cpu.assembly_rules import ASSEMBLY_RULES
from graphflow._core.compiler.cpu.index_rules import take_rows
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.row_numbers import as_rows
from graphflow._core.compiler.shared.statement_rules import STATEMENT_RULES
from graphflow._core.compiler.shared.strided import places_along
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction


def _picked(lowering: Lowering, i: Instruction, begin: str, strides: str, count: int) -> Value | None:
    """The number of the row that a slice takes, of so many; None if it takes anything else."""
    start, steps = lowering.value(begin), lowering.constant(strides)
    if (
        start is None
        or steps is None
        or not count
        or len(start.shape) != 1
        or start.dtype not in ("int32", "int64")
    ):
        return None
    others = (1 << start.size) - 2  # All but the first axis are taken whole.
    masks = [int(i.attrs[name]) & others == others for name in ("begin_mask", "end_mask")]
    plain = not i.attrs["ellipsis_mask"] and not i.attrs["new_axis_mask"] and (np.asarray(steps) == 1).all()
    if int(i.attrs["shrink_axis_mask"]) != 1 or int(i.attrs["begin_mask"]) & 1 or not all(masks) or not plain:
        return None
    first = Value(start.root, start.dtype, (1,), start.strides, start.offset)
    number = lowering.temporary(i.name, "int64", (1,))
    lowering.elementwise(i, f"cast({{0}}, int64) + ({count} if {{0}} < 0 else 0)", [first], number)
    return number


def _slice(lowering: Lowering, i: Instruction) -> bool:
    if STATEMENT_RULES["StridedSlice"](lowering, i):
        return True
    value, begin = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
    if value is None or begin is None or not value.shape:
        return False
    number = _picked(lowering, i, i.inputs[1], i.inputs[3], value.shape[0])
    if number is None:
        return False
    kernel, strides = lowering.kernel_of("StridedSlice", i), np.ones(begin.size, np.int32)
    shape = value.shape

    def check(begin: Any) -> None:
        kernel(np.broadcast_to(np.zeros(1), shape), begin, begin + 1, strides)

    rows = as_rows(lowering.compact(i, value), shape[0])
    take_rows(lowering, i, rows, number, lowering.result(i), begin, check)
    return True


def _gradient(lowering: Lowering, i: Instruction) -> bool:
    if ASSEMBLY_RULES["StridedSliceGrad"](lowering, i):
        return True
    shape, dtype = lowering.known[i.outputs[0]]
    gradient = lowering.value(i.inputs[4])
    if gradient is None or not shape or gradient.shape != shape[1:] or dtype == "bool":
        return False
    number = _picked(lowering, i, i.inputs[1], i.inputs[3], shape[0])
    if number is None:
        return False
    along = places_along(lowering, i, 0, shape)
    chosen = Value(number.root, "int64", (), ())
    lowering.elementwise(
        i, "{0} if {1} == cast({2}, int64) else 0", [gradient, chosen, along], lowering.result(i)
    )
    return True


PICKED_RULES: Final[dict[str, Rule]] = {"StridedSlice": _slice, "StridedSliceGrad": _gradient}
