"""Kernels that tell of the process's memory, as the system counts it."""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel


def _page() -> int:
    return os.sysconf("SC_PAGE_SIZE")


def _most() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024  # macOS counts bytes, others kilobytes.


@kernel("MaxBytesInUse", stateful=True)
def _max_bytes_in_use(node: Node) -> Kernel:
    return lambda run: np.int64(_most())


@kernel("BytesInUse", stateful=True)
def _bytes_in_use(node: Node) -> Kernel:
    def run(_: Any) -> Any:
        try:
            with open("/proc/self/statm") as file:
                return np.int64(int(file.read().split()[1]) * _page())
        except FileNotFoundError:  # Only Linux says what is in memory now.
            return np.int64(_most())

    return run


@kernel("BytesLimit", stateful=True)
def _bytes_limit(node: Node) -> Kernel:
    return lambda run: np.int64(os.sysconf("SC_PHYS_PAGES") * _page())
