"""Where blocks lie whose sizes may be others: what lies above what is fixed once, and each lies as low as that allows.

Two blocks that are used at the same time lie one above the other, in the order that the layout for some sizes has. This
holds for all sizes, so no layout is looked for again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

_ALIGNMENT = 64


class Stack:
    """The order of blocks above each other. `roots` are the blocks, in the order in which sizes are given."""

    def __init__(
        self,
        lives: Mapping[str, tuple[int, int]],
        offsets: Mapping[str, int],
        clusters: Collection[tuple[str, ...]],
    ) -> None:
        """lives: the first and last position at which each block is used. offsets: a layout of these blocks.

        clusters: blocks that follow each other without a gap.
        """
        self.roots = list(lives)
        place = {root: k for k, root in enumerate(self.roots)}
        leads = {root: cluster for cluster in clusters for root in cluster}
        heads = [root for root in self.roots if leads.get(root, (root,))[0] == root]
        self._members = [[place[root] for root in leads.get(head, (head,))] for head in heads]
        heads_order = sorted(range(len(heads)), key=lambda k: offsets[heads[k]])
        self._members = [self._members[k] for k in heads_order]
        first = np.array([min(lives[self.roots[m]][0] for m in members) for members in self._members])
        last = np.array([max(lives[self.roots[m]][1] for m in members) for members in self._members])
        self._below = _directly_below(first, last)

    def offsets(self, sizes: Sequence[int]) -> tuple[list[int], int]:
        """The offset of each block of given bytes, and the bytes in all."""
        offsets = [0] * len(self.roots)
        ends: list[int] = []
        for members, below in zip(self._members, self._below, strict=True):
            start = 0
            for other in below:
                if ends[other] > start:
                    start = ends[other]
            end = start
            for member in members:
                offsets[member] = end
                end += sizes[member]
            ends.append(start + (max(1, end - start) + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT)
        return offsets, max(ends, default=0)


def _directly_below(first: np.ndarray, last: np.ndarray) -> list[list[int]]:
    """For each of some blocks, lowest first, those on which it lies, without those on which these lie in turn."""
    count = len(first)
    meets = (first[:, None] <= last[None, :]) & (first[None, :] <= last[:, None])
    under = np.triu(meets, 1)
    counts = under.astype(np.float32)
    direct = under & ~(counts @ counts > 0)
    return [np.flatnonzero(direct[:, k]).tolist() for k in range(count)]
