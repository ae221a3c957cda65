"""From a group of statements to a region with its operands, or to a scalar program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from graphflow._core.codegen.cpu.programs.array_machine import ArrayCode, array_steps
from graphflow._core.codegen.cpu.programs.scalar_machine import Register, ScalarProgram
from graphflow._core.codegen.cpu.regions import region as regions
from graphflow._core.codegen.cpu.regions.region_source import region_steps
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.nodes import Address, Statements
from graphflow._core.compiler.values import Value

_PLACE = re.compile(r"\{(\d+)\}")


@dataclass(frozen=True)
class FusedRegion:
    """A region, the sizes it runs over, and its operands in its order (address, strides)."""

    region: regions.Region
    sizes: tuple[int, ...]
    inputs: tuple[tuple[Value, tuple[int, ...]], ...]
    outputs: tuple[tuple[Value, tuple[int, ...] | None], ...]

    @property
    def scratch(self) -> int:
        """Bytes of working memory."""
        return regions.layout(self.region, self.sizes).scratch

    def steps(self, kernel: int, address: Address, scratch: int, status: int) -> list[Any]:
        """Its program steps."""
        inputs, outputs = self._operands(address)
        return region_steps(self.region, kernel, self.sizes, inputs, outputs, status, scratch)

    def array_steps(
        self, code: ArrayCode, kernels: Sequence[int], address: Address, scratch: int, status: int
    ) -> list[Any]:
        """Its program steps on the array machine; `kernels` are those of code.sources."""
        inputs, outputs = self._operands(address)
        return array_steps(code, kernels, self.sizes, inputs, outputs, status, scratch)

    def _operands(self, address: Address) -> tuple[list[Any], list[Any]]:
        return (
            [(address(value), strides) for value, strides in self.inputs],
            [(address(value), strides) for value, strides in self.outputs],
        )


class _Builder:
    """Names the operands and statements of a region in their order, so that equal regions look equal."""

    def __init__(self, group: Group, stored: set[str]) -> None:
        self._group = group
        self._stored = stored
        self._space = group.space or ()
        self._made: dict[str, tuple[str, str]] = {}
        self._inputs: dict[tuple[str, int, tuple[int, ...]], str] = {}
        self._values: list[tuple[Value, tuple[int, ...]]] = []
        self._lines: list[tuple[str, str, str]] = []
        self._results: list[
            tuple[str, str, Value, tuple[int, ...] | None, tuple[str, tuple[int, ...]] | None]
        ] = []

    def build(self) -> FusedRegion:
        for node in self._group.nodes:
            assert isinstance(node, Statements)
            self._node(node)
        return self._region()

    def _operand(self, value: Value) -> str:
        made = self._made.get(value.root)
        if made is not None:
            return made[0]
        strides = value.broadcast(self._space)
        key = (value.root, value.offset, strides)
        if key not in self._inputs:
            self._inputs[key] = f"i{len(self._values)}"
            self._values.append((value, strides))
        return self._inputs[key]

    def _node(self, node: Statements) -> None:
        operands = [self._operand(v) for v in node.reads]
        names: dict[str, str] = {}
        types: dict[str, str] = {}
        for target, dtype, text in node.lines:
            expression = _PLACE.sub(lambda m: operands[int(m.group(1))], text)
            for local, name in names.items():
                expression = re.sub(rf"\b{local}\b", name, expression)
            name = f"s{len(self._lines)}"
            self._lines.append((name, dtype, expression))
            names[target], types[target] = name, dtype
        for target, value in node.results:
            name = names[target]
            if node.reduce is not None:
                self._results.append((name, types[target], value, None, node.reduce))
            elif value.root in node.variables or value.root in self._stored or node.forced:
                self._results.append((name, types[target], value, value.strides, None))
            if node.reduce is None and value.root not in node.variables and not node.forced:
                self._made[value.root] = (name, types[target])

    def _region(self) -> FusedRegion:
        strides = [s for _, s in self._values]
        whole = [value.broadcast(self._space) for _, _, value, s, reduce in self._results if reduce is None]
        reduced = [frozenset(reduce[1]) for *_, reduce in self._results if reduce is not None]
        sizes, walked, axes = regions.collapse(self._space, [*strides, *whole], reduced)
        input_strides, output_strides = walked[: len(strides)], walked[len(strides) :]
        inputs = tuple(
            regions.RegionInput(
                f"i{k}", value.dtype, tuple(s != 0 for s in walk), walk[-1] not in (0, 1), walk[-1] == -1
            )
            for k, ((value, _), walk) in enumerate(zip(self._values, input_strides, strict=True))
        )
        outputs: list[regions.RegionOutput] = []
        placed: list[tuple[Value, tuple[int, ...] | None]] = []
        whole_strides, reduced_axes = iter(output_strides), iter(axes)
        for name, dtype, value, _, reduce in self._results:
            if reduce is not None:
                kept = next(reduced_axes)
                if kept:
                    outputs.append(regions.RegionOutput(name, dtype, reduce[0], kept))
                    placed.append((value, None))
                else:
                    outputs.append(regions.RegionOutput(name, dtype))
                    placed.append((value, regions.contiguous_strides(sizes, [True] * len(sizes))))
                continue
            walk = next(whole_strides)
            in_place = self._in_place(value, walk, input_strides)
            outputs.append(
                regions.RegionOutput(
                    name, dtype, in_place=in_place, strided=walk[-1] != 1 and in_place is None
                )
            )
            placed.append((value, walk))
        statements = tuple(regions.Statement(*line) for line in self._lines)
        region = regions.Region(len(sizes), inputs, statements, tuple(outputs))
        pairs = tuple((value, walk) for (value, _), walk in zip(self._values, input_strides, strict=True))
        return FusedRegion(region, sizes, pairs, tuple(placed))

    def _in_place(
        self, value: Value, walk: tuple[int, ...], input_strides: Sequence[tuple[int, ...]]
    ) -> int | None:
        for index, ((given, _), strides) in enumerate(zip(self._values, input_strides, strict=True)):
            if given.root == value.root and given.offset == value.offset and strides == walk:
                return index
        return None


def fused_region(group: Group, stored: set[str]) -> FusedRegion:
    """The region of a group; `stored` are the roots that something outside takes."""
    return _Builder(group, stored).build()


def scalar_program(group: Group, stored: set[str], address: Address) -> ScalarProgram:
    """The scalar program of a group of statements on scalars; ScalarTextError if the machine lacks something."""
    program = ScalarProgram()
    registers: dict[str, Register] = {}
    loaded: dict[tuple[str, int], Register] = {}
    for node in group.nodes:
        assert isinstance(node, Statements)
        names: dict[str, Register] = {}
        for position, value in enumerate(node.reads):
            names[f"p{position}"] = _scalar_operand(program, value, registers, loaded, address)
        if node.build is not None:
            names.update(node.build(program, [names[f"p{k}"] for k in range(len(node.reads))]))
        for target, dtype, text in node.lines:
            expression = _PLACE.sub(lambda m: f"p{m.group(1)}", text)
            names[target] = program.evaluate(expression, dtype, names)
        for target, value in node.results:
            if value.root in node.variables:
                program.store(names[target], address(value))
                loaded[value.root, value.offset] = names[target]
                continue
            registers[value.root] = names[target]
            if value.root in stored or node.forced:
                program.store(names[target], address(value))
    return program


def _scalar_operand(
    program: ScalarProgram,
    value: Value,
    registers: dict[str, Register],
    loaded: dict[tuple[str, int], Register],
    address: Address,
) -> Register:
    if value.root in registers:
        return registers[value.root]
    key = (value.root, value.offset)
    if key not in loaded:
        loaded[key] = program.load(address(value), value.dtype)
    return loaded[key]
