"""Source text of the kernel of a fused region, and the program steps that run it.

The text is one flat loop nest: no callees but intrinsics, sizes and strides from the argument words.
Reductions over the last axis take runs of a fixed number of elements; within a run, floating-point numbers are added
in the order of llvm/reduction_intrinsics.py: the loop takes as many elements at a time as there are lanes, so that
LLVM makes vectors of them, and keeps the lanes in registers; runs, rows and blocks are then added in order. So
rounding errors grow like a pairwise sum's, and the bits depend on sizes alone: the array machine's are the same.

Argument words: status address, block length, scratch address, sizes; then for each input and each output its
address and a stride in elements for each axis (for a mean, the first stride word holds the divisor as a
float64 instead). A call with begin = -1 combines the blocks' partial results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.codegen.cpu.regions.region import (
    SCRATCH_ALIGNMENT,
    Region,
    RegionOutput,
    axis_name,
    contiguous_strides,
    divisor_word,
    item_size,
    layout,
)
from graphflow._core.codegen.cpu.regions.scalar_source import translate, variable
from graphflow._core.codegen.cpu.regions.scalar_text import FLOATS

ERROR_DIVISION_BY_ZERO = 1
RUN = 4096
LANES = 32
"""Of a run: as many as reduction_intrinsics.py has."""
_LANES_SCOPE = 21
_HEADER_WORDS = 3
COMBINE = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "max", "min": "min"}
_LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}


def _memory_type(dtype: str) -> str:
    return "uint8" if dtype == "bool" else dtype


def initial_value(output: RegionOutput) -> int | float:
    """What a reduction of nothing is."""
    operation = COMBINE[output.reduction or ""]
    if operation in ("sum", "prod"):
        return 0 if operation == "sum" else 1
    lowest = operation == "max"
    if output.dtype in FLOATS:
        return -math.inf if lowest else math.inf
    if output.dtype in _LIMITS:
        bound = 1 << _LIMITS[output.dtype]
        return -bound if lowest else bound - 1
    return 0 if lowest else 1 if output.dtype == "bool" else (1 << 8 * item_size(output.dtype)) - 1


def _initial(output: RegionOutput) -> str:
    kind, value = _memory_type(output.dtype), initial_value(output)
    if not math.isfinite(value):
        return f"{kind}(float('{value}'))"
    return f"to_{kind}({int(value)})" if kind in _LIMITS else f"{kind}({int(value)})"


def in_order(output: RegionOutput) -> bool:
    """Whether the order in which a reduction takes its elements shows in its bits."""
    return output.dtype in FLOATS and COMBINE.get(output.reduction or "") in ("sum", "prod")


def _combined(output: RegionOutput, total: str, value: str) -> str:
    """The step of a reduction outside of a run, which nothing may reorder."""
    operation = COMBINE[output.reduction or ""]
    if in_order(output):
        return f"{total} {'+' if operation == 'sum' else '*'} {value}"
    return f"accumulate_{operation}({total}, {value})"


class _Writer:
    """Collects the lines of one kernel."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.lines = ["@kernel_function", "def kernel(args, begin, end):"]
        self.depth = 1
        self.prefix = region.unit_axes if region.reductions else region.rank - 1
        self.blocks = bool(region.reductions) and self.prefix == 0
        self.ordered = [k for k in self.along() if in_order(region.outputs[k])]
        self.direct = [k for k in region.reductions if region.kept_prefix(k) > 0 or not self.blocks]

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def along(self) -> list[int]:
        """The reductions over the last axis."""
        region = self.region
        return [k for k in region.reductions if region.rank - 1 in region.outputs[k].axes]

    # -- names ---------------------------------------------------------------------------------------------------

    def input_scope(self, index: int) -> int:
        return next((k + 1 for k, output in enumerate(self.region.outputs) if output.in_place == index), 0)

    def kept(self, output: int, level: int) -> list[int]:
        """Axes from `level` on that a reduction keeps."""
        return [
            axis for axis in range(level, self.region.rank) if axis not in self.region.outputs[output].axes
        ]

    def level_of(self, output: int) -> int:
        return self.region.kept_prefix(output)

    def is_scalar(self, output: int) -> bool:
        """Whether a reduction's accumulator within its level is a single value."""
        return not self.kept(output, self.level_of(output))

    # -- the parts of a kernel -----------------------------------------------------------------------------------

    def header(self) -> None:
        region, rank = self.region, self.region.rank
        self.line("block = args[1]")
        for axis in range(rank):
            self.line(f"n{axis} = args[{_HEADER_WORDS + axis}]")
        word = _HEADER_WORDS + rank
        for index, operand in enumerate(region.inputs):
            self.line(f"p{index} = pointer_{_memory_type(operand.dtype)}(args[{word}])")
            for axis in range(rank):
                if operand.varies[axis] and (axis < rank - 1 or operand.strided):
                    self.line(f"s{index}_{axis} = args[{word + 1 + axis}]")
            word += 1 + rank
        for index, output in enumerate(region.outputs):
            if output.in_place is None:
                self.line(f"q{index} = pointer_{_memory_type(output.dtype)}(args[{word}])")
            if output.reduction is None and output.in_place is None:
                for axis in range(rank):
                    if axis < rank - 1 or output.strided:
                        self.line(f"t{index}_{axis} = args[{word + 1 + axis}]")
            if output.reduction == "mean":
                self.line(f"divisor{index} = to_{output.dtype}(bits_float64(args[{word + 1}]))")
            word += 1 + rank
        for index in region.reductions:
            sizes = [f"n{axis}" for axis in self.kept(index, self.level_of(index))]
            self.line(f"cells{index} = {' * '.join(sizes) or '1'}")
        if self.blocks:
            self.line("units = (n0 + block - 1) // block")
            self.line("if units < 1:")
            self.line("    units = 1")
            self.line(
                f"scratch = (args[2] + {SCRATCH_ALIGNMENT - 1}) // {SCRATCH_ALIGNMENT} * {SCRATCH_ALIGNMENT}"
            )
            for index in region.reductions:
                if index not in self.direct:
                    output = region.outputs[index]
                    kind = _memory_type(output.dtype)
                    self.line(f"partial{index} = pointer_{kind}(scratch)")
                    self.line(f"row_bytes = (cells{index} * {item_size(kind)} + {SCRATCH_ALIGNMENT - 1})")
                    self.line(f"row_bytes = row_bytes // {SCRATCH_ALIGNMENT} * {SCRATCH_ALIGNMENT}")
                    self.line(f"pitch{index} = row_bytes // {item_size(kind)}")
                    self.line("scratch += units * row_bytes")
        if self.ordered:
            for index in self.along():
                kind = _memory_type(region.outputs[index].dtype)
                self.line(f"lanes{index} = stack_{kind}({LANES})")
        self.line("bad = int64(0)")

    def finish(self) -> None:
        self.line("if begin < 0:")
        self.depth += 1
        for index in self.region.reductions:
            if index in self.direct:
                continue
            output, scope = self.region.outputs[index], index + 1
            if self.is_scalar(index):
                self.line(f"total{index} = load(partial{index}, 0, 0)")
                self.line("for u in range(1, units):")
                value = _combined(output, f"total{index}", f"load(partial{index}, u * pitch{index}, 0)")
                self.line(f"    total{index} = {value}")
                self.line(f"store(q{index}, 0, {self.mean(index, f'total{index}')}, {scope})")
                continue
            cell = f"load(q{index}, c, {scope})"
            self.line(f"for c in range(cells{index}):")
            self.line(f"    store(q{index}, c, load(partial{index}, c, 0), {scope})")
            self.line("for u in range(1, units):")
            self.line(f"    for c in range(cells{index}):")
            value = _combined(output, cell, f"load(partial{index}, u * pitch{index} + c, 0)")
            self.line(f"        store(q{index}, c, {value}, {scope})")
            if output.reduction == "mean":
                self.line(f"for c in range(cells{index}):")
                self.line(f"    store(q{index}, c, {self.mean(index, cell)}, {scope})")
        self.line("return")
        self.depth -= 1

    def mean(self, index: int, value: str) -> str:
        return f"{value} / divisor{index}" if self.region.outputs[index].reduction == "mean" else value

    def body(self) -> None:
        rank = self.region.rank
        if not self.region.reductions and rank == 1:
            self.offsets_before()
            self.inner("begin", "end")
            return
        self.line("for unit in range(begin, end):")
        self.depth += 1
        self.offsets_before()
        for index in self.region.reductions:
            self.line(f"kept{index} = int64(0)")
        if self.blocks:
            self.line("low = unit * block")
            self.line("high = low + block")
            self.line("if high > n0:")
            self.line("    high = n0")
            self.level(0)
        else:
            self.line("rest = unit")
            for axis in reversed(range(1, self.prefix)):
                self.line(f"i{axis} = rest % n{axis}")
                self.line(f"rest = rest // n{axis}")
            self.line("i0 = rest")
            for axis in range(self.prefix):
                self.enter_axis(axis)
            self.level(self.prefix)
        self.depth -= 1

    def offsets_before(self) -> None:
        for index in range(len(self.region.inputs)):
            self.line(f"a{index} = int64(0)")
        for index, output in enumerate(self.region.outputs):
            if output.reduction is None and output.in_place is None:
                self.line(f"o{index} = int64(0)")

    def enter_axis(self, axis: int) -> None:
        """Advance the operands' offsets (kept in variables of this level) by the coordinate of `axis`."""
        region = self.region
        old, new = ("" if axis == 0 else f"_{axis - 1}"), f"_{axis}"
        for index, operand in enumerate(region.inputs):
            step = f" + i{axis} * s{index}_{axis}" if operand.varies[axis] else ""
            self.line(f"a{index}{new} = a{index}{old}{step}")
        for index, output in enumerate(region.outputs):
            if output.reduction is None and output.in_place is None:
                self.line(f"o{index}{new} = o{index}{old} + i{axis} * t{index}_{axis}")
            elif output.reduction is not None:
                step = (
                    f"kept{index}{old} * n{axis} + i{axis}"
                    if axis not in output.axes
                    else f"kept{index}{old}"
                )
                self.line(f"kept{index}{new} = {step}")

    def level(self, axis: int) -> None:
        """The loops from `axis` on, with the reductions that begin here."""
        region = self.region
        here = [k for k in region.reductions if self.level_of(k) == axis]
        old = "" if axis == 0 else f"_{axis - 1}"
        for index in here:
            self.start_reduction(index, old)
        if axis == region.rank - 1:
            self.inner(
                "low" if self.blocks and axis == 0 else "0",
                "high" if self.blocks and axis == 0 else f"n{axis}",
            )
        else:
            bounds = "low, high" if self.blocks and axis == 0 else f"0, n{axis}"
            self.line(f"for i{axis} in range({bounds}):")
            self.depth += 1
            self.enter_axis(axis)
            self.level(axis + 1)
            self.depth -= 1
        for index in here:
            self.end_reduction(index, old)

    def start_reduction(self, index: int, old: str) -> None:
        output = self.region.outputs[index]
        if self.is_scalar(index):
            self.line(f"total{index} = {_initial(output)}")
            return
        if index in self.direct:
            self.line(f"r{index} = q{index}")
            self.line(f"first{index} = kept{index}{old} * cells{index}")
        else:
            self.line(f"r{index} = partial{index}")
            self.line(f"first{index} = unit * pitch{index}")
        self.line(f"for c in range(cells{index}):")
        self.line(f"    store(r{index}, first{index} + c, {_initial(output)}, {index + 1})")

    def end_reduction(self, index: int, old: str) -> None:
        output = self.region.outputs[index]
        if self.is_scalar(index):
            if index in self.direct:
                self.line(
                    f"store(q{index}, kept{index}{old}, {self.mean(index, f'total{index}')}, {index + 1})"
                )
            else:
                self.line(f"store(partial{index}, unit * pitch{index}, total{index}, {index + 1})")
        elif index in self.direct and output.reduction == "mean":
            self.line(f"for c in range(cells{index}):")
            value = self.mean(index, f"load(q{index}, first{index} + c, {index + 1})")
            self.line(f"    store(q{index}, first{index} + c, {value}, {index + 1})")

    def cell_offset(self, index: int) -> str:
        """Offset of the accumulator cell of the current row, without the last axis's coordinate."""
        start, rank = self.level_of(index), self.region.rank
        offset = "0"
        for axis in self.kept(index, start):
            offset = f"({offset}) * n{axis}" + (f" + i{axis}" if axis < rank - 1 else "")
        return f"first{index} + {offset}"

    def inner(self, low: str, high: str) -> None:
        """The loop over the last axis."""
        region, rank = self.region, self.region.rank
        last, old = rank - 1, "" if rank == 1 else f"_{rank - 2}"
        for index, operand in enumerate(region.inputs):
            if not operand.varies[last]:
                self.line(f"{variable(operand.name)} = {self.fetch(index, f'a{index}{old}')}")
        along = self.along()
        across = [k for k in region.reductions if last not in region.outputs[k].axes]
        for index in region.reductions:
            if not self.is_scalar(index):
                self.line(f"row{index} = {self.cell_offset(index)}")
        if along:
            for index in along:
                self.line(f"line{index} = {_initial(region.outputs[index])}")
            self.line(f"for run in range({low}, {high}, {RUN}):")
            self.depth += 1
            self.line(f"run_end = run + {RUN}")
            self.line(f"if run_end > {high}:")
            self.line(f"    run_end = {high}")
            for index in along:
                self.line(f"part{index} = {_initial(region.outputs[index])}")
            low, high = "run", "run_end"
        if self.ordered:
            self.lanes_of_run(old, along, across)
        else:
            self.line(f"for j in range({low}, {high}):")
            self.depth += 1
            self.statements(old, along, across)
            self.depth -= 1
        if along:
            for index in along:
                output = region.outputs[index]
                self.line(f"line{index} = {_combined(output, f'line{index}', f'part{index}')}")
            self.depth -= 1
        for index in along:
            output = region.outputs[index]
            if self.is_scalar(index):
                self.line(f"total{index} = {_combined(output, f'total{index}', f'line{index}')}")
            else:
                value = _combined(output, f"load(r{index}, row{index}, {index + 1})", f"line{index}")
                self.line(f"store(r{index}, row{index}, {value}, {index + 1})")

    def lanes_of_run(self, old: str, along: list[int], across: list[int]) -> None:
        """The elements of a run: groups of them to the lanes, which LLVM keeps in registers; the rest to the tail.

        A reduction whose order does not count is done by lanes as well, since its result would be folded a group
        otherwise.
        """
        self.line(f"whole = run + (run_end - run) // {LANES} * {LANES}")
        self.line("if whole > run:")
        self.depth += 1
        for index in along:
            self.line(f"lanes_start(lanes{index}, {_initial(self.region.outputs[index])})")
        self.line(f"for group in range(run, whole, {LANES}):")
        self.line(f"    for lane in range({LANES}):")
        self.depth += 2
        self.line("j = group + lane")
        self.statements(old, along, across, lanes=True)
        self.depth -= 3
        for index in self.ordered:
            self.line(f"tail{index} = {_initial(self.region.outputs[index])}")
        self.line("for j in range(whole, run_end):")
        self.depth += 1
        self.statements(old, along, across)
        self.depth -= 1
        self.line("if whole > run:")
        for index in along:
            output = self.region.outputs[index]
            operation, lane = COMBINE[output.reduction or ""], f"load(lanes{index}, lane, {_LANES_SCOPE})"
            if index in self.ordered:
                self.line(f"    part{index} = fold_{operation}(lanes{index}, tail{index})")
            else:
                self.line(f"    for lane in range({LANES}):")
                self.line(f"        part{index} = {_combined(output, f'part{index}', lane)}")
        self.line("else:")
        for index in self.ordered:
            output = self.region.outputs[index]
            self.line(f"    part{index} = {_combined(output, f'part{index}', f'tail{index}')}")

    def fetch(self, index: int, position: str) -> str:
        value = f"load(p{index}, {position}, {self.input_scope(index)})"
        return f"({value} != uint8(0))" if self.region.inputs[index].dtype == "bool" else value

    def step_of(self, index: int) -> str:
        """From the start of an input's row to its element `j`."""
        operand = self.region.inputs[index]
        if operand.backwards:
            return "(-j)"
        return f"j * s{index}_{self.region.rank - 1}" if operand.strided else "j"

    def statements(self, old: str, along: list[int], across: list[int], lanes: bool = False) -> None:
        region, last = self.region, self.region.rank - 1
        for index, operand in enumerate(region.inputs):
            if operand.varies[last]:
                step = self.step_of(index)
                self.line(f"{variable(operand.name)} = {self.fetch(index, f'a{index}{old} + {step}')}")
        names = {operand.name: operand.dtype for operand in region.inputs}
        for axis in range(region.rank):
            name = axis_name(axis)
            if name not in names and any(name in statement.text for statement in region.statements):
                self.line(f"{variable(name)} = {'j' if axis == last else f'i{axis}'}")
                names[name] = "int64"
        for number, statement in enumerate(region.statements):
            translation = translate(statement.text, statement.dtype, names, f"e{number}_")
            for line in translation.lines:
                self.line(line)
            self.line(f"{variable(statement.target)} = {translation.value}")
            names[statement.target] = statement.dtype
        for index, output in enumerate(region.outputs):
            value = variable(output.source)
            value = f"to_uint8({value})" if output.dtype == "bool" else value
            if lanes and index in along:
                added = _combined(output, f"load(lanes{index}, lane, {_LANES_SCOPE})", value)
                self.line(f"store(lanes{index}, lane, {added}, {_LANES_SCOPE})")
            elif index in self.ordered:
                self.line(f"tail{index} = {_combined(output, f'tail{index}', value)}")
            elif index in along:
                self.line(f"part{index} = accumulate_{COMBINE[output.reduction or '']}(part{index}, {value})")
            elif index in across:
                cell = f"load(r{index}, row{index} + j, {index + 1})"
                value = _combined(output, cell, value)
                self.line(f"store(r{index}, row{index} + j, {value}, {index + 1})")
            elif output.in_place is not None:
                place = f"a{output.in_place}{old} + {self.step_of(output.in_place)}"
                self.line(f"store(p{output.in_place}, {place}, {value}, {index + 1})")
            else:
                step = f"j * t{index}_{last}" if output.strided else "j"
                self.line(f"store(q{index}, o{index}{old} + {step}, {value}, {index + 1})")

    def text(self) -> str:
        self.header()
        if self.blocks:
            self.finish()
        self.body()
        self.line("if bad != 0:")
        self.line(f"    store(pointer_int64(args[0]), 0, {ERROR_DIVISION_BY_ZERO}, 23)")
        return "\n".join(self.lines) + "\n"


@lru_cache(maxsize=4096)
def region_source(region: Region) -> str:
    """Source of the region's kernel; ScalarTextError when a statement is outside the language."""
    return _Writer(region).text()


def region_steps(
    region: Region,
    kernel: int,
    sizes: Sequence[int],
    inputs: Sequence[tuple[int, Sequence[int]]],
    outputs: Sequence[tuple[int, Sequence[int] | None]],
    status: int,
    scratch: int = 0,
) -> list[Step]:
    """Program steps that run a region's kernel (at address `kernel`) over `sizes`.

    `inputs` and `outputs` are (address, strides in elements) in the region's order; strides None stands for a
    contiguous output, and a reduction's are not read. An integer division by zero writes
    ERROR_DIVISION_BY_ZERO to the word at `status`. `scratch` is the address of layout(region, sizes).scratch
    bytes. Outputs overlap neither each other nor an input, except as `in_place` says.
    """
    plan = layout(region, sizes)
    words = [status, plan.block, scratch, *sizes]
    for address, input_strides in inputs:
        words += [address, *input_strides]
    for index, (address, strides) in enumerate(outputs):
        if region.outputs[index].reduction is None:
            full = contiguous_strides(sizes, [True] * len(sizes)) if strides is None else strides
            words += [address, *full]
        else:
            count = math.prod([sizes[axis] for axis in region.outputs[index].axes])
            words += [address, divisor_word(count), *[0] * (region.rank - 1)]
    steps = [Step(kernel, words, 0, plan.units, plan.grain)] if plan.units else []
    if plan.finish:
        steps.append(Step(kernel, words, -1, 0))
    return steps
