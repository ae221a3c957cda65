"""Classes drawn for losses over very many of them, one after the other as TensorFlow's samplers draw them.

Their numbers are TensorFlow's for the same seeds. What a draw costs follows from how many classes are drawn, not from
how many there are; distinct ones are found in a stretch of draws made at once, which is lengthened if they are too
few.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from graphflow._core.common.philox.bits import Float64Array, Stream, UInt64Array, uniform_float64

RESERVED_PER_CANDIDATE: Final = 512
"""Blocks that TensorFlow sets aside for each class drawn."""
Classes = npt.NDArray[np.int64]
Draw = Callable[[UInt64Array, UInt64Array], Classes]
"""Of the first and the second word of each draw, the classes; fewer if some words give none."""
_WORD64: Final = (1 << 64) - 1


def log_uniform(classes: int) -> Draw:
    """Classes whose probability falls as log((class + 2) / (class + 1))."""
    span = math.log1p(classes)

    def draw(first: UInt64Array, second: UInt64Array) -> Classes:
        drawn: Classes = np.exp(uniform_float64(first, second) * span).astype(np.int64)
        return (drawn - 1) % classes

    return draw


def log_uniform_probability(ids: Classes, classes: int) -> npt.NDArray[np.float32]:
    """The probability of some classes; of no class it is no number, or infinite."""
    wide: Float64Array = ids.astype(np.float64)
    with np.errstate(all="ignore"):
        return (np.log((wide + 2.0) / (wide + 1.0)) / math.log1p(classes)).astype(np.float32)


def least_word(classes: int) -> int:
    """The least of 64 bits that is looked at: with the lower ones some classes would be likelier than others."""
    return 0 if classes & (classes - 1) == 0 else _WORD64 % classes + 1


def uniform(classes: int) -> Draw:
    """Classes of equal probability."""
    skewed = np.uint64(least_word(classes))

    def draw(first: UInt64Array, second: UInt64Array) -> Classes:
        words = second << np.uint64(32) | first
        found: Classes = (words[words >= skewed] % np.uint64(classes)).astype(np.int64)
        return found

    return draw


def uniform_probability(ids: Classes, classes: int) -> npt.NDArray[np.float32]:
    """The same for all."""
    return np.full(ids.shape, 1.0 / classes, np.float32)


def drawn(stream: Stream, draw: Draw, count: int, unique: bool) -> tuple[Classes, int]:
    """`count` classes in the order in which they were first drawn, distinct ones if `unique`, and the draws it took.

    There must be so many classes.
    """
    tries = count
    while True:
        blocks = [words for _, *words in stream.chunks(-(-tries // 2))]
        first, second = (np.concatenate([b[k].T.reshape(-1) for b in blocks]) for k in (0, 1))
        found = draw(first, second)
        if not unique and found.size >= count:
            return found[:count], count
        if unique:
            firsts = np.sort(np.unique(found, return_index=True)[1])
            if firsts.size >= count:
                return found[firsts[:count]], int(firsts[count - 1]) + 1
        tries *= 2


def expected_counts(probability: npt.NDArray[np.float32], count: int, tries: int) -> npt.NDArray[np.float32]:
    """How often classes of some probability are expected among `count`, for which it took so many draws."""
    if tries == count:
        return probability * np.float32(count)
    with np.errstate(all="ignore"):
        return -np.expm1(np.float32(tries) * np.log1p(-probability))
