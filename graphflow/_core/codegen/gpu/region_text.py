"""The lines of a region's kernel: what loads its operands, computes its statements and stores its results.

A thread takes one element at a time, several apart from each other, or four neighbours along the last axis
(vectors.py). The names of what belongs to one of several carry a mark, `_0`, `_1` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.cpu.regions.region import Region, RegionInput, RegionOutput, axis_name
from graphflow._core.codegen.cpu.regions.scalar_source import variable
from graphflow._core.codegen.gpu.scalar_source import translate
from graphflow._core.codegen.gpu.status import DIVISION, report
from graphflow._core.codegen.gpu.vectors import WIDTH, lies_well
from graphflow._core.common.records import dataclass

_MOST_WIDE: Final = 12
_MOST_STATEMENTS: Final = 24
"""If more operands or statements are fused, four elements would need too many registers."""


def marks(count: int, first: int = 0) -> list[str]:
    """The marks of several elements."""
    return [f"_{k}" for k in range(first, first + count)]


class Writer:
    """Collects the lines of one kernel."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.lines: list[str] = []
        self.depth = 1
        self.bad = False

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def lines_of(self, texts: Sequence[str]) -> None:
        for text in texts:
            self.line(text)

    # -- names ---------------------------------------------------------------------------------------------------

    def parameters(self) -> list[str]:
        """The names of the sizes and of the operands with their strides, in the order of `PlacedRegion.arguments`."""
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

    def taken(self) -> list[tuple[int, RegionInput]]:
        """The operands that the statements or results take, with their numbers."""
        used = " ".join([*(s.text for s in self.region.statements), *(o.source for o in self.region.outputs)])
        return [(k, operand) for k, operand in enumerate(self.region.inputs) if operand.name in used]

    def load(self, suffix: str = "", without: Sequence[int] = ()) -> None:
        for k, operand in self.taken():
            if k in without:
                continue
            test = " != uint8(0)" if operand.dtype == "bool" else ""
            self.line(f"{variable(operand.name)}{suffix} = p{k}[{self.position(operand, k, suffix)}]{test}")

    def spread(self, axes: Sequence[int], suffixes: Sequence[str]) -> None:
        """Gives each of several elements the coordinates along some axes that they share."""
        for axis in axes:
            for suffix in suffixes:
                self.line(f"j{axis}{suffix} = j{axis}")

    def load_wide(self, first: int = 0) -> None:
        """Loads four neighbours along the last axis, from the coordinates without a mark on; `first` is their mark."""
        four, last = marks(WIDTH, first), self.region.rank - 1
        self.spread(range(last), four)
        for k, mark in enumerate(four):
            self.line(f"j{last}{mark} = j{last} + {k}")
        for k, operand in self.taken():
            names = [f"{variable(operand.name)}{mark}" for mark in four]
            position = self.position(operand, k, four[0])
            if operand.varies[last]:
                self.line(f"{', '.join(names)} = load4(p{k}, {position})")
            else:
                self.line(f"{names[0]} = p{k}[{position}]")
                self.lines_of([f"{name} = {names[0]}" for name in names[1:]])
            if operand.dtype == "bool":
                self.lines_of([f"{name} = {name} != uint8(0)" for name in names])

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

    def targets(self, suffix: str) -> list[tuple[RegionOutput, str, str]]:
        """Of each whole result: itself, the array, and where an element is stored."""
        found = []
        for k, output in enumerate(self.region.outputs):
            if output.in_place is not None:
                source = self.region.inputs[output.in_place]
                where = f"p{output.in_place}", self.position(source, output.in_place, suffix)
            else:
                where = f"q{k}", self.output_position(output, k, suffix)
            if output.reduction is None:
                found.append((output, *where))
        return found

    def store(self, suffix: str = "") -> None:
        for output, array, position in self.targets(suffix):
            self.line(f"{array}[{position}] = {self.stored(output, suffix)}")

    def store_wide(self, first: int = 0) -> None:
        """Stores four neighbours along the last axis."""
        four = marks(WIDTH, first)
        for output, array, position in self.targets(four[0]):
            values = ", ".join(self.stored(output, mark) for mark in four)
            self.line(f"store4({array}, {position}, {values})")

    def stored(self, output: RegionOutput, suffix: str = "") -> str:
        value = f"{variable(output.source)}{suffix}"
        return f"(uint8(1) if {value} else uint8(0))" if output.dtype == "bool" else value

    def decode(self, index: str, axes: Sequence[int], suffix: str = "") -> None:
        """The coordinates along some axes from one number, the last axis changing fastest."""
        for axis in axes[:0:-1]:
            self.line(f"q = quotient({index}, n{axis})")
            self.line(f"j{axis}{suffix} = remainder({index}, q, n{axis})")
            self.line(f"{index} = q")
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
            for line in report(str(DIVISION)):
                self.line(f"    {line}")

    def text(self, own: Sequence[str]) -> str:
        head = f"def kernel({', '.join(['status', 'number', *own, *self.parameters()])}):"
        return "\n".join([head, *self.lines]) + "\n"


def _suffixed(line: str, suffix: str, names: dict[str, str]) -> str:
    """A line with the names of values marked as those of one of several elements."""
    if not suffix:
        return line
    return re.sub(r"\b(v_\w+|e\d+_\d+)\b", rf"\g<1>{suffix}", line)


@dataclass(frozen=True)
class Operand:
    """An array from an operand's lowest element on, where in it the operand begins, and its strides in elements."""

    array: Any
    start: int = 0
    strides: tuple[int, ...] = ()


def may_be_wide(region: Region, sizes: Sequence[int]) -> bool:
    """Whether the elements of a region can be taken by fours along its last axis, as far as sizes tell."""
    if any(operand.strided and operand.varies[-1] for operand in region.inputs):
        return False
    if any(output.strided and output.reduction is None for output in region.outputs):
        return False
    moved = sum(operand.varies[-1] for operand in region.inputs) + len(region.outputs)
    if moved > _MOST_WIDE or len(region.statements) > _MOST_STATEMENTS:
        return False
    return sizes[-1] >= WIDTH and (region.rank == 1 or sizes[-1] % WIDTH == 0)


@dataclass(frozen=True)
class PlacedRegion:
    """A region with the sizes of its axes, and its operands as they lie in memory.

    status: the numbers (int64[4]) into which its kernels write what fails, under the region's `number` in the plan.
    """

    region: Region
    sizes: Sequence[int]
    inputs: Sequence[Operand]
    outputs: Sequence[Operand]
    status: Any
    number: int

    def arguments(self, *own: Any) -> list[Any]:
        """The arguments of a kernel of the region: after the status its own, then the sizes and the operands."""
        w = Writer(self.region)
        arguments: list[Any] = [self.status, self.number, *own, *self.sizes]
        for declared, given in zip(self.region.inputs, self.inputs, strict=True):
            arguments.append(given.array)
            arguments += [given.start] * w.displaced(declared.strided)
            arguments += [int(given.strides[a]) for a in w.strided_axes(declared)]
        for output, given in zip(self.region.outputs, self.outputs, strict=True):
            if output.reduction is not None or output.in_place is None:
                arguments.append(given.array)
            if output.reduction is None and output.in_place is None:
                arguments += [given.start] * w.displaced(output.strided)
                arguments += [int(given.strides[a]) for a in w.output_axes(output)]
        return arguments

    def by_fours(self) -> bool:
        """Whether a thread can take four neighbours along the last axis: the region allows it, and all lie well."""
        region, last = self.region, self.region.rank - 1
        if not may_be_wide(region, self.sizes):
            return False
        for declared, given in zip(region.inputs, self.inputs, strict=True):
            strides = [given.strides[a] for a, varies in enumerate(declared.varies) if varies and a != last]
            if declared.varies[last] and not lies_well(given.array, given.start, strides):
                return False
        return all(
            lies_well(given.array, given.start, [given.strides[a] for a in range(last)])
            for output, given in zip(region.outputs, self.outputs, strict=True)
            if output.reduction is None and output.in_place is None
        )
