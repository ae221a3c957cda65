"""The emulated driver does what it is asked as late as it may, and refuses what NVIDIA's would not forgive."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.emulated_gpu import emulation
from tests.emulated_gpu.calls import Driver, Refused, entry

ADD_ONE = "ld.global.u32 %r1, [%d10]; add.u32 %r1, %r1, 1; st.global.u32 [%d10], %r1;"
GLOBAL, THREAD_LOCAL, RELAXED = range(3)


def add_one(gpu: Driver, address: int, stream: Any) -> None:
    gpu.launch(gpu.kernels(entry("kernel", ADD_ONE)), "kernel", [address], stream)


# ---- when things happen ----------------------------------------------------------------------------------------------


def test_late_nothing_is_done_until_it_is_waited_for(driver: Callable[..., Driver]) -> None:
    gpu = driver(EMULATED_GPU="late")
    source, target, stream = gpu.memory(np.uint32([7])), gpu.pinned(np.uint32([1])), gpu.stream()
    gpu.call("cuMemcpyDtoHAsync_v2", target, source, 4, stream)
    assert target[0] == 1
    gpu.call("cuStreamSynchronize", stream)
    assert target[0] == 7


def test_early_everything_is_done_at_once(driver: Callable[..., Driver]) -> None:
    gpu = driver(EMULATED_GPU="early")
    source, target, stream = gpu.memory(np.uint32([7])), gpu.pinned(np.uint32([1])), gpu.stream()
    gpu.call("cuMemcpyDtoHAsync_v2", target, source, 4, stream)
    assert target[0] == 7


def test_memory_that_is_not_pinned_is_waited_for(driver: Callable[..., Driver]) -> None:
    gpu = driver(EMULATED_GPU="late")
    source, target, stream = gpu.memory(np.uint32([7])), np.uint32([1]), gpu.stream()
    gpu.call("cuMemcpyDtoHAsync_v2", target, source, 4, stream)
    assert target[0] == 7


@pytest.mark.parametrize("waits", [False, True])
def test_a_stream_sees_what_another_did_if_it_waits_for_it(
    driver: Callable[..., Driver], waits: bool
) -> None:
    gpu = driver(EMULATED_GPU="late")
    x, found = gpu.memory(np.uint32([4])), gpu.pinned(np.uint32([0]))
    first, second, made = gpu.stream(), gpu.stream(), gpu.event()
    add_one(gpu, x, first)
    gpu.call("cuEventRecord", made, first)
    if waits:
        gpu.call("cuStreamWaitEvent", second, made, 0)
    gpu.call("cuMemcpyDtoHAsync_v2", found, x, 4, second)
    gpu.call("cuStreamSynchronize", second)
    assert found[0] == (5 if waits else 4)


def test_a_feed_that_is_changed_too_early_is_found_out(driver: Callable[..., Driver]) -> None:
    gpu = driver(EMULATED_GPU="late")
    x, feed, stream = gpu.memory(np.uint32([0])), gpu.pinned(np.uint32([1])), gpu.stream()
    gpu.call("cuMemcpyHtoDAsync_v2", x, feed, 4, stream)
    feed[0] = 2
    assert gpu.values(x, "u4", 1)[0] == 2


def test_an_event_is_not_ready_until_its_stream_came_there(driver: Callable[..., Driver]) -> None:
    gpu = driver(EMULATED_GPU="late")
    x, stream, event = gpu.memory(np.uint32([0])), gpu.stream(), gpu.event()
    gpu.call("cuEventQuery", event)  # never recorded
    add_one(gpu, x, stream)
    gpu.call("cuEventRecord", event, stream)
    for _ in range(2):
        with pytest.raises(Refused, match="NOT_READY"):
            gpu.call("cuEventQuery", event)
    gpu.call("cuEventQuery", event)
    assert not gpu.violations


def test_seeds_do_things_in_different_orders(driver: Callable[..., Driver]) -> None:
    def seen(seed: str) -> list[int]:
        gpu = driver(EMULATED_GPU=seed)
        x, stream = gpu.memory(np.uint32([3])), gpu.stream()
        found = []
        for _ in range(20):
            target = gpu.pinned(np.uint32([0]))
            gpu.call("cuMemcpyDtoHAsync_v2", target, x, 4, stream)
            found.append(int(target[0]))
        gpu.call("cuStreamSynchronize", stream)
        return found

    assert seen("1") == seen("1") != seen("2")
    assert {0, 3} == set(seen("1"))


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_the_default_stream(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    with pytest.raises(Refused, match="INVALID_HANDLE"):
        add_one(gpu, gpu.memory(np.uint32([0])), None)
    assert gpu.violations == 1


def test_what_was_destroyed(driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str]) -> None:
    gpu = driver()
    stream, event = gpu.stream(), gpu.event()
    other = gpu.stream()
    gpu.call("cuStreamDestroy", stream)
    gpu.call("cuEventDestroy", event)
    with pytest.raises(Refused, match="INVALID_HANDLE"):
        gpu.call("cuStreamSynchronize", stream)
    with pytest.raises(Refused, match="INVALID_HANDLE"):
        gpu.call("cuEventRecord", event, other)
    assert "the stream was destroyed" in capfd.readouterr().err


def test_a_module_that_is_unloaded_before_its_kernel_ran(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str]
) -> None:
    gpu = driver(EMULATED_GPU="late")
    x, stream, module = gpu.memory(np.uint32([0])), gpu.stream(), gpu.kernels(entry("kernel", ADD_ONE))
    gpu.launch(module, "kernel", [x], stream)
    gpu.call("cuModuleUnload", module)
    with pytest.raises(Refused, match="ILLEGAL_ADDRESS"):
        gpu.call("cuStreamSynchronize", stream)
    assert "unloaded before it ran" in capfd.readouterr().err


@pytest.mark.parametrize(("blocks", "threads"), [(0, 1), (1, 0), (1, 1025)])
def test_a_launch_of_too_many_or_none(driver: Callable[..., Driver], blocks: int, threads: int) -> None:
    gpu = driver()
    module = gpu.kernels(entry("kernel", ADD_ONE))
    with pytest.raises(Refused, match="INVALID_VALUE"):
        gpu.launch(module, "kernel", [0], gpu.stream(), blocks, threads)


def test_a_copy_beyond_the_end(driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str]) -> None:
    gpu = driver()
    with pytest.raises(Refused, match="ILLEGAL_ADDRESS"):
        gpu.values(gpu.memory(np.uint32([0])), "u4", 2)
    assert "a copy reads 8 bytes" in capfd.readouterr().err


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_memory_ends(driver: Callable[..., Driver]) -> None:
    gpu = driver(EMULATED_GPU_MEMORY="1000000")
    held = emulation.counted()["live"]
    before = int(gpu.made("cuMemAlloc", 600_000).value)
    with pytest.raises(Refused, match="OUT_OF_MEMORY"):
        gpu.made("cuMemAlloc", 600_000)
    gpu.call("cuMemFree", before)
    gpu.call("cuMemFree", int(gpu.made("cuMemAlloc", 600_000).value))
    assert emulation.counted()["live"] == held
    assert not gpu.violations


def test_an_allocation_is_refused_where_a_test_asks_for_it(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    emulation.refuse(1, 2)
    gpu.made("cuMemAlloc", 4)
    for _ in range(2):
        with pytest.raises(Refused, match="OUT_OF_MEMORY"):
            gpu.made("cuMemAlloc", 4)
    gpu.made("cuMemAlloc", 4)


# ---- graphs ----------------------------------------------------------------------------------------------------------


def captured(gpu: Driver, x: int, stream: Any) -> Any:
    module = gpu.kernels(entry("kernel", ADD_ONE))
    gpu.call("cuStreamBeginCapture_v2", stream, GLOBAL)
    gpu.launch(module, "kernel", [x], stream)
    return gpu.made_last("cuStreamEndCapture", stream)


def test_a_graph_is_done_when_it_is_launched(driver: Callable[..., Driver]) -> None:
    gpu = driver()
    x, stream = gpu.memory(np.uint32([0])), gpu.stream()
    graph = captured(gpu, x, stream)
    assert gpu.values(x, "u4", 1)[0] == 0
    executable = gpu.made("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0))
    gpu.call("cuGraphDestroy", graph)
    for _ in range(3):
        gpu.call("cuGraphLaunch", executable, stream)
    gpu.call("cuGraphExecDestroy", executable)  # The launches have not come yet, and come.
    gpu.call("cuStreamSynchronize", stream)
    assert gpu.values(x, "u4", 1)[0] == 3
    with pytest.raises(Refused, match="INVALID_VALUE"):
        gpu.call("cuGraphLaunch", executable, stream)


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_a_capture_must_not_be_disturbed(driver: Callable[..., Driver], mode: int) -> None:
    gpu = driver()
    x, stream, event = gpu.memory(np.uint32([0])), gpu.stream(), gpu.event()
    other = gpu.stream()
    gpu.call("cuStreamBeginCapture_v2", stream, mode)
    forbidden = [
        ("cuStreamSynchronize", stream),
        ("cuEventRecord", event, stream),
        ("cuMemcpyHtoDAsync_v2", x, np.uint32([1]), 4, stream),  # not pinned
    ]
    if mode != RELAXED:
        forbidden += [("cuMemFree", x), ("cuCtxSynchronize",), ("cuMemcpyHtoD_v2", x, np.uint32([1]), 4)]
    for name, *arguments in forbidden:
        with pytest.raises(Refused, match="CAPTURE"):
            gpu.call(name, *arguments)
    assert gpu.violations == len(forbidden)
    gpu.call("cuMemcpyHtoDAsync_v2", x, gpu_bytes(gpu, mode), 4, other)
    gpu.made_last("cuStreamEndCapture", stream)
    with pytest.raises(Refused, match="ILLEGAL_STATE"):
        gpu.made_last("cuStreamEndCapture", stream)


def gpu_bytes(gpu: Driver, mode: int) -> np.ndarray:
    """Host memory: pinned where that may be asked for while a stream captures."""
    return gpu.pinned(np.uint32([1])) if mode == RELAXED else np.uint32([1])


# ---- several devices -------------------------------------------------------------------------------------------------


def test_events_and_streams_belong_to_devices(driver: Callable[..., Driver]) -> None:
    gpu = driver(2)
    stream, event = gpu.stream(), gpu.event()
    x = gpu.memory(np.uint32([0]))
    gpu.use(1)
    there, theirs = gpu.stream(), gpu.event()
    with pytest.raises(Refused, match="INVALID_HANDLE"):
        gpu.call("cuEventRecord", event, there)
    with pytest.raises(Refused, match="INVALID_HANDLE"):
        add_one(gpu, x, stream)
    assert gpu.violations == 2
    gpu.call("cuEventRecord", theirs, there)
    gpu.call("cuStreamWaitEvent", stream, theirs, 0)  # One device may wait for another.
    assert gpu.violations == 2


def test_copies_from_device_to_device(driver: Callable[..., Driver]) -> None:
    gpu = driver(2)
    here = gpu.memory(np.uint32([9]))
    gpu.use(1)
    there, stream = gpu.memory(np.uint32([0])), gpu.stream()
    gpu.call("cuMemcpyPeerAsync", there, gpu.contexts[1], here, gpu.contexts[0], 4, stream)
    assert gpu.values(there, "u4", 1)[0] == 9
    with pytest.raises(Refused, match="INVALID_VALUE"):
        gpu.call("cuMemcpyPeerAsync", there, gpu.contexts[0], here, gpu.contexts[1], 4, stream)


@pytest.mark.parametrize("connected", [False, True])
def test_kernels_reach_the_memory_of_connected_devices(
    driver: Callable[..., Driver], capfd: pytest.CaptureFixture[str], connected: bool
) -> None:
    gpu = driver(2)
    x = gpu.memory(np.uint32([9]))
    gpu.use(1)
    if connected:
        gpu.call("cuCtxEnablePeerAccess", gpu.contexts[0], 0)
        gpu.run(ADD_ONE, [x])
        assert gpu.values(x, "u4", 1)[0] == 10
        return
    with pytest.raises(Refused, match="ILLEGAL_ADDRESS"):
        gpu.run(ADD_ONE, [x])
    assert "a device that this one does not reach" in capfd.readouterr().err
    gpu.use(0)  # The other device goes on.
    gpu.run(ADD_ONE, [x])
    assert gpu.values(x, "u4", 1)[0] == 10


def test_devices_without_peers(driver: Callable[..., Driver]) -> None:
    gpu = driver(2, EMULATED_GPU_NO_PEERS="1")
    can = ctypes.c_int(7)
    gpu.call("cuDeviceCanAccessPeer", ctypes.byref(can), 0, 1)
    assert can.value == 0
    with pytest.raises(Refused, match="PEER_ACCESS_UNSUPPORTED"):
        gpu.call("cuCtxEnablePeerAccess", gpu.contexts[1], 0)


# ---- profiles --------------------------------------------------------------------------------------------------------


def test_a_profile_counts_the_sectors_of_warps(
    driver: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    gpu = driver()
    x = gpu.memory(np.zeros(64 * 20 * 8, "u4"))
    profile = tmp_path / "profile.tsv"
    monkeypatch.setenv("EMULATED_GPU_PROFILE", str(profile))
    own = "mad.lo.u32 %r1, %r11, 64, %r10;"
    for stride in (4, 32):  # bytes from thread to thread
        gpu.run(
            f"{own} mul.wide.u32 %d1, %r1, {stride}; add.u64 %d1, %d10, %d1; ld.global.u32 %r2, [%d1];",
            [x],
            blocks=20,
            threads=64,
        )
    near, far = (line.split("\t") for line in profile.read_text().splitlines())
    # blocks, their threads, blocks run; bytes wanted, sectors read and written, of them different ones
    assert [near[n] for n in (1, 3, 4)] == ["20", "64", "8"]
    assert [int(n) for n in near[6:11]] == [8 * 64 * 4, 8 * 8, 0, 8 * 8, 0]
    assert [int(n) for n in far[6:11]] == [8 * 64 * 4, 8 * 64, 0, 8 * 64, 0]
