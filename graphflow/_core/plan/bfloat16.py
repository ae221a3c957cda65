"""Arithmetic on bfloat16: an instruction that computes with it becomes one of float32, between casts.

So no kernel of either tier knows bfloat16. What is computed is rounded once, behind each operation, and sums are made
in float32, as on the processors that have this type. TensorFlow's kernels for CPUs add up in bfloat16 itself, and lose
what is small beside the sum. What only moves elements, whatever these are, takes them as they are, and so does what
writes variables: a variable is bfloat16 in memory, in checkpoints and between tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.graph import devices, dtypes
from graphflow._core.graph.dtypes import DType, bfloat16, float32
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.shapes import Dims
from graphflow._core.ops.math.arithmetic import MAXIMUM, MINIMUM
from graphflow._core.ops.math.casting import CAST
from graphflow._core.plan import build
from graphflow._core.plan.ir import Instruction

Input = tuple[DType, Dims, tuple[str, ...]]
"""Dtype and shape of an input, and the names of the instructions behind which it is to be read."""
_WIDE: Final = {bfloat16: float32}
_OF_BITS: Final = frozenset({"Bitcast", CAST.name})
"""Types that take bfloat16 as it is, though they look at it."""

_LARGEST: Final = 3.3895313892515355e38
_OF_NOTHING: Final = {"UnsortedSegmentMax": (MAXIMUM, -_LARGEST), "UnsortedSegmentMin": (MINIMUM, _LARGEST)}
"""Types that give the last number of a dtype for a segment of nothing, and what keeps to it."""


def in_float32(i: Instruction, inputs: Sequence[Input]) -> list[Instruction]:
    """The instructions in place of one: itself, unless it computes with bfloat16."""
    definition = i.definition
    narrow = [n for n, (dtype, _, _) in enumerate(inputs) if dtype is bfloat16]
    if not narrow or definition is None or not _computes(definition, narrow):
        return [i]
    casts, names = [], list(i.inputs)
    for n in narrow:
        _, dims, behind = inputs[n]
        cast = _cast(i, f"{i.name}/{n}/float32", names[n], f"{i.name}/{n}/float32:0", float32, dims)
        casts.append(replace(cast, control=(*i.control, *behind)))
        names[n] = cast.outputs[0]
    outputs, narrowed = list(i.outputs), []
    for n, (output, dtype) in enumerate(zip(i.outputs, i.dtypes, strict=True)):
        if dtype is bfloat16:
            outputs[n] = value = f"{i.name}/float32:{n}"
            if i.type in _OF_NOTHING:
                bounds = _bounded(i, value)
                narrowed += bounds
                value = bounds[-1].outputs[0]
            narrowed.append(_cast(i, f"{i.name}/{n}/bfloat16", value, output, bfloat16, i.shapes[n]))
    wide = replace(
        i,
        inputs=tuple(names),
        outputs=tuple(outputs),
        dtypes=tuple([_WIDE.get(dtype, dtype) for dtype in i.dtypes]),
        attrs={name: _widened(value) for name, value in i.attrs.items()},
    )
    return [*casts, wide, *narrowed]


def _bounded(i: Instruction, value: str) -> list[Instruction]:
    """A result whose segments of nothing are the last number of bfloat16, and not that of float32, which it has not."""
    definition, number = _OF_NOTHING[i.type]
    name = f"{i.name}/limit"
    limit = replace(i, name=name, outputs=(f"{name}:0",), dtypes=(float32,))
    attrs = {"T": float32}
    bound = build.of_definition(
        definition, f"{i.name}/bounded", [value, f"{name}:0"], [(float32, i.shapes[0])], attrs, i
    )
    return [*build.constants(limit, [np.array(number, np.float32)]), bound]


def _computes(definition: OpDef, narrow: Sequence[int]) -> bool:
    """Whether an op looks at the numbers in these inputs, and does no more than that."""
    if definition.name in _OF_BITS or definition.stateful or definition.takes_refs:
        return False
    specs = definition.inputs
    if definition.takes_lists:
        return any(spec.allowed != dtypes.ALL for spec in specs if bfloat16 in spec.allowed)
    return any(specs[n].allowed != dtypes.ALL for n in narrow)


def _cast(i: Instruction, name: str, value: str, output: str, dtype: DType, dims: Dims) -> Instruction:
    """A cast on a processor of the task on which an instruction is: no other device knows bfloat16."""
    attrs = {"SrcT": float32 if dtype is bfloat16 else bfloat16, "DstT": dtype, "Truncate": False}
    there = devices.DeviceSpec.from_string(i.device)
    task = devices.DeviceSpec(there.job, there.replica, there.task).to_string()
    made = build.of_definition(CAST, name, [value], [(dtype, dims)], attrs, i)
    return replace(made, outputs=(output,), device=task)


def _widened(value: Any) -> Any:
    """An attribute with float32 in the place of bfloat16."""
    if isinstance(value, DType):
        return _WIDE.get(value, value)
    if isinstance(value, list | tuple) and any(each is bfloat16 for each in value):
        return type(value)(float32 if each is bfloat16 else each for each in value)
    return value
