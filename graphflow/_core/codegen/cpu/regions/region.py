"""Fused elementwise regions as data: what a generated loop nest computes, and how its work is cut.

A region iterates over a space of `rank` axes, reads operands that vary along some of the axes and are
broadcast along the others, evaluates statements, and stores whole results or reductions over axes. It names
no sizes: kernels are specialised by rank, dtypes, broadcast patterns and expressions, while sizes and strides
are arguments. How a reduction is cut into blocks depends on sizes alone, never on threads, so that the same
input gives the same bits on any number of them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from graphflow._core.codegen.cpu.regions.scalar_text import DTYPES
from graphflow._core.codegen.traced_sizes import called, trace_of
from graphflow._core.common.records import dataclass

REDUCTIONS = ("sum", "mean", "prod", "max", "min")
MAX_OUTPUTS = 20
_BLOCK_ELEMENTS = 16384
# partial results of different blocks lie in different (pairs of) cache lines, because different threads write them
SCRATCH_ALIGNMENT = 128


@dataclass(frozen=True)
class RegionInput:
    """An operand: its name in the statements, its dtype, and for each axis whether it varies along it.

    Elements lie side by side along the last axis unless `strided` says otherwise; any strides elsewhere. A strided one
    whose elements lie side by side from its end to its start is `backwards`, so that loops over it become vectors.
    """

    name: str
    dtype: str
    varies: tuple[bool, ...]
    strided: bool = False
    backwards: bool = False


@dataclass(frozen=True)
class Statement:
    """target = text, an expression of the scalar language over inputs and earlier targets, of the given
    dtype.
    """

    target: str
    dtype: str
    text: str


@dataclass(frozen=True)
class RegionOutput:
    """A result: the name it is stored from, and either a whole store or a reduction over `axes`.

    `in_place` is the index of the input whose buffer a whole store overwrites, element by element (optimizer
    updates); it must vary along all axes. A reduction's result is contiguous; `bool` reduces with max (any)
    and min (all).
    """

    source: str
    dtype: str
    reduction: str | None = None
    axes: tuple[int, ...] = ()
    in_place: int | None = None
    strided: bool = False


@dataclass(frozen=True)
class Region:
    """A fused loop nest; equal regions share one kernel. ValueError when it is inconsistent."""

    rank: int
    inputs: tuple[RegionInput, ...]
    statements: tuple[Statement, ...]
    outputs: tuple[RegionOutput, ...]

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(
                f"A region needs at least one axis (scalars have one of size 1), got rank {self.rank}."
            )
        if not 0 < len(self.outputs) <= MAX_OUTPUTS:
            raise ValueError(f"A region has 1 to {MAX_OUTPUTS} outputs, got {len(self.outputs)}.")
        kinds = {i.name: i.dtype for i in self.inputs} | {s.target: s.dtype for s in self.statements}
        if len(kinds) != len(self.inputs) + len(self.statements):
            raise ValueError("A region's names must differ.")
        for operand in self.inputs:
            if len(operand.varies) != self.rank or operand.dtype not in DTYPES:
                raise ValueError(f"Input {operand.name!r} needs {self.rank} axes and a dtype of {DTYPES}.")
        for output in self.outputs:
            if kinds.get(output.source) != output.dtype:
                raise ValueError(f"Output {output.source!r} is not a value of dtype {output.dtype}.")
            if output.reduction is not None:
                good = output.reduction in REDUCTIONS and output.in_place is None
                if not good or not output.axes or not set(output.axes) <= set(range(self.rank)):
                    raise ValueError(
                        f"Output {output.source!r}: no reduction {output.reduction!r} over {output.axes}."
                    )
            elif output.in_place is not None:
                target = self.inputs[output.in_place]
                if not all(target.varies) or target.dtype != output.dtype:
                    raise ValueError(
                        f"Output {output.source!r} cannot be stored in place of input {target.name!r}."
                    )

    @property
    def reductions(self) -> tuple[int, ...]:
        """Indices of the outputs that are reductions."""
        return tuple(k for k, output in enumerate(self.outputs) if output.reduction is not None)

    def kept_prefix(self, output: int) -> int:
        """How many leading axes the reduction `output` keeps."""
        return min(self.outputs[output].axes)

    @property
    def unit_axes(self) -> int:
        """How many leading axes are one unit of parallel work.

        0: blocks of the first axis, combined by a second call.
        """
        if not self.reductions:
            return max(1, self.rank - 1)
        return min(self.kept_prefix(k) for k in self.reductions)


@dataclass(frozen=True)
class RegionLayout:
    """How the work on given sizes is cut: `units` calls' worth of [begin, end), `grain` a piece, `scratch`
    bytes.

    `block` is the length of a unit along the first axis if units are blocks; `finish` asks for a last call
    with begin = -1.
    """

    units: int
    grain: int
    block: int
    scratch: int
    finish: bool
    cells: tuple[int, ...]


def axis_name(axis: int) -> str:
    """The name under which statements read the coordinate along an axis."""
    return f"axis{axis}"


def item_size(dtype: str) -> int:
    """Bytes of an element."""
    return 1 if dtype == "bool" else int("".join(c for c in dtype if c.isdigit())) // 8


def divisor_word(count: int) -> int:
    """The word of a kernel that says by how much a mean is divided: the bits of a float64."""
    word: int = called(_bits_of, 1, count)[0]
    return word


def _bits_of(count: int) -> tuple[int, ...]:
    return struct.unpack("q", struct.pack("d", float(count)))


def output_cells(region: Region, output: int, sizes: Sequence[int]) -> int:
    """Number of elements of an output."""
    reduced = region.outputs[output].axes if region.outputs[output].reduction is not None else ()
    return math.prod(size for axis, size in enumerate(sizes) if axis not in reduced)


def layout(region: Region, sizes: Sequence[int]) -> RegionLayout:
    """Cut the work of a region on `sizes`; a function of the sizes alone."""
    trace = trace_of(sizes)
    if trace is None:
        return _layout(region, sizes)
    finish = bool(region.reductions) and region.unit_axes == 0
    units, grain, block, scratch, *cells = trace.call(
        lambda *given: _numbers_of(_layout(region, given)), 4 + len(region.outputs), *sizes
    )
    return RegionLayout(units, grain, block, scratch, finish, tuple(cells))


def _numbers_of(found: RegionLayout) -> tuple[int, ...]:
    return found.units, found.grain, found.block, found.scratch, *found.cells


def _layout(region: Region, sizes: Sequence[int]) -> RegionLayout:
    cells = tuple(output_cells(region, k, sizes) for k in range(len(region.outputs)))
    leading = region.unit_axes
    if region.reductions and leading == 0:
        row = max(1, math.prod(sizes[1:]))
        block = max(1, _BLOCK_ELEMENTS // row)
        units = max(1, -(-sizes[0] // block))
        partial = [k for k in region.reductions if region.kept_prefix(k) == 0]
        rows = [cells[k] * item_size(region.outputs[k].dtype) for k in partial]
        padded = sum(-(-row // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT for row in rows)
        scratch = units * padded + SCRATCH_ALIGNMENT if partial else 0
        return RegionLayout(units, 1, block, scratch, True, cells)
    if region.rank == 1:
        return RegionLayout(sizes[0], _BLOCK_ELEMENTS, 0, 0, False, cells)
    unit = max(1, math.prod(sizes[leading:]))
    return RegionLayout(math.prod(sizes[:leading]), max(1, _BLOCK_ELEMENTS // unit), 0, 0, False, cells)


def contiguous_strides(sizes: Sequence[int], varies: Sequence[bool]) -> tuple[int, ...]:
    """Strides in elements of a contiguous operand that varies along some of the axes; 0 along the others."""
    strides, step = [], 1
    for size, varying in zip(reversed(sizes), reversed(varies), strict=True):
        strides.append(step if varying else 0)
        step *= size if varying else 1
    return tuple(reversed(strides))


def broadcast_strides(shape: Sequence[int], space: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a contiguous array of `shape` broadcast over `space` (NumPy's rules)."""
    padded = [1] * (len(space) - len(shape)) + list(shape)
    varies = [have == want and want != 1 for have, want in zip(padded, space, strict=True)]
    return contiguous_strides(space, varies)


def collapse(
    sizes: Sequence[int], operands: Sequence[Sequence[int]], reduced: Sequence[frozenset[int]] = ()
) -> tuple[tuple[int, ...], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Drop axes of size 1 and merge neighbours that every operand walks through alike.

    `operands` are strides in elements (0: broadcast), `reduced` the axes each reduction removes. Returns the
    new sizes (never none), the operands' strides and the reductions' axes in the new space; an axis list can
    come out empty when only axes of size 1 were reduced, which makes that output a whole store.
    """
    groups: list[list[int]] = []
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        before = groups[-1][-1] if groups else None
        if (
            before is not None
            and all(strides[before] == strides[axis] * size for strides in operands)
            and all((before in axes) == (axis in axes) for axes in reduced)
        ):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    if not groups:
        # Any stride is right along one element; 1 makes an operand one that may be written in place.
        return (1,), [(1,) for _ in operands], [() for _ in reduced]
    new_sizes = tuple(math.prod(sizes[axis] for axis in group) for group in groups)
    new_strides = [tuple(strides[group[-1]] for group in groups) for strides in operands]
    new_axes = [tuple(k for k, group in enumerate(groups) if group[0] in axes) for axes in reduced]
    return new_sizes, new_strides, new_axes
