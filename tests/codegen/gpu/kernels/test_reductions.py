"""Protects how reductions are cut on a GPU: every element is in one stretch, large ones keep all blocks at work, and
neighbouring threads read neighbouring elements whichever axis is reduced.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from graphflow._core.codegen.cpu.regions.region import Region, RegionInput, RegionOutput

pytestmark = pytest.mark.device
THREADS = 256
BUSY = 8 * 132
"""Blocks that fit on the largest GPUs at once."""


def layout(shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    from graphflow._core.codegen.gpu.kernels.reductions import reduction_layout

    rank = len(shape)
    region = Region(
        rank,
        (RegionInput("x", "float32", (True,) * rank),),
        (),
        (RegionOutput("x", "float32", "sum", axes),),
    )
    return reduction_layout(region, shape, THREADS)


SHAPES = [
    (1,),
    (33,),
    (1 << 26,),
    (65536, 1024),
    (1024, 65536),
    (1 << 22, 16),
    (16, 1 << 22),
    (1 << 24, 4),
    (3, 5, 7),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_element_is_in_one_stretch(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        cut = layout(shape, (axis,))
        assert cut.count * cut.cells == math.prod(shape)
        assert (cut.stretches - 1) * cut.stretch < cut.count <= cut.stretches * cut.stretch
        assert cut.stretch % 4 == 0
        assert THREADS % cut.each == 0
        assert cut.blocks * (THREADS // cut.each) >= cut.cells


@pytest.mark.parametrize("shape", [s for s in SHAPES if math.prod(s) == 1 << 26])
def test_large_ones_keep_every_block_busy(shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        cut = layout(shape, (axis,))
        assert cut.blocks * cut.stretches >= BUSY
        used = min(cut.cells, THREADS // cut.each) * cut.each
        assert used >= THREADS // 2, f"{used} of the threads of a block have work"


def test_threads_of_a_warp_read_neighbouring_elements() -> None:
    assert layout((4096, 1024), (1,)).each >= 32 // 4  # By fours, 128 bytes of a row and more.
    for columns in (4, 16, 32, 1000):
        side_by_side = THREADS // layout((1 << 20, columns), (0,)).each
        assert side_by_side >= min(columns, 32)
