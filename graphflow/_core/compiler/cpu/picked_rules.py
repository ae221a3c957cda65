"""Rules of slices that take one place along an axis, x[i] or x[:, i], whose number is computed, as loops do in a turn.

The number is made those of rows by a statement, and the rows are taken as a gather takes them. The gradient is zero but
for these rows. All other slices whose places are computed stay with NumPy, since the sizes of their results are too.
"""

from __future__ import annotations

import math
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


def _axis(lowering: Lowering, i: Instruction, begin: str, strides: str) -> int | None:
    """The axis along which a slice takes one place, and all of the others; None if it does anything else."""
    start, steps, taken = lowering.value(begin), lowering.constant(strides), int(i.attrs["shrink_axis_mask"])
    if start is None or steps is None or len(start.shape) != 1 or start.dtype not in ("int32", "int64"):
        return None
    others = ((1 << start.size) - 1) & ~taken
    masks = [int(i.attrs[name]) & others == others for name in ("begin_mask", "end_mask")]
    plain = not i.attrs["ellipsis_mask"] and not i.attrs["new_axis_mask"] and (np.asarray(steps) == 1).all()
    if not taken or taken & (taken - 1) or int(i.attrs["begin_mask"]) & taken or not all(masks) or not plain:
        return None
    return taken.bit_length() - 1


def _place(lowering: Lowering, i: Instruction, begin: str, axis: int, size: int) -> Value:
    """The place that a slice takes along an axis of a size."""
    start = lowering.values[begin]
    offset = start.offset + axis * start.strides[0]
    first = Value(start.root, start.dtype, (1,), start.strides, offset)
    number = lowering.temporary(i.name, "int64", (1,))
    lowering.elementwise(i, f"cast({{0}}, int64) + ({size} if {{0}} < 0 else 0)", [first], number)
    return number


def _slice(lowering: Lowering, i: Instruction) -> bool:
    if STATEMENT_RULES["StridedSlice"](lowering, i):
        return True
    value, begin = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
    axis = _axis(lowering, i, i.inputs[1], i.inputs[3])
    if value is None or begin is None or axis is None or axis >= len(value.shape):
        return False
    shape = value.shape
    outer, size = math.prod(shape[:axis]), shape[axis]
    numbers = number = _place(lowering, i, i.inputs[1], axis, size)
    kernel, strides = lowering.kernel_of("StridedSlice", i), np.ones(begin.size, np.int32)

    def check(begin: Any) -> None:
        kernel(np.broadcast_to(np.zeros(1), shape), begin, begin + 1, strides)

    if outer > 1:
        numbers = lowering.temporary(i.name, "int64", (outer,))
        text = f"({{0}} + cast({{1}}, int64) * {size}) if {{0}} >= 0 and {{0}} < {size} else -1"
        lowering.elementwise(i, text, [number, places_along(lowering, i, 0, (outer,))], numbers)
    rows = as_rows(lowering.compact(i, value), outer * size)
    take_rows(lowering, i, rows, numbers, lowering.result(i), begin, check)
    return True


def _gradient(lowering: Lowering, i: Instruction) -> bool:
    if ASSEMBLY_RULES["StridedSliceGrad"](lowering, i):
        return True
    shape, dtype = lowering.known[i.outputs[0]]
    gradient, axis = lowering.value(i.inputs[4]), _axis(lowering, i, i.inputs[1], i.inputs[3])
    if gradient is None or axis is None or axis >= len(shape) or dtype == "bool":
        return False
    if gradient.shape != shape[:axis] + shape[axis + 1 :]:
        return False
    number = _place(lowering, i, i.inputs[1], axis, shape[axis])
    steps = (*gradient.strides[:axis], 0, *gradient.strides[axis:])
    spread = Value(gradient.root, gradient.dtype, shape, steps, gradient.offset)
    chosen = Value(number.root, "int64", (), ())
    along = places_along(lowering, i, axis, shape)
    lowering.elementwise(
        i, "{0} if {1} == cast({2}, int64) else 0", [spread, chosen, along], lowering.result(i)
    )
    return True


PICKED_RULES: Final[dict[str, Rule]] = {"StridedSlice": _slice, "StridedSliceGrad": _gradient}
