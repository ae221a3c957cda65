"""Where each block of a compiled plan lies in its arena: blocks whose lives do not meet share memory."""

from __future__ import annotations

from collections.abc import Mapping

_ALIGNMENT = 64


def assign(sizes: Mapping[str, int], lives: Mapping[str, tuple[int, int]]) -> tuple[dict[str, int], int]:
    """The offset of each block, and the bytes in all. `lives` are the first and last position at which one is used.

    Large blocks are placed first, each at the lowest offset that is free during its life.
    """
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[str, int] = {}
    total = 0
    for root in sorted(sizes, key=lambda r: (-sizes[r], lives[r], r)):
        size = -(-max(1, sizes[root]) // _ALIGNMENT) * _ALIGNMENT
        first, last = lives[root]
        offset = 0
        for start, end, low, high in sorted(placed):
            if high >= first and low <= last and start < offset + size and end > offset:
                offset = end
        placed.append((offset, offset + size, first, last))
        offsets[root] = offset
        total = max(total, offset + size)
    return offsets, total
