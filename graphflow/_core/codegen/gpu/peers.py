"""Copies from one GPU to another: without the host if the two can reach each other, staged by the driver elsewhere.

Numba has no function for them, but a handle of each context for the driver's.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_ALREADY: Final = 704
"""The driver's number for access that was enabled before, by somebody else in the process."""


def connect(here: Any, there: Any) -> None:
    """Lets the GPU of a context, which is current, reach the memory of another's, if the machine can do that."""
    driver = import_module("numba.cuda.cudadrv.driver")
    if not here.can_access_peer(there.device.id):
        return
    try:
        here.enable_peer_access(there.handle)
    except driver.CudaAPIError as error:
        if int(error.code) != _ALREADY:
            raise


def copy(target: Any, here: Any, source: Any, there: Any, stream: Any) -> None:
    """Copies a block of one context to a block of the same size of another, in the order of a stream."""
    driver = import_module("numba.cuda.cudadrv.driver")
    size = source.size * source.dtype.itemsize
    driver.driver.cuMemcpyPeerAsync(
        _address(target), here.handle, _address(source), there.handle, size, int(stream)
    )


def _address(block: Any) -> int:
    return int(block.__cuda_array_interface__["data"][0])
