"""Rules of random ops in compiled code: the run keeps count, a kernel makes the numbers.

Normals of float64 are NumPy's: the last bits of its logarithm and sine are no other code's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.kernels import nnkernels, philox
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS
from graphflow._core.codegen.cpu.sources import random
from graphflow._core.common.philox.bits import RESERVED_PER_OUTPUT, state_words
from graphflow._core.compiler.cpu.assembly_rules import constant, filled
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value
from graphflow._core.kernels import candidates
from graphflow._core.kernels.random import state_of
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")
Steps = Callable[..., Sequence[Any]]
"""Of a kernel, the address of its words, that of its result, and of each of the other values."""


def _draw(
    lowering: Lowering,
    i: Instruction,
    source: str,
    steps: Steps,
    others: Sequence[Value] = (),
    target: Value | None = None,
    blocks: int | None = None,
    rooms: Sequence[Value] = (),
) -> bool:
    """Adds the kernel that fills the result, or the target, and the rooms, whose addresses come after the others'.

    blocks: how many are set aside, by default as many as TensorFlow does for each element.
    """
    drawn = lowering.result(i) if target is None else target
    words = constant(lowering, i, np.zeros(philox.WORDS, np.int64))
    apart = drawn.size * RESERVED_PER_OUTPUT if blocks is None else blocks

    repeated = lowering.around.inside

    def state(run: Any) -> Any:
        return state_of(run, i)

    def before(run: Any) -> Any:
        return state_words(state(run).reserve(apart))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        made = steps(kernels[0], address(words), address(drawn), *map(address, (*others, *rooms)))
        return [*made, *philox.moving_steps(kernels[1], address(words), apart)] if repeated else made

    makes = [drawn.root, *(room.root for room in rooms)]
    sources = [source, philox.moving_source()] if repeated else [source]
    node = KernelNode(i, [words, *others], makes, sources=sources, emit=emit, before=before)
    if repeated:
        node.state = state
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

        return _draw(lowering, i, source(), steps, [constant(lowering, i, random.TABLES)])

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


def _shuffle(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or not value.shape or value.shape[0] < 2:
        return False
    x, count = lowering.compact(i, value), value.shape[0]
    order = lowering.temporary(i.name, "int64", (count,))

    def steps(kernel: int, words: int, target: int) -> Sequence[Any]:
        return random.shuffle_steps(kernel, words, target, count)

    _draw(lowering, i, random.shuffle_source(), steps, target=order, blocks=-(-(count - 1) // 4))
    target = lowering.result(i)
    row_bytes = x.size // count * np.dtype(x.dtype).itemsize

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        places = address(x), count, row_bytes, address(order), count, address(target)
        return nnkernels.gather_steps(kernels[0], PROGRAM_STATUS, *places)

    source = nnkernels.gather_source("int64")
    lowering.add(KernelNode(i, [x, order], [target.root], sources=[source], emit=emit))
    return True


def _multinomial(lowering: Lowering, i: Instruction) -> bool:
    logits, (_, dtype) = lowering.value(i.inputs[0]), lowering.known[i.outputs[0]]
    if logits is None or lowering.constant(i.inputs[1]) is None or len(logits.shape) != 2:
        return False
    if logits.dtype not in _FLOATS or dtype not in random.INTEGERS_PER_BLOCK:
        return False
    samples = int(lowering.constant(i.inputs[1]))
    x, (rows, classes) = lowering.compact(i, logits), logits.shape
    weights = lowering.temporary(i.name, "float64", x.shape)

    def steps(kernel: int, words: int, target: int, given: int, room: int) -> Sequence[Any]:
        return random.classes_steps(kernel, words, target, room, given, rows, classes, samples)

    blocks = rows * 2 * (-(-samples // 4) * 4) * RESERVED_PER_OUTPUT
    return _draw(
        lowering, i, random.classes_source(x.dtype, dtype), steps, [x], blocks=blocks, rooms=[weights]
    )


def _word(value: int) -> int:
    """64 bits as a signed word."""
    return value - (1 << 64) if value >> 63 else value


def _candidates(logarithmic: bool) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        true = lowering.value(i.inputs[0])
        count, per_row, classes = (int(i.attrs[name]) for name in ("num_sampled", "num_true", "range_max"))
        unique = bool(i.attrs["unique"])
        # What is wrong is said by the NumPy kernel.
        if true is None or len(true.shape) != 2 or true.shape[1] != per_row or unique and count > classes:
            return False
        places = 1 << (4 * count).bit_length()
        tries, table = (lowering.temporary(i.name, "int64", (n,)) for n in (1, places if unique else 1))
        span = int(np.float64(math.log1p(classes)).view(np.int64))
        numbers = (table.size - 1, classes, span, _word(candidates.least_word(classes)))

        def steps(kernel: int, words: int, target: int, made: int, room: int) -> Sequence[Any]:
            return random.candidates_steps(kernel, words, target, count, made, room, *numbers)

        sampled = lowering.result(i, 0)
        blocks = count * candidates.RESERVED_PER_CANDIDATE
        source = random.candidates_source(logarithmic, unique)
        _draw(lowering, i, source, steps, target=sampled, blocks=blocks, rooms=[tries, table])
        number = Value(tries.root, "int64", (), ())
        for ids, position in ((true, 1), (sampled, 2)):
            expected = lowering.result(i, position)
            chance = lowering.temporary(i.name, "float32", ids.shape)
            if logarithmic:
                wide = lowering.temporary(i.name, "float64", ids.shape)
                text = "log((cast({0}, float64) + 2.0) / (cast({0}, float64) + 1.0))"
                lowering.elementwise(i, f"{text} / {math.log1p(classes)!r}", [ids], wide)
                lowering.elementwise(i, "cast({0}, float32)", [wide], chance)
            else:
                filled(lowering, i, chance, 1.0 / classes)
            often = f"{{0}} * {float(count)!r} if {{1}} == {count} else "
            lowering.elementwise(
                i, often + "-expm1(cast({1}, float32) * log1p(-{0}))", [chance, number], expected
            )
        return True

    return rule


RANDOM_RULES: Final[dict[str, Rule]] = {
    "LogUniformCandidateSampler": _candidates(True),
    "Multinomial": _multinomial,
    "RandomShuffle": _shuffle,
    "RandomStandardNormal": _normal(random.normal_source),
    "RandomUniform": _uniform,
    "RandomUniformInt": _uniform_int,
    "TruncatedNormal": _normal(random.truncated_normal_source),
    "UniformCandidateSampler": _candidates(False),
}
