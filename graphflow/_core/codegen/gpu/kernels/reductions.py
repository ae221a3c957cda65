"""Kernels of reductions over any axes, with the elementwise work before them.

A block has some cells of the result and some threads for each, which add up stretches and then each other's sums in a
fixed tree. Over the last axis the threads of a cell are neighbours: they take four neighbouring elements at a time,
if those are one access, and combine by shuffles. Otherwise neighbouring threads have neighbouring cells, and combine
through shared memory. If a result has so few cells that few blocks would be busy, each is cut into stretches, whose
sums a second launch adds up. The numbers of threads and blocks follow from sizes, so that no device changes a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from graphflow._core.codegen.cpu.regions.region import Region, RegionInput, RegionOutput
from graphflow._core.codegen.cpu.regions.scalar_text import FLOATS
from graphflow._core.codegen.gpu.division import with_divisions
from graphflow._core.codegen.gpu.region_text import Operand, PlacedRegion, Writer, marks
from graphflow._core.codegen.gpu.toolkit import BLOCK, Launch, memory_type
from graphflow._core.codegen.gpu.vectors import WIDTH
from graphflow._core.codegen.gpu.warps import Found, combined
from graphflow._core.common.records import dataclass

_SHARED: Final = 256
"""Elements of the shared arrays: the most threads that a block has."""
_SMALLEST: Final = {"max": "-1e999", "min": "1e999"}
_BITS: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16}
_AT_ONCE: Final = 4
"""Elements that a thread loads before it adds up any, if it does not take them by fours."""


def _initial(output: RegionOutput) -> str:
    kind, operation = memory_type(output.dtype), output.reduction
    if operation in ("sum", "mean", "prod"):
        return f"{kind}({1 if operation == 'prod' else 0})"
    assert operation is not None
    if kind in FLOATS:
        return f"{kind}({_SMALLEST[operation]})"
    if output.dtype == "bool":
        return f"uint8({0 if operation == 'max' else 1})"
    high = 2 ** _BITS[kind] - 1
    low = 0 if kind.startswith("u") else -high - 1
    return f"{kind}({low if operation == 'max' else high})"


def _combined(output: RegionOutput, total: str, value: str) -> str:
    kind, operation = memory_type(output.dtype), output.reduction
    if operation in ("max", "min"):
        number = f" or {value} != {value}" if kind in FLOATS else ""
        return f"({value} if {value} {'>' if operation == 'max' else '<'} {total}{number} else {total})"
    return f"{kind}({total} {'*' if operation == 'prod' else '+'} {value})"


def _tree(found: Sequence[Found], combination: Sequence[str]) -> list[str]:
    """Lines that combine what threads of different warps found, `together` apart, by shared memory."""
    return [
        *(f"shared_{f.mine}[thread] = {f.mine}" for f in found),
        "cuda.syncthreads()",
        "half = each // 2",
        "while half > 0:",
        "    if lane < half:",
        *(f"        {f.other} = shared_{f.mine}[thread + half * together]" for f in found),
        *(f"        {line}" for line in combination),
        *(f"        shared_{f.mine}[thread] = {f.mine}" for f in found),
        "    cuda.syncthreads()",
        "    half = half // 2",
    ]


class _Body:
    """Writes what a thread does with the elements of its cell."""

    def __init__(self, region: Region) -> None:
        self.w = Writer(region)
        self.reductions = [(k, o) for k, o in enumerate(region.outputs) if o.reduction is not None]
        self.axes = self.reductions[0][1].axes
        self.kept = [axis for axis in range(region.rank) if axis not in self.axes]
        self.along = region.rank - 1 in self.axes

    def begin(self, index: str, suffix: str = "") -> None:
        """The coordinates along the reduced axes of the element with the number `index`."""
        self.w.line(f"inner = {index}")
        self.w.decode("inner", self.axes, suffix)

    def take_rest(self, step: str) -> None:
        """Loads the elements up to the end, `step` apart, and adds them one by one."""
        self.w.line("while i < end:")
        self.w.depth += 1
        self.begin("i")
        self.w.load()
        self.w.compute()
        self.w.store()
        self.add([""])
        self.w.line(f"i += {step}")
        self.w.depth -= 1

    def take_wide(self, times: int) -> None:
        """Loads four neighbours, `times` of these, and adds them."""
        starts = range(0, times * WIDTH, WIDTH)
        for start in starts:
            self.begin(f"i + {start} * each")
            self.w.load_wide(start)
        for mark in marks(times * WIDTH):
            self.w.compute(mark)
        for start in starts:
            self.w.store_wide(start)
        self.add(marks(times * WIDTH))

    def take_several(self) -> None:
        """Loads some elements that are `each` apart and adds them."""
        several = marks(_AT_ONCE)
        self.w.spread(self.kept, several)
        for k, mark in enumerate(several):
            self.begin(f"i + {k} * each", mark)
            self.w.load(mark)
        for mark in several:
            self.w.compute(mark)
        for mark in several:
            self.w.store(mark)
        self.add(several)

    def add(self, suffixes: Sequence[str]) -> None:
        """Adds elements up in pairs, then to what the thread has."""
        for k, output in self.reductions:
            for suffix in suffixes:
                self.w.line(f"value{k}{suffix} = {self.w.stored(output, suffix)}")
            names = [f"value{k}{suffix}" for suffix in suffixes]
            while len(names) > 1:
                for first, second in zip(names[::2], names[1::2], strict=True):
                    self.w.line(f"{first} = {_combined(output, first, second)}")
                names = names[::2]
            self.w.line(f"total{k} = {_combined(output, f'total{k}', names[0])}")


def takes_several(region: Region) -> bool:
    """Whether a thread has registers to load several elements at once."""
    return len(region.inputs) + len(region.outputs) <= 6 and len(region.statements) <= 12


@cache
def reduction_source(region: Region, wide: bool) -> str:
    """The text of the kernel of a region whose reductions are all over the same axes.

    wide: the last axis is among these, and elements are taken by fours along it.
    """
    body = _Body(region)
    w, reductions = body.w, body.reductions
    w.guard()
    found = [Found(f"total{k}", f"other{k}", memory_type(o.dtype)) for k, o in reductions]
    for f in found:
        w.line(f.shared if body.along else f"shared_{f.mine} = cuda.shared.array({_SHARED}, {f.dtype})")
    w.line("thread = cuda.threadIdx.x")
    if body.along:
        w.lines_of(["cell = quotient(thread, each)", "lane = remainder(thread, cell, each)"])
    else:
        w.line("lane = quotient(thread, together)")
        w.line("cell = remainder(thread, lane, together)")
    w.line("cell += cuda.blockIdx.x * together")
    for k, output in reductions:
        w.line(f"total{k} = {_initial(output)}")
    w.line("if cell < cells:")
    w.depth += 1
    w.line("rest = cell")
    w.decode("rest", body.kept)
    w.line(f"i = cuda.blockIdx.y * stretch + {f'{WIDTH} * lane' if wide else 'lane'}")
    w.line("end = min(cuda.blockIdx.y * stretch + stretch, count)")
    if wide:
        _by_fours(body)
    else:
        _by_ones(body)
    w.depth -= 1
    combination = [f"total{k} = {_combined(o, f'total{k}', f'other{k}')}" for k, o in reductions]
    w.lines_of(combined(found, combination, "each") if body.along else _tree(found, combination))
    w.line("if lane == 0 and cell < cells:")
    w.depth += 1
    for k, output in reductions:
        total = f"total{k} / {output.dtype}(divisor)" if output.reduction == "mean" else f"total{k}"
        w.line(f"q{k}[cuda.blockIdx.y * cells + cell] = {total}")
    w.depth -= 1
    w.report()
    return w.text(["cells", "count", "stretch", "each", "together", "divisor"])


def _by_fours(body: _Body) -> None:
    w = body.w
    for times in (2, 1) if takes_several(w.region) else (1,):
        w.line(f"while i + {(times - 1) * WIDTH} * each + {WIDTH} <= end:")
        w.depth += 1
        body.take_wide(times)
        w.line(f"i += {times * WIDTH} * each")
        w.depth -= 1
    if w.region.rank == 1:  # One thread has fewer than four at the end.
        body.take_rest("1")


def _by_ones(body: _Body) -> None:
    w = body.w
    if takes_several(w.region):
        w.line(f"while i + {_AT_ONCE - 1} * each < end:")
        w.depth += 1
        body.take_several()
        w.line(f"i += {_AT_ONCE} * each")
        w.depth -= 1
    body.take_rest("each")


@dataclass(frozen=True)
class ReductionLayout:
    """How a reduction is cut: `each` threads a cell, `stretch` elements a block, `stretches` of them for each cell."""

    cells: int
    count: int
    each: int
    stretch: int
    stretches: int
    blocks: int

    @property
    def arguments(self) -> list[int]:
        """What kernels are told of it, with the cells of a block."""
        return [self.cells, self.count, self.stretch, self.each, BLOCK // self.each]


_BUSY: Final = 4096
"""So many blocks keep every GPU busy, to the end; the number is fixed so that no bit depends on the device."""
_FEWEST: Final = 16
"""A thread adds up at least so many elements."""
_SIDE_BY_SIDE: Final = 32
"""Cells of neighbouring threads, so that a warp reads neighbouring elements; if there are so many."""


def reduction_layout(region: Region, sizes: Sequence[int], threads: int) -> ReductionLayout:
    """The layout of a reduction over `sizes` with blocks of `threads`, a power of two."""
    axes = next(o.axes for o in region.outputs if o.reduction is not None)
    count = math.prod(sizes[a] for a in axes)
    cells = math.prod(n for a, n in enumerate(sizes) if a not in axes)
    most = threads if region.rank - 1 in axes else max(1, threads // min(_SIDE_BY_SIDE, _power(cells)))
    each = min(most, _power(-(-count // _FEWEST)))
    blocks = -(-cells // (threads // each))
    stretches = max(1, min(_BUSY // blocks, -(-count // (each * _FEWEST))))
    stretch = -(-count // stretches // WIDTH) * WIDTH
    return ReductionLayout(cells, count, each, stretch, -(-count // stretch), blocks)


def _power(number: int) -> int:
    """The smallest power of two that is not less than a positive number."""
    return int(1 << (number - 1).bit_length())


def combining_region(region: Region) -> Region:
    """What adds up the stretches of a reduction: a region over (stretches, cells), of one output for each of it."""
    reductions = [o for o in region.outputs if o.reduction is not None]
    inputs = tuple(RegionInput(f"i{k}", memory_type(o.dtype), (True, True)) for k, o in enumerate(reductions))
    outputs = tuple(
        RegionOutput(f"i{k}", memory_type(o.dtype), o.reduction, (0,)) for k, o in enumerate(reductions)
    )
    return Region(2, inputs, (), outputs)


def reduction_launches(placed: PlacedRegion, allocate: Callable[[int, str], Any]) -> list[Launch]:
    """The launches of a region whose reductions are all over the same axes, as of region_launches."""
    region, outputs = placed.region, placed.outputs
    plan = reduction_layout(region, placed.sizes, BLOCK)
    reduced = [k for k, o in enumerate(region.outputs) if o.reduction is not None]
    along = region.rank - 1 in region.outputs[reduced[0]].axes
    wide = along and placed.by_fours()
    targets = list(outputs)
    if plan.stretches > 1:
        for k in reduced:
            partial = allocate(plan.stretches * plan.cells, memory_type(region.outputs[k].dtype))
            targets[k] = Operand(partial)
    divisor = float(plan.count) if plan.stretches == 1 else 1.0
    arguments = replace(placed, outputs=targets).arguments(*plan.arguments, divisor)
    first = _launch(reduction_source(region, wide), plan, arguments)
    if plan.stretches == 1:
        return [first]
    combining = replace(
        placed,
        region=combining_region(region),
        sizes=(plan.stretches, plan.cells),
        inputs=[Operand(targets[k].array, 0, (plan.cells, 1)) for k in reduced],
        outputs=[outputs[k] for k in reduced],
    )
    whole = reduction_layout(combining.region, combining.sizes, BLOCK)
    second = replace(whole, stretch=plan.stretches, stretches=1)
    arguments = combining.arguments(*second.arguments, float(plan.count))
    return [first, _launch(reduction_source(combining.region, False), second, arguments)]


def _launch(source: str, plan: ReductionLayout, arguments: Sequence[Any]) -> Launch:
    text, given = with_divisions(source, arguments, max(plan.cells, plan.count, BLOCK))
    return Launch(text, (plan.blocks, plan.stretches), BLOCK, given)
