"""Kernels of the random ops that have no state."""

from __future__ import annotations

from collections.abc import Callable
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


def _standard(op_type: str, method: Callable[..., Any]) -> None:
    @kernel(op_type)
    def _(node: Node) -> Kernel:
        dtype = node.dtypes[0].as_numpy_dtype

        def draw(shape: Any, seed: Any, *bounds: Any) -> Any:
            generator = Philox.stateless([int(value) for value in seed])
            sizes = [int(size) for size in shape]
            return method(generator, sizes, *(int(bound) for bound in bounds), dtype)

        return draw


_standard("StatelessRandomUniform", Philox.random_uniform)
_standard("StatelessRandomUniformInt", Philox.random_uniform_int)
_standard("StatelessRandomNormal", Philox.random_normal)
_standard("StatelessTruncatedNormal", Philox.truncated_normal)
