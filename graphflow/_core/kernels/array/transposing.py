"""NumPy kernels of the ops that put axes into another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid, normalized
from graphflow._core.kernels.registry import simple


def _transpose(x: Any, perm: Any) -> Any:
    order = [normalized(p, x.ndim, "perm") for p in perm]
    if len(order) != x.ndim or len(set(order)) != len(order):
        raise invalid(f"perm {order} is no permutation of the {x.ndim} axes.")
    return x.transpose(order)


simple("Transpose", _transpose, view=True)
simple("ConjugateTranspose", lambda x, perm: np.conj(_transpose(x, perm)))


def _invert_permutation(x: Any) -> Any:
    result = np.full(x.shape, -1, x.dtype)
    if x.size and (x.min() < 0 or x.max() >= x.size):
        raise invalid(f"{x.tolist()} is not between 0 and {x.size}")
    result[x] = np.arange(x.size, dtype=x.dtype)
    if x.size and result.min() < 0:
        raise invalid(f"{x.tolist()} is duplicated in the input: it is no permutation.")
    return result


simple("InvertPermutation", _invert_permutation)
