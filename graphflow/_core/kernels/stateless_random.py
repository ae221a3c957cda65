"""Kernels of the random ops that have no state."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.common.philox.generator import Philox
from graphflow._core.kernels.registry import Kernel, Node, kernel


@kernel("StatelessMultinomial")
def _multinomial(node: Node) -> Kernel:
    dtype = node.dtypes[0].as_numpy_dtype

    def draw(logits: Any, samples: Any, seed: Any) -> Any:
        generator = Philox.stateless([int(value) for value in seed])
        return generator.multinomial(np.asarray(logits), int(samples), dtype)

    return draw
