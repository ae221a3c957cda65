"""NumPy kernels of the elementwise ops of a sparse tensor and a dense one, whose results are sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.array.indexing import linear
from graphflow._core.kernels.math.arithmetic import divide
from graphflow._core.kernels.registry import Kernel, simple


def _with_dense(combine: Callable[[Any, Any], Any]) -> Kernel:
    """Combines the elements of a sparse tensor with those of a dense one at their places."""

    def run(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        dims = tuple(shape.tolist())
        linear(indices, dims)
        own = dims[len(dims) - dense.ndim :]
        if dense.ndim > len(dims) or any(d not in (1, n) for d, n in zip(dense.shape, own, strict=True)):
            raise invalid(
                f"the dense side is broadcast to the sparse one only: incompatible shapes {list(dense.shape)} "
                f"and {list(dims)}"
            )
        columns = indices[:, len(dims) - dense.ndim :].T
        places = tuple(c if d != 1 else np.zeros_like(c) for c, d in zip(columns, dense.shape, strict=True))
        return combine(values, dense[places])

    return run


simple("SparseDenseCwiseMul", _with_dense(np.multiply))
simple("SparseDenseCwiseDiv", _with_dense(divide))
