"""The numbers of the rows that index vectors, indices in batches and reversed sequences name, as statements.

So kernels that take and change rows by number serve them all. -1 is the number of what there is not.
"""

from __future__ import annotations

import math

from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.shared.strided import places_along
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction


def as_rows(value: Value, count: int) -> Value:
    """What lies side by side, as so many rows."""
    columns = value.size // count
    return Value(value.root, value.dtype, (count, columns), (columns, 1), value.offset)


def batch_numbers(lowering: Lowering, i: Instruction, indices: Value, shape: tuple[int, ...]) -> Value:
    """The numbers of what indices name along the last axis of a shape, in their own batch; -1 if there is none."""
    batch = len(shape) - 1
    reads = [indices, *(places_along(lowering, i, k, indices.shape) for k in range(batch))]
    terms = [f"cast({{{k + 1}}}, int64) * {math.prod(shape[k + 1 :])}" for k in range(batch)]
    target = lowering.temporary(i.name, "int64", indices.shape)
    total = " + ".join(["cast({0}, int64)", *terms])
    lowering.elementwise(i, f"({total}) if {{0}} >= 0 and {{0}} < {shape[-1]} else -1", reads, target)
    return target


def row_numbers(lowering: Lowering, i: Instruction, indices: Value, shape: tuple[int, ...]) -> Value:
    """The numbers of what index vectors name along the first axes of a shape; -1 if there is no such thing."""
    depth = indices.shape[-1]
    columns = [
        Value(
            indices.root, indices.dtype, indices.shape[:-1], indices.strides[:-1], indices.offset + k * step
        )
        for k, step in ((k, indices.strides[-1]) for k in range(depth))
    ]
    steps = [math.prod(shape[k + 1 : depth]) for k in range(depth)]
    terms = [f"cast({{{k}}}, int64) * {step}" for k, step in enumerate(steps)]
    inside = [f"{{{k}}} >= 0 and {{{k}}} < {shape[k]}" for k in range(depth)]
    target = lowering.temporary(i.name, "int64", indices.shape[:-1])
    lowering.elementwise(i, f"({' + '.join(terms)}) if {' and '.join(inside)} else -1", columns, target)
    return target


def reversed_numbers(lowering: Lowering, i: Instruction) -> tuple[Value, Value, int] | None:
    """Of a ReverseSequence the value side by side, the numbers of the rows that make the result, the longest length.

    None if it has no such form.
    """
    value, lengths = (lowering.value(n) for n in i.inputs)
    if value is None or lengths is None or not value.shape:
        return None
    rank = len(value.shape)
    time, batch = int(i.attrs["seq_dim"]) % rank, int(i.attrs["batch_dim"]) % rank
    if time == batch or lengths.shape != (value.shape[batch],):
        return None
    x = lowering.compact(i, value)
    space = x.shape[: max(time, batch) + 1]
    steps = [math.prod(space[k + 1 :]) for k in range(len(space))]
    spread = tuple(lengths.strides[0] * int(k == batch) for k in range(len(space)))
    reads = [Value(lengths.root, lengths.dtype, space, spread, lengths.offset)]
    reads += [places_along(lowering, i, k, space) for k in range(len(space))]
    places = [f"cast({{{k + 1}}}, int64)" for k in range(len(space))]
    last = f"cast({{0}}, int64) - 1 - {places[time]}"
    places[time] = f"({last} if {last} >= 0 else {places[time]})"
    total = " + ".join(f"{place} * {step}" for place, step in zip(places, steps, strict=True))
    ids = lowering.temporary(i.name, "int64", space)
    text = f"({total}) if {{0}} >= 0 and {{0}} <= {space[time]} else -1"
    lowering.elementwise(i, text, reads, ids)
    return x, ids, space[time]
