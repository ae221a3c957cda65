"""Where each block of a compiled plan lies in its arena: blocks whose lives do not meet share memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping

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


def assign_clusters(
    sizes: Mapping[str, int], lives: Mapping[str, tuple[int, int]], clusters: Collection[tuple[str, ...]]
) -> tuple[dict[str, int], int]:
    """The same, but the blocks of each cluster follow each other without a gap and live as long as any of them."""
    inside = {root for cluster in clusters for root in cluster}
    all_sizes = {root: size for root, size in sizes.items() if root not in inside}
    all_lives = {root: lives[root] for root in all_sizes}
    for cluster in clusters:
        all_sizes[cluster[0]] = sum(sizes[root] for root in cluster)
        firsts, lasts = zip(*(lives[root] for root in cluster), strict=True)
        all_lives[cluster[0]] = (min(firsts), max(lasts))
    offsets, total = assign(all_sizes, all_lives)
    for cluster in clusters:
        offset = offsets[cluster[0]]
        for root in cluster:
            offsets[root] = offset
            offset += sizes[root]
    return offsets, total
