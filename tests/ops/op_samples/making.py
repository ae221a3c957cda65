"""Samples of ops that make arrays, and of those that change shapes alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import graphflow as gf
from tests.ops.op_samples.sample import (
    DOUBLE,
    INT,
    KINDS,
    NUMBERS,
    SHAPES,
    SINGLE,
    Case,
    Draw,
    Random,
    Sample,
    differentiable,
    draw,
    ints,
    of_one,
    over,
    scalar,
    shapes_only,
)  # fmt: skip

NONE = np.zeros(0, np.int32)


def _placeholder_with_default(random: Random) -> Iterable[Sample]:
    for dtype, shape in over(KINDS, SHAPES):
        attrs = {
            "shape": gf.TensorShape(shape),
            "dtype": gf.as_dtype(dtype) if dtype.kind != "O" else gf.string,
        }
        yield Sample((draw(random, dtype, shape),), attrs, lambda x: x, smooth=differentiable(dtype))


def _identity_n(random: Random) -> Iterable[Sample]:
    for shape in SHAPES:
        values = [draw(random, d, shape) for d in (DOUBLE, DOUBLE)]
        yield Sample((values,), {}, lambda *all: all)
        yield Sample(([*values, draw(random, INT, ())],), {}, lambda *all: all)


def _shape_n(random: Random) -> Iterable[Sample]:
    for out in (gf.int32, gf.int64):
        values = [draw(random, SINGLE, s) for s in SHAPES[:4]]

        def reference(*all: Any, out: Any = out) -> Any:
            return [np.array(v.shape, out.as_numpy_dtype) for v in all]

        yield Sample((values,), {"out_type": out, "N": 4}, reference)


def _size_like(function: Callable[[Any], Any], out: bool = True) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for (dtype, shape), target in zip(over(KINDS, SHAPES), itertools.cycle((gf.int32, gf.int64))):
            kind = target.as_numpy_dtype if out else np.int32

            def reference(x: Any, kind: Any = kind) -> Any:
                return np.array(function(x), kind)

            yield Sample((draw(random, dtype, shape),), {"out_type": target} if out else {}, reference)

    return generate


def _fill(random: Random) -> Iterable[Sample]:
    def reference(dims: Any, value: Any) -> Any:
        result = np.empty(tuple(dims), value.dtype)
        result[...] = value
        return result

    for dtype, shape in over(KINDS, SHAPES):
        index = np.int64 if len(shape) == 2 else np.int32
        inputs = (np.array(shape, index), draw(random, dtype, ()))
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype))


def _range(random: Random) -> Iterable[Sample]:
    def reference(start: Any, limit: Any, delta: Any) -> Any:
        values, value = [], start.item()
        while value < limit if delta > 0 else value > limit:
            values.append(value)
            value = start.item() + len(values) * delta.item()
        return np.array(values, start.dtype)

    for dtype in (DOUBLE, SINGLE, INT, np.dtype(np.int64)):
        for triple in ((0, 5, 1), (3, 3, 1), (7, -2, -3), (1, 2, 5)):
            yield Sample(tuple(scalar(v, dtype) for v in triple), {}, reference)
    yield Sample(tuple(scalar(v, DOUBLE) for v in (0.5, 2.25, 0.25)), {}, reference)


def _linspace(random: Random) -> Iterable[Sample]:
    def reference(start: Any, stop: Any, num: Any) -> Any:
        steps = max(int(num) - 1, 1)
        return np.array([start + (stop - start) * (i / steps) for i in range(int(num))], start.dtype)

    for dtype in (DOUBLE, SINGLE):
        for start, stop, num in ((0, 1, 5), (3, -2, 2), (1, 4, 1), (2, 2, 3)):
            yield Sample((scalar(start, dtype), scalar(stop, dtype), scalar(num)), {}, reference)


def _one_hot(random: Random) -> Iterable[Sample]:
    for (dtype, shape), axis in zip(over(KINDS, SHAPES), itertools.cycle((-1, 0))):
        indices = np.asarray(random.integers(-1, 4, shape)).astype(random.choice(["int32", "int64", "uint8"]))

        def reference(indices: Any, depth: Any, on: Any, off: Any, axis: int = axis) -> Any:
            result = np.empty((*indices.shape, int(depth)), on.dtype)
            for place in np.ndindex(result.shape):
                result[place] = on[()] if indices[place[:-1]] == place[-1] else off[()]
            return np.moveaxis(result, -1, axis)

        inputs = (indices, scalar(3), draw(random, dtype, ()), draw(random, dtype, ()))
        yield Sample(inputs, {"axis": axis}, reference)


def _bitcast(random: Random) -> Iterable[Sample]:
    cases = [
        (SINGLE, gf.int32, (3,)), (DOUBLE, gf.int32, (2,)), (INT, gf.float32, ()), (INT, gf.float64, (3, 2)),
        (np.dtype(np.uint8), gf.uint32, (0, 4)), (np.dtype(np.int16), gf.uint16, (2, 2)), (INT, gf.uint8, (1,)),
    ]  # fmt: skip
    for source, target, shape in cases:

        def reference(x: Any, target: Any = target) -> Any:
            new = np.dtype(target.as_numpy_dtype)
            dims = x.shape
            if new.itemsize < x.dtype.itemsize:
                dims = (*x.shape, x.dtype.itemsize // new.itemsize)
            elif new.itemsize > x.dtype.itemsize:
                dims = x.shape[:-1]
            return np.frombuffer(x.tobytes(), new).reshape(dims)

        yield Sample((draw(random, source, shape, -50, 50),), {"type": target}, reference)


def _inverted(random: Random) -> Iterable[Sample]:
    def reference(p: Any) -> Any:
        return np.array([p.tolist().index(i) for i in range(len(p))], p.dtype)

    for dtype in (np.int32, np.int64):
        for permutation in ([2, 0, 1], [], [0], [1, 3, 0, 2]):
            yield Sample((np.array(permutation, dtype),), {}, reference)


def _unraveled(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, dims: Any) -> Any:
        rest, rows = indices, []
        for size in dims.tolist()[::-1]:
            rows.append(rest % size)
            rest = rest // size
        return np.array(rows[::-1], indices.dtype).reshape(len(dims), *indices.shape)

    for dtype in (np.int32, np.int64):
        for indices, dims in (
            ([2, 5, 7], [3, 3]),
            (22, [7, 4]),
            ([], [2, 3]),
            ([3, 0], [4]),
            ([11], [1, 3, 2, 2]),
        ):
            yield Sample((np.array(indices, dtype), np.array(dims, dtype)), {}, reference)


def _zeros(x: Any) -> Any:
    return np.full(x.shape, b"" if x.dtype.kind == "O" else 0, x.dtype)


RESHAPES: list[Case] = [
    ((2, 3), ((3, 2),), {}), ((2, 3), ((-1,),), {}), ((0, 3), ((3, 0),), {}), ((), ((1, 1),), {}),
    ((4,), ((2, -1),), {}), ((1,), (NONE,), {}), ((2, 0), (np.array([0, 5], np.int64),), {}),
    ((2, 2), (np.array([2, 2], np.int64),), {}),
]  # fmt: skip
EXPANSIONS: list[Case] = [
    ((2, 3), (scalar(0),), {}), ((2, 3), (scalar(-1),), {}), ((), (scalar(0),), {}), ((0,), (scalar(1),), {}),
    ((2, 0), (scalar(-2, np.int64),), {}), ((3,), (ints(0),), {}),
]  # fmt: skip
SQUEEZES: list[Case] = [
    (shape, (), {"squeeze_dims": axes})
    for shape, axes in (
        ((1, 3, 1), []), ((1, 3, 1), [0]), ((1, 3, 1), [-1]), ((), []), ((1,), [0]), ((0, 1), [1]), ((2, 3), []),
    )
]  # fmt: skip
PERMUTATIONS: list[Case] = [
    ((2, 3), ((1, 0),), {}), ((2, 3, 1), ((2, 0, 1),), {}), ((), (NONE,), {}), ((3,), ((0,),), {}),
    ((0, 2), ((1, 0),), {}), ((2, 1, 2, 3), (np.array([3, 1, 0, 2], np.int64),), {}),
]  # fmt: skip
ENSURED: list[Case] = [
    (s, (), {"shape": gf.TensorShape(d)})
    for s, d in (((2, 3), (2, None)), ((3,), None), ((), ()), ((0, 2), (0, 2)), ((2, 3), (2, 3)))
]
REVERSIBLE = [d for d in KINDS if d.kind in "fcu"]

TABLE: dict[str, Draw] = {
    "PlaceholderWithDefault": _placeholder_with_default,
    "Identity": of_one(lambda x: x, shapes_only()),
    "IdentityN": _identity_n,
    "StopGradient": of_one(lambda x: x, shapes_only()),
    "PreventGradient": of_one(lambda x, message: x, shapes_only({"message": "none"}), smooth=False),
    "Shape": _size_like(lambda x: x.shape),
    "ShapeN": _shape_n,
    "Size": _size_like(lambda x: len(list(np.ndindex(x.shape)))),
    "Rank": _size_like(lambda x: len(x.shape), out=False),
    "Reshape": of_one(lambda x, shape: np.reshape(x, tuple(shape)), RESHAPES),
    "ExpandDims": of_one(lambda x, axis: np.expand_dims(x, int(axis.reshape(()))), EXPANSIONS),
    "Squeeze": of_one(lambda x, squeeze_dims: np.squeeze(x, tuple(squeeze_dims) or None), SQUEEZES),
    "Transpose": of_one(lambda x, perm: np.transpose(x, perm), PERMUTATIONS),
    "ConjugateTranspose": of_one(lambda x, perm: np.conj(np.transpose(x, perm)), PERMUTATIONS, REVERSIBLE),
    "EnsureShape": of_one(lambda x, shape: x, ENSURED),
    "Bitcast": _bitcast,
    "Fill": _fill,
    "ZerosLike": of_one(_zeros, shapes_only()),
    "OnesLike": of_one(lambda x: np.full(x.shape, 1, x.dtype), shapes_only(), NUMBERS),
    "Range": _range,
    "LinSpace": _linspace,
    "OneHot": _one_hot,
    "InvertPermutation": _inverted,
    "UnravelIndex": _unraveled,
}
