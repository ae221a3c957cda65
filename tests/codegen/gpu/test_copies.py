"""Protects what the driver is told of a copy: where from, where to, how many bytes. It is a stand-in here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.gpu import copies


class Block:
    """A block of device memory at an address."""

    def __init__(self, address: int, size: int, dtype: str) -> None:
        self.size, self.dtype = size, np.dtype(dtype)
        self.nbytes = size * self.dtype.itemsize
        self.device_ctypes_pointer = SimpleNamespace(value=address)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []

    def note(name: str) -> Any:
        return lambda *arguments: found.append((name, *arguments))

    names = ("cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync")
    monkeypatch.setattr(copies, "_driver", lambda: SimpleNamespace(**{name: note(name) for name in names}))
    return found


def test_a_copy_goes_from_the_source_to_the_target(calls: list[tuple[Any, ...]]) -> None:
    host = np.zeros(3, np.float64)
    copies.upload(Block(4096, 3, "float64"), host, 7)
    copies.download(host, Block(512, 3, "float64"), 8)
    copies.copy(Block(4096, 5, "int32"), Block(512, 5, "int32"), 9)
    assert calls == [
        ("cuMemcpyHtoDAsync", 4096, host.ctypes.data, 24, 7),
        ("cuMemcpyDtoHAsync", host.ctypes.data, 512, 24, 8),
        ("cuMemcpyDtoDAsync", 4096, 512, 20, 9),
    ]


def test_nothing_is_not_copied(calls: list[tuple[Any, ...]]) -> None:
    copies.upload(Block(0, 0, "float32"), np.zeros(0, np.float32), 7)
    assert not calls


@pytest.mark.parametrize("size, dtype", [(3, "float32"), (6, "int32")])
def test_what_is_no_copy_is_an_error(calls: list[tuple[Any, ...]], size: int, dtype: str) -> None:
    with pytest.raises(ValueError, match="no copy for 6 of float32"):
        copies.copy(Block(4096, 6, "float32"), Block(512, size, dtype), 9)
    assert not calls
