"""Elementwise regions with operands that lie along another axis than the results, such as a transposed matrix.

Neighbouring threads that walk along a result's last axis would read such an operand with a stride, and a GPU moves 32
bytes for each. So a block takes a square of the two axes: its threads first walk along the operand's axis and leave
what they read in shared memory, then along the last one.

Source: Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA" (2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Final

from graphflow._core.codegen.cpu.regions.region import Region
from graphflow._core.codegen.cpu.regions.scalar_source import variable
from graphflow._core.codegen.gpu.division import with_divisions
from graphflow._core.codegen.gpu.region_text import Operand, PlacedRegion, Writer
from graphflow._core.codegen.gpu.toolkit import BLOCK, SIMULATED, Launch, memory_type

_SIDE: Final = 2 if SIMULATED else 32
"""Elements of a square's side."""
_AT_ONCE: Final = BLOCK // _SIDE
"""Rows of a square that the threads of a block take at a time."""
_MOST_BLOCKS: Final = 4096
_MOST_STAGED: Final = 3
_SHORTEST: Final = _SIDE // 2
"""If an axis is shorter, most of a square is empty."""


def turned_axis(
    region: Region, sizes: Sequence[int], inputs: Sequence[Operand]
) -> tuple[int, tuple[int, ...]]:
    """The axis that some operands lie along, and their numbers; none if a region has no such operands.

    It is the axis of the first of these.
    """
    last = region.rank - 1
    if any(o.strided or o.reduction is not None for o in region.outputs) or sizes[last] < _SHORTEST:
        return 0, ()

    def lies_along(k: int, axis: int) -> bool:
        operand, strides = region.inputs[k], inputs[k].strides
        turned = operand.strided and operand.varies[last] and strides[last] not in (0, 1)
        return turned and operand.varies[axis] and strides[axis] == 1

    changed = {o.in_place for o in region.outputs}
    for axis in range(last):
        found = [k for k in range(len(region.inputs)) if k not in changed and lies_along(k, axis)]
        if found and sizes[axis] >= _SHORTEST:
            return axis, tuple(found[:_MOST_STAGED])
    return 0, ()


@cache
def transposed_source(region: Region, axis: int, staged: tuple[int, ...]) -> str:
    """The text of the kernel of a region whose operands `staged` lie along an axis.

    kernel(status, number, count, tall, wide, ...): `count` squares, `wide` of them along the last axis and `tall` along
    the other. ScalarTextError if a statement has no code.
    """
    w, last = Writer(region), region.rank - 1
    others = [a for a in range(last) if a != axis]
    w.guard()
    for k in staged:
        w.line(f"square{k} = cuda.shared.array({_SIDE * (_SIDE + 1)}, {memory_type(region.inputs[k].dtype)})")
    shift = _SIDE.bit_length() - 1
    w.lines_of([f"x = cuda.threadIdx.x & {_SIDE - 1}", f"y = cuda.threadIdx.x >> {shift}"])
    w.line("i = int64(cuda.blockIdx.x)")
    w.line("while i < count:")
    w.depth += 1
    w.lines_of(["q = quotient(i, wide)", f"left = remainder(i, q, wide) * {_SIDE}", "rest = q"])
    w.lines_of(["q = quotient(rest, tall)", f"top = remainder(rest, q, tall) * {_SIDE}", "rest = q"])
    w.decode("rest", others)
    passes = range(0, _SIDE, _AT_ONCE)
    w.line(f"j{axis} = top + x")
    for row in passes:
        w.line(f"j{last} = left + y + {row}")
        w.line(f"if j{last} < n{last} and j{axis} < n{axis}:")
        for k in staged:
            place = w.position(region.inputs[k], k, "")
            w.line(f"    square{k}[(y + {row}) * {_SIDE + 1} + x] = p{k}[{place}]")
    w.line("cuda.syncthreads()")
    w.line(f"j{last} = left + x")
    for row in passes:
        w.line(f"j{axis} = top + y + {row}")
        w.line(f"if j{last} < n{last} and j{axis} < n{axis}:")
        w.depth += 1
        for k in staged:
            operand = region.inputs[k]
            test = " != uint8(0)" if operand.dtype == "bool" else ""
            w.line(f"{variable(operand.name)} = square{k}[x * {_SIDE + 1} + y + {row}]{test}")
        w.load(without=staged)
        w.compute()
        w.store()
        w.depth -= 1
    w.lines_of(["cuda.syncthreads()", "i += cuda.gridDim.x"])
    w.depth -= 1
    w.report()
    return w.text(["count", "tall", "wide"])


def transposed_launch(placed: PlacedRegion) -> Launch | None:
    """The launch of a region with operands that lie along another axis; None if it has none."""
    region, sizes = placed.region, placed.sizes
    axis, staged = turned_axis(region, sizes, placed.inputs)
    if not staged:
        return None
    tall, wide = -(-sizes[axis] // _SIDE), -(-sizes[-1] // _SIDE)
    count = tall * wide * math.prod(n for a, n in enumerate(sizes[:-1]) if a != axis)
    source = transposed_source(region, axis, staged)
    text, given = with_divisions(source, placed.arguments(count, tall, wide), count)
    return Launch(text, max(1, min(_MOST_BLOCKS, count)), BLOCK, given)
