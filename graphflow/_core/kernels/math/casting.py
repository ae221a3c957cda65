"""The NumPy kernel of Cast, and what becomes of numbers that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.common.arrays import is_bfloat16
from graphflow._core.kernels.registry import Kernel, Node, kernel


@kernel("Cast")
def _cast(node: Node) -> Kernel:
    target = np.dtype(node.attrs["DstT"].as_numpy_dtype)

    def compute(x: Any) -> Any:
        if is_bfloat16(x.dtype):
            x = x.astype(np.float32)
        if x.dtype.kind == "c" and target.kind != "c":
            x = np.real(x)
        if x.dtype.kind == "f" and target.kind in "iu":
            return _float_to_integer(x, target)
        return x.astype(target)

    return compute


def _float_to_integer(x: Any, target: Any) -> Any:
    """Truncation; what does not fit becomes what an x86 processor makes of it, whatever the width."""
    if target.itemsize < 4:
        return x.astype(np.int32).astype(target)
    if target == np.uint32:
        return x.astype(np.int64).astype(target)
    if target != np.uint64:
        return x.astype(target)
    middle = np.float64(2**63)
    wide = x.astype(np.float64)
    upper = (wide - middle).astype(np.int64).astype(np.uint64) + np.uint64(2**63)
    return np.where(wide < middle, wide.astype(np.int64).astype(np.uint64), upper)
