"""Protects the layout of memory and the bookkeeping of parts: live blocks never overlap, boxes apart are apart."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphflow._core.compiler.memory import assign, assign_clusters
from graphflow._core.compiler.values import Value, boxes_apart, row_major

_LIVES = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(lambda t: (min(t), max(t)))
_BLOCKS = st.lists(st.tuples(st.integers(0, 300), _LIVES), min_size=1, max_size=25)


def _no_overlap(
    sizes: dict[str, int], lives: dict[str, tuple[int, int]], offsets: dict[str, int], total: int
) -> None:
    for root, offset in offsets.items():
        assert offset >= 0 and offset + sizes[root] <= total
    for one, other in itertools.combinations(sizes, 2):
        together = lives[one][0] <= lives[other][1] and lives[other][0] <= lives[one][1]
        apart = offsets[one] + sizes[one] <= offsets[other] or offsets[other] + sizes[other] <= offsets[one]
        assert apart or not together or not sizes[one] or not sizes[other]


@given(_BLOCKS)
def test_blocks_that_live_together_do_not_overlap(blocks: list[tuple[int, tuple[int, int]]]) -> None:
    sizes = {f"b{k}": size for k, (size, _) in enumerate(blocks)}
    lives = {f"b{k}": life for k, (_, life) in enumerate(blocks)}
    offsets, total = assign(sizes, lives)
    _no_overlap(sizes, lives, offsets, total)
    assert all(offset % 64 == 0 for offset in offsets.values())


@given(_BLOCKS, st.integers(1, 5))
def test_clusters_follow_each_other_and_overlap_nothing(
    blocks: list[tuple[int, tuple[int, int]]], length: int
) -> None:
    sizes = {f"b{k}": size for k, (size, _) in enumerate(blocks)}
    lives = {f"b{k}": life for k, (_, life) in enumerate(blocks)}
    cluster = tuple(sizes)[: min(length, len(sizes))]
    offsets, total = assign_clusters(sizes, lives, {cluster})
    for one, following in itertools.pairwise(cluster):
        assert offsets[following] == offsets[one] + sizes[one]
    whole = (min(lives[r][0] for r in cluster), max(lives[r][1] for r in cluster))
    _no_overlap(sizes, {**lives, **dict.fromkeys(cluster, whole)}, offsets, total)


_SLICES = st.tuples(st.integers(0, 5), st.integers(1, 5))


@given(st.lists(st.tuples(_SLICES, _SLICES), min_size=1, max_size=3))
def test_boxes_that_are_apart_have_no_element_in_common(
    axes: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    shape = tuple(max(a + n, b + m) for (a, n), (b, m) in axes)
    strides = row_major(shape)
    places = np.arange(int(np.prod(shape))).reshape(shape)
    values, elements = [], []
    for box in ([first for first, _ in axes], [second for _, second in axes]):
        offset = sum(start * stride for (start, _), stride in zip(box, strides, strict=True))
        values.append(Value("r", "float32", tuple(size for _, size in box), strides, offset))
        elements.append(
            set(places[tuple(slice(start, start + size) for start, size in box)].ravel().tolist())
        )
    assert boxes_apart(*values) == (not elements[0] & elements[1])
