"""A compiled plan as text: what runs in which order, what was fused, and where results lie in the arena."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.nodes import KernelNode, PythonNode, Statements
from graphflow._core.runtime.compiled.build import CompiledPlan


def describe(compiled: CompiledPlan) -> str:
    """One line a group: its kind, index space, operations, and the blocks of the arena it fills, as name@offset."""
    return "\n".join(_lines(compiled))


def _lines(compiled: CompiledPlan) -> Iterator[str]:
    offsets = compiled.offsets
    native = {name for name, native in compiled.job.array_loops.items() if native}
    for number, group in enumerate(compiled.groups):
        operations = ", ".join(dict.fromkeys(node.instruction.name for node in group.nodes))
        roots = dict.fromkeys(root for node in group.nodes for root in node.makes if root in offsets)
        blocks = ", ".join(f"{root}@{offsets[root]}" for root in roots)
        written = ", ".join(dict.fromkeys(root for node in group.nodes for root in node.variables))
        line = f"{_kind(group, native)}: {operations}"
        if blocks:
            line += f" -> {blocks}"
        if written:
            line += f" writes {written}"
        if number in compiled.interpreted:
            kind = "on the array machine" if number in compiled.job.regions else "by a kernel of any sizes"
            line += f" ({kind} until its own kernel is there)"
        yield line
    yield f"arena of {compiled.arena_bytes} bytes"


def _kind(group: Group, native: Collection[str]) -> str:
    first = group.nodes[0]
    if isinstance(first, PythonNode) and first.instruction.name in native:
        return "loop"
    if isinstance(first, PythonNode):
        return f"numpy {first.instruction.type}"
    if isinstance(first, KernelNode):
        return f"kernel {first.instruction.type}"
    assert isinstance(first, Statements)
    if group.scalar:
        return "scalars"
    return f"fused over {'x'.join(map(str, first.space))}"
