"""Kernels of uniform random numbers: the same Philox blocks as the NumPy kernels', bit for bit (common/philox/bits.py).

Words are int64 whose upper halves are zero; of a product's bits only those of its two halves are looked at.

The caller keeps the state of each random op, and gives key and counter of a run as words in memory. Normals are not
here: their kernels stand in sources/random.py, with every addition in NumPy's order.
"""

from __future__ import annotations

from typing import Final

from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.common.philox import bits

WORDS: Final = 6
"""Of int64: the two halves of the key, the four of the counter, 32 bits each."""
_GRAIN_BLOCKS: Final = 4096
_MASK: Final = "0xFFFFFFFF"
_VALUES: Final = {
    "float32": [f"float32(int64(w{k} & 0x7FFFFF)) * float32({2.0**-23!r})" for k in range(4)],
    "float64": [
        f"float64(int64((({high} & 0xFFFFF) << 32) | {low})) * {2.0**-52!r}"
        for high, low in (("w0", "w1"), ("w2", "w3"))
    ],
}


def uniform_source(dtype: str) -> str:
    """Source of numbers in [0, 1); unit: a block, of four float32 or two float64."""
    values = _VALUES[dtype]
    rounds = "".join(
        f"""
        first = w0 * {bits.MULTIPLIERS[0]}
        second = w2 * {bits.MULTIPLIERS[1]}
        w0 = ((second >> 32) & {_MASK}) ^ w1 ^ ((k0 + ({turn * bits.KEY_STEPS[0] & 0xFFFFFFFF})) & {_MASK})
        w1 = second & {_MASK}
        w2 = ((first >> 32) & {_MASK}) ^ w3 ^ ((k1 + ({turn * bits.KEY_STEPS[1] & 0xFFFFFFFF})) & {_MASK})
        w3 = first & {_MASK}"""
        for turn in range(bits.ROUNDS)
    )
    stores = "".join(
        f"""
        if place + {k} < size:
            store(y, place + {k}, {value}, 1)"""
        for k, value in enumerate(values)
    )
    return f"""
@kernel_function
def kernel(args, begin, end):
    words = pointer_int64(args[0])
    y = pointer_{dtype}(args[1])
    size = args[2]
    k0 = load(words, 0, 0)
    k1 = load(words, 1, 0)
    for unit in range(begin, end):
        w0 = load(words, 2, 0) + unit
        w1 = load(words, 3, 0) + (w0 >> 32)
        w2 = load(words, 4, 0) + (w1 >> 32)
        w3 = load(words, 5, 0) + (w2 >> 32)
        w0 = w0 & {_MASK}
        w1 = w1 & {_MASK}
        w2 = w2 & {_MASK}
        w3 = w3 & {_MASK}{rounds}
        place = unit * {len(values)}{stores}
"""


def uniform_steps(kernel: int, words: int, target: int, size: int, dtype: str) -> list[Step]:
    """Steps for `size` numbers; `words` is the address of WORDS words."""
    blocks = -(-size // len(_VALUES[dtype]))
    return [Step(kernel, [words, target, size], 0, blocks, _GRAIN_BLOCKS)]


def moving_source() -> str:
    """Source of what moves a counter in memory on, for draws that are repeated without Python; unit: the one."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    words = pointer_int64(args[0])
    for unit in range(begin, end):
        carried = load(words, 2, 1) + args[1]
        store(words, 2, carried & {_MASK}, 1)
        carried = load(words, 3, 1) + (carried >> 32) + args[2]
        store(words, 3, carried & {_MASK}, 1)
        carried = load(words, 4, 1) + (carried >> 32)
        store(words, 4, carried & {_MASK}, 1)
        carried = load(words, 5, 1) + (carried >> 32)
        store(words, 5, carried & {_MASK}, 1)
"""


def moving_steps(kernel: int, words: int, blocks: int) -> list[Step]:
    """Steps that move the counter at `words` on by `blocks`."""
    return [Step(kernel, [words, blocks & 0xFFFFFFFF, blocks >> 32], 0, 1)]
