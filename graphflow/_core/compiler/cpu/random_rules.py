"""Rules of random ops in compiled code: the run keeps count, a kernel makes the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.kernels import philox
from graphflow._core.common.philox_bits import RESERVED_PER_OUTPUT, state_words
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import whole
from graphflow._core.kernels.random import state_of
from graphflow._core.plan.ir import Instruction


def _uniform(lowering: Lowering, i: Instruction) -> bool:
    dtype = lowering.known[i.outputs[0]][1]
    if lowering.constant(i.inputs[0]) is None or dtype not in ("float32", "float64"):
        return False
    target = lowering.result(i)
    words = whole(lowering.fresh(i.name), "int64", (philox.WORDS,))
    lowering.constants[words.root] = np.zeros(philox.WORDS, np.int64)

    def before(run: Any) -> Any:
        return state_words(state_of(run, i).reserve(target.size * RESERVED_PER_OUTPUT))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return philox.uniform_steps(kernels[0], address(words), address(target), target.size, dtype)

    source = philox.uniform_source(dtype)
    node = KernelNode(i, [words], [target.root], sources=[source], emit=emit, before=before)
    lowering.add(node)
    return True


RANDOM_RULES: Final[dict[str, Rule]] = {"RandomUniform": _uniform}
