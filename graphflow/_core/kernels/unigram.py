"""Classes drawn by weights: given ones, by the alias method of Walker, or counted ones, as TensorFlow draws them.

A draw takes one or two words of 32 random bits of one stream. A word is left out if with it some classes would be
likelier than others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from graphflow._core.common.philox.bits import UInt64Array
from graphflow._core.kernels.candidates import Classes, Draw

_WORD32: Final = (1 << 32) - 1
Float32s = npt.NDArray[np.float32]


def weights(unigrams: Sequence[float], distortion: float, reserved: int, shards: int, shard: int) -> Float32s:
    """The weights of the classes of one shard; reserved classes come first and have none."""
    own = [0.0] * len(range(shard, reserved, shards))
    # As in TensorFlow, the classes behind the reserved ones are counted from those of this shard.
    behind = unigrams[(shard - len(own)) % shards :: shards]
    raised = np.power(np.asarray(behind, np.float32).astype(np.float64), np.float32(distortion))
    found: Float32s = np.concatenate([own, raised]).astype(np.float32)
    return found


def share(ids: Classes, numbers: npt.NDArray[Any]) -> Float32s:
    """The part that classes have of the sum of some weights; of no class it is 0."""
    whole = numbers.astype(np.float64)
    inside = (ids >= 0) & (ids < whole.size)
    found = np.where(inside, whole[np.where(inside, ids, 0)], 0.0)
    shares: Float32s = (found / whole.sum()).astype(np.float32)
    return shares


def fixed(numbers: Float32s) -> Draw:
    """Classes by weights: a class is drawn evenly, and kept with a probability or changed for its partner."""
    size = numbers.size
    chance, partner = _aliases(numbers)
    least = _least_word(size)

    def draw(first: UInt64Array, second: UInt64Array) -> Classes:
        words = np.stack((first, second), axis=1).reshape(-1)
        while True:
            refused = np.flatnonzero(words[1::2] < least)
            if not refused.size:
                break
            # One more word is taken for this draw, and all later ones begin a word later.
            words = np.delete(words, 2 * int(refused[0]) + 1)
            words = words[: words.size // 2 * 2]
        bits = (words[::2] & np.uint64(0x7FFFFF) | np.uint64(0x3F800000)).astype(np.uint32)
        kept = bits.view(np.float32) - np.float32(1)
        chosen: Classes = (words[1::2] % np.uint64(size)).astype(np.int64)
        return np.where(kept < chance[chosen], chosen, partner[chosen])

    return draw


def counted(counts: npt.NDArray[np.int64]) -> Draw:
    """Classes by how often each was counted."""
    ends = np.cumsum(counts)
    whole = int(ends[-1])
    least = _least_word(whole)

    def draw(first: UInt64Array, second: UInt64Array) -> Classes:
        words = np.stack((first, second), axis=1).reshape(-1)
        places = words[words >= least] % np.uint64(whole)
        found: Classes = np.searchsorted(ends, places.astype(np.int64), side="right")
        return found

    return draw


def _least_word(size: int) -> int:
    """The least of 32 bits that is looked at."""
    return 0 if size & (size - 1) == 0 else _WORD32 % size + 1


def _aliases(numbers: Float32s) -> tuple[Float32s, Classes]:
    """Of each class the probability that it is kept, and the class that comes in its place."""
    size = numbers.size
    whole = float(numbers.astype(np.float64).sum())
    rest = ((numbers * np.float32(size)).astype(np.float64) / whole).tolist()
    partner = np.arange(size)
    low = [i for i, share_ in enumerate(rest) if share_ < 1.0]
    high = [i for i, share_ in enumerate(rest) if share_ >= 1.0]
    while high and low:
        poor, rich = low.pop(), high.pop()
        partner[poor] = rich
        rest[rich] -= 1.0 - rest[poor]
        (low if rest[rich] < 1.0 else high).append(rich)
    chance = np.array(rest, np.float32)
    chance[[*low, *high]] = 1.0
    return chance, partner
