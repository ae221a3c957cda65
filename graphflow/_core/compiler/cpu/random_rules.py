"""Rules of random ops in compiled code: the run keeps count, a kernel makes the numbers.

Normals of float64 are NumPy's: the last bits of its logarithm and sine are no other code's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.kernels import philox
from graphflow._core.codegen.cpu.sources import random
from graphflow._core.common.philox_bits import RESERVED_PER_OUTPUT, state_words
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value, whole
from graphflow._core.kernels.random import state_of
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
Steps = Callable[..., Sequence[Any]]
"""Of a kernel, the address of its words, that of its result, and of each of the other values."""


def _constant(lowering: Lowering, i: Instruction, array: Any) -> Value:
    value = whole(lowering.fresh(i.name), array.dtype.name, array.shape)
    lowering.constants[value.root] = array
    return value


def _draw(
    lowering: Lowering, i: Instruction, source: str, steps: Steps, others: Sequence[Value] = ()
) -> bool:
    """Adds the kernel that fills the result."""
    target = lowering.result(i)
    words = _constant(lowering, i, np.zeros(philox.WORDS, np.int64))

    def before(run: Any) -> Any:
        return state_words(state_of(run, i).reserve(target.size * RESERVED_PER_OUTPUT))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return steps(kernels[0], address(words), address(target), *map(address, others))

    node = KernelNode(i, [words, *others], [target.root], sources=[source], emit=emit, before=before)
    lowering.add(node)
    return True


def _uniform(lowering: Lowering, i: Instruction) -> bool:
    shape, dtype = lowering.known[i.outputs[0]]
    if lowering.constant(i.inputs[0]) is None or dtype not in _FLOATS:
        return False
    size = int(np.prod(shape))

    def steps(kernel: int, words: int, target: int) -> Sequence[Any]:
        return philox.uniform_steps(kernel, words, target, size, dtype)

    return _draw(lowering, i, philox.uniform_source(dtype), steps)


def _normal(source: Callable[[], str]) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        shape, dtype = lowering.known[i.outputs[0]]
        if lowering.constant(i.inputs[0]) is None or dtype != "float32":
            return False
        size = int(np.prod(shape))

        def steps(kernel: int, words: int, target: int, tables: int) -> Sequence[Any]:
            return random.steps(kernel, words, target, size, random.NORMALS_PER_BLOCK, tables)

        return _draw(lowering, i, source(), steps, [_constant(lowering, i, random.TABLES)])

    return rule


def _uniform_int(lowering: Lowering, i: Instruction) -> bool:
    shape, dtype = lowering.known[i.outputs[0]]
    _, low, high = (lowering.constant(n) for n in i.inputs)
    if any(lowering.constant(n) is None for n in i.inputs) or not int(low) < int(high):
        return False
    size, span = int(np.prod(shape)), int(high) - int(low)
    if span >= 1 << 63:
        return False

    def steps(kernel: int, words: int, target: int) -> Sequence[Any]:
        per_block = random.INTEGERS_PER_BLOCK[dtype]
        return random.steps(kernel, words, target, size, per_block, int(low), span)

    return _draw(lowering, i, random.uniform_int_source(dtype), steps)


RANDOM_RULES: Final[dict[str, Rule]] = {
    "RandomStandardNormal": _normal(random.normal_source),
    "RandomUniform": _uniform,
    "RandomUniformInt": _uniform_int,
    "TruncatedNormal": _normal(random.truncated_normal_source),
}
