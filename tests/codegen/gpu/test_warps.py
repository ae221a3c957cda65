"""Protects how the threads of a block combine what they found: every thread of a group gets the group's result, with
the same bits each time, whatever the size of the group and the dtype.

In the simulator the shuffles are exchanges, between warps of two threads; on a GPU they are shuffles, of warps of 32.
"""

from __future__ import annotations

import numpy as np
import pytest

from graphflow._core.codegen.gpu.warps import Found, combined

pytestmark = pytest.mark.device
DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16")
ON_GPU = [pytest.param(256, group, marks=pytest.mark.gpu) for group in (1, 2, 16, 32, 64, 128, 256)]


def results(dtype: str, threads: int, group: int, x: np.ndarray, combination: str) -> np.ndarray:
    """What each thread of a block ends with that begins with an element of x."""
    from graphflow._core.codegen.gpu.toolkit import Launch, device

    found = Found("mine", "other", dtype)
    lines = [found.shared, "thread = cuda.threadIdx.x", "mine = x[thread]"]
    lines += [*combined([found], [combination], "group"), "y[thread] = mine"]
    source = "\n".join(["def kernel(group, x, y):", *(f"    {line}" for line in lines), ""])
    gpu = device(0)
    y = np.empty_like(x)
    with gpu.current():
        blocks = [gpu.allocate(threads, dtype) for _ in range(2)]
        gpu.upload(blocks[0], x)
        gpu.launch(Launch(source, 1, threads, (group, *blocks)))
        gpu.download(blocks[1], y)
        gpu.wait()
    return y


@pytest.mark.parametrize("threads, group", [(8, 1), (8, 2), (8, 4), (8, 8), *ON_GPU])
def test_every_thread_of_a_group_has_its_sum(threads: int, group: int) -> None:
    rng = np.random.default_rng(group)
    for dtype in DTYPES:
        x = rng.integers(0, 100 // min(threads, 100), threads).astype(dtype)
        sums = results(dtype, threads, group, x, f"mine = {dtype}(mine + other)")
        np.testing.assert_array_equal(sums, x.reshape(-1, group).sum(1, dtype=dtype).repeat(group), dtype)


@pytest.mark.parametrize("threads, group", [(8, 8), *ON_GPU])
def test_the_bits_are_the_same_every_time_and_in_every_thread(threads: int, group: int) -> None:
    x = np.random.default_rng(0).normal(size=threads).astype("f")
    first = results("float32", threads, group, x, "mine = mine + other")
    again = results("float32", threads, group, x, "mine = mine + other")
    assert first.tobytes() == again.tobytes()
    assert np.unique(first).size == threads // group


@pytest.mark.parametrize("threads, group", [(8, 4), *ON_GPU])
def test_the_largest_of_a_group(threads: int, group: int) -> None:
    x = np.random.default_rng(1).normal(size=threads).astype("f")
    found = results("float32", threads, group, x, "mine = other if other > mine else mine")
    np.testing.assert_array_equal(found, x.reshape(-1, group).max(1).repeat(group))
