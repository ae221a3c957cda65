"""Philox4x32-10 and the Box-Muller transform, bit for bit as TensorFlow's CPU kernels compute them.

Initial weights can be compared with TensorFlow's only if the numbers are the same to the last bit, and a seeded
program must give the same numbers on every machine. NumPy's own float32 log and sin differ from the C library's and
from one processor to the next, so the float32 transform here is written in float64 sums and products alone, which
round alike everywhere; the polynomials are those of the C library that TensorFlow calls (logf and sincosf of
ARM's Optimized Routines, MIT licence), so that the results agree with it for every input that can occur.

Words are kept as uint64 arrays whose upper halves are zero, two counter words side by side, because a 32 by 32 bit
product then is one vector multiplication and a round is five array operations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from graphflow._core.common.records import dataclass

UInt64Array = npt.NDArray[np.uint64]
Float32Array = npt.NDArray[np.float32]
Float64Array = npt.NDArray[np.float64]

RESERVED_PER_OUTPUT = 256
"""Blocks that TensorFlow sets aside for each output of a distribution that rejects."""

CHUNK_BLOCKS = 8192
"""Blocks made at a time: their words and temporaries stay in a core's second-level cache."""

_FEW_BLOCKS = 3
_WORD_MASK = np.uint64(0xFFFFFFFF)
_WORD_BITS = np.uint64(32)
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_MULTIPLIERS = np.array(MULTIPLIERS, dtype=np.uint64).reshape(2, 1)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10

_FLOAT32_MANTISSA = np.uint64(0x7FFFFF)
_FLOAT32_TO_FLOAT64_SHIFT = np.uint64(29)
_FLOAT64_HIGH_MANTISSA = np.uint64(0xFFFFF)
_FLOAT64_ONE = np.uint64(0x3FF0000000000000)

# The smallest uniform that the logarithm is given, so that it stays finite.
SMALLEST_UNIFORM = float(np.float32(1e-7))
TWO_PI = 2.0 * np.pi


@lru_cache(maxsize=256)
def _round_keys(key: int) -> UInt64Array:
    """The keys of the ten rounds, (10, 2, 1), from the 64-bit key."""
    low, high = key & 0xFFFFFFFF, key >> 32
    keys = [
        [[(low + step * KEY_STEPS[0]) & 0xFFFFFFFF], [(high + step * KEY_STEPS[1]) & 0xFFFFFFFF]]
        for step in range(ROUNDS)
    ]
    return np.array(keys, dtype=np.uint64)


@dataclass(frozen=True)
class Stream:
    """A stretch of Philox output: a 64-bit key and the 128-bit counter of its first block."""

    key: int
    start: int

    def blocks(self, offsets: UInt64Array) -> tuple[UInt64Array, UInt64Array]:
        """Returns the blocks at increasing `offsets` from the start.

        Each block is four 32-bit words; with n offsets the result is a pair of (2, n) arrays: words 0 and 2, and
        words 1 and 3. Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011).
        """
        count = offsets.size
        if count <= _FEW_BLOCKS:
            return self._few(offsets.tolist())
        even, odd, product = np.empty((3, 2, count), dtype=np.uint64)
        low_start, high = self.start & 0xFFFFFFFFFFFFFFFF, self.start >> 64
        low = offsets + np.uint64(low_start)
        np.bitwise_and(low, _WORD_MASK, out=even[0])
        np.right_shift(low, _WORD_BITS, out=odd[0])
        even[1] = high & 0xFFFFFFFF
        odd[1] = high >> 32
        if count and int(offsets[-1]) + low_start >> 64:
            next_high = (high + 1) & 0xFFFFFFFFFFFFFFFF
            carried = low < np.uint64(low_start)
            even[1, carried] = next_high & 0xFFFFFFFF
            odd[1, carried] = next_high >> 32
        crossed = product[::-1]
        for round_key in _round_keys(self.key):
            np.multiply(even, _MULTIPLIERS, out=product)
            np.right_shift(crossed, _WORD_BITS, out=even)
            np.bitwise_xor(even, odd, out=even)
            np.bitwise_xor(even, round_key, out=even)
            np.bitwise_and(crossed, _WORD_MASK, out=odd)
        return even, odd

    def _few(self, offsets: list[int]) -> tuple[UInt64Array, UInt64Array]:
        """The blocks at some offsets, in Python's integers: for a few numbers quicker than calls of NumPy."""
        words = np.empty((2, 2, len(offsets)), dtype=np.uint64)
        for position, offset in enumerate(offsets):
            counter = self.start + offset
            a, b = counter & 0xFFFFFFFF, counter >> 32 & 0xFFFFFFFF
            c, d = counter >> 64 & 0xFFFFFFFF, counter >> 96 & 0xFFFFFFFF
            low, high = self.key & 0xFFFFFFFF, self.key >> 32
            for _ in range(ROUNDS):
                first, second = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
                a, b = second >> 32 ^ b ^ low, second & 0xFFFFFFFF
                c, d = first >> 32 ^ d ^ high, first & 0xFFFFFFFF
                low, high = low + KEY_STEPS[0] & 0xFFFFFFFF, high + KEY_STEPS[1] & 0xFFFFFFFF
            words[:, :, position] = ((a, c), (b, d))
        return words[0], words[1]

    def chunks(self, count: int, stride: int = 1) -> Iterator[tuple[slice, UInt64Array, UInt64Array]]:
        """Yields blocks 0, stride, 2 stride, ... `count` of them in order, as (which, words 0 and 2, words 1 and 3)."""
        for begin in range(0, count, CHUNK_BLOCKS):
            end = min(begin + CHUNK_BLOCKS, count)
            even, odd = self.blocks(np.arange(begin * stride, end * stride, stride, dtype=np.uint64))
            yield slice(begin, end), even, odd


def uniform_float64(high: UInt64Array, low: UInt64Array) -> Float64Array:
    """Returns uniform doubles in [0, 1) of 52 bits: 20 from each word of `high`, 32 from that of `low`."""
    bits = np.bitwise_and(high, _FLOAT64_HIGH_MANTISSA)
    np.left_shift(bits, _WORD_BITS, out=bits)
    np.bitwise_or(bits, low, out=bits)
    np.bitwise_or(bits, _FLOAT64_ONE, out=bits)
    uniform = bits.view(np.float64)
    uniform -= 1.0
    return uniform


def _uniform_float32_as_float64(words: UInt64Array) -> Float64Array:
    """The float32 uniforms in [0, 1) of 23 bits that the words give, widened."""
    bits = np.bitwise_and(words, _FLOAT32_MANTISSA)
    np.left_shift(bits, _FLOAT32_TO_FLOAT64_SHIFT, out=bits)
    np.bitwise_or(bits, _FLOAT64_ONE, out=bits)
    uniform = bits.view(np.float64)
    uniform -= 1.0
    return uniform


# logf: the mantissas from 0.69921875 on are divided into 16 intervals. For u in the interval around 1/c, scaled by
# 2**k, log(u) = k log(2) - log(c) + log1p(u c 2**-k - 1). The tables hold c 2**-k and k log(2) - log(c) for every
# k that a uniform number can have; the upper bits of u index them.
_LOG_INVERSE_CENTRES = tuple(
    float.fromhex(centre)
    for centre in (
        "0x1.661ec79f8f3bep+0",
        "0x1.571ed4aaf883dp+0",
        "0x1.49539f0f010bp+0",
        "0x1.3c995b0b80385p+0",
        "0x1.30d190c8864a5p+0",
        "0x1.25e227b0b8eap+0",
        "0x1.1bb4a4a1a343fp+0",
        "0x1.12358f08ae5bap+0",
        "0x1.0953f419900a7p+0",
        "0x1p+0",
        "0x1.e608cfd9a47acp-1",
        "0x1.ca4b31f026aap-1",
        "0x1.b2036576afce6p-1",
        "0x1.9c2d163a1aa2dp-1",
        "0x1.886e6037841edp-1",
        "0x1.767dcf5534862p-1",
    )
)
LOG_POLYNOMIAL = tuple(
    map(float.fromhex, ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2"))
)
_LOG_EXPONENTS = range(-23, 1)
LOG_ORIGIN = np.uint64(0x3FE6600000000000 + (_LOG_EXPONENTS[0] << 52))
LOG_INDEX_SHIFT = np.uint64(48)
LOG_SCALED_INVERSES = np.array(
    [centre * 2.0**-exponent for exponent in _LOG_EXPONENTS for centre in _LOG_INVERSE_CENTRES]
)
LOG_TABLE = np.array(
    [
        exponent * math.log(2.0) - math.log(centre)
        for exponent in _LOG_EXPONENTS
        for centre in _LOG_INVERSE_CENTRES
    ]
)


def _log_float32(uniform: Float64Array) -> Float32Array:
    """The C library's logf of float32 values in [1e-7, 1) held as float64."""
    index = uniform.view(np.uint64) - LOG_ORIGIN
    np.right_shift(index, LOG_INDEX_SHIFT, out=index)
    rows = index.view(np.int64)
    rest = np.take(LOG_SCALED_INVERSES, rows, mode="clip")
    rest *= uniform
    rest -= 1.0
    leading = np.take(LOG_TABLE, rows, mode="clip")
    leading += rest
    polynomial = rest * LOG_POLYNOMIAL[1]
    polynomial += LOG_POLYNOMIAL[2]
    rest *= rest
    polynomial += rest * LOG_POLYNOMIAL[0]
    polynomial *= rest
    polynomial += leading
    return polynomial.astype(np.float32)


COS_POLYNOMIAL = tuple(
    map(
        float.fromhex,
        ("-0x1.ffffffd0c621cp-2", "0x1.55553e1068f19p-5", "-0x1.6c087e89a359dp-10", "0x1.99343027bf8c3p-16"),
    )
)
SIN_POLYNOMIAL = tuple(
    map(float.fromhex, ("-0x1.555545995a603p-3", "0x1.1107605230bc4p-7", "-0x1.994eb3774cf24p-13"))
)
# Added to a small float, it leaves the nearest integer in the lowest bits.
_ROUNDING_SHIFT = 1.5 * 2.0**52


def _sincos_float32(angle: Float64Array) -> tuple[Float32Array, Float32Array]:
    """The C library's sincosf of float32 values in [0, 2 pi) held as float64; overwrites its argument."""
    shifted = angle * (2.0 / np.pi)
    shifted += _ROUNDING_SHIFT
    quadrant = shifted.view(np.uint64).astype(np.uint32)
    shifted -= _ROUNDING_SHIFT
    shifted *= np.pi / 2.0
    angle -= shifted
    square = angle * angle
    sine_tail = square * SIN_POLYNOMIAL[2]
    sine_tail += SIN_POLYNOMIAL[1]
    cosine_tail = square * COS_POLYNOMIAL[3]
    cosine_tail += COS_POLYNOMIAL[2]
    cube = square * angle
    sine = np.multiply(cube, SIN_POLYNOMIAL[0], out=shifted)
    sine += angle
    cube *= square
    sine_tail *= cube
    sine += sine_tail
    fourth = np.multiply(square, square, out=cube)
    cosine = np.multiply(square, COS_POLYNOMIAL[0], out=angle)
    cosine += 1.0
    cosine += np.multiply(fourth, COS_POLYNOMIAL[1], out=sine_tail)
    fourth *= square
    cosine_tail *= fourth
    cosine += cosine_tail
    sine_bits = sine.astype(np.float32).view(np.uint32)
    cosine_bits = cosine.astype(np.float32).view(np.uint32)
    # Odd quadrants swap sine and cosine; the sign of each goes with one bit of the quadrant.
    swap = np.negative(quadrant & np.uint32(1))
    swap &= sine_bits ^ cosine_bits
    sine_bits ^= swap
    cosine_bits ^= swap
    sign = np.uint32(0x80000000)
    sine_bits ^= (quadrant << np.uint32(30)) & sign
    quadrant += np.uint32(1)
    cosine_bits ^= (quadrant << np.uint32(30)) & sign
    return sine_bits.view(np.float32), cosine_bits.view(np.float32)


def box_muller_float32(
    radius_words: UInt64Array, angle_words: UInt64Array
) -> tuple[Float32Array, Float32Array]:
    """Returns two independent standard normals for each pair of words (TensorFlow's BoxMullerFloat)."""
    uniform = _uniform_float32_as_float64(radius_words)
    np.maximum(uniform, SMALLEST_UNIFORM, out=uniform)
    radius = _log_float32(uniform)
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    angle = _uniform_float32_as_float64(angle_words)
    angle *= TWO_PI
    sine, cosine = _sincos_float32(angle.astype(np.float32).astype(np.float64))
    sine *= radius
    cosine *= radius
    return sine, cosine


def box_muller_float64(even: UInt64Array, odd: UInt64Array) -> tuple[Float64Array, Float64Array]:
    """Returns two independent standard normals for each block of four words (TensorFlow's BoxMullerDouble)."""
    uniform = uniform_float64(even, odd)
    radius = np.maximum(uniform[0], 1e-7)
    np.log(radius, out=radius)
    radius *= -2.0
    np.sqrt(radius, out=radius)
    angle = uniform[1]
    angle *= TWO_PI
    sine, cosine = np.sin(angle), np.cos(angle)
    sine *= radius
    cosine *= radius
    return sine, cosine


def state_words(stream: Stream) -> npt.NDArray[np.int64]:
    """What generated kernels take of a stretch: the key and the counter in words of 32 bits, the low ones first."""
    halves = [(stream.key >> s) & 0xFFFFFFFF for s in (0, 32)]
    halves += [(stream.start >> s) & 0xFFFFFFFF for s in (0, 32, 64, 96)]
    return np.array(halves, np.int64)
