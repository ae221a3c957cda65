"""Copies between the host and a GPU, and on one GPU, asked of the driver itself.

Numba's functions for them look at what they are given and at the thread's context each time. Of a short step, which has
four copies, that was half of the time that it takes on the host.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from graphflow._core.codegen.gpu.vectors import address


@cache
def _driver() -> Any:
    return import_module("numba.cuda.cudadrv.driver").driver


def upload(target: Any, source: Any, stream: Any) -> None:
    """Copies a host array that lies side by side to a block of as many bytes, in the order of a stream."""
    if size := _bytes(target, source):
        _driver().cuMemcpyHtoDAsync(address(target), source.ctypes.data, size, int(stream))


def download(target: Any, source: Any, stream: Any) -> None:
    """Copies a block to a host array of as many bytes that lies side by side, in the order of a stream."""
    if size := _bytes(target, source):
        _driver().cuMemcpyDtoHAsync(target.ctypes.data, address(source), size, int(stream))


def copy(target: Any, source: Any, stream: Any) -> None:
    """Copies a block to another of as many bytes on the same GPU, in the order of a stream."""
    if size := _bytes(target, source):
        _driver().cuMemcpyDtoDAsync(address(target), address(source), size, int(stream))


def _bytes(target: Any, source: Any) -> int:
    if target.dtype != source.dtype or target.nbytes != source.nbytes:
        raise ValueError(
            f"{source.size} elements of {source.dtype} are no copy for {target.size} of {target.dtype}"
        )
    return int(source.nbytes)
