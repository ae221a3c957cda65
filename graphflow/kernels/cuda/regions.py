"""Kernels of fused regions: elementwise work, and reductions over any axes.

A region is the one that the CPU's generator takes. Elementwise, each thread walks the space with the stride of the
whole grid; where the space is one axis it loads several elements before it computes any, since a GPU is kept busy by
loads under way. A reduction is a kernel of its own for each set of axes: a block has some cells of the result and some
threads for each, which add up stretches and then each other's sums in a fixed tree: by shuffles where the threads of a
cell are neighbours, in shared memory where those of neighbouring cells are. Neither the number of blocks nor the device
changes a bit.

Arguments: status (int32[2]), the region's number in the plan, what the kind of kernel needs, the sizes, and for each
operand its array and a stride for each axis along which it varies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from graphflow.kernels.cuda.scalar_source import translate
from graphflow.kernels.cuda.toolkit import BLOCK, Launch, elementwise_launch, memory_type
from graphflow.kernels.cuda.warps import Found, combined
from graphflow.kernels.native.region import Region, RegionInput, RegionOutput, Statement, axis_name
from graphflow.kernels.native.scalar_source import variable
from graphflow.kernels.native.scalar_text import FLOATS

_SHARED: Final = 256
"""Elements of the shared arrays: the most threads that a block has."""
_SMALLEST: Final = {"max": "-1e999", "min": "1e999"}
_BITS: Final = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16}


@dataclass(frozen=True)
class Piece:
    """A kernel's worth of a region: `outputs` are the numbers of the region's outputs that it computes."""

    region: Region
    outputs: tuple[int, ...]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that it reduces, () where it is elementwise."""
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


class _Writer:
    """Collects the lines of one kernel."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.lines: list[str] = []
        self.depth = 1
        self.bad = False

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # -- names ---------------------------------------------------------------------------------------------------

    def parameters(self) -> list[str]:
        """The names of the sizes and of the operands with their strides, in the order of `operand_arguments`."""
        region = self.region
        names = [f"n{axis}" for axis in range(region.rank)]
        for k, operand in enumerate(region.inputs):
            names.append(f"p{k}")
            names += [f"b{k}"] * self.displaced(operand.strided)
            names += [f"s{k}_{a}" for a in self.strided_axes(operand)]
        for k, output in enumerate(region.outputs):
            if output.reduction is not None or output.in_place is None:
                names.append(f"q{k}")
            if output.reduction is None and output.in_place is None:
                names += [f"d{k}"] * self.displaced(output.strided)
                names += [f"t{k}_{a}" for a in self.output_axes(output)]
        return names

    def displaced(self, strided: bool) -> bool:
        """Whether an operand may begin elsewhere than at its lowest element: it may be walked backwards."""
        return self.region.rank > 1 or strided

    def strided_axes(self, operand: RegionInput) -> list[int]:
        last = self.region.rank - 1
        return [a for a, v in enumerate(operand.varies) if v and (a != last or operand.strided)]

    def output_axes(self, output: RegionOutput) -> list[int]:
        last = self.region.rank - 1
        return [a for a in range(self.region.rank) if a != last or output.strided]

    def position(self, operand: RegionInput, number: int, suffix: str) -> str:
        last = self.region.rank - 1
        terms = [f"b{number}"] * self.displaced(operand.strided)
        terms += [f"j{a}{suffix} * s{number}_{a}" for a in self.strided_axes(operand)]
        if operand.varies[last] and not operand.strided:
            terms.append(f"j{last}{suffix}")
        return " + ".join(terms) or "0"

    def output_position(self, output: RegionOutput, number: int, suffix: str) -> str:
        last = self.region.rank - 1
        terms = [f"d{number}"] * self.displaced(output.strided)
        terms += [f"j{a}{suffix} * t{number}_{a}" for a in self.output_axes(output)]
        return " + ".join(terms if output.strided else [*terms, f"j{last}{suffix}"])

    # -- the parts of a body -------------------------------------------------------------------------------------

    def load(self, suffix: str = "") -> None:
        used = " ".join([*(s.text for s in self.region.statements), *(o.source for o in self.region.outputs)])
        for k, operand in enumerate(self.region.inputs):
            if operand.name in used:
                test = " != uint8(0)" if operand.dtype == "bool" else ""
                self.line(
                    f"{variable(operand.name)}{suffix} = p{k}[{self.position(operand, k, suffix)}]{test}"
                )

    def compute(self, suffix: str = "") -> None:
        names = {operand.name: operand.dtype for operand in self.region.inputs}
        for axis in range(self.region.rank):
            name = axis_name(axis)
            if name not in names and any(name in s.text for s in self.region.statements):
                self.line(f"{variable(name)}{suffix} = int64(j{axis}{suffix})")
                names[name] = "int64"
        for number, statement in enumerate(self.region.statements):
            translation = translate(statement.text, statement.dtype, names, f"e{number}_")
            code = [*translation.lines, f"{variable(statement.target)} = {translation.value}"]
            names[statement.target] = statement.dtype
            for line in code:
                self.bad = self.bad or "bad = 1" in line
                self.line(_suffixed(line, suffix, names))

    def store(self, suffix: str = "") -> None:
        for k, output in enumerate(self.region.outputs):
            if output.reduction is not None:
                continue
            if output.in_place is not None:
                source = self.region.inputs[output.in_place]
                place = f"p{output.in_place}[{self.position(source, output.in_place, suffix)}]"
            else:
                place = f"q{k}[{self.output_position(output, k, suffix)}]"
            self.line(f"{place} = {self.stored(output, suffix)}")

    def stored(self, output: RegionOutput, suffix: str = "") -> str:
        value = f"{variable(output.source)}{suffix}"
        return f"(uint8(1) if {value} else uint8(0))" if output.dtype == "bool" else value

    def decode(self, index: str, axes: Sequence[int], suffix: str = "") -> None:
        """The coordinates along some axes from one number, the last axis changing fastest."""
        for axis in axes[:0:-1]:
            self.line(f"j{axis}{suffix} = {index} % n{axis}")
            self.line(f"{index} = {index} // n{axis}")
        if axes:
            self.line(f"j{axes[0]}{suffix} = {index}")

    def guard(self) -> None:
        """Nothing that a run has spoiled is written to a variable."""
        if any(o.in_place is not None for o in self.region.outputs):
            self.line("if status[0] != 0:")
            self.line("    return")
        self.line("bad = 0")

    def report(self) -> None:
        if self.bad:
            self.line("if bad != 0:")
            self.line("    status[0] = 1")
            self.line("    status[1] = number")

    def text(self, own: Sequence[str]) -> str:
        head = f"def kernel({', '.join(['status', 'number', *own, *self.parameters()])}):"
        return "\n".join([head, *self.lines]) + "\n"


def _suffixed(line: str, suffix: str, names: dict[str, str]) -> str:
    """A line with the names of values marked as those of one of several elements."""
    if not suffix:
        return line
    return re.sub(r"\b(v_\w+|e\d+_\d+)\b", rf"\g<1>{suffix}", line)


# ---- elementwise ---------------------------------------------------------------------------------------------------


def elements_each(region: Region) -> int:
    """How many elements a thread takes at a time."""
    operands = len(region.inputs) + len(region.outputs)
    if region.rank > 1 or len(region.statements) > 12:
        return 1
    return 4 if operands <= 6 else 2 if operands <= 12 else 1


@cache
def elementwise_source(region: Region) -> str:
    """The text of the kernel of a region without reductions; ScalarTextError where a statement has no code."""
    w, each = _Writer(region), elements_each(region)
    w.guard()
    w.line("i = cuda.grid(1)")
    w.line("step = cuda.gridsize(1)")
    if each > 1:
        w.line(f"while i + {each - 1} * step < count:")
        w.depth += 1
        marks = [f"_{k}" for k in range(each)]
        for k, mark in enumerate(marks):
            w.line(f"j0{mark} = i + {k} * step")
            w.load(mark)
        for mark in marks:
            w.compute(mark)
        for mark in marks:
            w.store(mark)
        w.line(f"i += {each} * step")
        w.depth -= 1
    w.line("while i < count:")
    w.depth += 1
    w.line("rest = i")
    w.decode("rest", range(region.rank))
    w.load()
    w.compute()
    w.store()
    w.line("i += step")
    w.depth -= 1
    w.report()
    return w.text(["count"])


# ---- reductions ----------------------------------------------------------------------------------------------------


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


@cache
def reduction_source(region: Region) -> str:
    """The text of the kernel of a region whose reductions are all over the same axes."""
    w = _Writer(region)
    reductions = [(k, o) for k, o in enumerate(region.outputs) if o.reduction is not None]
    axes = reductions[0][1].axes
    kept = [axis for axis in range(region.rank) if axis not in axes]
    w.guard()
    along = region.rank - 1 in axes
    found = [Found(f"total{k}", f"other{k}", memory_type(o.dtype)) for k, o in reductions]
    for f in found:
        w.line(f.shared if along else f"shared_{f.mine} = cuda.shared.array({_SHARED}, {f.dtype})")
    w.line("thread = cuda.threadIdx.x")
    if along:  # neighbouring threads take neighbouring elements: of one cell, or of several
        w.line("lane = thread % each")
        w.line("cell = thread // each")
    else:
        w.line("together = cuda.blockDim.x // each")
        w.line("lane = thread // together")
        w.line("cell = thread % together")
    w.line("cell += cuda.blockIdx.x * (cuda.blockDim.x // each)")
    for k, output in reductions:
        w.line(f"total{k} = {_initial(output)}")
    w.line("if cell < cells:")
    w.depth += 1
    w.line("rest = cell")
    w.decode("rest", kept)
    w.line("i = cuda.blockIdx.y * stretch + lane")
    w.line("end = min(cuda.blockIdx.y * stretch + stretch, count)")
    w.line("while i < end:")
    w.depth += 1
    w.line("inner = i")
    w.decode("inner", axes)
    w.load()
    w.compute()
    w.store()
    for k, output in reductions:
        w.line(f"value{k} = {w.stored(output)}")
        w.line(f"total{k} = {_combined(output, f'total{k}', f'value{k}')}")
    w.line("i += each")
    w.depth -= 2
    combination = [f"total{k} = {_combined(o, f'total{k}', f'other{k}')}" for k, o in reductions]
    for line in combined(found, combination, "each") if along else _tree(found, combination):
        w.line(line)
    w.line("if lane == 0 and cell < cells:")
    w.depth += 1
    for k, output in reductions:
        total = f"total{k} / {output.dtype}(divisor)" if output.reduction == "mean" else f"total{k}"
        w.line(f"q{k}[cuda.blockIdx.y * cells + cell] = {total}")
    w.depth -= 1
    w.report()
    return w.text(["cells", "count", "stretch", "each", "divisor"])


@dataclass(frozen=True)
class ReductionLayout:
    """How a reduction is cut: `each` threads a cell, `stretch` elements a block, `stretches` of them for each cell."""

    cells: int
    count: int
    each: int
    stretch: int
    stretches: int
    blocks: int


_BUSY: Final = 1024
"""So many blocks keep every GPU busy; the number is fixed so that the bits do not depend on the device."""
_FEWEST: Final = 16
"""A thread adds up at least so many elements."""


def reduction_layout(region: Region, sizes: Sequence[int], threads: int) -> ReductionLayout:
    """The layout of a reduction over `sizes` with blocks of `threads`, a power of two."""
    axes = next(o.axes for o in region.outputs if o.reduction is not None)
    count = math.prod(sizes[a] for a in axes)
    cells = math.prod(n for a, n in enumerate(sizes) if a not in axes)
    most = threads if region.rank - 1 in axes else max(1, threads // 32)
    wanted = -(-count // _FEWEST)
    each = 1
    while each < min(most, wanted):
        each *= 2
    blocks = -(-cells // (threads // each))
    stretches = max(1, min(_BUSY // blocks, -(-count // (each * _FEWEST))))
    stretch = -(-count // stretches)
    return ReductionLayout(cells, count, each, stretch, -(-count // stretch), blocks)


def combining_region(region: Region) -> Region:
    """What adds up the stretches of a reduction: a region over (stretches, cells), of one output for each of it."""
    reductions = [o for o in region.outputs if o.reduction is not None]
    inputs = tuple(RegionInput(f"i{k}", memory_type(o.dtype), (True, True)) for k, o in enumerate(reductions))
    outputs = tuple(
        RegionOutput(f"i{k}", memory_type(o.dtype), o.reduction, (0,)) for k, o in enumerate(reductions)
    )
    return Region(2, inputs, (), outputs)


@dataclass(frozen=True)
class Operand:
    """An array from an operand's lowest element on, where in it the operand begins, and its strides in elements."""

    array: Any
    start: int = 0
    strides: tuple[int, ...] = ()


def operand_arguments(
    region: Region, sizes: Sequence[int], inputs: Sequence[Operand], outputs: Sequence[Operand]
) -> list[Any]:
    """The sizes and operands as the kernels of a region take them."""
    w = _Writer(region)
    arguments: list[Any] = list(sizes)
    for declared, given in zip(region.inputs, inputs, strict=True):
        arguments.append(given.array)
        arguments += [given.start] * w.displaced(declared.strided)
        arguments += [int(given.strides[a]) for a in w.strided_axes(declared)]
    for output, given in zip(region.outputs, outputs, strict=True):
        if output.reduction is not None or output.in_place is None:
            arguments.append(given.array)
        if output.reduction is None and output.in_place is None:
            arguments += [given.start] * w.displaced(output.strided)
            arguments += [int(given.strides[a]) for a in w.output_axes(output)]
    return arguments


def region_launches(
    region: Region,
    sizes: Sequence[int],
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    status: Any,
    number: int,
    allocate: Callable[[int, str], Any],
) -> list[Launch]:
    """The launches that compute a region over `sizes`; `allocate` gives working memory of (elements, dtype)."""
    launches: list[Launch] = []
    for piece in pieces(region):
        part = piece.region
        results = [outputs[k] for k in piece.outputs]
        if not piece.axes:
            count = math.prod(sizes)
            arguments = [status, number, count, *operand_arguments(part, sizes, inputs, results)]
            source = elementwise_source(part)
            launches.append(elementwise_launch(source, count, arguments, elements_each(part)))
        else:
            launches += _reduction_launches(part, sizes, inputs, results, status, number, allocate)
    return launches


def _reduction_launches(
    region: Region,
    sizes: Sequence[int],
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    status: Any,
    number: int,
    allocate: Callable[[int, str], Any],
) -> list[Launch]:
    plan = reduction_layout(region, sizes, BLOCK)
    reduced = [k for k, o in enumerate(region.outputs) if o.reduction is not None]
    targets = list(outputs)
    if plan.stretches > 1:
        for k in reduced:
            partial = allocate(plan.stretches * plan.cells, memory_type(region.outputs[k].dtype))
            targets[k] = Operand(partial)
    divisor = float(plan.count) if plan.stretches == 1 else 1.0
    own = [status, number, plan.cells, plan.count, plan.stretch, plan.each, divisor]
    arguments = [*own, *operand_arguments(region, sizes, inputs, targets)]
    first = Launch(reduction_source(region), (plan.blocks, plan.stretches), BLOCK, tuple(arguments))
    if plan.stretches == 1:
        return [first]
    combining, shape = combining_region(region), (plan.stretches, plan.cells)
    second = reduction_layout(combining, shape, BLOCK)
    own = [status, number, second.cells, second.count, second.count, second.each, float(plan.count)]
    partials = [Operand(targets[k].array, 0, (plan.cells, 1)) for k in reduced]
    arguments = [*own, *operand_arguments(combining, shape, partials, [outputs[k] for k in reduced])]
    return [first, Launch(reduction_source(combining), (second.blocks, 1), BLOCK, tuple(arguments))]
