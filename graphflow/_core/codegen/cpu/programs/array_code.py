"""Programs of the array machine: a fused region as sections of block operations, for any sizes and strides."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache

import numpy as np

from graphflow._core.codegen.cpu.programs import array_blocks
from graphflow._core.codegen.cpu.programs import array_machine_source as source
from graphflow._core.codegen.cpu.regions.region import Region, axis_name, item_size
from graphflow._core.codegen.cpu.regions.region_source import COMBINE, in_order, initial_value
from graphflow._core.codegen.cpu.regions.scalar_text import (
    DIVISIONS,
    INTEGERS,
    Node,
    ScalarTextError,
    integer_divisors,
    parse,
)
from graphflow._core.common.records import dataclass

SHORTEST = 64
"""Elements of the shortest block, with which the registers of a program must have room."""
_AMBIGUOUS = range(1 << 61, (1 << 61) + (1 << 57))
"""A word of these (of float64 some 1e-150) could be taken for the address of a feed or a variable, which is patched."""
_INTERPRETER = source.interpreter_source()

Entry = tuple[str, int]
"""A kind of entry in the machine's table, and which one of its kind."""
COUNT: Entry = ("count", 0)


@dataclass(frozen=True)
class Instruction:
    """A block operation on entries, the result first; count: the entry that holds the number of elements.

    block None copies the second entry to the first.
    """

    block: array_blocks.Block | None
    operands: tuple[Entry, ...]
    count: Entry = COUNT


@dataclass(frozen=True)
class Operand:
    """What the machine walks through: an input, a whole result, a reduction's result, or its partial results."""

    kind: str
    index: int


@dataclass(frozen=True)
class ArrayCode:
    """The program of a region, for any sizes and strides.

    sources: the kernels that it needs, the interpreter first. words: the numbers that are known with sizes and strides
    only; constants: the bits of literals, and the divisors of means.
    """

    region: Region
    sources: tuple[str, ...]
    operands: tuple[Operand, ...]
    words: tuple[tuple[str, int], ...]
    constants: tuple[tuple[str, int], ...]
    registers: int
    element_bytes: int
    sections: dict[str, tuple[Instruction, ...]]
    starts: tuple[tuple[Instruction, ...], ...]
    ends: tuple[tuple[Instruction, ...], ...]


def constant_bits(value: float, dtype: str) -> int:
    if dtype == "float32":
        with np.errstate(over="ignore"):
            return int(np.float32(value).view(np.int32))
    if dtype == "float64":
        return int(struct.unpack("q", struct.pack("d", value))[0])
    return int(value)


def _literal_bits(value: float, dtype: str) -> int:
    bits = constant_bits(value, dtype)
    if bits in _AMBIGUOUS:
        raise ScalarTextError(f"the array machine takes no literal {value}")
    return bits


def _width(dtype: str) -> str:
    return str(8 * item_size(dtype))


@dataclass
class _Builder:
    """Translates a region; registers are numbered as they come and given out anew at the end."""

    region: Region
    operands: list[Operand] = field(default_factory=list)
    words: list[tuple[str, int]] = field(default_factory=list)
    constants: list[tuple[str, int]] = field(default_factory=list)
    registers: list[str] = field(default_factory=list)
    sections: dict[str, list[Instruction]] = field(
        default_factory=lambda: {name: [] for name in source.SECTIONS}
    )
    splats: dict[tuple[int, str], Entry] = field(default_factory=dict)

    # -- entries ---------------------------------------------------------------------------------------------------

    def operand(self, kind: str, index: int) -> Entry:
        wanted = Operand(kind, index)
        if wanted not in self.operands:
            self.operands.append(wanted)
        return "operand", self.operands.index(wanted)

    def word(self, what: str, value: int) -> Entry:
        if (what, value) not in self.words:
            self.words.append((what, value))
        return "word", self.words.index((what, value))

    def constant(self, value: float, dtype: str) -> Entry:
        return self.number("bits", _literal_bits(value, dtype))

    def number(self, what: str, value: int) -> Entry:
        if (what, value) not in self.constants:
            self.constants.append((what, value))
        return "constant", self.constants.index((what, value))

    def register(self, dtype: str) -> Entry:
        self.registers.append(dtype)
        return "register", len(self.registers) - 1

    def splat(self, value: float, dtype: str) -> Entry:
        """A register that holds a literal all the time."""
        key = (_literal_bits(value, dtype), dtype)
        if key not in self.splats:
            self.splats[key] = self.register(dtype)
            self.emit("call", ("splat", _width(dtype)), self.splats[key], self.constant(value, dtype))
        return self.splats[key]

    def one(self) -> Entry:
        return self.word("literal", 1)

    def emit(self, section: str, key: array_blocks.Key, *operands: Entry, count: Entry = COUNT) -> None:
        self.sections[section].append(Instruction(array_blocks.block(*key), operands, count))

    # -- operands and statements -------------------------------------------------------------------------------------

    def inputs(self) -> dict[str, Entry]:
        """Where each input's elements lie side by side, for the block that is in work."""
        last = self.region.rank - 1
        found: dict[str, Entry] = {}
        for index, given in enumerate(self.region.inputs):
            place = self.operand("input", index)
            width = _width(given.dtype)
            if given.varies[last] and not given.strided:
                found[given.name] = place
                continue
            found[given.name] = register = self.register(given.dtype)
            if given.varies[last]:
                self.emit("block", ("gather", width), register, place, self.word("input stride", index))
            else:
                section = "row" if any(given.varies) else "call"
                self.emit(section, ("splat", width), register, place)
        return found

    def coordinate(self, axis: int) -> Entry:
        register = self.register("int64")
        if axis == self.region.rank - 1:
            self.emit("block", ("count", "64"), register, ("coordinate", axis))
        else:
            self.emit("row", ("splat", "64"), register, ("coordinate", axis))
        return register

    def statements(self, values: dict[str, Entry]) -> None:
        kinds = {given.name: given.dtype for given in self.region.inputs}
        for axis in range(self.region.rank):
            name = axis_name(axis)
            if name not in kinds and any(name in statement.text for statement in self.region.statements):
                values[name], kinds[name] = self.coordinate(axis), "int64"
        for statement in self.region.statements:
            tree = parse(statement.text, statement.dtype, kinds)
            divides = any(True for _ in integer_divisors(tree))
            values[statement.target] = self.value(tree, values, {}, None, divides)
            kinds[statement.target] = statement.dtype

    def value(
        self,
        node: Node,
        names: dict[str, Entry],
        done: dict[Node, Entry],
        condition: Entry | None,
        divides: bool,
    ) -> Entry:
        """Where a tree's value is. condition: that under which it is chosen, which counts if `divides`."""
        if node.op == "name":
            return names[node.name]
        if node.op == "literal":
            return self.splat(node.value, node.dtype)
        if node in done:
            return done[node]
        if node.op == "select":
            result = self.select(node, names, done, condition, divides)
        else:
            operands = [self.value(arg, names, done, condition, divides) for arg in node.args]
            kind = node.args[0].dtype
            key = ("cast", kind, node.dtype) if node.op == "cast" else (node.op, kind)
            if node.op in DIVISIONS and node.dtype in INTEGERS:
                operands.append(self.splat(True, "bool") if condition is None else condition)
            result = self.register(node.dtype)
            self.emit("block", key, result, *operands)
        done[node] = result
        return result

    def select(
        self,
        node: Node,
        names: dict[str, Entry],
        done: dict[Node, Entry],
        condition: Entry | None,
        divides: bool,
    ) -> Entry:
        """What is first computed under a condition would miss its errors if it is used without."""
        test, chosen, other = node.args
        mask = self.value(test, names, done, condition, divides)
        if divides:
            opposite = self.register("bool")
            self.emit("block", ("not", "bool"), opposite, mask)
            sides = [self.both(condition, side) for side in (mask, opposite)]
            first = self.value(chosen, names, dict(done), sides[0], divides)
            second = self.value(other, names, dict(done), sides[1], divides)
        else:
            first = self.value(chosen, names, done, None, False)
            second = self.value(other, names, done, None, False)
        result = self.register(node.dtype)
        self.emit("block", ("select", _width(node.dtype)), result, mask, first, second)
        return result

    def both(self, condition: Entry | None, mask: Entry) -> Entry:
        if condition is None:
            return mask
        result = self.register("bool")
        self.emit("block", ("and", "bool"), result, condition, mask)
        return result

    # -- results -----------------------------------------------------------------------------------------------------

    def stores(self, values: dict[str, Entry]) -> None:
        """Whole results, written by the operation that makes them if nothing reads afterwards what they lie upon."""
        block = self.sections["block"]
        copies: list[tuple[Entry, int]] = []
        for index, output in enumerate(self.region.outputs):
            if output.reduction is not None:
                continue
            value = values[output.source]
            if output.in_place is not None and value[0] == "operand":
                moved = self.register(output.dtype)
                self.emit("block", ("copy", _width(output.dtype)), moved, value)
                value = moved
            copies.append((value, index))
        direct: list[tuple[Entry, int]] = []
        for value, index in copies:
            output = self.region.outputs[index]
            strided = (
                output.strided if output.in_place is None else self.region.inputs[output.in_place].strided
            )
            maker = next(
                (k for k, i in enumerate(block) if value[0] == "register" and i.operands[0] == value), None
            )
            if strided or maker is None or any(value == taken for taken, _ in direct):
                continue
            if output.in_place is not None:
                below = self.operand("input", output.in_place)
                if any(below in i.operands[1:] for i in block[maker + 1 :]):
                    continue
            direct.append((value, index))
        for value, index in copies:
            output = self.region.outputs[index]
            if (value, index) in direct:
                continue
            place = self.place(index)
            if output.strided or (
                output.in_place is not None and self.region.inputs[output.in_place].strided
            ):
                stride = (
                    self.word("output stride", index)
                    if output.in_place is None
                    else self.word("input stride", output.in_place)
                )
                self.emit("block", ("scatter", _width(output.dtype)), place, value, stride)
            else:
                self.emit("block", ("copy", _width(output.dtype)), place, value)
        renamed = {value: self.place(index) for value, index in direct}
        for name, section in self.sections.items():
            self.sections[name] = [
                Instruction(i.block, tuple(renamed.get(e, e) for e in i.operands), i.count) for i in section
            ]
        for name, entry in values.items():
            values[name] = renamed.get(entry, entry)

    def place(self, output: int) -> Entry:
        in_place = self.region.outputs[output].in_place
        return self.operand("output", output) if in_place is None else self.operand("input", in_place)

    def reductions(
        self, values: dict[str, Entry], starts: list[list[Instruction]], ends: list[list[Instruction]]
    ) -> None:
        last = self.region.rank - 1
        for index in self.region.reductions:
            output = self.region.outputs[index]
            value, dtype, level = values[output.source], output.dtype, self.region.kept_prefix(index)
            if output.reduction == "mean" and not in_order(output):
                raise ScalarTextError(f"the array machine has no mean of {dtype}")
            operation, width = COMBINE[output.reduction or ""], _width(dtype)
            partial = self.region.unit_axes == 0 and level == 0
            result = self.operand("output", index)
            cells = self.operand("partial", index) if partial else result
            identity = self.constant(initial_value(output), dtype)
            scalar = not [axis for axis in range(level, self.region.rank) if axis not in output.axes]
            into, number = array_blocks.block(f"{operation} into", dtype), self.word("cells", index)
            copy, one = array_blocks.block("copy", width), self.one()
            total = self.register(dtype) if scalar else cells
            if scalar:
                starts[level].append(Instruction(copy, (total, identity), one))
            else:
                splat = array_blocks.block("splat", width)
                starts[level].append(Instruction(splat, (cells, identity), number))
            if last in output.axes:
                self.along(operation, dtype, value, identity, total, in_order(output))
            else:
                self.emit("block", (f"{operation} into", dtype), cells, value)
            mean = array_blocks.block("mean", dtype) if output.reduction == "mean" else None
            divisor = self.number("divisor", index)
            if scalar:
                if mean and not partial:
                    ends[level].append(Instruction(mean, (total, divisor), one))
                ends[level].append(Instruction(copy, (cells, total), one))
            elif mean and not partial:
                first = self.word(
                    "literal", -1 - index
                )  # a place of its own for the address of the first cell
                starts[level].append(Instruction(None, (first, cells)))
                ends[level].append(Instruction(mean, (first, divisor), number))
            if partial:
                self.sections["finish start"].append(Instruction(copy, (result, cells), number))
                self.sections["finish step"].append(Instruction(into, (result, cells), number))
                if mean:
                    self.sections["finish end"].append(Instruction(mean, (result, divisor), number))

    def along(
        self, operation: str, dtype: str, value: Entry, identity: Entry, total: Entry, ordered: bool
    ) -> None:
        """A reduction over the last axis: runs into a line, lines into the total."""
        one, line = self.one(), self.register(dtype)
        self.emit("row start", ("copy", _width(dtype)), line, identity, count=one)
        if ordered:
            lanes = self.register(dtype)
            self.emit("run start", (f"{operation} start", dtype), lanes, identity, count=one)
            self.emit("block", (f"{operation} along", dtype), lanes, value)
            self.emit("run end", (f"{operation} fold", dtype), line, lanes, count=one)
        else:
            self.emit("block", (f"{operation} along", dtype), line, value)
        self.emit("row end", (f"{operation} into", dtype), total, line, count=one)


def _allocated(builder: _Builder, kept: set[int]) -> tuple[dict[int, int], int]:
    """Registers of the block section given out anew once nothing reads them any more; `kept` live throughout."""
    block = builder.sections["block"]
    last_use: dict[int, int] = {}
    for position, instruction in enumerate(block):
        for kind, number in instruction.operands:
            if kind == "register":
                last_use[number] = position
    places = {number: k for k, number in enumerate(sorted(kept))}
    used, free = len(places), list[int]()
    for position, instruction in enumerate(block):
        numbers = [number for kind, number in instruction.operands if kind == "register"]
        for number in numbers:
            if number not in places:
                places[number] = free.pop() if free else used
                used = max(used, places[number] + 1)
        for number in set(numbers):
            if number not in kept and last_use[number] == position:
                free.append(places[number])
    return places, used


@lru_cache(maxsize=4096)
def array_code(region: Region) -> ArrayCode:
    """The program of a region; ScalarTextError for what the machine lacks."""
    if region.rank > source.MAX_RANK:
        raise ScalarTextError(f"the array machine walks {source.MAX_RANK} axes, not {region.rank}")
    builder = _Builder(region)
    starts: list[list[Instruction]] = [[] for _ in range(region.rank)]
    ends: list[list[Instruction]] = [[] for _ in range(region.rank)]
    values = builder.inputs()
    builder.statements(values)
    builder.reductions(values, starts, ends)
    builder.stores(values)
    others = [i for name, section in builder.sections.items() if name != "block" for i in section]
    others += [i for level in (*starts, *ends) for i in level]
    kept = {number for i in others for kind, number in i.operands if kind == "register"}
    places, used = _allocated(builder, kept)

    def placed(instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
        return tuple(
            Instruction(
                i.block,
                tuple(("register", places[n]) if kind == "register" else (kind, n) for kind, n in i.operands),
                i.count,
            )
            for i in instructions
        )

    everything = [*others, *builder.sections["block"]]
    sources = dict.fromkeys(i.block.source for i in everything if i.block is not None)
    entries = 2 + len(builder.operands) + len(builder.words) + len(builder.constants) + region.rank + used
    element = max((item_size(dtype) for dtype in builder.registers), default=1)
    if entries > source.TABLE_ENTRIES or used * SHORTEST * element > source.REGISTER_BYTES:
        raise ScalarTextError(f"the array machine has no room for {used} values")
    return ArrayCode(
        region,
        (_INTERPRETER, *sources),
        tuple(builder.operands),
        tuple(builder.words),
        tuple(builder.constants),
        used,
        element,
        {name: placed(section) for name, section in builder.sections.items()},
        tuple(map(placed, starts)),
        tuple(map(placed, ends)),
    )
