"""Kernels of fused regions: elementwise work, and reductions over any axes.

A region is the one that the CPU's generator takes. Elementwise, each thread walks the space with the stride of the
whole grid, by four neighbours along the last axis if all operands lie so that they are one access of 128 bits.
Otherwise it loads several elements before it computes any if the space is one axis, since a GPU is kept busy by
loads under way. Reductions are kernels of their own for each set of axes (reductions.py), and so is what reads an
operand along another axis (transposed.py).

Arguments: status (int64[4]), the region's number in the plan, what the kind of kernel needs, the sizes, and for each
operand its array and a stride for each axis along which it varies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from graphflow._core.codegen.cpu.regions.region import Region, Statement
from graphflow._core.codegen.gpu.kernels.reductions import reduction_launches
from graphflow._core.codegen.gpu.kernels.transposed import transposed_launch
from graphflow._core.codegen.gpu.region_text import PlacedRegion, Writer, marks
from graphflow._core.codegen.gpu.toolkit import Launch, elementwise_launch
from graphflow._core.codegen.gpu.vectors import WIDTH
from graphflow._core.common.records import dataclass


@dataclass(frozen=True)
class Piece:
    """A kernel's worth of a region: `outputs` are the numbers of the region's outputs that it computes."""

    region: Region
    outputs: tuple[int, ...]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that it reduces, () if it is elementwise."""
        return next((o.axes for o in self.region.outputs if o.reduction is not None), ())


def pieces(region: Region) -> list[Piece]:
    """The kernels that compute a region, in order: what stores whole results, perhaps over its operands, is last."""
    by_axes: dict[tuple[int, ...], list[int]] = {}
    for index, output in enumerate(region.outputs):
        by_axes.setdefault(output.axes if output.reduction is not None else (), []).append(index)
    whole = by_axes.pop((), [])
    groups = [tuple(indices) for indices in by_axes.values()]
    if whole and groups:
        groups[-1] = (*groups[-1], *whole)
    elif whole:
        groups = [tuple(whole)]
    ordered = [tuple(sorted(indices)) for indices in groups]
    return [Piece(_part(region, indices), indices) for indices in ordered]


def _part(region: Region, indices: Sequence[int]) -> Region:
    """The region with some of its outputs, and the statements and operands they need (operands stay all)."""
    if len(indices) == len(region.outputs):
        return region
    needed = {region.outputs[k].source for k in indices}
    kept: list[Statement] = []
    for statement in reversed(region.statements):
        if statement.target in needed:
            kept.append(statement)
            needed.update(name for name in _names(region) if name in statement.text)
    return replace(region, statements=tuple(kept[::-1]), outputs=tuple(region.outputs[k] for k in indices))


def _names(region: Region) -> list[str]:
    return [*(i.name for i in region.inputs), *(s.target for s in region.statements)]


# ---- elementwise ---------------------------------------------------------------------------------------------------


def elements_each(region: Region, wide: bool) -> int:
    """How many elements a thread takes at a time."""
    if wide:
        return WIDTH
    operands = len(region.inputs) + len(region.outputs)
    if region.rank > 1 or len(region.statements) > 12:
        return 1
    return 4 if operands <= 6 else 2 if operands <= 12 else 1


@cache
def elementwise_source(region: Region, wide: bool) -> str:
    """The text of the kernel of a region without reductions; ScalarTextError if a statement has no code.

    wide: elements are taken by fours along the last axis.
    """
    w = Writer(region)
    w.guard()
    w.line("i = cuda.grid(1)")
    w.line("step = cuda.gridsize(1)")
    if wide:
        _by_fours(w)
    else:
        _one_by_one(w, elements_each(region, wide))
    w.report()
    return w.text(["count", "groups"])


def _by_fours(w: Writer) -> None:
    last = w.region.rank - 1
    w.line(f"while {WIDTH} * i + {WIDTH} <= count:")
    w.depth += 1
    if last:
        w.line("rest = i")
        w.line("q = quotient(rest, groups)")
        w.line(f"j{last} = remainder(rest, q, groups) * {WIDTH}")
        w.line("rest = q")
        w.decode("rest", range(last))
    else:
        w.line(f"j0 = {WIDTH} * i")
    w.load_wide()
    for mark in marks(WIDTH):
        w.compute(mark)
    w.store_wide()
    w.line("i += step")
    w.depth -= 1
    if not last:  # One thread has fewer than four at the end.
        w.line(f"j0 = {WIDTH} * i")
        w.line("while j0 < count:")
        w.depth += 1
        w.load()
        w.compute()
        w.store()
        w.line("j0 += 1")
        w.depth -= 1


def _one_by_one(w: Writer, each: int) -> None:
    if each > 1:
        w.line(f"while i + {each - 1} * step < count:")
        w.depth += 1
        for k, mark in enumerate(marks(each)):
            w.line(f"j0{mark} = i + {k} * step")
            w.load(mark)
        for mark in marks(each):
            w.compute(mark)
        for mark in marks(each):
            w.store(mark)
        w.line(f"i += {each} * step")
        w.depth -= 1
    w.line("while i < count:")
    w.depth += 1
    w.line("rest = i")
    w.decode("rest", range(w.region.rank))
    w.load()
    w.compute()
    w.store()
    w.line("i += step")
    w.depth -= 1


def region_launches(placed: PlacedRegion, allocate: Callable[[int, str], Any]) -> list[Launch]:
    """The launches that compute a region; `allocate` gives working memory of (elements, dtype)."""
    launches: list[Launch] = []
    for piece in pieces(placed.region):
        part = replace(placed, region=piece.region, outputs=[placed.outputs[k] for k in piece.outputs])
        if piece.axes:
            launches += reduction_launches(part, allocate)
            continue
        turned = transposed_launch(part)
        if turned is not None:
            launches.append(turned)
            continue
        count, wide = math.prod(part.sizes), part.by_fours()
        arguments = part.arguments(count, part.sizes[-1] // WIDTH)
        source, each = elementwise_source(part.region, wide), elements_each(part.region, wide)
        launches.append(elementwise_launch(source, count, arguments, each))
    return launches
