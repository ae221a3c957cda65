"""Protects memory of a GPU after its last use: nothing is freed while it is in use, and what is freed is freed right.

The driver is a stand-in: the simulator has none.
"""

from __future__ import annotations

import atexit
import gc
import weakref
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from graphflow._core.codegen.gpu import dropped
from graphflow._core.codegen.gpu.pool import Pool
from graphflow._core.runtime.gpu.arrays import _BlockOwner


class DriverError(Exception):
    """An error of the driver's."""


class Memory:
    """Memory, or an event, of the driver's."""

    def __init__(self, freed: list[str], name: str) -> None:
        self.waited = 0
        weakref.finalize(self, freed.append, name)

    def wait(self, stream: Any) -> None:
        self.waited += 1


class Pending:
    """Numba's queue, as far as it matters: what has a size is freed at once where the capacity is 1."""

    def __init__(self, capacity: int) -> None:
        self.waiting: deque[tuple[Callable[[int], None], int]] = deque()
        self.memory_capacity = capacity

    def add_item(self, free: Callable[[int], None], handle: int, size: int = 0) -> None:
        self.waiting.append((free, handle))
        if size > int(self.memory_capacity * 0.2):
            self.clear()

    def clear(self) -> None:
        while self.waiting:
            free, handle = self.waiting.popleft()
            free(handle)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the driver was asked."""
    found: list[Any] = []
    api = SimpleNamespace(
        cuCtxPushCurrent=lambda handle: found.append(("push", handle)),
        cuCtxPopCurrent=lambda: found.append("pop"),
    )
    monkeypatch.setattr(
        dropped,
        "import_module",
        lambda name: SimpleNamespace(driver=api, _PendingDeallocs=Pending, CudaAPIError=DriverError),
    )
    return found


def test_memory_is_freed_at_once_with_its_gpu_being_current(calls: list[Any]) -> None:
    context = SimpleNamespace(handle=7, deallocations=None, memory_manager=SimpleNamespace())
    dropped.give_back_with(context)
    context.deallocations.add_item(lambda handle: calls.append(("event", handle)), 1)
    assert not calls
    context.memory_manager.deallocations.add_item(lambda handle: calls.append(("memory", handle)), 2, 400)
    assert calls == [("push", 7), ("event", 1), ("memory", 2), "pop"]


def test_a_gpu_that_has_failed_is_left_and_says_nothing_of_each_block(calls: list[Any]) -> None:
    def fails(handle: int) -> None:
        raise DriverError("an illegal memory access was encountered")

    context = SimpleNamespace(handle=7, deallocations=None, memory_manager=SimpleNamespace())
    dropped.give_back_with(context)
    context.deallocations.add_item(fails, 2, 400)
    assert calls == [("push", 7), "pop"]


def test_nothing_is_freed_when_the_process_ends(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", ends.append)
    context = SimpleNamespace(handle=7, deallocations=None, memory_manager=SimpleNamespace())
    dropped.give_back_with(context)
    ends[0]()
    context.deallocations.add_item(lambda handle: calls.append(handle), 2, 400)
    assert not calls


def test_memory_that_a_cycle_held_can_be_lent_again() -> None:
    freed: list[str] = []
    device = SimpleNamespace(pool=Pool(), stream=None, allocate=lambda size, dtype: Memory(freed, "memory"))
    owner = _BlockOwner(device, 100)  # type: ignore[arg-type]
    owner.block.events = (event := Memory(freed, "event"),)
    memory = weakref.ref(owner.block.memory)
    waited, event = weakref.ref(event), None  # type: ignore[assignment]
    cycle: list[Any] = [owner]
    cycle.append(cycle)
    del owner, cycle
    gc.collect()
    assert not freed
    again = _BlockOwner(device, 100)  # type: ignore[arg-type]
    assert again.block.memory is memory()
    assert waited() is None  # Was waited for, and is not needed any more.
    assert freed == ["event"]
    del again
    device.pool.clear()
    assert freed == ["event", "memory"]
