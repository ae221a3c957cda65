"""The NumPy kernel of elements by their place in sorted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel


@kernel("NthElement")
def _nth_element(node: Node) -> Kernel:
    reverse = node.attrs["reverse"]

    def run(x: Any, n: Any) -> Any:
        place = int(n)
        if place < 0:
            raise invalid(f"Need n >= 0, got {place}")
        if not np.ndim(x):
            raise invalid(f"Input must be >= 1-D, got shape {list(np.shape(x))}")
        if x.shape[-1] <= place:
            raise invalid(f"Input must have at least n+1 columns, got {x.shape[-1]} for n = {place}")
        at = x.shape[-1] - 1 - place if reverse else place
        return np.partition(x, at, axis=-1)[..., at]

    return run
