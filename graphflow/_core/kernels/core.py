"""NumPy kernels of the ops that other ops are built with: those of ops/core.py."""

from __future__ import annotations

import numpy as np

from graphflow._core.kernels.array.array import checked
from graphflow._core.kernels.registry import Kernel, Node, kernel


@kernel("Pack")
def _pack(node: Node) -> Kernel:
    axis = node.attrs["axis"]
    return checked(lambda *parts: np.stack(parts, axis))
