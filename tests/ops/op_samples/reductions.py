"""Samples of reductions, scans, and broadcasting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import graphflow as gf
from tests.ops.op_samples.sample import (
    Draw,
    Random,
    Sample,
    cast_wrapping,
    distinct,
    draw,
    dtypes_of,
    ints,
    over,
    scalar,
)

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
AXES: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((2, 3), [0]), ((2, 3), [1]), ((2, 3), [0, 1]), ((2, 3, 2), [-1, 0]), ((), []), ((2, 3), []), ((0, 3), [0]),
    ((0, 3), [1]), ((3,), 0), ((2, 0, 3), [2]), ((1, 3), [0]), ((3, 2, 1), [1, 2]), ((2, 3), -1),
)  # fmt: skip


def _axes(x: Any, axis: Any) -> list[int]:
    return sorted({int(a) % x.ndim for a in np.atleast_1d(axis)}) if x.ndim else []


def _reduced(function: Callable[[list[Any], Any], Any], keep: bool) -> Callable[..., Any]:
    """A loop over the results, each from a list of Python numbers."""

    def compute(x: Any, axis: Any) -> Any:
        axes = _axes(x, axis)
        if not axes:  # As in TensorFlow; a norm of one number may be negative then.
            return x.copy()
        shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        result = np.empty(shape, x.dtype)
        for place in np.ndindex(shape):
            window = x[tuple(slice(None) if i in axes else p for i, p in enumerate(place))]
            result[place] = cast_wrapping(function(window.ravel().tolist(), x.dtype), x.dtype)
        return result if keep else result.reshape([n for i, n in enumerate(x.shape) if i not in axes])

    return compute


def _mean(values: list[Any], dtype: Any) -> Any:
    if not values:
        return math.nan if dtype.kind in "fc" else 0
    total = sum(values)
    if dtype.kind in "iu":
        total = int(cast_wrapping(total, dtype))
        return abs(total) // len(values) * (-1 if total < 0 else 1)
    return total / len(values)


def _extremum(function: Any, lowest: bool) -> Callable[[list[Any], Any], Any]:
    def compute(values: list[Any], dtype: Any) -> Any:
        if values:
            return function(values)
        if dtype.kind == "f":
            return -math.inf if lowest else math.inf
        return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max

    return compute


def _norm(values: list[Any], dtype: Any) -> Any:
    return math.sqrt(sum(abs(v) ** 2 for v in values))


REDUCTIONS: dict[str, Callable[[list[Any], Any], Any]] = {
    "Sum": lambda values, dtype: sum(values),
    "Mean": _mean,
    "Prod": lambda values, dtype: (
        math.prod(values) if dtype.kind != "c" else complex(np.prod(np.array(values)))
    ),
    "Max": _extremum(max, True),
    "Min": _extremum(min, False),
    "EuclideanNorm": _norm,
    "All": lambda values, dtype: all(values),
    "Any": lambda values, dtype: any(values),
}


def _reduction(name: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        draws = distinct if name in ("Max", "Min") else draw
        for position, (dtype, (shape, axis)) in enumerate(over(dtypes_of(name), AXES)):
            if name in ("Max", "Min") and dtype.kind == "c":
                continue
            keep = position % 2 == 1
            index = np.array(axis, np.int32 if position % 3 else np.int64)
            if name == "EuclideanNorm" and dtype.kind in "iu":
                x = draw(random, dtype, shape, 0, 2)
            else:
                x = draws(random, dtype, shape)
            smooth = dtype.kind in "fc" and not (name == "EuclideanNorm" and x.size == 0)
            yield Sample((x, index), {"keep_dims": keep}, _reduced(REDUCTIONS[name], keep), smooth=smooth)
        if name not in ("All", "Any"):
            for dtype in (DOUBLE, SINGLE):
                special = np.array([[1, np.nan, 2], [np.inf, 1, -np.inf], [0.0, -0.0, 3]], dtype)
                yield Sample((special, ints(1)), {"keep_dims": False}, smooth=False)

    return generate


def _restore(random: Random) -> Iterable[Sample]:
    for dtype, (shape, axis) in over([DOUBLE, SINGLE], AXES):
        x = draw(random, dtype, shape)
        reduced = np.sum(x, axis=tuple(_axes(x, axis)), dtype=dtype)

        def reference(reduced: Any, x: Any, axis: Any) -> Any:
            return reduced.reshape([1 if i in _axes(x, axis) else n for i, n in enumerate(x.shape)])

        yield Sample((np.asarray(reduced), x, np.array(axis, np.int32)), {}, reference, varied=(0,))


SPREADS = (
    ((3,), (2, 3)), ((), (2, 3)), ((1,), (3,)), ((2, 1), (2, 3)), ((2, 3), (2, 3)), ((1, 3), (0, 3)), ((0,), (2, 0)),
    ((), ()), ((1, 1), (2, 1)), ((2, 1, 2), (3, 2, 4, 2)),
)  # fmt: skip


def _broadcast(small: Any, shape: Sequence[int]) -> Any:
    """By a loop over the result."""
    result = np.empty(shape, small.dtype)
    lead = len(shape) - small.ndim
    for place in np.ndindex(*shape):
        result[place] = small[tuple(0 if n == 1 else p for p, n in zip(place[lead:], small.shape))]
    return result


def _broadcast_like(random: Random) -> Iterable[Sample]:
    for dtype, (small, large) in over([DOUBLE, SINGLE, np.dtype(np.int32), np.dtype(bool)], SPREADS):
        inputs = (draw(random, dtype, small), draw(random, dtype, large))
        smooth = dtype.kind == "f"
        yield Sample(inputs, {}, lambda x, like: _broadcast(x, like.shape), smooth=smooth, varied=(0,))


def _broadcast_static(random: Random) -> Iterable[Sample]:
    for dtype, (small, large) in over([DOUBLE, SINGLE, np.dtype(np.int32)], SPREADS):
        attrs = {"shape": gf.TensorShape(large)}

        def reference(x: Any, large: Any = large) -> Any:
            return _broadcast(x, large)

        yield Sample((draw(random, dtype, small),), attrs, reference, smooth=dtype.kind == "f")


def _sum_to_shape(random: Random) -> Iterable[Sample]:
    def reference(x: Any, like: Any) -> Any:
        result = np.zeros(like.shape, x.dtype)
        lead = x.ndim - like.ndim
        for place in np.ndindex(x.shape):
            result[tuple(0 if n == 1 else p for p, n in zip(place[lead:], like.shape))] += x[place]
        return result

    for dtype, (small, large) in over([DOUBLE, SINGLE, np.dtype(np.complex128)], SPREADS):
        yield Sample((draw(random, dtype, large), draw(random, dtype, small)), {}, reference, varied=(0,))


def _argument(name: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        best = max if name == "ArgMax" else min

        def reference(x: Any, axis: Any) -> Any:
            along = np.moveaxis(x, int(axis), -1)
            result = np.empty(along.shape[:-1], np.int64)
            for place in np.ndindex(result.shape):
                row = along[place].tolist()
                result[place] = row.index(best(row))
            return result

        for dtype, (shape, axis) in over(
            [d for d in dtypes_of(name) if d.kind != "c"],
            [((3,), 0), ((2, 3), 1), ((2, 3), -2), ((2, 3, 2), 1), ((0, 3), 1), ((4,), -1)],
        ):
            x = np.round(draw(random, dtype, shape)).astype(dtype)
            yield Sample((x, scalar(axis)), {"output_type": gf.int64}, reference)
            yield Sample(
                (x, scalar(axis, np.int64)),
                {"output_type": gf.int32},
                lambda *a: reference(*a).astype(np.int32),
            )

    return generate


def _scan(name: str, step: Callable[[Any, Any], Any], start: Any) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        shapes = (((3,), 0), ((2, 3), 1), ((2, 3), -2), ((0,), 0), ((2, 0, 2), 0), ((2, 3, 2), 1), ((1,), 0))
        flags = itertools.cycle(itertools.product((False, True), repeat=2))
        for dtype, (shape, axis) in over(dtypes_of(name), shapes * 2):
            exclusive, reverse = next(flags)

            def reference(x: Any, axis: Any, exclusive: bool = exclusive, reverse: bool = reverse) -> Any:
                result = np.empty_like(x)
                along, out = np.moveaxis(x, int(axis), 0), np.moveaxis(result, int(axis), 0)
                for place in np.ndindex(along.shape[1:]):
                    total = start
                    for i in range(along.shape[0])[:: -1 if reverse else 1]:
                        before, total = total, step(total, along[(i, *place)].item())
                        out[(i, *place)] = cast_wrapping(before if exclusive else total, x.dtype)
                return result

            x = draw(random, dtype, shape, 0.4, 2) if name == "Cumprod" else draw(random, dtype, shape)
            yield Sample(
                (x, scalar(axis)),
                {"exclusive": exclusive, "reverse": reverse},
                reference,
                smooth=dtype.kind in "fc",
            )

    return generate


def _log_add(a: float, b: float) -> float:
    return b if a == -math.inf else max(a, b) + math.log1p(math.exp(-abs(a - b)))


TABLE: dict[str, Draw] = {name: _reduction(name) for name in REDUCTIONS}
TABLE |= {
    "RestoreReducedAxes": _restore,
    "BroadcastLike": _broadcast_like,
    "BroadcastStatic": _broadcast_static,
    "SumToShape": _sum_to_shape,
    "ArgMax": _argument("ArgMax"),
    "ArgMin": _argument("ArgMin"),
    "Cumsum": _scan("Cumsum", lambda a, b: a + b, 0),
    "Cumprod": _scan("Cumprod", lambda a, b: a * b, 1),
    "CumulativeLogsumexp": _scan("CumulativeLogsumexp", _log_add, -math.inf),
}
