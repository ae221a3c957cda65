"""Distributions that reject candidates, drawn for many outputs at once.

TensorFlow's CPU kernels draw them one by one, and give each output, or group of outputs, its own stretch of the stream
that it starts anew, so that numbers do not depend on threads. Hence lanes: each output is a lane with a place in
its own stretch, and each round goes on with the lanes that have not accepted yet.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from graphflow._core.common.philox.bits import (
    CHUNK_BLOCKS,
    RESERVED_PER_OUTPUT,
    Float64Array,
    Stream,
    UInt64Array,
    box_muller_float32,
    box_muller_float64,
    uniform_float64,
)

Array = npt.NDArray[Any]
IndexArray = npt.NDArray[np.int64]

_TRUNCATION: Final = 2.0


def truncated_normal(stream: Stream, count: int, dtype: np.dtype[Any]) -> Array:
    """Returns `count` standard normals of magnitude under two, flat.

    A group of four outputs, or two doubles, takes the first that are small enough from its stretch.
    """
    group = 2 if dtype.itemsize == 8 else 4
    # float16 is drawn as float32: the bound applies before rounding.
    drawn = np.dtype(np.float64 if dtype.itemsize == 8 else np.float32)
    groups = -(-count // group)
    out = np.empty((groups, group), dtype=drawn)
    starts = np.arange(groups, dtype=np.uint64)
    starts *= np.uint64(group * RESERVED_PER_OUTPUT // 4)
    rejected = np.empty((groups, group), dtype=np.bool_)
    for begin in range(0, groups, CHUNK_BLOCKS):
        rows = slice(begin, begin + CHUNK_BLOCKS)
        out[rows] = _normal_rows(stream, starts[rows], group)
        np.greater_equal(np.abs(out[rows]), _TRUNCATION, out=rejected[rows])
    # The flags of a group are looked at as one number: a reduction over so short an axis is slow.
    unfilled = np.flatnonzero(rejected.view(f"u{group}"))
    for begin in range(0, unfilled.size, CHUNK_BLOCKS):
        _redraw(stream, starts, out, unfilled[begin : begin + CHUNK_BLOCKS])
    return out.reshape(-1)[:count].astype(dtype, copy=False)


def _redraw(stream: Stream, starts: UInt64Array, out: Array, rows: IndexArray) -> None:
    """Closes the ranks of the groups whose first block had outputs that are too large, and draws more for them."""
    size = out.shape[1]
    candidates = out[rows]
    filled = np.zeros(rows.size, dtype=np.int64)
    attempt = 0
    while True:
        kept = np.abs(candidates) < _TRUNCATION
        places = np.cumsum(kept, axis=1, dtype=np.int64)
        places += filled[:, np.newaxis]
        filled = places[:, -1]
        kept &= places <= size
        lane, column = np.nonzero(kept)
        out[rows[lane], places[lane, column] - 1] = candidates[lane, column]
        pending = filled < size
        rows, filled = rows[pending], filled[pending]
        if not rows.size:
            return
        attempt += 1
        candidates = _normal_rows(stream, starts[rows] + np.uint64(attempt), size)


def _normal_rows(stream: Stream, offsets: UInt64Array, size: int) -> Array:
    """The normals of the blocks at `offsets`, a block to a row: four float32 or two float64."""
    even, odd = stream.blocks(offsets)
    if size == 2:
        return np.stack(box_muller_float64(even, odd), axis=1)
    rows = np.empty((offsets.size, 2, 2), dtype=np.float32)
    sine, cosine = box_muller_float32(even, odd)
    rows[:, :, 0] = sine.T
    rows[:, :, 1] = cosine.T
    return rows.reshape(-1, 4)


class _Lanes:
    """Outputs drawn side by side: each has its stretch, its place in it, and values of a block not used yet."""

    def __init__(self, stream: Stream, first_output: int, count: int) -> None:
        self._stream = stream
        self._next = np.arange(first_output, first_output + count, dtype=np.uint64) * np.uint64(
            RESERVED_PER_OUTPUT
        )
        self._uniform = np.empty((count, 2))
        self._uniform_left = np.zeros(count, dtype=np.int64)
        self._normal = np.empty((count, 2))
        self._normal_left = np.zeros(count, dtype=np.int64)

    def _take_blocks(self, lanes: IndexArray) -> tuple[UInt64Array, UInt64Array]:
        """The next block of each of the lanes, which rise."""
        blocks = self._stream.blocks(self._next[lanes])
        self._next[lanes] += np.uint64(1)
        return blocks

    def uniform(self, lanes: IndexArray) -> Float64Array:
        """The next uniform double of each of the lanes; a block's second one comes first, as in TensorFlow."""
        empty = lanes[self._uniform_left[lanes] == 0]
        if empty.size:
            self._uniform[empty] = uniform_float64(*self._take_blocks(empty)).T
            self._uniform_left[empty] = 2
        self._uniform_left[lanes] -= 1
        return self._uniform[lanes, self._uniform_left[lanes]]

    def normal(self, lanes: IndexArray) -> Float64Array:
        """The next normal double of each of the lanes; a block's second one comes first, as in TensorFlow."""
        empty = lanes[self._normal_left[lanes] == 0]
        if empty.size:
            self._normal[empty] = np.stack(box_muller_float64(*self._take_blocks(empty)), axis=1)
            self._normal_left[empty] = 2
        self._normal_left[lanes] -= 1
        return self._normal[lanes, self._normal_left[lanes]]


def random_gamma(stream: Stream, count: int, alpha: Array) -> Array:
    """Returns (count, alphas) draws from gamma distributions of scale one.

    Source: Marsaglia and Tsang, A simple method for generating gamma variables (2000); under one, by their boost;
    exponentials, alpha one, by inversion.
    """
    outputs = count * alpha.size
    drawn = np.empty(outputs)
    alphas = np.repeat(alpha.astype(np.float64), count)
    for begin in range(0, outputs, CHUNK_BLOCKS):
        which = slice(begin, min(begin + CHUNK_BLOCKS, outputs))
        _fill_gamma(_Lanes(stream, begin, which.stop - begin), alphas[which], drawn[which])
    return drawn.reshape(alpha.size, count).T.astype(alpha.dtype, order="C")


def _fill_gamma(lanes: _Lanes, alpha: Float64Array, out: Float64Array) -> None:
    """Draws one gamma variable a lane."""
    exponential = np.flatnonzero(alpha == 1.0)
    if exponential.size:
        out[exponential] = -np.log1p(-lanes.uniform(exponential))
    boosted = alpha < 1.0
    shape = alpha + np.where(boosted, 2.0 / 3.0, -1.0 / 3.0)
    slope = 1.0 / 3.0 / np.sqrt(shape)
    # The boost of zero is a power of infinity, which is its limit, zero.
    out[alpha == 0.0] = 0.0
    pending = np.flatnonzero((alpha != 0.0) & (alpha != 1.0))
    while pending.size:
        normal = lanes.normal(pending)
        root = 1.0 + slope[pending] * normal
        positive = root > 0.0
        trying, normal, volume = pending[positive], normal[positive], root[positive] ** 3
        uniform = lanes.uniform(trying)
        square = normal * normal
        with np.errstate(divide="ignore"):
            bound = 0.5 * square + shape[trying] * (1.0 - volume + np.log(volume))
            accepted = (uniform < 1.0 - 0.0331 * square * square) | (np.log(uniform) < bound)
        done = trying[accepted]
        out[done] = shape[done] * volume[accepted]
        small = done[boosted[done]]
        if small.size:
            out[small] *= lanes.uniform(small) ** (1.0 / alpha[small])
        pending = np.setdiff1d(pending, done, assume_unique=True)


def random_poisson(stream: Stream, count: int, rate: Array, dtype: np.dtype[Any], largest: float) -> Array:
    """Returns (count, rates) draws from Poisson distributions, none above `largest`.

    Source: for rates under ten Knuth, The Art of Computer Programming 2, 3.4.1; otherwise Hörmann, The transformed
    rejection method for generating Poisson random variables (1993).
    """
    outputs = count * rate.size
    drawn = np.empty(outputs)
    rates = np.repeat(rate.astype(np.float64), count)
    for begin in range(0, outputs, CHUNK_BLOCKS):
        which = slice(begin, min(begin + CHUNK_BLOCKS, outputs))
        lanes = _Lanes(stream, begin, which.stop - begin)
        few = rates[which] < 10.0
        _fill_poisson_by_product(lanes, np.flatnonzero(few), rates[which], drawn[which])
        _fill_poisson_by_rejection(lanes, np.flatnonzero(~few), rates[which], drawn[which], largest)
    return drawn.reshape(rate.size, count).T.astype(dtype, order="C")


def _fill_poisson_by_product(
    lanes: _Lanes, pending: IndexArray, rate: Float64Array, out: Float64Array
) -> None:
    """Counts the uniforms whose product stays above exp(-rate)."""
    limit = np.exp(-rate)
    product = np.ones(rate.size)
    out[pending] = 0.0
    while pending.size:
        product[pending] *= lanes.uniform(pending)
        pending = pending[product[pending] > limit[pending]]
        out[pending] += 1.0


def _fill_poisson_by_rejection(
    lanes: _Lanes, pending: IndexArray, rate: Float64Array, out: Float64Array, largest: float
) -> None:
    """Draws by transformed rejection; what exceeds the result's dtype is drawn again."""
    while pending.size:
        mean = rate[pending]
        width = 0.931 + 2.53 * np.sqrt(mean)
        tail = -0.059 + 0.02483 * width
        centred = lanes.uniform(pending) - 0.5
        uniform = lanes.uniform(pending)
        edge = 0.5 - np.abs(centred)
        with np.errstate(divide="ignore", invalid="ignore"):
            candidate = np.floor((2.0 * tail / edge + width) * centred + mean + 0.43)
        possible = candidate <= largest
        accepted = possible & (edge >= 0.07) & (uniform <= 0.9277 - 3.6224 / (width - 2.0))
        unsure = possible & ~accepted & (candidate >= 0.0) & ~((edge < 0.013) & (uniform > edge))
        where = np.flatnonzero(unsure)
        inverse_acceptance = 1.1239 + 1.1328 / (width[where] - 3.4)
        with np.errstate(divide="ignore"):
            density = np.log(
                uniform[where] * inverse_acceptance / (tail[where] / edge[where] ** 2 + width[where])
            )
        log_factorials = np.array([math.lgamma(number + 1.0) for number in candidate[where].tolist()])
        accepted[where] = density <= -mean[where] + candidate[where] * np.log(mean[where]) - log_factorials
        out[pending[accepted]] = candidate[accepted]
        pending = pending[~accepted]
