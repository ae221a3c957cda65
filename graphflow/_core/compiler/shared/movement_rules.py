"""Rules of ops that only move elements: tiles, mirrors, shifts, blocks of space, diagonals.

All of them are told by where the elements lie: a result is a few boxes, each copied by a statement between strided
operands, so that no kernel is their own and no table of places is read. They are the same for processors and GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise, product
from typing import Final

import numpy as np

from graphflow._core.compiler.cpu.assembly_rules import filled
from graphflow._core.compiler.lower import DisagreementError, Lowering, Rule
from graphflow._core.compiler.shared.strided import box, permuted, places_along, split, unwritten
from graphflow._core.compiler.values import Value, whole
from graphflow._core.plan.ir import Instruction

_MOST_BOXES: Final = 27
"""Boxes of a result: those of a mirror around images along three axes."""
Piece = tuple[int, int, int, int]
"""Along an axis: the first place, how many, the source of the first, and the step to the next one's."""


def _by_pieces(
    lowering: Lowering, i: Instruction, value: Value, target: Value, pieces: Sequence[Sequence[Piece]]
) -> bool:
    """Fills a result from pieces along each axis."""
    boxes = [chosen for chosen in product(*pieces) if all(size for _, size, *_ in chosen)]
    if len(boxes) > _MOST_BOXES:
        return False
    for chosen in boxes:
        places, sizes, sources, steps = zip(*chosen, strict=True)
        lowering.elementwise(
            i,
            "{0}",
            [box(value, sources, sizes, steps)],
            box(target, places, sizes, [1] * len(sizes)),
            forced=True,
        )
    return True


# ---- tiles, mirrors, shifts ----------------------------------------------------------------------------------------


def _tile(lowering: Lowering, i: Instruction) -> bool:
    value, multiples = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or multiples is None or len(value.shape) != len(multiples):
        return False
    space: list[int] = []
    strides: list[int] = []
    for times, size, stride in zip(multiples.tolist(), value.shape, value.strides, strict=True):
        space += [times, size]
        strides += [0, stride]
    source = Value(value.root, value.dtype, tuple(space), tuple(strides), value.offset)
    lowering.elementwise(i, "{0}", [source], whole(lowering.result(i).root, value.dtype, tuple(space)))
    return True


def _mirror_pieces(length: int, before: int, after: int, edge: int) -> list[Piece]:
    return [
        (0, before, before - 1 + edge, -1),
        (before, length, 0, 1),
        (before + length, after, length - 1 - edge, -1),
    ]


def _widths(lowering: Lowering, i: Instruction) -> tuple[Value, list[tuple[int, int]], int] | None:
    """The value, what pads each of its axes, and whether mirrors leave the edge out."""
    value, paddings = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or paddings is None or paddings.shape != (len(value.shape), 2) or not value.shape:
        return None
    edge = 1 if i.attrs["mode"] in ("REFLECT", b"REFLECT") else 0
    return value, [(int(before), int(after)) for before, after in paddings], edge


def _fits(length: int, before: int, after: int, edge: int) -> bool:
    return min(before, after) >= 0 and max(before, after) <= length - edge


def _mirror_pad(lowering: Lowering, i: Instruction) -> bool:
    found = _widths(lowering, i)
    if found is None:
        return False
    value, widths, edge = found
    if not all(_fits(n, *width, edge) for n, width in zip(value.shape, widths, strict=True)):
        return False
    pieces = [_mirror_pieces(n, *width, edge) for n, width in zip(value.shape, widths, strict=True)]
    if np.prod([1 + (before > 0) + (after > 0) for before, after in widths]) > _MOST_BOXES:
        return False
    return _by_pieces(lowering, i, value, lowering.result(i), pieces)


def _mirror_pad_gradient(lowering: Lowering, i: Instruction) -> bool:
    """Along one axis after the other: every place is the sum of those that it was mirrored to."""
    found = _widths(lowering, i)
    if found is None:
        return False
    value, widths, edge = found
    lengths = lowering.shape(i.outputs[0])
    if not all(_fits(n, *width, edge) for n, width in zip(lengths, widths, strict=True)):
        return False
    padded = [axis for axis, width in enumerate(widths) if any(width)]
    for axis in padded:
        shape = tuple(lengths[k] if k <= axis else n for k, n in enumerate(value.shape))
        target = lowering.temporary(i.name, value.dtype, shape)
        _fold_axis(lowering, i, value, target, axis, widths[axis], edge)
        value = target
    lowering.elementwise(i, "{0}", [value], lowering.result(i))
    return True


def _fold_axis(
    lowering: Lowering,
    i: Instruction,
    value: Value,
    target: Value,
    axis: int,
    width: tuple[int, int],
    edge: int,
) -> None:
    length, (before, after) = target.shape[axis], width
    pieces = _mirror_pieces(length, before, after, edge)
    # A mirrored piece covers the places from its last source to its first.
    covered = [(source + (size - 1) * min(step, 0), size) for _, size, source, step in pieces]
    cuts = sorted({0, length, *(n for start, size in covered for n in (start, start + size) if size)})
    ones = [1] * len(target.shape)
    for start, end in pairwise(cuts):
        sizes = [end - start if k == axis else n for k, n in enumerate(target.shape)]
        reads = []
        for number in (1, 0, 2):
            (place, size, source, step), (low, _) = pieces[number], covered[number]
            if size and low <= start < low + size:
                at = place + (start - source) * step
                begin = [at if k == axis else 0 for k in range(len(sizes))]
                steps = [step if k == axis else 1 for k in range(len(sizes))]
                reads.append(box(value, begin, sizes, steps))
        begin = [start if k == axis else 0 for k in range(len(sizes))]
        text = " + ".join(f"{{{k}}}" for k in range(len(reads)))
        lowering.elementwise(i, text, reads, box(target, begin, sizes, ones), forced=True)


def _roll(lowering: Lowering, i: Instruction) -> bool:
    value, shifts, axes = lowering.value(i.inputs[0]), *map(lowering.constant, i.inputs[1:])
    if value is None or shifts is None or axes is None or not value.shape or shifts.size != axes.size:
        return False
    if not np.isin(axes, np.arange(-len(value.shape), len(value.shape))).all():
        raise DisagreementError(i.describe())
    total = [0] * len(value.shape)
    for shift, axis in zip(np.atleast_1d(shifts), np.atleast_1d(axes), strict=True):
        total[int(axis) % len(total)] += int(shift)
    pieces = []
    for length, shift in zip(value.shape, total, strict=True):
        moved = shift % length
        pieces.append([(moved, length - moved, 0, 1), (0, moved, length - moved, 1)])
    if 2 ** sum(bool(shift % n) for shift, n in zip(total, value.shape, strict=True)) > _MOST_BOXES:
        return False
    return _by_pieces(lowering, i, value, lowering.result(i), pieces)


# ---- space, depth, batch -------------------------------------------------------------------------------------------


def _space_and_depth(lowering: Lowering, i: Instruction, to_depth: bool) -> bool:
    value, block = lowering.value(i.inputs[0]), int(i.attrs["block_size"])
    layout = i.attrs["data_format"]
    if value is None or len(value.shape) != 4 or layout not in ("NHWC", "NCHW"):
        return False
    pair = [value, lowering.result(i)]
    if layout == "NCHW":
        pair = [permuted(v, (0, 2, 3, 1)) for v in pair]
    # By [image, row, row in the block, column, column in the block, channel], the one as space, the other as depth.
    deep, wide = pair[::-1] if to_depth else pair
    deep = permuted(split(deep, 3, block, deep.shape[3] // block**2), (0, 1, 3, 2, 4, 5))
    wide = split(split(wide, 2, block), 1, block)
    source, place = (wide, deep) if to_depth else (deep, wide)
    lowering.elementwise(i, "{0}", [source], place, forced=True)
    return True


def _space_to_batch(lowering: Lowering, i: Instruction) -> bool:
    value, blocks, paddings = lowering.value(i.inputs[0]), *map(lowering.constant, i.inputs[1:])
    if value is None or blocks is None or paddings is None:
        return False
    count = len(blocks)
    rest = range(1 + count, len(value.shape))
    sizes = [n + sum(map(int, pair)) for n, pair in zip(value.shape[1:], paddings, strict=False)]
    if len(value.shape) <= count or any(n % int(b) for n, b in zip(sizes, blocks, strict=True)):
        return False
    if paddings.any():
        shape = (value.shape[0], *sizes, *(value.shape[k] for k in rest))
        padded = filled(lowering, i, lowering.temporary(i.name, value.dtype, shape))
        starts = [0, *(int(before) for before, _ in paddings), *(0 for _ in rest)]
        place = box(padded, starts, value.shape, [1] * len(shape))
        lowering.elementwise(i, "{0}", [value], place, forced=True)
        value = padded
    for k in reversed(range(count)):
        value = split(value, 1 + k, int(blocks[k]))
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, len(value.shape))]
    source = permuted(value, order)
    lowering.elementwise(i, "{0}", [source], whole(lowering.result(i).root, source.dtype, source.shape))
    return True


def _batch_to_space(lowering: Lowering, i: Instruction) -> bool:
    value, blocks, crops = lowering.value(i.inputs[0]), *map(lowering.constant, i.inputs[1:])
    if value is None or blocks is None or crops is None or len(value.shape) <= len(blocks):
        return False
    count, inner = len(blocks), [int(b) for b in blocks]
    batch = value.shape[0] // int(np.prod(inner))
    parts = split(value, 0, *inner[1:], batch)
    order = [count, *(n for k in range(count) for n in (count + 1 + k, k))]
    parts = permuted(parts, [*order, *range(2 * count + 1, len(parts.shape))])
    sizes = [n * b for n, b in zip(value.shape[1:], inner, strict=False)]
    shape = (batch, *sizes, *value.shape[1 + count :])
    uncut = lowering.temporary(i.name, value.dtype, shape) if crops.any() else lowering.result(i)
    lowering.elementwise(i, "{0}", [parts], whole(uncut.root, uncut.dtype, parts.shape))
    if crops.any():
        starts = [0, *(int(start) for start, _ in crops), *(0 for _ in value.shape[1 + count :])]
        wanted = lowering.shape(i.outputs[0])
        lowering.define(i.outputs[0], box(uncut, starts, wanted, [1] * len(shape)))
    return True


# ---- matrices ------------------------------------------------------------------------------------------------------


def _diagonals(value: Value, count: int, size: tuple[int, ...]) -> Value:
    """What lies where the last `count` axes have the same places as the `count` before them."""
    first = len(value.shape) - 2 * count
    steps = [value.strides[first + k] + value.strides[first + count + k] for k in range(count)]
    return Value(
        value.root, value.dtype, (*value.shape[:first], *size), (*value.strides[:first], *steps), value.offset
    )


def _count(i: Instruction, value: Value) -> int:
    """How many axes the diagonal has."""
    return 1 if i.type.startswith("Matrix") else len(value.shape)


def _diagonal(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or not value.shape:
        return False
    count = _count(i, value)
    target = filled(lowering, i, lowering.result(i))
    place = _diagonals(target, count, value.shape[-count:])
    lowering.elementwise(i, "{0}", [value], place, forced=True)
    return True


def _diagonal_part(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or len(value.shape) < 2:
        return False
    source, wanted = unwritten(lowering, i, value), lowering.shape(i.outputs[0])
    count = 1 if i.type.startswith("Matrix") else len(wanted)
    lowering.define(i.outputs[0], _diagonals(source, count, wanted[-count:]))
    return True


def _set_diagonal(lowering: Lowering, i: Instruction) -> bool:
    value, diagonal = (lowering.value(name) for name in i.inputs)
    if value is None or diagonal is None or diagonal.shape[:-1] != value.shape[:-2]:
        return False
    if diagonal.shape[-1] != min(value.shape[-2:]):
        return False
    target = lowering.result(i)
    lowering.elementwise(i, "{0}", [value], target, forced=True)
    place = _diagonals(target, 1, diagonal.shape[-1:])
    lowering.elementwise(i, "{0}", [diagonal], place, forced=True)
    return True


def _band(lowering: Lowering, i: Instruction) -> bool:
    value, lower, upper = lowering.value(i.inputs[0]), *map(lowering.constant, i.inputs[1:])
    if value is None or lower is None or upper is None or len(value.shape) < 2:
        return False
    rank = len(value.shape)
    if int(lower) > value.shape[-2] or int(upper) > value.shape[-1]:
        return False
    limits = [f"{{{a}}} - {{{b}}} <= {int(n)}" for a, b, n in ((1, 2, lower), (2, 1, upper)) if int(n) >= 0]
    reads = [value, *(places_along(lowering, i, axis, value.shape) for axis in (rank - 2, rank - 1))]
    kept = " and ".join(limits)
    text = "{0}"
    if limits:
        text = f"{{0}} and {kept}" if value.dtype == "bool" else f"{{0}} if {kept} else 0"
    lowering.elementwise(i, text, reads, lowering.result(i))
    return True


def _turned(lowering: Lowering, i: Instruction) -> bool:
    value, order = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or order is None:
        return False
    source = unwritten(lowering, i, value)
    lowering.define(i.outputs[0], permuted(source, [int(k) for k in order]))
    return True


def _cross(lowering: Lowering, i: Instruction) -> bool:
    a, b = (lowering.value(name) for name in i.inputs)
    if a is None or b is None or a.shape != b.shape:
        return False
    target = lowering.result(i)

    def part(value: Value, k: int) -> Value:
        starts = [*([0] * (len(value.shape) - 1)), k % 3]
        return box(value, starts, (*value.shape[:-1], 1), [1] * len(value.shape))

    for k in range(3):
        reads = [part(a, k + 1), part(b, k + 2), part(a, k + 2), part(b, k + 1)]
        lowering.elementwise(i, "{0} * {1} - {2} * {3}", reads, part(target, k), forced=True)
    return True


MOVEMENT_RULES: Final[dict[str, Rule]] = {
    "Tile": _tile,
    "MirrorPad": _mirror_pad,
    "MirrorPadGrad": _mirror_pad_gradient,
    "Roll": _roll,
    "SpaceToDepth": partial(_space_and_depth, to_depth=True),
    "DepthToSpace": partial(_space_and_depth, to_depth=False),
    "SpaceToBatchND": _space_to_batch,
    "BatchToSpaceND": _batch_to_space,
    "Diag": _diagonal,
    "MatrixDiag": _diagonal,
    "DiagPart": _diagonal_part,
    "MatrixDiagPart": _diagonal_part,
    "MatrixSetDiag": _set_diagonal,
    "MatrixBandPart": _band,
    "ConjugateTranspose": _turned,
    "Cross": _cross,
}
