"""Kernels of random normals and integers: the numbers of the NumPy kernels, bit for bit (common/philox/bits.py).

Sums and products are those of NumPy's kernel, of float64, in its order; no flag lets LLVM reorder or fuse them.
Words are int64 whose upper halves are zero. Key and counter of a run lie in memory, as kernels/philox.py has them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from graphflow._core.codegen.cpu.programs.machine import Step
from graphflow._core.common.philox import bits

_MASK: Final = "0xFFFFFFFF"
_GRAIN_BLOCKS: Final = 1024
NORMALS_PER_BLOCK: Final = 4
INTEGERS_PER_BLOCK: Final = {"int32": 4, "int64": 2}
_TRUNCATION: Final = 2.0
TABLES: Final = np.concatenate([bits.LOG_SCALED_INVERSES, bits.LOG_TABLE])
"""What kernels of normals take the logarithm with."""
_LOG_ENTRIES: Final = bits.LOG_TABLE.size


def _indented(lines: list[str], depth: int) -> str:
    return "".join(f"\n{'    ' * depth}{line}" for line in lines)


def _block(offset: str) -> list[str]:
    """Lines that make the words w0 to w3 of the block at an offset from the first."""
    lines = [
        f"w0 = load(words, 2, 0) + ({offset})",
        "w1 = load(words, 3, 0) + (w0 >> 32)",
        "w2 = load(words, 4, 0) + (w1 >> 32)",
        "w3 = load(words, 5, 0) + (w2 >> 32)",
        *(f"w{k} = w{k} & {_MASK}" for k in range(4)),
    ]
    for turn in range(bits.ROUNDS):
        steps = [turn * step & 0xFFFFFFFF for step in bits.KEY_STEPS]
        lines += [
            f"first = w0 * {bits.MULTIPLIERS[0]}",
            f"second = w2 * {bits.MULTIPLIERS[1]}",
            f"w0 = ((second >> 32) & {_MASK}) ^ w1 ^ ((k0 + {steps[0]}) & {_MASK})",
            f"w1 = second & {_MASK}",
            f"w2 = ((first >> 32) & {_MASK}) ^ w3 ^ ((k1 + {steps[1]}) & {_MASK})",
            f"w3 = first & {_MASK}",
        ]
    return lines


def _uniform(words: str) -> str:
    """The float32 uniform number of 23 bits of a word, widened."""
    return f"float64({words} & 0x7FFFFF) * {2.0**-23!r}"


def _normals(sine: str, cosine: str, radius: str, angle: str) -> list[str]:
    """Lines that make two normals of two words, by the C library's logf and sincosf (philox/bits)."""
    p, c, s = bits.LOG_POLYNOMIAL, bits.COS_POLYNOMIAL, bits.SIN_POLYNOMIAL
    return [
        f"u = maximum({_uniform(radius)}, {bits.SMALLEST_UNIFORM!r})",
        f"entry = (word_float64(u) - {int(bits.LOG_ORIGIN)}) >> {int(bits.LOG_INDEX_SHIFT)}",
        "rest = load(tables, entry, 1) * u - 1.0",
        f"leading = load(tables, entry + {_LOG_ENTRIES}, 1) + rest",
        "square = rest * rest",
        f"logarithm = to_float32((rest * {p[1]!r} + {p[2]!r} + square * {p[0]!r}) * square + leading)",
        "length = f_sqrt(logarithm * float32(-2.0))",
        f"u = float64(to_float32({_uniform(angle)} * {bits.TWO_PI!r}))",
        f"turns = f_round(u * {2.0 / np.pi!r})",
        f"u = u - turns * {np.pi / 2.0!r}",
        "quadrant = to_int64(turns)",
        "square = u * u",
        "cube = square * u",
        f"sin_u = to_float32(cube * {s[0]!r} + u + (square * {s[2]!r} + {s[1]!r}) * (cube * square))",
        "fourth = square * square",
        f"tail = (square * {c[3]!r} + {c[2]!r}) * (fourth * square)",
        f"cos_u = to_float32(square * {c[0]!r} + 1.0 + fourth * {c[1]!r} + tail)",
        "odd = (quadrant & 1) != 0",
        "one = select(odd, cos_u, sin_u)",
        "other = select(odd, sin_u, cos_u)",
        f"{sine} = select((quadrant & 2) != 0, -one, one) * length",
        f"{cosine} = select(((quadrant + 1) & 2) != 0, -other, other) * length",
    ]


def _four(offset: str) -> list[str]:
    """Lines that make the normals z0 to z3 of a block."""
    return [*_block(offset), *_normals("z0", "z1", "w0", "w1"), *_normals("z2", "z3", "w2", "w3")]


_HEAD: Final = """
@kernel_function
def kernel(args, begin, end):
    words = pointer_int64(args[0])
    y = pointer_{dtype}(args[1])
    size = args[2]
    k0 = load(words, 0, 0)
    k1 = load(words, 1, 0)"""


def _whole_and_last(lines: list[str], names: list[str], per_block: int) -> str:
    """Loops that store the names of each block: of the whole ones, and of the last, as far as there are numbers."""
    stores = [f"store(y, unit * {per_block} + {k}, {name}, 2)" for k, name in enumerate(names)]
    last = [
        line
        for k, store in enumerate(stores)
        for line in (f"if unit * {per_block} + {k} < size:", f"    {store}")
    ]
    return f"""
    whole = min(end, size // {per_block})
    for unit in range(begin, whole):{_indented([*lines, *stores], 2)}
    for unit in range(max(begin, whole), end):{_indented([*lines, *last], 2)}
"""


def normal_source() -> str:
    """Source of float32 normals; unit: a block, of four of them."""
    head = _HEAD.format(dtype="float32") + "\n    tables = pointer_float64(args[3])"
    return head + _whole_and_last(_four("unit"), ["z0", "z1", "z2", "z3"], NORMALS_PER_BLOCK)


def truncated_normal_source() -> str:
    """Source of float32 normals of magnitude under two; unit: a group of four, which has its own stretch of blocks.

    A group takes the first four of its stretch that are small enough. Most take those of the first block: these are
    made of all groups at once, and looked at after that.
    """
    stretch = NORMALS_PER_BLOCK * bits.RESERVED_PER_OUTPUT // 4
    take = [
        line
        for k in range(NORMALS_PER_BLOCK)
        for line in (
            f"if filled < {NORMALS_PER_BLOCK} and f_abs(z{k}) < float32({_TRUNCATION}):",
            "    if place + filled < size:",
            f"        store(y, place + filled, z{k}, 2)",
            "    filled += 1",
        )
    ]
    more = [
        "while filled < 4:",
        *(f"    {line}" for line in (*_four(f"unit * {stretch} + attempt"), *take)),
        "    attempt += 1",
    ]
    stores = [f"store(y, unit * {NORMALS_PER_BLOCK} + {k}, z{k}, 2)" for k in range(NORMALS_PER_BLOCK)]
    kept = " and ".join(f"f_abs(z{k}) < float32({_TRUNCATION})" for k in range(NORMALS_PER_BLOCK))
    return f"""{_HEAD.format(dtype="float32")}
    tables = pointer_float64(args[3])
    whole = min(end, size // {NORMALS_PER_BLOCK})
    for unit in range(begin, whole):{_indented([*_four(f"unit * {stretch}"), *stores], 2)}
    for unit in range(begin, end):
        place = unit * {NORMALS_PER_BLOCK}
        filled = 0
        attempt = 0
        if unit < whole:{_indented([f"z{k} = load(y, place + {k}, 2)" for k in range(NORMALS_PER_BLOCK)], 3)}
            if {kept}:
                continue
            attempt = 1{_indented(take, 3)}{_indented(more, 2)}
"""


def uniform_int_source(dtype: str) -> str:
    """Source of integers in [low, low + span); arguments 3 and 4: low and span; unit: a block, of four or two."""
    constants = "\n    low = args[3]\n    span = args[4]"
    lines, names = _block("unit"), []
    if dtype == "int32":
        # The quotient of two numbers of 32 bits is no whole number's neighbour in float64, unless it is one.
        for k in range(4):
            lines.append(f"r{k} = w{k} - to_int64(f_floor(float64(w{k}) / float64(span))) * span + low")
            names.append(f"to_int32(r{k})")
        return _HEAD.format(dtype=dtype) + constants + _whole_and_last(lines, names, 4)
    names = [f"({high} << 32) | {low}" for low, high in (("w0", "w1"), ("w2", "w3"))]
    # Divisions of 64 bits are no vectors, and would keep the blocks from being some.
    return f"""from numba import uint64
{_HEAD.format(dtype=dtype)}{constants}{_whole_and_last(lines, names, 2)}
    for place in range(2 * begin, min(2 * end, size)):
        store(y, place, int64(uint64(load(y, place, 2)) % uint64(span)) + low, 2)
"""


def candidates_source(logarithmic: bool, unique: bool) -> str:
    """Source of classes drawn one after the other (kernels/candidates.py); one unit.

    Arguments: words, the classes, how many, the draws it took, an empty table for distinct ones, its places less one (a
    power of two), how many classes there are, the logarithm of one more as a float64's bits, and the least word that
    makes no class likelier than others.
    """
    lines = _block("block")
    for first, second in (("w0", "w1"), ("w2", "w3")):
        if logarithmic:
            uniform = f"float64((({first} & 0xFFFFF) << 32) | {second}) * {2.0**-52!r}"
            lines += [f"drawn = (to_int64(f_exp({uniform} * span)) - 1) % classes", "allowed = held < size"]
        else:
            lines += [
                f"word = uint64(({second} << 32) | {first})",
                "drawn = int64(word % uint64(classes))",
                "allowed = held < size and word >= skewed",
            ]
        take = ["    store(y, held, drawn, 2)", "    held += 1"]
        if unique:
            take = [
                "    slot = (drawn * 0x9E3779B1 >> 7) & mask",
                "    while load(table, slot, 3) >= 0 and load(table, slot, 3) != drawn:",
                "        slot = (slot + 1) & mask",
                "    if load(table, slot, 3) < 0:",
                "        store(table, slot, drawn, 3)",
                *(f"    {line}" for line in take),
            ]
        lines += ["if allowed:", "    tries += 1", *take]
    return f"""from numba import uint64
{_HEAD.format(dtype="int64")}
    made = pointer_int64(args[3])
    table = pointer_int64(args[4])
    mask = args[5]
    classes = args[6]
    span = bits_float64(args[7])
    skewed = uint64(args[8])
    for slot in range(mask + 1):
        store(table, slot, -1, 3)
    held = int64(0)
    tries = int64(0)
    block = int64(0)
    while held < size:{_indented(lines, 2)}
        block += 1
    store(made, 0, tries, 4)
"""


def candidates_steps(
    kernel: int, words: int, target: int, size: int, made: int, table: int, *numbers: int
) -> list[Step]:
    """The step that draws; `numbers` are the last four arguments."""
    return [Step(kernel, [words, target, size, made, table, *numbers], 0, 1)]


def classes_source(logits: str, dtype: str) -> str:
    """Source of classes drawn by unnormalised log-probabilities (Philox.multinomial); unit: a row.

    Weights are float64's exponentials, added in their order. A class whose logit is not finite has none. Arguments:
    words, the classes, how many are drawn of a row, logits, room for their weights, classes of a row.
    """
    pairs = (("w0", "w1"), ("w2", "w3"))
    uniform = [f"float64((({a} & 0xFFFFF) << 32) | {b}) * {2.0**-52!r}" for a, b in pairs]
    lines = [
        *_block("number // 2"),
        f"wanted = select(number % 2 == 0, {uniform[0]}, {uniform[1]}) * total",
        "low = int64(0)",
        "high = classes",
        "while low < high:",
        "    middle = (low + high) // 2",
        "    if load(weights, row + middle, 3) <= wanted:",
        "        low = middle + 1",
        "    else:",
        "        high = middle",
        f"store(y, number, to_{dtype}(low), 2)",
    ]
    largest = float(np.finfo(np.float64).max)
    return f"""{_HEAD.format(dtype=dtype)}
    logits = pointer_{logits}(args[3])
    weights = pointer_float64(args[4])
    classes = args[5]
    for unit in range(begin, end):
        row = unit * classes
        most = {-largest!r}
        for k in range(classes):
            value = float64(load(logits, row + k, 1))
            most = maximum(most, select(f_abs(value) <= {largest!r}, value, {-largest!r}))
        for k in range(classes):
            value = float64(load(logits, row + k, 1))
            weight = f_exp(select(f_abs(value) <= {largest!r}, value - most, 0.0))
            store(weights, row + k, select(f_abs(value) <= {largest!r}, weight, 0.0), 3)
        total = 0.0
        for k in range(classes):
            total += load(weights, row + k, 3)
            store(weights, row + k, total, 3)
        for number in range(unit * size, unit * size + size):{_indented(lines, 3)}
"""


def classes_steps(
    kernel: int, words: int, target: int, weights: int, logits: int, rows: int, classes: int, samples: int
) -> list[Step]:
    """Steps for so many rows."""
    grain = max(1, _GRAIN_BLOCKS // (classes + samples))
    return [Step(kernel, [words, target, samples, logits, weights, classes], 0, rows, grain)]


def shuffle_source() -> str:
    """Source of an order: position after position is swapped with a random later one, or itself; one unit.

    Arguments: words, int64 places in their order, how many.
    """
    swaps = [
        line
        for k in range(4)
        for line in (
            f"position = block * 4 + {k}",
            "if position < size - 1:",
            f"    partner = position + w{k} % (size - position)",
            "    held = load(y, position, 2)",
            "    store(y, position, load(y, partner, 2), 2)",
            "    store(y, partner, held, 2)",
        )
    ]
    return f"""{_HEAD.format(dtype="int64")}
    for position in range(size):
        store(y, position, position, 2)
    for block in range((size + 2) // 4):{_indented([*_block("block"), *swaps], 2)}
"""


def shuffle_steps(kernel: int, words: int, target: int, size: int) -> list[Step]:
    """The step that makes an order of `size` places."""
    return [Step(kernel, [words, target, size], 0, 1)]


def steps(kernel: int, words: int, target: int, size: int, per_block: int, *others: int) -> list[Step]:
    """Steps for `size` numbers; `words` is the address of the words of the run, `others` the arguments after that."""
    return [Step(kernel, [words, target, size, *others], 0, -(-size // per_block), _GRAIN_BLOCKS)]
