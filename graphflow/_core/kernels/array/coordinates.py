"""The kernel of what turns flat numbers of elements into coordinates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import simple


def _unravel_index(indices: Any, dims: Any) -> Any:
    shape = dims.tolist()
    if any(size < 0 for size in shape):
        raise invalid(f"dims {shape} has a negative size.")
    count = math.prod(shape)
    if count > np.iinfo(indices.dtype).max:
        raise invalid(f"Input dims product is causing integer overflow: dims {shape} in {indices.dtype}.")
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise invalid(f"index is out of bound as with dims {shape}")
    return np.array(np.unravel_index(indices, shape), indices.dtype).reshape(len(shape), *indices.shape)


simple("UnravelIndex", _unravel_index)
