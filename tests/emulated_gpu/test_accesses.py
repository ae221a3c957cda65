"""The emulated GPU tells each access that a real one would forgive, now and then, or answer with anything."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.emulated_gpu import emulation
from tests.emulated_gpu.calls import Driver, Refused, entry

OWN = "mul.wide.u32 %d1, %r10, 4; add.u64 %d1, %d10, %d1;"
"""%d1: the address of the thread's own element."""
NEXT = "add.u32 %r1, %r10, 1; and.b32 %r1, %r1, 31; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d10, %d2;"
"""%d2: that of the next of 32 threads."""
SHARED = """.shared .align 4 .b8 cells[128]; mov.u32 %r3, cells; shl.b32 %r4, %r10, 2; add.u32 %r5, %r3, %r4;
xor.b32 %r6, %r4, 4; add.u32 %r7, %r3, %r6;"""
"""%r5: the thread's own element of shared memory, %r7 its neighbour's."""

RACES = {
    "a read of what another thread writes": f"{OWN} {NEXT} st.global.u32 [%d1], 1; ld.global.u32 %r2, [%d2];",
    "a write of what another thread reads": f"{OWN} {NEXT} ld.global.u32 %r2, [%d2]; st.global.u32 [%d1], 1;",
    "writes of one element": "st.global.u32 [%d10], %r10;",
    "writes and an atomic addition": """setp.eq.u32 %p0, %r10, 0; @%p0 st.global.u32 [%d10], 1;
    @!%p0 red.global.add.u32 [%d10], 1;""",
    "a read in shared memory": f"{SHARED} st.shared.u32 [%r5], 1; ld.shared.u32 %r8, [%r7];",
    "a part of a wider element": """setp.eq.u32 %p0, %r10, 0; @%p0 st.global.u32 [%d10], 1;
    @!%p0 st.global.u8 [%d10+3], 1;""",
}
NO_RACES = {
    "own elements": f"{OWN} ld.global.u32 %r2, [%d1]; add.u32 %r2, %r2, 1; st.global.u32 [%d1], %r2;",
    "reads of one element": "ld.global.u32 %r2, [%d10];",
    "atomic additions": "red.global.add.u32 [%d10], 1;",
    "a read behind a barrier": f"{OWN} {NEXT} st.global.u32 [%d1], 1; bar.sync 0; ld.global.u32 %r2, [%d2];",
    "a write behind a barrier": f"{OWN} {NEXT} ld.global.u32 %r2, [%d2]; bar.sync 0; st.global.u32 [%d1], 1;",
    "shared memory behind a barrier": f"{SHARED} st.shared.u32 [%r5], 1; bar.sync 0; ld.shared.u32 %r8, [%r7];",
}


@pytest.mark.parametrize("order", ["late", "early", "3"])
@pytest.mark.parametrize("name", RACES)
def test_races_of_a_block_are_told(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str], name: str, order: str
) -> None:
    gpu = driver(EMULATED_GPU=order)
    gpu.run(RACES[name], [gpu.memory(np.zeros(32, "u4"))], threads=32)
    assert gpu.violations
    assert "since they last met" in capfd.readouterr().err


@pytest.mark.parametrize("order", ["late", "early", "3"])
@pytest.mark.parametrize("name", NO_RACES)
def test_what_is_no_race_is_not(driver: Callable[..., Driver], name: str, order: str) -> None:
    gpu = driver(EMULATED_GPU=order)
    gpu.run(NO_RACES[name], [gpu.memory(np.zeros(32, "u4"))], threads=32)
    assert not gpu.violations


def test_blocks_race_whatever_their_barriers(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    written = "setp.eq.u32 %p0, %r10, 0; @%p0 st.global.u32 [%d10], %r11; bar.sync 0;"
    target = gpu.memory(np.zeros(1, "u4"))
    gpu.run(written, [target], threads=32)
    assert not gpu.violations
    gpu.run(written, [target], blocks=2, threads=32)
    assert gpu.violations == 1


def test_a_block_writes_what_several_have_read(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    body = "ld.global.u32 %r1, [%d10]; setp.eq.u32 %p0, %r11, 2; @%p0 st.global.u32 [%d10], 1;"
    gpu.run(body, [gpu.memory(np.zeros(1, "u4"))], blocks=3)
    assert gpu.violations == 1


def test_launches_one_after_the_other_do_not_race(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    target = gpu.memory(np.zeros(1, "u4"))
    for _ in range(2):
        gpu.run("st.global.u32 [%d10], 1;", [target])
    assert not gpu.violations


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (
            "st.global.u32 [%d10+16], 1;",
            "ILLEGAL_ADDRESS",
            "writes 4 bytes at 0x[0-9a-f]+: no memory|the allocation",
        ),
        ("ld.global.v2.u32 {%r1, %r2}, [%d10+12];", "MISALIGNED_ADDRESS", "reads 8 bytes .* not aligned"),
        ("ld.global.u64 %d1, [%d10+4];", "MISALIGNED_ADDRESS", "reads 8 bytes .* not aligned"),
        ("ld.global.u32 %r1, [%d10+13];", "MISALIGNED_ADDRESS", "reads 4 bytes .* not aligned"),
        ("mov.u64 %d1, 4096; st.shared.u32 [%d1], 1;", "ILLEGAL_ADDRESS", "shared memory ends before"),
        ("mov.u64 %d1, 0; ld.global.u32 %r1, [%d1];", "ILLEGAL_ADDRESS", "no memory is there"),
        ("trap;", "LAUNCH_FAILED", "thread 0 traps"),
    ],
)
def test_a_forbidden_access_ends_the_kernel(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str], body: str, error: str, message: str
) -> None:
    gpu = driver()
    target = gpu.memory(np.zeros(4, "u4"))
    with pytest.raises(Refused, match=error):
        gpu.run(f"{body} st.global.u32 [%d10], 1;", [target])
    assert re.search(message, capfd.readouterr().err)
    with pytest.raises(Refused, match=error):  # A GPU does nothing more for the process.
        gpu.stream()


def test_memory_is_nan_until_it_is_written(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    fresh, target = int(gpu.made("cuMemAlloc", 4).value), gpu.memory(np.zeros(2, "f4"))
    cell = ".shared .align 4 .b8 cell[4]; mov.u32 %r1, cell; ld.shared.f32 %f1, [%r1];"
    gpu.run(
        f"ld.global.f32 %f0, [%d10]; {cell} st.global.f32 [%d11], %f0; st.global.f32 [%d11+4], %f1;",
        [fresh, target],
    )
    assert np.isnan(gpu.values(target, "f4", 2)).all()


def test_memory_that_was_given_back_is_not_there(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str]
) -> None:
    gpu = driver()
    target = gpu.memory(np.zeros(1, "u4"))
    gpu.call("cuMemFree", target)
    with pytest.raises(Refused, match="ILLEGAL_ADDRESS"):
        gpu.run("st.global.u32 [%d10], 1;", [target])
    assert "no memory is there" in capfd.readouterr().err
    with pytest.raises(Refused):
        driver().call("cuMemFree", target)


# ---- what threads do together ----------------------------------------------------------------------------------------


def test_a_barrier_that_some_threads_miss(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str]
) -> None:
    gpu = driver()
    with pytest.raises(Refused, match="LAUNCH_FAILED"):
        gpu.run("setp.lt.u32 %p0, %r10, 10; @%p0 bra over; bar.sync 0; over:", [0], threads=64)
    assert "54 threads are at a barrier, 0 at a shuffle, and 10 have ended" in capfd.readouterr().err


def test_a_shuffle_that_some_lanes_miss(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str]
) -> None:
    gpu = driver()
    shuffle = "shfl.sync.bfly.b32 %r1, %r10, 1, 31, -1;"
    with pytest.raises(Refused, match="LAUNCH_FAILED"):
        gpu.run(f"setp.lt.u32 %p0, %r10, 10; @%p0 bra over; {shuffle} over:", [0], threads=32)
    assert "22 at a shuffle, and 10 have ended" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("shuffle", "threads", "message"),
    [
        ("shfl.sync.bfly.b32 %r1, %r10, 1, 31, 0xffff;", 32, "some lanes alone, 0xffff"),
        ("shfl.sync.bfly.b32 %r1, %r10, 1, 15, -1;", 32, "some lanes alone"),
        ("and.b32 %r2, %r10, 1; shfl.sync.bfly.b32 %r1, %r10, %r2, 31, -1;", 32, "shuffle by 0 and 1"),
        ("shfl.sync.bfly.b32 %r1, %r10, 16, 31, -1;", 24, "takes from lane 24, which there is not"),
    ],
)
def test_shuffles_that_mean_nothing(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str], shuffle: str, threads: int, message: str
) -> None:
    gpu = driver()
    gpu.run(shuffle, [0], threads=threads)
    assert gpu.violations
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("order", ["late", "early", "3"])
def test_a_shuffle_exchanges_within_warps(driver: Callable[..., Driver], order: str) -> None:
    gpu = driver(EMULATED_GPU=order)
    target = gpu.memory(np.zeros(64, "u4"))
    gpu.run(
        f"{OWN} shfl.sync.bfly.b32 %r1|%p1, %r10, 16, 31, -1; st.global.u32 [%d1], %r1;", [target], threads=64
    )
    assert gpu.values(target, "u4", 64).tolist() == [n ^ 16 for n in range(64)]
    assert not gpu.violations


def test_a_kernel_is_named_by_its_text(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str]
) -> None:
    gpu = driver()
    library = emulation.kernel_library(entry("kernel", "trap;"), "/texts/gf_0123.py")
    assert library.with_suffix(".ptx").read_text().startswith("// /texts/gf_0123.py\n")
    stream = gpu.stream()
    gpu.launch(gpu.made("cuModuleLoadData", str(library).encode()), "kernel", [0], stream)
    with pytest.raises(Refused):
        gpu.call("cuStreamSynchronize", stream)
    assert "/texts/gf_0123.py: thread 0 traps" in capfd.readouterr().err
