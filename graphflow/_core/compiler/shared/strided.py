"""What rules say of where elements lie: axes in another order, apart, side by side; places, reductions, windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import Statements
from graphflow._core.compiler.values import Value, row_major, whole
from graphflow._core.plan.ir import Instruction


def permuted(value: Value, order: Sequence[int]) -> Value:
    """The value with its axes in another order."""
    shape, strides = (tuple(items[k] for k in order) for items in (value.shape, value.strides))
    return Value(value.root, value.dtype, shape, strides, value.offset)


def split(value: Value, axis: int, *inner: int) -> Value:
    """The value with one axis as several, of which the sizes of all but the first are given."""
    sizes = [value.shape[axis], *inner]
    for size in inner:
        sizes[0] //= size
    steps = [step * value.strides[axis] for step in row_major(sizes)]
    shape = (*value.shape[:axis], *sizes, *value.shape[axis + 1 :])
    strides = (*value.strides[:axis], *steps, *value.strides[axis + 1 :])
    return Value(value.root, value.dtype, shape, strides, value.offset)


def box(value: Value, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> Value:
    """Along each axis, so many places from a start on, a step apart."""
    offset = value.offset + sum(n * s for n, s in zip(starts, value.strides, strict=True))
    strides = tuple(n * s for n, s in zip(steps, value.strides, strict=True))
    return Value(value.root, value.dtype, tuple(sizes), strides, offset)


def copied(lowering: Lowering, i: Instruction, value: Value) -> Value:
    """A copy that lies side by side."""
    copy = lowering.temporary(i.name, value.dtype, value.shape)
    lowering.elementwise(i, "{0}", [value], copy)
    return copy


def unwritten(lowering: Lowering, i: Instruction, value: Value) -> Value:
    """The value, or a copy if a variable's memory may change under a view of it."""
    return copied(lowering, i, value) if value.root in lowering.ever_written else value


def places_along(lowering: Lowering, i: Instruction, axis: int, shape: tuple[int, ...]) -> Value:
    """The places along an axis, int32."""
    places = whole(lowering.fresh(i.name), "int32", (shape[axis],))
    lowering.constants[places.root] = np.arange(shape[axis], dtype=np.int32)
    return Value(places.root, places.dtype, shape, tuple(int(k == axis) for k in range(len(shape))))


def reduced(
    lowering: Lowering,
    i: Instruction,
    kind: str,
    text: str,
    reads: list[Value],
    axes: Sequence[int],
    target: Value,
) -> Value:
    """Fills a block with the reduction over some axes of a text over the space of the first operand."""
    space = reads[0].shape
    over = tuple(axis for axis in axes if space[axis] != 1)
    if not over:
        lowering.elementwise(i, text, reads, whole(target.root, target.dtype, space))
        return target
    lowering.add(
        Statements(
            i, reads, [target.root], space=space, lines=[("out", target.dtype, text)], results=[("out", target)],
            reduce=(kind, tuple(axes)),
        )
    )  # fmt: skip
    return target
