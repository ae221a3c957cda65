"""Fused regions run by one precompiled interpreter, until the kernel that is made for each of them has come.

A region becomes a short program of block operations (array_blocks), for which nothing has to be compiled: the machine
is the same for every plan, size and stride. The bits are those of the region's own kernel, because both take the same
arithmetic, cut the work alike and reduce in the same order; so which of the two runs shows in the time alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphflow._core.codegen.cpu.programs import array_machine_source as source
from graphflow._core.codegen.cpu.programs.array_code import (
    SHORTEST,
    ArrayCode,
    Entry,
    Instruction,
    Operand,
    array_code,
    constant_bits,
)
from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.codegen.cpu.regions.region import (
    SCRATCH_ALIGNMENT,
    contiguous_strides,
    item_size,
    layout,
)
from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError

__all__ = ["ArrayCode", "array_code", "array_steps"]

_LENGTHS = (512, 256, 128, SHORTEST)
_COMFORTABLE_BYTES = 24 << 10


def array_steps(
    code: ArrayCode,
    kernels: Sequence[int],
    sizes: Sequence[int],
    inputs: Sequence[tuple[int, Sequence[int]]],
    outputs: Sequence[tuple[int, Sequence[int] | None]],
    status: int,
    scratch: int = 0,
) -> list[Step]:
    """Program steps like those of region_steps, with the addresses of `code.sources` in place of the region's kernel.

    ScalarTextError if a size is zero.
    """
    if 0 in sizes:
        raise ScalarTextError("the array machine walks no empty space")
    return _Layout(code, kernels, sizes, inputs, outputs, status, scratch).steps()


class _Layout:
    """The argument words of a program for given sizes, strides and addresses."""

    def __init__(
        self,
        code: ArrayCode,
        kernels: Sequence[int],
        sizes: Sequence[int],
        inputs: Sequence[tuple[int, Sequence[int]]],
        outputs: Sequence[tuple[int, Sequence[int] | None]],
        status: int,
        scratch: int,
    ) -> None:
        self.code = code
        self.region = code.region
        self.sizes = tuple(sizes)
        self.plan = layout(code.region, sizes)
        self.status = status
        self.inputs, self.outputs = inputs, outputs
        self.addresses = dict(zip(code.sources, kernels, strict=True))
        self.partials = self._partials(scratch)

    def _partials(self, scratch: int) -> dict[int, tuple[int, int]]:
        """Address and bytes per unit of the partial results, as the region's kernel lays them."""
        found: dict[int, tuple[int, int]] = {}
        place = -(-scratch // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        if self.plan.finish:
            for index in self.region.reductions:
                if self.region.kept_prefix(index) == 0:
                    row = self.plan.cells[index] * item_size(self.region.outputs[index].dtype)
                    pitch = -(-row // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
                    found[index] = place, pitch
                    place += self.plan.units * pitch
        return found

    def _operand_words(self, operand: Operand) -> list[int]:
        region, rank, last = self.region, self.region.rank, self.region.rank - 1
        if operand.kind == "input":
            given = region.inputs[operand.index]
            address, strides = self.inputs[operand.index]
            size = item_size(given.dtype)
            steps = [s if varies else 0 for s, varies in zip(strides, given.varies, strict=True)]
            if given.varies[last] and not given.strided:
                steps[last] = 1
            return [address, 0, *(size * s for s in steps)]
        output = region.outputs[operand.index]
        size = item_size(output.dtype)
        if output.reduction is not None:
            kept = contiguous_strides(self.sizes, [axis not in output.axes for axis in range(rank)])
            strides = [size * s for s in kept]
            if operand.kind == "partial":
                address, pitch = self.partials[operand.index]
                return [address, pitch, *strides]
            return [self.outputs[operand.index][0], 0, *strides]
        address, given_strides = self.outputs[operand.index]
        full = contiguous_strides(self.sizes, [True] * rank) if given_strides is None else given_strides
        steps = list(full)
        if not output.strided:
            steps[last] = 1
        return [address, 0, *(size * s for s in steps)]

    def _word(self, what: str, value: int) -> int:
        last = self.region.rank - 1
        if what == "literal":
            return value
        if what == "input stride":
            return self.inputs[value][1][last]
        if what == "output stride":
            strides = self.outputs[value][1]
            return 1 if strides is None else strides[last]
        output = self.region.outputs[value]
        level = self.region.kept_prefix(value)
        cells = 1
        for axis in range(level, self.region.rank):
            cells *= 1 if axis in output.axes else self.sizes[axis]
        return cells

    def _divisor(self, output: int) -> int:
        result = self.region.outputs[output]
        count = 1
        for axis in result.axes:
            count *= self.sizes[axis]
        return constant_bits(float(count), result.dtype)

    def steps(self) -> list[Step]:
        code, rank = self.code, self.region.rank
        constants = [value if what == "bits" else self._divisor(value) for what, value in code.constants]
        body: list[int] = []
        for operand in code.operands:
            body += self._operand_words(operand)
        body += [self._word(*word) for word in code.words]
        body += constants
        header = source.ARG_SIZES + rank + source.LEVEL_WORDS * rank
        at = header + len(body)
        bounds: list[int] = []
        instructions: list[int] = []
        ordered = [code.sections[name] for name in source.SECTIONS]
        ordered += [section for pair in zip(code.starts, code.ends, strict=True) for section in pair]
        for section in ordered:
            bounds.append(at + len(instructions))
            for instruction in section:
                instructions += self._encoded(instruction)
            bounds.append(at + len(instructions))
        named = 2 * len(source.SECTIONS)
        length = self._length()
        words = [
            self.status,
            self.plan.block,
            rank,
            self.region.unit_axes if self.region.reductions else rank - 1,
            len(code.operands),
            len(code.words),
            len(constants),
            code.registers,
            length,
            length * code.element_bytes,
            int(bool(self.region.reductions)),
            self.plan.units,
            *bounds[:named],
            *self.sizes,
            *bounds[named:],
            *body,
            *instructions,
        ]
        kernel = self.addresses[code.sources[0]]
        steps = [Step(kernel, words, 0, self.plan.units, self.plan.grain)]
        if self.plan.finish:
            steps.append(Step(kernel, words, -1, 0))
        return steps

    def _length(self) -> int:
        for length in _LENGTHS:
            if self.code.registers * length * self.code.element_bytes <= _COMFORTABLE_BYTES:
                return length
        return _LENGTHS[-1]

    def _encoded(self, instruction: Instruction) -> list[int]:
        packed = 0
        for position, entry in enumerate(instruction.operands):
            packed |= self._entry(entry) << 16 * position
        if instruction.block is None:
            return [0, packed, 0, 0]
        kernel = self.addresses[instruction.block.source]
        return [kernel, packed, instruction.block.number << 32, self._entry(instruction.count)]

    def _entry(self, entry: Entry) -> int:
        kind, number = entry
        if kind == "count":
            return source.ENTRY_COUNT
        code, first = self.code, source.ENTRY_OPERANDS
        for name, length in (
            ("operand", len(code.operands)),
            ("word", len(code.words)),
            ("constant", len(code.constants)),
            ("coordinate", self.region.rank),
            ("register", code.registers),
        ):
            if kind == name:
                return first + number
            first += length
        raise AssertionError(kind)
