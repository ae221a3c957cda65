"""Rules of ops that put blocks together: each part is a statement over its place in the block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.values import Value, view_of, whole
from graphflow._core.plan.ir import Instruction


def part_along(target: Value, axis: int, start: int, size: int) -> Value:
    """The part of a block that has `size` places along an axis."""
    shape = tuple(size if k == axis else n for k, n in enumerate(target.shape))
    return Value(
        target.root, target.dtype, shape, target.strides, target.offset + start * target.strides[axis]
    )


def assembled(lowering: Lowering, i: Instruction, parts: Sequence[tuple[Value, Value]]) -> bool:
    """Fills the places (source, place) of one block, which do not overlap."""
    for source, place in parts:
        lowering.elementwise(i, "{0}", [source], place, forced=True)
    return True


def _concat(lowering: Lowering, i: Instruction) -> bool:
    axis = lowering.constant(i.inputs[-1])
    values = [lowering.value(n) for n in i.inputs[:-1]]
    if axis is None or any(v is None for v in values):
        return False
    target = lowering.result(i)
    along, start, parts = int(axis) % len(target.shape), 0, []
    for value in values:
        assert value is not None
        parts.append((value, part_along(target, along, start, value.shape[along])))
        start += value.shape[along]
    return assembled(lowering, i, parts)


def _pack(lowering: Lowering, i: Instruction) -> bool:
    values = [lowering.value(n) for n in i.inputs]
    if any(v is None for v in values):
        return False
    target = lowering.result(i)
    axis = int(i.attrs.get("axis", 0)) % len(target.shape)
    shape = target.shape[:axis] + target.shape[axis + 1 :]
    parts = []
    for k, value in enumerate(values):
        assert value is not None
        place = part_along(target, axis, k, 1)
        squeezed = Value(
            place.root,
            place.dtype,
            shape,
            place.strides[:axis] + place.strides[axis + 1 :],
            place.offset,
        )
        parts.append((value, squeezed))
    return assembled(lowering, i, parts)


def constant(lowering: Lowering, i: Instruction, array: Any) -> Value:
    """An array that is the same in each run, as a value."""
    value = whole(lowering.fresh(i.name), array.dtype.name, array.shape)
    lowering.constants[value.root] = array
    return value


def filled(lowering: Lowering, i: Instruction, target: Value, number: Any = 0) -> Value:
    """The target, after a statement that fills it with a number."""
    filler = constant(lowering, i, np.array(number, target.dtype))
    lowering.elementwise(i, "{0}", [filler], target, forced=True)
    return target


def _pad(lowering: Lowering, i: Instruction, with_filler: bool = False) -> bool:
    value, paddings = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    filler = lowering.value(i.inputs[2]) if with_filler else None
    if value is None or paddings is None or not value.shape or (with_filler and filler is None):
        return False
    target = lowering.result(i)
    if filler is None:
        filled(lowering, i, target)
    else:
        lowering.elementwise(i, "{0}", [filler], target, forced=True)
    offset = sum(int(before) * stride for (before, _), stride in zip(paddings, target.strides, strict=True))
    return assembled(
        lowering, i, [(value, Value(target.root, target.dtype, value.shape, target.strides, offset))]
    )


def _strided_slice_gradient(lowering: Lowering, i: Instruction) -> bool:
    gradient = lowering.value(i.inputs[4])
    numbers = [lowering.constant(n) for n in i.inputs[:4]]
    if gradient is None or any(n is None for n in numbers):
        return False
    shape, dtype = lowering.known[i.outputs[0]]
    slicing = lowering.kernel_of("StridedSlice", i)
    target = whole(i.outputs[0], dtype, shape)
    places = view_of(target, slicing, [None, *numbers[1:]], 0)
    if places is None and not gradient.shape:
        # A single element is no view: it is looked for among its places.
        place = np.asarray(slicing(np.arange(target.size).reshape(shape), *numbers[1:]))
        places = [Value(target.root, dtype, (), (), int(place))] if place.shape == () else None
    if places is None or places[0].shape != gradient.shape:
        return False
    filled(lowering, i, lowering.result(i))
    return assembled(lowering, i, [(gradient, places[0])])


ASSEMBLY_RULES: Final[dict[str, Rule]] = {
    "ConcatV2": _concat,
    "Pack": _pack,
    "Pad": _pad,
    "PadV2": partial(_pad, with_filler=True),
    "StridedSliceGrad": _strided_slice_gradient,
}
