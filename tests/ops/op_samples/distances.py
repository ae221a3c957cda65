"""Samples of patches of images, and of distances between sequences."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import DOUBLE, INT, SINGLE, Draw, Random, Sample, differentiable, draw, over


def _patches(random: Random) -> Iterable[Sample]:
    cases = (
        ((1, 3, 4, 2), (2, 2), (1, 1), (1, 1), "VALID"),
        ((2, 3, 4, 1), (2, 3), (2, 1), (1, 1), "SAME"),
        ((1, 4, 3, 2), (2, 2), (1, 2), (2, 1), "SAME"),
        ((1, 5, 4, 1), (2, 2), (2, 1), (2, 2), "VALID"),
        ((0, 3, 3, 1), (2, 2), (1, 1), (1, 1), "SAME"),
        ((1, 2, 2, 3), (1, 1), (1, 1), (1, 1), "VALID"),
    )
    kinds = [DOUBLE, SINGLE, INT, np.dtype(np.uint8), np.dtype(np.float16)]
    for dtype, (shape, size, strides, rates, padding) in over(kinds, cases):

        def reference(
            x: Any,
            size: Sequence[int] = size,
            strides: Sequence[int] = strides,
            rates: Sequence[int] = rates,
            padding: str = padding,
        ) -> Any:
            count, before = [], []
            for n, k, s, r in zip(x.shape[1:3], size, strides, rates):
                extent = (k - 1) * r + 1
                count.append(math.ceil(n / s) if padding == "SAME" else (n - extent) // s + 1)
                before.append(max((count[-1] - 1) * s + extent - n, 0) // 2 if padding == "SAME" else 0)
            result = np.zeros((len(x), *count, *size, x.shape[3]), x.dtype)
            for image, i, j, di, dj, channel in np.ndindex(result.shape):
                row = i * strides[0] + di * rates[0] - before[0]
                column = j * strides[1] + dj * rates[1] - before[1]
                if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
                    result[image, i, j, di, dj, channel] = x[image, row, column, channel]
            return result.reshape(len(x), *count, math.prod(size) * x.shape[3])

        attrs = {
            "ksizes": [1, *size, 1], "strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding,
        }  # fmt: skip
        yield Sample((draw(random, dtype, shape),), attrs, reference, smooth=differentiable(dtype))


def _distance(one: Sequence[Any], other: Sequence[Any]) -> int:
    @functools.cache
    def between(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        changed = between(i - 1, j - 1) + (one[i - 1] != other[j - 1])
        return min(changed, between(i - 1, j) + 1, between(i, j - 1) + 1)

    return between(len(one), len(other))


def _sequences(random: Random, dtype: Any, shape: Sequence[int]) -> tuple[Any, Any, Any]:
    """A sparse tensor of sequences of random lengths, some of them empty."""
    places = [
        (*group, position)
        for group in np.ndindex(*shape[:-1])
        for position in range(int(random.integers(0, shape[-1] + 1)))
    ]
    indices = np.array(places, np.int64).reshape(len(places), len(shape))
    return indices, draw(random, dtype, (len(places),), 0, 3), np.array(shape, np.int64)


def _edit_distance(random: Random) -> Iterable[Sample]:
    shapes = (
        ((3, 4), (3, 4)), ((2, 3), (4, 5)), ((1, 0), (1, 2)), ((2, 2, 4), (2, 2, 3)), ((0, 2), (0, 2)),
    )  # fmt: skip
    flags = itertools.cycle((True, False))
    for dtype, (first, second) in over([INT, DOUBLE, SINGLE, np.dtype(np.int64), np.dtype(object)], shapes):
        normalize = next(flags)

        def reference(
            hi: Any, hv: Any, hs: Any, ti: Any, tv: Any, ts: Any, normalize: bool = normalize
        ) -> Any:
            result = np.zeros(np.maximum(hs, ts)[:-1], np.float32)
            for group in np.ndindex(result.shape):
                one, other = (
                    [v for place, v in zip(indices.tolist(), values.tolist()) if tuple(place[:-1]) == group]
                    for indices, values in ((hi, hv), (ti, tv))
                )
                steps: float = _distance(one, other)
                if normalize and steps:
                    steps = steps / len(other) if other else math.inf
                result[group] = steps
            return result

        inputs = (*_sequences(random, dtype, first), *_sequences(random, dtype, second))
        yield Sample(inputs, {"normalize": normalize}, reference, smooth=False)


TABLE: dict[str, Draw] = {"ExtractImagePatches": _patches, "EditDistance": _edit_distance}
