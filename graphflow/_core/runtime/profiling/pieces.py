"""What a compiled plan does, piece by piece, as data: `Session.explain` writes it as text, a profile as a table.

A piece is a group: fused statements, a kernel, a loop, or an instruction that stays with NumPy, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.cpu.why_numpy import why_on_numpy
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.nodes import KernelNode, NestedNode, Node, PythonNode, Statements
from graphflow._core.plan.ir import Instruction
from graphflow._core.runtime.compiled.build import CompiledPlan

NUMPY, FUSED, KERNEL, LOOP, SCALARS = "numpy", "fused", "kernel", "loop", "scalars"


@dataclass(frozen=True)
class Piece:
    """A group of a compiled plan.

    kind: "fused" over an index space, "kernel", "scalars", "loop", or "numpy". space: the index space of a fused one.
    instructions: what it computes, in order, each once. blocks: the offset in the arena, and the bytes, of each block
    that it fills. variables: those that it writes. read, written: the bytes of memory that it takes and gives, each
    block once; without what NumPy holds as objects. stand_in: what runs it until its own kernel is there, or "".
    reason: why it stays on NumPy, or "".
    """

    kind: str
    space: tuple[int, ...]
    instructions: Sequence[Instruction]
    blocks: Mapping[str, tuple[int, int]]
    variables: Sequence[str]
    read: int
    written: int
    stand_in: str = ""
    reason: str = ""

    @property
    def label(self) -> str:
        """What it is, without its operations: "fused over 128x256", "kernel MatMul", "numpy Unique"."""
        if self.kind == FUSED:
            return f"fused over {'x'.join(map(str, self.space))}"
        return f"{self.kind} {self.instructions[0].type}" if self.kind in (KERNEL, NUMPY) else self.kind

    @property
    def operations(self) -> str:
        """The names of its operations, with commas between."""
        return ", ".join(i.name for i in self.instructions)

    @property
    def op(self) -> str:
        """Its op types in order, joined by +, a repeated one with how often it is there: "Mul+AddV2*2"."""
        counts: dict[str, int] = {}
        for i in self.instructions:
            counts[i.type] = counts.get(i.type, 0) + 1
        return "+".join(f"{kind}*{n}" if n > 1 else kind for kind, n in counts.items())


def pieces(compiled: CompiledPlan) -> list[Piece]:
    """The pieces of a compiled plan, in the order in which they run."""
    native = {name for name, native in compiled.job.array_loops.items() if native}
    return [_piece(compiled, number, group, native) for number, group in enumerate(compiled.groups)]


def _piece(compiled: CompiledPlan, number: int, group: Group, native: Collection[str]) -> Piece:
    job, offsets = compiled.job, compiled.offsets
    kind = _kind(group, native)
    first = group.nodes[0]
    stand_in = ""
    if number in compiled.interpreted:
        stand_in = "on the array machine" if number in job.regions else "by a kernel of any sizes"
    blocks = {
        root: (offsets[root], int(job.lowering.blocks.get(root, 0)))
        for node in group.nodes
        for root in node.makes
        if root in offsets
    }
    return Piece(
        kind,
        tuple(group.space or ()) if kind == FUSED else (),
        list({node.instruction.name: node.instruction for node in group.nodes}.values()),
        blocks,
        list(dict.fromkeys(root for node in group.nodes for root in node.variables)),
        *_bytes(compiled, group.nodes),
        stand_in,
        why_on_numpy(first.instruction, job.lowering) if kind == NUMPY else "",
    )


def _bytes(compiled: CompiledPlan, nodes: Sequence[Node]) -> tuple[int, int]:
    """What nodes take from memory and what they leave there; results that stay inside a fused loop are neither."""
    job = compiled.job
    made = {root for node in nodes for root in node.makes}
    read: dict[str, int] = {}
    for node in nodes:
        for value in node.reads:
            if value.root not in made:
                distinct = math.prod(
                    n for n, stride in zip(value.shape, value.strides, strict=True) if stride != 0
                )
                size = int(distinct) * np.dtype(value.dtype).itemsize
                read[value.root] = max(read.get(value.root, 0), size)
    written = {root: int(job.lowering.blocks.get(root, 0)) for root in made if root in job.stored}
    for node in nodes:
        for root in node.variables:
            shape, dtype = job.lowering.known[root]
            written[root] = int(math.prod(shape)) * np.dtype(dtype).itemsize
    return sum(read.values()), sum(written.values())


def _kind(group: Group, native: Collection[str]) -> str:
    first = group.nodes[0]
    if isinstance(first, PythonNode):
        return LOOP if first.instruction.name in native else NUMPY
    if isinstance(first, NestedNode | KernelNode):
        return KERNEL
    assert isinstance(first, Statements)
    return SCALARS if group.scalar else FUSED
