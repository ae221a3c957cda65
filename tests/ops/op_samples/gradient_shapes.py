"""Samples of the ops on shapes that TensorFlow's gradients use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import Draw, Random, Sample, ints, scalar

PAIRS = (
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((), (2,)),
    ((4,), (4,)),
    ((0,), (1,)),
    ((2, 1, 5), (1, 5)),
    ((), ()),
)


def _arguments(random: Random) -> Iterable[Sample]:
    def reference(s0: Any, s1: Any) -> Any:
        """An operand's gradient is summed along the axes in which its shape, filled up with 1, is 1."""
        rank = max(len(s0), len(s1))
        if tuple(s0) == tuple(s1):
            return np.zeros(0, s0.dtype), np.zeros(0, s0.dtype)
        filled = [np.concatenate([np.ones(rank - len(s), s.dtype), s]) for s in (s0, s1)]
        return tuple(np.flatnonzero(f == 1).astype(s0.dtype) for f in filled)

    for number, (a, b) in enumerate(PAIRS):
        dtype = (np.int32, np.int64)[number % 2]
        yield Sample((ints(*a, dtype=dtype), ints(*b, dtype=dtype)), {}, reference, smooth=False)


def _concat_offset(random: Random) -> Iterable[Sample]:
    def reference(axis: Any, *shapes: Any) -> Any:
        return [
            np.where(
                np.arange(len(s)) == int(axis) % len(s), sum(int(t[int(axis)]) for t in shapes[:i]), 0
            ).astype(s.dtype)
            for i, s in enumerate(shapes)
        ]

    for axis, shapes in (
        (0, ((2, 3), (1, 3), (4, 3))),
        (1, ((2, 3), (2, 0))),
        (-1, ((2, 2, 1), (2, 2, 5))),
        (0, ((3,),)),
    ):
        inputs = (scalar(axis), [ints(*s) for s in shapes])
        yield Sample(inputs, {"N": len(shapes)}, reference, smooth=False)


TABLE: dict[str, Draw] = {"BroadcastGradientArgs": _arguments, "ConcatOffset": _concat_offset}
