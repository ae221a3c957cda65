"""Random numbers on a CPU, the same ones as TensorFlow 1.15's for the same seeds.

A state is a key and a 128-bit counter. Every call sets aside as many 128-bit blocks as TensorFlow's kernel does, more
than it uses, so that the second and the third run of a seeded op agree with TensorFlow's too. All methods may be
called from several threads; each call takes its blocks under a lock.

Integers, shuffles, uniforms and float16 and float32 normals are TensorFlow's bit for bit, on every machine. Double
normals, gamma, Poisson and multinomial draws use NumPy's double logarithm, sine or exponential, whose last bits may
differ from the C library's: doubles agree to about their last two bits, and a count or class practically always.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from graphflow._core.common.arrays import is_bfloat16
from graphflow._core.common.philox import rejection
from graphflow._core.common.philox.bits import (
    CHUNK_BLOCKS,
    RESERVED_PER_OUTPUT,
    Stream,
    UInt64Array,
    box_muller_float32,
    box_muller_float64,
    state_words,
    uniform_float64,
)
from graphflow.errors import InvalidArgumentError

_WORD64: Final = 0xFFFFFFFFFFFFFFFF
_COUNTER_SIZE: Final = 1 << 128
_STATELESS_KEY: Final = 0x02461E29_3EC8F720
"""With what the seeds of stateless ops are mixed."""
_FLOATS: Final = (np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64))
_ONE: Final[Mapping[str, tuple[Any, int, int]]] = {
    "float16": (np.uint16, 0x3FF, 0x3C00),
    "bfloat16": (np.uint16, 0x7F, 0x3F80),
    "float32": (np.uint32, 0x7FFFFF, 0x3F800000),
}
"""Of a dtype of floats: the integers of its size, the bits behind the point, and the bits of 1."""
_INTEGERS: Final = (np.dtype(np.int32), np.dtype(np.int64))

Array = npt.NDArray[Any]
_Spread = Callable[[Array, UInt64Array, UInt64Array], None]

# Under so many elements the swaps that can be done together are too few to pay.
_SEQUENTIAL_SWAPS = 16384
# So many logits are looked at together: what is in between then stays in a core's cache.
_LOGITS_TOGETHER = 32768
# The logarithm of the factorial of much larger counts is no float64.
_LARGEST_RATE: Final = 1e300


def _checked_shape(shape: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The shape as a tuple, and its number of elements."""
    sizes = tuple(int(size) for size in shape)
    for size in sizes:
        if size < 0:
            raise InvalidArgumentError(None, None, f"Dimension {size} must be >= 0, got shape {list(sizes)}.")
    return sizes, math.prod(sizes)


def _checked_dtype(dtype: npt.DTypeLike, allowed: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
    """The dtype, if it is one of those that the distribution has."""
    found = np.dtype(dtype)
    if found not in allowed:
        expected = ", ".join(choice.name for choice in allowed)
        raise InvalidArgumentError(None, None, f"dtype must be one of {expected}, got {found.name}.")
    return found


def _checked_float(dtype: npt.DTypeLike) -> np.dtype[Any]:
    found = np.dtype(dtype)
    return found if is_bfloat16(found) else _checked_dtype(found, _FLOATS)


def _check_parameters(name: str, values: Array, largest: float) -> None:
    """Refuses values for which TensorFlow draws for ever, or draws nonsense."""
    wide = values.astype(np.float64)
    bad = ~((wide >= 0.0) & (wide <= largest))
    if bad.any():
        raise InvalidArgumentError(
            None, None, f"{name} must be between 0 and {largest:g}, got {values[bad].flat[0]}."
        )


def _spread(out: Array, even: Array, odd: Array) -> None:
    """Writes what goes by pairs of words, (2, n) each, as n rows of four in the order of the stream."""
    pairs = out.reshape(-1, 2, 2)
    pairs[:, :, 0] = even.T
    pairs[:, :, 1] = odd.T


def _spread_normal(out: Array, even: UInt64Array, odd: UInt64Array) -> None:
    """Writes four normals a block."""
    _spread(out, *box_muller_float32(even, odd))


def _spread_uniform_float64(out: Array, even: UInt64Array, odd: UInt64Array) -> None:
    """Writes two uniform doubles a block."""
    out[...] = uniform_float64(even, odd).T


def _spread_normal_float64(out: Array, even: UInt64Array, odd: UInt64Array) -> None:
    """Writes two normal doubles a block."""
    out[:, 0], out[:, 1] = box_muller_float64(even, odd)


def _spread_uint64(out: Array, even: UInt64Array, odd: UInt64Array) -> None:
    """Writes two 64-bit words a block, the earlier word low."""
    out[...] = (odd << np.uint64(32) | even).T


def _fill(
    stream: Stream,
    count: int,
    dtype: npt.DTypeLike,
    spread: Callable[[Array, UInt64Array, UInt64Array], None],
) -> Array:
    """The first `count` outputs of a distribution that takes a fixed number of words for each, flat.

    `spread` writes those of some blocks, a row for each: two if they have 64 bits, otherwise four.
    """
    kind = np.dtype(dtype)
    per_block = 2 if kind.itemsize == 8 else 4
    blocks = -(-count // per_block)
    out = np.empty((blocks, per_block), dtype=kind)
    for rows, even, odd in stream.chunks(blocks):
        spread(out[rows], even, odd)
    return out.reshape(-1)[:count]


def _class_weights(logits: Array) -> npt.NDArray[np.float64]:
    """The exponentials of logits, as if the largest of a row were 0; 0 for one that is not finite."""
    weights = logits.astype(np.float64)
    finite = np.isfinite(weights)
    if finite.all():
        weights -= weights.max(axis=1, keepdims=True)
        return np.exp(weights, out=weights)
    largest = np.max(weights, axis=1, keepdims=True, where=finite, initial=-np.finfo(np.float64).max)
    np.subtract(weights, largest, out=weights, where=finite)
    np.exp(weights, out=weights, where=finite)
    weights[~finite] = 0.0
    return weights


def _draw_classes(
    cumulative: npt.NDArray[np.float64], uniform: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """How many of the rising values of row i are at most uniform[i, j] times its last one.

    A binary search in many rows at once: a call for each row would cost more than its search.
    """
    batch, width = cumulative.shape
    samples = uniform.shape[1]
    if samples == 1:
        reached: npt.NDArray[np.int64] = np.count_nonzero(
            cumulative <= uniform * cumulative[:, -1:], axis=1, keepdims=True
        )
        return reached
    depth = width.bit_length()
    stride = (1 << depth) - 1
    padded = np.full((batch, stride), np.inf)
    padded[:, :width] = cumulative
    table, totals, flat = padded.reshape(-1), cumulative[:, -1], uniform.reshape(-1)
    found = np.empty(flat.size, dtype=np.int64)
    for begin in range(0, flat.size, CHUNK_BLOCKS):
        end = min(begin + CHUNK_BLOCKS, flat.size)
        row = np.arange(begin, end) // samples
        wanted = flat[begin:end] * totals[row]
        before = row * stride - 1
        places = before.copy()
        for bit in range(depth - 1, -1, -1):
            probe = places + (1 << bit)
            np.copyto(places, probe, where=table.take(probe) <= wanted)
        np.subtract(places, before, out=found[begin:end])
    return found.reshape(uniform.shape)


def _shuffled_indices(partners: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The order that arises when position i is swapped with partners[i] >= i, for i = 0, 1, ...

    Swaps are done together as long as none touches what an earlier one of them has touched; once that gives short
    stretches only, one at a time.
    """
    size = partners.size + 1
    order = np.arange(size)
    first_use = np.full(size, size)
    begin = 0
    while size - begin > _SEQUENTIAL_SWAPS:
        end = begin + 2 * math.isqrt(size - begin)
        positions, chosen = np.arange(begin, end), partners[begin:end]
        # Of several values for one index the last one stays, so that reversed order leaves the earliest swap.
        first_use[chosen[::-1]] = positions[::-1]
        here = first_use[begin:end]
        clashes = (first_use[chosen] < positions) | ((here >= begin) & (here < positions))
        clash = int(np.argmax(clashes))
        if clashes[clash]:
            end = begin + clash
            chosen = chosen[:clash]
        moved = order[begin:end].copy()
        order[begin:end] = order[chosen]
        order[chosen] = moved
        begin = end
    rest = order[begin:].tolist()
    for position, partner in enumerate((partners[begin:] - begin).tolist()):
        rest[position], rest[partner] = rest[partner], rest[position]
    order[begin:] = rest
    return order


class Philox:
    """The state of one random op.

    `seed` and `seed2` are the op's two seeds, 64-bit integers, negative ones included. Both zero means unseeded: the
    state then comes from the operating system, as in TensorFlow's GuardedPhiloxRandom.
    """

    begins_alike = True

    def __init__(self, seed: int = 0, seed2: int = 0) -> None:
        if seed == 0 and seed2 == 0:
            entropy = int.from_bytes(os.urandom(16), "little")
            seed, seed2 = entropy & _WORD64, entropy >> 64
        self._key = seed & _WORD64
        self._counter = (seed2 & _WORD64) << 64
        self._lock = threading.Lock()

    @classmethod
    def stateless(cls, seed: Sequence[int]) -> Philox:
        """The state that follows from two seeds alone, both zero too, as of TensorFlow's stateless ops."""
        mixer, found = cls(1), cls(1)
        low, high = (int(value) & _WORD64 for value in seed)
        mixer.set_state({"philox": np.array([low, high, _STATELESS_KEY], np.uint64)})
        first, second, third, fourth = mixer.words(1).tolist()
        mixed = [0, fourth << 32 | third, second << 32 | first]
        found.set_state({"philox": np.array(mixed, np.uint64)})
        return found

    def get_state(self) -> dict[str, UInt64Array]:
        """The state: {"philox": the low and the high half of the counter, and the key}, three uint64."""
        with self._lock:
            words = [self._counter & _WORD64, self._counter >> 64, self._key]
        return {"philox": np.array(words, dtype=np.uint64)}

    def set_state(self, state: Mapping[str, npt.ArrayLike]) -> None:
        """Goes on from what get_state returned; ValueError for anything but three integers."""
        words = np.asarray(state.get("philox", ()))
        if words.shape != (3,) or words.dtype.kind not in "iu":
            raise ValueError(f"A random state is three integers, got {words.dtype} of shape {words.shape}.")
        low, high, key = (int(word) & _WORD64 for word in words)
        with self._lock:
            self._counter, self._key = high << 64 | low, key

    def reserve(self, blocks: int) -> Stream:
        """Sets `blocks` 128-bit blocks aside and returns the stretch that begins with them."""
        with self._lock:
            stream = Stream(self._key, self._counter)
            self._counter = (self._counter + blocks) % _COUNTER_SIZE
            return stream

    @contextmanager
    def held(self) -> Iterator[npt.NDArray[np.int64]]:
        """Holds the state for code that draws by itself, as words (state_words) in which that moves the counter on.

        Who draws meanwhile waits: it must not wait for anybody.
        """
        with self._lock:
            words = state_words(Stream(self._key, self._counter))
            try:
                yield words
            finally:
                self._counter = sum(int(word) << (32 * place) for place, word in enumerate(words[2:]))

    def words(self, blocks: int) -> npt.NDArray[np.uint32]:
        """The next 4 * blocks words of 32 random bits."""
        return _fill(self.reserve(blocks), 4 * blocks, np.uint32, _spread)

    def _reserve_outputs(self, outputs: int) -> Stream:
        """Sets aside what TensorFlow does for so many outputs, whatever the distribution needs."""
        return self.reserve(outputs * RESERVED_PER_OUTPUT)

    def random_uniform(
        self, shape: Sequence[int], dtype: npt.DTypeLike = np.float32, calls: int | None = None
    ) -> Array:
        """Returns floats uniform in [0, 1), with 7, 10, 23 or 52 random bits (TensorFlow's RandomUniform).

        With `calls`, what so many calls one after the other return, one below the other.
        """
        sizes, count = _checked_shape(shape)
        kind = _checked_float(dtype)
        if kind == np.float64:
            return self._draw(sizes, count, kind, _spread_uniform_float64, calls)
        word, mantissa, one = _ONE[kind.name]
        bits = self._draw(sizes, count, word, _spread, calls)
        np.bitwise_and(bits, mantissa, out=bits)
        np.bitwise_or(bits, one, out=bits)
        values: Array = bits.view(kind)
        values -= kind.type(1)
        return values

    def _draw(
        self,
        sizes: tuple[int, ...],
        count: int,
        dtype: npt.DTypeLike,
        spread: Callable[[Array, UInt64Array, UInt64Array], None],
        calls: int | None,
    ) -> Array:
        """The outputs of one call of a distribution, or of several, of which each has its own stretch of blocks."""
        if calls is None:
            return _fill(self._reserve_outputs(count), count, dtype, spread).reshape(sizes)
        kind = np.dtype(dtype)
        per_block = 2 if kind.itemsize == 8 else 4
        blocks, apart = -(-count // per_block), count * RESERVED_PER_OUTPUT
        stream = self._reserve_outputs(count * calls)
        out = np.empty((calls, blocks * per_block), dtype=kind)
        together = max(1, CHUNK_BLOCKS // max(1, blocks))
        for begin in range(0, calls, together):
            end = min(begin + together, calls)
            starts = np.arange(begin, end, dtype=np.uint64) * np.uint64(apart)
            offsets = (
                (starts[:, np.newaxis] + np.arange(blocks, dtype=np.uint64))
                .reshape(-1)
                .astype(np.uint64, copy=False)
            )
            spread(out[begin:end].reshape(-1, per_block), *stream.blocks(offsets))
        return np.ascontiguousarray(out[:, :count]).reshape((calls, *sizes))

    def random_uniform_int(
        self, shape: Sequence[int], minval: int, maxval: int, dtype: npt.DTypeLike = np.int32
    ) -> Array:
        """Returns integers in [minval, maxval): 32 or 64 random bits, reduced (TensorFlow's RandomUniformInt).

        InvalidArgumentError unless minval < maxval and both are of the dtype; an empty result is not checked.
        """
        sizes, count = _checked_shape(shape)
        kind = _checked_dtype(dtype, _INTEGERS)
        if count == 0:
            return np.empty(sizes, dtype=kind)
        low, high = int(minval), int(maxval)
        limits = np.iinfo(kind)
        if low < limits.min or high > limits.max:
            raise InvalidArgumentError(
                None, None, f"minval {low} and maxval {high} must be of dtype {kind.name}."
            )
        if low >= high:
            raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}.")
        stream = self._reserve_outputs(count)
        if kind == np.int32:
            words = _fill(stream, count, np.uint32, _spread)
        else:
            words = _fill(stream, count, np.uint64, _spread_uint64)
        unsigned = words.dtype.type
        np.remainder(words, unsigned(high - low), out=words)
        np.add(words, unsigned(low % (1 << 8 * kind.itemsize)), out=words)
        return words.view(kind).reshape(sizes)

    def random_normal(
        self, shape: Sequence[int], dtype: npt.DTypeLike = np.float32, calls: int | None = None
    ) -> Array:
        """Returns standard normals by the Box-Muller transform (TensorFlow's RandomStandardNormal).

        With `calls`, what so many calls one after the other return, one below the other.
        """
        sizes, count = _checked_shape(shape)
        kind = _checked_float(dtype)
        if is_bfloat16(kind):
            return self.random_normal(shape, np.float32, calls).astype(kind)
        spread = _spread_normal_float64 if kind == np.float64 else _spread_normal
        return self._draw(sizes, count, kind, spread, calls)

    def truncated_normal(self, shape: Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
        """Returns standard normals of magnitude under two (TensorFlow's TruncatedNormal)."""
        sizes, count = _checked_shape(shape)
        kind = _checked_float(dtype)
        if is_bfloat16(kind):
            return self.truncated_normal(shape, np.float32).astype(kind)
        stream = self._reserve_outputs(count)
        return rejection.truncated_normal(stream, count, kind).reshape(sizes)

    def multinomial(self, logits: Array, num_samples: int, dtype: npt.DTypeLike = np.int64) -> Array:
        """Returns `num_samples` classes for each row of `logits`, which are unnormalised log-probabilities.

        `logits` is (batch, classes), the result (batch, num_samples) of int32 or int64. Classes whose logit is not
        finite are never drawn; a row without a finite logit gives the number of classes, as in TensorFlow. If
        TensorFlow splits the batch over threads, its numbers depend on how many there are: these are one's.
        """
        kind = _checked_dtype(dtype, _INTEGERS)
        if logits.ndim != 2:
            raise InvalidArgumentError(None, None, f"logits should be a matrix, got shape {[*logits.shape]}.")
        if num_samples < 0:
            raise InvalidArgumentError(None, None, f"num_samples should be nonnegative, got {num_samples}.")
        batch, classes = logits.shape
        if classes == 0:
            raise InvalidArgumentError(None, None, "num_classes should be positive, got 0.")
        if batch == 0 or num_samples == 0:
            return np.empty((batch, num_samples), dtype=kind)
        stream = self._reserve_outputs(batch * (2 * (-(-num_samples // 4) * 4)))
        uniform = _fill(stream, batch * num_samples, np.float64, _spread_uniform_float64)
        uniform = uniform.reshape(batch, num_samples)
        drawn = np.empty((batch, num_samples), dtype=kind)
        together = max(1, _LOGITS_TOGETHER // classes)
        for begin in range(0, batch, together):
            rows = slice(begin, begin + together)
            drawn[rows] = _draw_classes(np.cumsum(_class_weights(logits[rows]), axis=1), uniform[rows])
        return drawn

    def random_shuffle(self, value: Array) -> Array:
        """Returns a copy of `value` with its first axis in random order (TensorFlow's RandomShuffle)."""
        if value.ndim == 0 or value.size <= 1 or value.shape[0] <= 1:
            return value.copy()
        size = value.shape[0]
        stream = self.reserve(-(-(size - 1) // 4))
        words = _fill(stream, size - 1, np.uint32, _spread).astype(np.int64)
        positions = np.arange(size - 1, dtype=np.int64)
        partners = words % (size - positions) + positions
        return value.take(_shuffled_indices(partners), axis=0)

    def random_gamma(self, shape: Sequence[int], alpha: Array) -> Array:
        """Returns `shape` draws of the gamma distribution of each `alpha`, scale one (TensorFlow's RandomGamma).

        The result has alpha's dtype, a float, and the shape `shape` followed by alpha's. InvalidArgumentError for an
        alpha that is negative or not finite.
        """
        sizes, count = _checked_shape(shape)
        _checked_dtype(alpha.dtype, _FLOATS)
        _check_parameters("alpha", alpha, float(np.finfo(alpha.dtype).max))
        stream = self._reserve_outputs(count * alpha.size)
        return rejection.random_gamma(stream, count, alpha.ravel()).reshape(sizes + alpha.shape)

    def random_poisson(self, shape: Sequence[int], rate: Array, dtype: npt.DTypeLike = np.int64) -> Array:
        """Returns `shape` draws from the Poisson distribution of each `rate` (TensorFlow's RandomPoissonV2).

        The result has the shape `shape` followed by rate's, and any of the float dtypes, int32 or int64.
        InvalidArgumentError for a rate that is negative, not finite, or more than the dtype holds.
        """
        sizes, count = _checked_shape(shape)
        kind = _checked_dtype(dtype, _FLOATS + _INTEGERS)
        _checked_dtype(rate.dtype, _FLOATS + _INTEGERS)
        largest = float(np.finfo(kind).max if kind in _FLOATS else np.iinfo(kind).max)
        _check_parameters("rate", rate, min(largest, _LARGEST_RATE))
        stream = self._reserve_outputs(count * rate.size)
        return rejection.random_poisson(stream, count, rate.ravel(), kind, largest).reshape(
            sizes + rate.shape
        )
