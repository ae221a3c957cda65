"""Protects how copies between GPUs ask the driver, which is a stand-in here: there is none in the simulator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.gpu import peers


class DriverError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Context:
    """What is used of a context of Numba's: it reaches `reached`, and fails with a code where one is given."""

    def __init__(self, number: int, reached: tuple[int, ...] = (), fails: int = 0) -> None:
        self.handle = 100 + number
        self.device = SimpleNamespace(id=number)
        self.reached, self.fails, self.enabled = reached, fails, list[int]()

    def can_access_peer(self, device: int) -> bool:
        return device in self.reached

    def enable_peer_access(self, handle: int) -> None:
        if self.fails:
            raise DriverError(self.fails)
        self.enabled.append(handle)


class Block:
    """A block of device memory at an address."""

    def __init__(self, address: int, size: int, dtype: str) -> None:
        self.size, self.dtype = size, np.dtype(dtype)
        self.__cuda_array_interface__ = {"data": (address, False)}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    api = SimpleNamespace(cuMemcpyPeerAsync=lambda *arguments: found.append(arguments))
    module = SimpleNamespace(driver=api, CudaAPIError=DriverError)
    monkeypatch.setattr(peers, "import_module", lambda name: module)
    return found


def test_a_copy_names_both_contexts_and_counts_bytes(calls: list[tuple[Any, ...]]) -> None:
    peers.copy(Block(4096, 3, "float64"), Context(1), Block(512, 3, "float64"), Context(0), 7)
    assert calls == [(4096, 101, 512, 100, 24, 7)]


@pytest.mark.usefixtures("calls")
def test_access_is_enabled_where_the_machine_has_it() -> None:
    here, far = Context(0, (1,)), Context(0)
    peers.connect(here, Context(1))
    peers.connect(far, Context(1))
    assert here.enabled == [101]
    assert far.enabled == []


@pytest.mark.usefixtures("calls")
def test_access_that_somebody_else_has_enabled_is_no_error() -> None:
    peers.connect(Context(0, (1,), fails=704), Context(1))
    with pytest.raises(DriverError):
        peers.connect(Context(0, (1,), fails=101), Context(1))
