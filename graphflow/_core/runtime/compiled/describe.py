"""A compiled plan as text: what runs in which order, what was fused, what stays on NumPy and why, and where results
lie in the arena.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphflow._core.runtime.compiled.build import CompiledPlan
from graphflow._core.runtime.profiling.pieces import pieces


def describe(compiled: CompiledPlan) -> str:
    """One line a group: its kind, index space, operations, and the blocks of the arena it fills, as name@offset."""
    return "\n".join(_lines(compiled))


def _lines(compiled: CompiledPlan) -> Iterator[str]:
    for piece in pieces(compiled):
        line = f"{piece.label}: {piece.operations}"
        if piece.blocks:
            line += f" -> {', '.join(f'{root}@{offset}' for root, (offset, _) in piece.blocks.items())}"
        if piece.variables:
            line += f" writes {', '.join(piece.variables)}"
        if piece.stand_in:
            line += f" ({piece.stand_in} until its own kernel is there)"
        if piece.reason:
            line += f" ({piece.reason})"
        yield line
    yield f"arena of {compiled.arena_bytes} bytes"
