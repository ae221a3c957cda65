"""Samples of gathering, scattering, selecting, sorting, counting and segment ops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
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
    Draw,
    Random,
    Sample,
    cast_wrapping,
    differentiable,
    distinct,
    draw,
    dtypes_of,
    over,
    scalar,
)

COMPLEX = np.dtype(np.complex128)


def _indices(random: Random, shape: Sequence[int], high: int, dtype: Any = np.int32) -> Any:
    return np.asarray(random.integers(0, max(high, 1), shape)).astype(dtype)


# ---- gathering and scattering ---------------------------------------------------------------------------------------

# Shape of the parameters, of the indices, axis, batch axes.
GATHERS = (
    ((4,), (3,), 0, 0), ((3, 2), (2, 2), 0, 0), ((2, 3), (2,), 1, 0), ((3, 2), (), 0, 0), ((3, 2), (0,), 0, 0),
    ((2, 3), (2, 2), 1, 1), ((2, 3, 2), (2,), -2, 0), ((0, 2), (0,), 0, 0), ((2, 2, 3), (2, 2), 2, 1),
    ((0, 3), (0, 2), 1, 1), ((2, 3), (2, 0), 1, 1), ((2, 2, 0), (2, 1), 1, 1), ((2, 3, 0), (2,), 1, 0),
)  # fmt: skip


def _gather(random: Random) -> Iterable[Sample]:
    for number, (dtype, (shape, places, axis, batch)) in enumerate(over(KINDS, GATHERS)):

        def reference(params: Any, indices: Any, axis: Any, batch: int = batch) -> Any:
            place = int(axis) % params.ndim
            dims = params.shape[:place] + indices.shape[batch:] + params.shape[place + 1 :]
            result = np.empty(dims, params.dtype)
            for at in np.ndindex(dims):
                inner = at[place : place + indices.ndim - batch]
                index = indices[at[:batch] + inner]
                result[at] = params[(*at[:place], index, *at[place + len(inner) :])]
            return result

        kind = (np.int32, np.int64)[number % 2]
        indices = _indices(random, places, shape[axis], kind)
        inputs = (draw(random, dtype, shape), indices, scalar(axis))
        yield Sample(inputs, {"batch_dims": batch}, reference, smooth=differentiable(dtype))


PLACES = (
    ((4, 2), (3, 1)),
    ((2, 3), (2, 2)),
    ((2, 3), (1,)),
    ((3,), (0, 1)),
    ((2, 2), (2, 1, 2)),
    ((0, 2), (0, 1)),
)


def _coordinates(random: Random, shape: Sequence[int], places: Sequence[int], once: bool = False) -> Any:
    """Index vectors into the leading axes of a shape; `once`: none twice."""
    depth = places[-1]
    rows = math.prod(places[:-1])
    lead = tuple(shape[:depth])
    flat = random.choice(math.prod(lead), rows, replace=not once) if rows else np.zeros(0, int)
    return (
        np.stack(np.unravel_index(flat, lead), -1).reshape(places).astype(np.int32)
        if rows
        else np.zeros(places, np.int32)
    )


def _gather_nd(random: Random) -> Iterable[Sample]:
    def reference(params: Any, indices: Any) -> Any:
        dims = indices.shape[:-1] + params.shape[indices.shape[-1] :]
        result = np.empty(dims, params.dtype)
        for at in np.ndindex(dims):
            row = indices[at[: indices.ndim - 1]]
            result[at] = params[(*row, *at[indices.ndim - 1 :])]
        return result

    for dtype, (shape, places) in over(KINDS, PLACES):
        inputs = (draw(random, dtype, shape), _coordinates(random, shape, places))
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype))


def _scattered(target: Any, indices: Any, updates: Any, change: Callable[[Any, Any], Any]) -> Any:
    result = target.copy()
    for at in np.ndindex(indices.shape[:-1]):
        row = tuple(indices[at])
        result[row] = change(result[row], updates[at])
    return result


def _scatter_nd(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, updates: Any, shape: Any) -> Any:
        return _scattered(np.zeros(tuple(shape), updates.dtype), indices, updates, lambda a, b: a + b)

    for dtype, (shape, places) in over([d for d in NUMBERS if d.kind != "b"], PLACES):
        indices = _coordinates(random, shape, places)
        updates = draw(random, dtype, indices.shape[:-1] + tuple(shape[places[-1] :]))
        yield Sample(
            (indices, updates, np.array(shape, np.int32)), {}, reference, smooth=differentiable(dtype)
        )


def _tensor_scatter(change: Callable[[Any, Any], Any]) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        def reference(tensor: Any, indices: Any, updates: Any) -> Any:
            return _scattered(tensor, indices, updates, change)

        for dtype, (shape, places) in over([d for d in NUMBERS if d.kind != "b"], PLACES):
            indices = _coordinates(random, shape, places, once=True)
            updates = draw(random, dtype, indices.shape[:-1] + tuple(shape[places[-1] :]))
            yield Sample(
                (draw(random, dtype, shape), indices, updates), {}, reference, smooth=differentiable(dtype)
            )

    return generate


# ---- selecting ------------------------------------------------------------------------------------------------------


def _where(random: Random) -> Iterable[Sample]:
    def reference(x: Any) -> Any:
        found = [place for place in np.ndindex(x.shape) if x[place]]
        return np.array(found, np.int64).reshape(len(found), x.ndim)

    for dtype, shape in over([np.dtype(bool), DOUBLE, INT, COMPLEX], SHAPES):
        yield Sample(
            (np.where(draw(random, bool, shape), draw(random, dtype, shape), dtype.type(0)).astype(dtype),),
            {},
            reference,
        )


def _select(random: Random) -> Iterable[Sample]:
    def reference(condition: Any, x: Any, y: Any) -> Any:
        result = np.empty(x.shape, x.dtype)
        for at in np.ndindex(x.shape):
            chosen = condition[at] if condition.shape == x.shape else condition[at[: condition.ndim]]
            result[at] = x[at] if chosen else y[at]
        return result

    cases = (((3,), (3,)), ((2, 3), (2, 3)), ((2,), (2, 3)), ((), (2, 2)), ((0,), (0,)), ((), ()))
    for dtype, (condition, shape) in over(KINDS, cases):
        inputs = (draw(random, bool, condition), draw(random, dtype, shape), draw(random, dtype, shape))
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype))


def _select_v2(random: Random) -> Iterable[Sample]:
    def reference(condition: Any, x: Any, y: Any) -> Any:
        condition, x, y = np.broadcast_arrays(condition, x, y)
        result = np.empty(x.shape, x.dtype)
        for at in np.ndindex(x.shape):
            result[at] = x[at] if condition[at] else y[at]
        return result

    cases = (
        ((3,), (3,), ()), ((2, 3), (3,), (2, 1)), ((), (2, 2), (2, 2)), ((0,), (1,), ()), ((), (), ()),
        ((2, 1), (1, 3), (3,)),
    )  # fmt: skip
    for dtype, (condition, a, b) in over(KINDS, cases):
        inputs = (draw(random, bool, condition), draw(random, dtype, a), draw(random, dtype, b))
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype))


# ---- sorting and counting -------------------------------------------------------------------------------------------


def _top_k(random: Random) -> Iterable[Sample]:
    def reference(x: Any, k: Any) -> Any:
        values = np.empty((*x.shape[:-1], int(k)), x.dtype)
        indices = np.empty(values.shape, np.int32)
        for at in np.ndindex(x.shape[:-1]):
            order = sorted(range(x.shape[-1]), key=lambda i: (-x[at][i].item(), i))[: int(k)]
            values[at], indices[at] = x[at][order], order
        return values, indices

    cases = (((4,), 2), ((2, 3), 3), ((2, 3), 1), ((0, 3), 2), ((3,), 0), ((2, 2, 4), 3))
    for dtype, (shape, k) in over(dtypes_of("TopKV2"), cases):
        draws = distinct if dtype.kind == "f" else draw
        x = draws(random, dtype, shape)
        yield Sample((x, scalar(k)), {"sorted": True}, reference, smooth=differentiable(dtype))


def _in_top_k(random: Random) -> Iterable[Sample]:
    def reference(predictions: Any, targets: Any, k: Any) -> Any:
        rows = zip(predictions, targets)
        return np.array([sum(p > row[t] for p in row) < k for row, t in rows], bool)

    for rows, classes, k in ((3, 4, 2), (2, 3, 1), (0, 3, 1), (4, 2, 5)):
        for index in (np.int32, np.int64):
            predictions = distinct(random, np.float32, (rows, classes))
            targets = _indices(random, (rows,), classes, index)
            yield Sample((predictions, targets, scalar(k, index)), {}, reference)


def _bucketize(random: Random) -> Iterable[Sample]:
    edges = [-1.5, 0.0, 0.0, 2.0]

    def reference(x: Any) -> Any:
        result = np.empty(x.shape, np.int32)
        for at in np.ndindex(x.shape):
            result[at] = sum(edge <= x[at] for edge in edges)
        return result

    for dtype, shape in over([DOUBLE, SINGLE, INT, np.dtype(np.int64)], ((4,), (), (2, 3), (0,))):
        yield Sample((draw(random, dtype, shape),), {"boundaries": edges}, reference)


def _bound(name: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        def reference(rows: Any, values: Any) -> Any:
            result = np.empty(values.shape, np.int32)
            for i, j in np.ndindex(values.shape):
                below = (v < values[i, j] if name == "LowerBound" else v <= values[i, j] for v in rows[i])
                result[i, j] = sum(below)
            return result

        for dtype, (rows, size, count) in over(
            [DOUBLE, SINGLE, INT], ((2, 4, 3), (1, 3, 0), (1, 0, 2), (0, 2, 2))
        ):
            inputs = (
                np.sort(draw(random, dtype, (rows, size), -3, 3)),
                draw(random, dtype, (rows, count), -3, 3),
            )
            yield Sample(inputs, {"out_type": gf.int32}, reference)
            yield Sample(inputs, {"out_type": gf.int64}, lambda *a: reference(*a).astype(np.int64))

    return generate


def _first_places(x: Any) -> list[Any]:
    return list(dict.fromkeys(x.tolist()))


def _unique(counts: bool) -> Draw:
    def reference(x: Any, kind: Any) -> Any:
        values = _first_places(x)
        found = np.empty(len(values), x.dtype)
        found[:] = values
        places = np.array([values.index(v) for v in x.tolist()], kind)
        many = np.array([x.tolist().count(v) for v in values], kind)
        return (found, places, many) if counts else (found, places)

    def generate(random: Random) -> Iterable[Sample]:
        for dtype, size in over([DOUBLE, INT, np.dtype(object), np.dtype(np.int64)], (5, 1, 0, 8)):
            x = (
                draw(random, dtype, (size,))
                if dtype.kind == "O"
                else np.round(draw(random, dtype, (size,))).astype(dtype)
            )
            for out, kind in ((gf.int32, np.int32), (gf.int64, np.int64)):
                yield Sample((x,), {"out_idx": out}, lambda x, kind=kind: reference(x, kind))

    return generate


def _list_diff(random: Random) -> Iterable[Sample]:
    def reference(x: Any, y: Any) -> Any:
        kept = [i for i, v in enumerate(x.tolist()) if v not in y.tolist()]
        return x[kept], np.array(kept, np.int32)

    for dtype, (a, b) in over([INT, DOUBLE, np.dtype(object)], ((5, 2), (3, 0), (0, 2), (4, 4))):
        x, y = (draw(random, dtype, (n,), 0, 3) for n in (a, b))
        if dtype.kind == "f":
            x, y = np.round(x), np.round(y)
        yield Sample((x, y), {"out_idx": gf.int32}, reference)


def _bincount(random: Random) -> Iterable[Sample]:
    def reference(numbers: Any, size: Any, weights: Any) -> Any:
        result = np.zeros(int(size), weights.dtype)
        for i, number in enumerate(numbers.ravel()):
            if number < size:
                result[number] += weights.ravel()[i] if weights.size else 1
        return result

    for dtype, (shape, size) in over(
        [DOUBLE, SINGLE, INT, np.dtype(np.int64)], (((5,), 4), ((3,), 0), ((0,), 3), ((2, 2), 6))
    ):
        numbers = _indices(random, shape, 5)
        yield Sample((numbers, scalar(size), draw(random, dtype, shape)), {}, reference)
        yield Sample((numbers, scalar(size), np.zeros(0, dtype)), {}, reference)


def _histogram(random: Random) -> Iterable[Sample]:
    def reference(values: Any, limits: Any, bins: Any) -> Any:
        result = np.zeros(int(bins), np.int32)
        low, high = limits.tolist()
        for value in values.ravel().tolist():
            place = math.floor((value - low) / (high - low) * int(bins))
            result[min(max(place, 0), int(bins) - 1)] += 1
        return result

    for dtype, (shape, bins) in over([DOUBLE, SINGLE, INT], (((6,), 3), ((2, 3), 5), ((0,), 2), ((4,), 1))):
        values = draw(random, dtype, shape, -3, 9)
        yield Sample((values, np.array([0, 6], dtype), scalar(bins)), {"dtype": gf.int32}, reference)


# ---- segments -------------------------------------------------------------------------------------------------------


def _combine(kind: str, values: list[Any], empty: Any) -> Any:
    if not values:
        return empty
    if kind == "Mean":
        return sum(values) / len(values) if not isinstance(values[0], int) else sum(values) // len(values)
    if kind == "SqrtN":
        return sum(values) / math.sqrt(len(values))
    if kind == "Prod":
        return math.prod(values) if not isinstance(values[0], complex) else complex(np.prod(np.array(values)))
    return {"Sum": sum, "Max": max, "Min": min}[kind](values)


def _by_segment(kind: str, data: Any, ids: Any, count: int, empty: Any) -> Any:
    """A loop over segments and the elements of their rows."""
    flat, rows = ids.ravel(), data.reshape(ids.size, *data.shape[ids.ndim :])
    result = np.empty((count, *rows.shape[1:]), data.dtype)
    for at in np.ndindex(result.shape):
        values = [rows[(i, *at[1:])].item() for i, s in enumerate(flat) if s == at[0]]
        result[at] = cast_wrapping(_combine(kind, values, empty), data.dtype)
    return result


SEGMENTS = (
    ((4, 2), (0, 0, 1, 3)),
    ((3,), (0, 1, 1)),
    ((0, 2), ()),
    ((3, 0), (1, 1, 2)),
    ((5,), (0, 0, 0, 2, 2)),
    ((1, 2), (0,)),
)


def _segment(kind: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        def reference(data: Any, ids: Any) -> Any:
            return _by_segment(
                kind, data, ids, int(ids[-1]) + 1 if ids.size else 0, 1 if kind == "Prod" else 0
            )

        for number, (dtype, (shape, ids)) in enumerate(over(dtypes_of(f"Segment{kind}"), SEGMENTS)):
            data = (distinct if kind in ("Max", "Min") else draw)(random, dtype, shape)
            if kind == "Mean" and dtype.kind in "iu":
                data = np.abs(data)
            segments = np.array(ids, (np.int32, np.int64)[number % 2])
            yield Sample((data, segments), {}, reference, smooth=differentiable(dtype))

    return generate


def _unsorted(kind: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        def reference(data: Any, ids: Any, count: Any) -> Any:
            if kind in ("Max", "Min"):
                info = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
                return _by_segment(kind, data, ids, int(count), info.min if kind == "Max" else info.max)
            return _by_segment(kind, data, ids, int(count), 1 if kind == "Prod" else 0)

        cases = (
            ((4, 2), (4,), 3),
            ((3,), (3,), 2),
            ((2, 3), (2, 3), 4),
            ((0, 2), (0,), 2),
            ((3,), (3,), 0),
            ((2, 2, 2), (2,), 1),
        )
        for dtype, (shape, places, count) in over(dtypes_of(f"UnsortedSegment{kind}"), cases):
            data = (distinct if kind in ("Max", "Min") else draw)(random, dtype, shape)
            ids = _indices(random, places, count) if count else np.full(places, -1, np.int32)
            if count and ids.size > 2:
                ids.ravel()[0] = -1
            yield Sample(
                (data, ids, scalar(count)),
                {},
                reference,
                smooth=differentiable(dtype) and count > 0,
                tolerance=4,
            )

    return generate


def _sparse_segment(kind: str, counted: bool) -> Draw:
    name = f"SparseSegment{kind}" + ("WithNumSegments" if counted else "")

    def generate(random: Random) -> Iterable[Sample]:
        def reference(data: Any, indices: Any, ids: Any, count: Any = None) -> Any:
            many = int(count) if count is not None else int(ids[-1]) + 1 if ids.size else 0
            return _by_segment(kind, data[indices], ids, many, 0)

        cases = (((3, 2), (0, 0, 1)), ((4,), (0, 2, 2, 2)), ((2, 2), ()), ((3, 0), (0,)))
        for dtype, (shape, ids) in over([d for d in dtypes_of(name) if d.kind not in "u"], cases):
            indices = _indices(random, (len(ids),), shape[0])
            inputs = [draw(random, dtype, shape), indices, np.array(ids, np.int32)]
            if counted:
                inputs.append(scalar(4))
            yield Sample(tuple(inputs), {}, reference, smooth=differentiable(dtype))

    return generate


def _dynamic_partition(random: Random) -> Iterable[Sample]:
    cases = (
        ((4,), (4,), 2),
        ((3, 2), (3,), 3),
        ((2, 2), (2, 2), 2),
        ((0, 2), (0,), 2),
        ((3,), (3,), 1),
        ((2, 2), (), 2),
    )
    for dtype, (shape, places, count) in over(KINDS, cases):

        def reference(data: Any, parts: Any, count: int = count) -> Any:
            rows = data.reshape(parts.size, *data.shape[parts.ndim :])
            return [rows[[i for i, p in enumerate(parts.ravel()) if p == part]] for part in range(count)]

        inputs = (draw(random, dtype, shape), _indices(random, places, count))
        yield Sample(inputs, {"num_partitions": count}, reference, smooth=differentiable(dtype))


def _dynamic_stitch(random: Random) -> Iterable[Sample]:
    def reference(*inputs: Any) -> Any:
        half = len(inputs) // 2
        places, data = inputs[:half], inputs[half:]
        size = max((int(p.max()) + 1 for p in places if p.size), default=0)
        result = np.zeros((size, *data[0].shape[places[0].ndim :]), data[0].dtype)
        for place, rows in zip(places, data):
            for at in np.ndindex(place.shape):
                result[place[at]] = rows[at]
        return result

    cases = (
        ([(0, 2), (1, 3)], ()),
        ([(1,), (0, 2)], (2,)),
        ([((0, 1), (3, 2))], ()),
        ([(), (0,)], ()),
        ([1, (0, 2)], (2,)),
    )
    for dtype, (groups, tail) in over([d for d in KINDS if d.kind != "O"], cases):
        places = [np.array(g, np.int32) for g in groups]
        data = [draw(random, dtype, (*p.shape, *tail)) for p in places]
        yield Sample((places, data), {"N": len(places)}, reference, smooth=differentiable(dtype))


def _nth_element(random: Random) -> Iterable[Sample]:
    cases = [((4,), 2, False), ((2, 3), 0, True), ((2, 2, 5), 4, False), ((0, 2), 1, True)]
    for dtype, (shape, n, reverse) in over(dtypes_of("NthElement"), cases):

        def reference(x: Any, n: Any, reverse: bool = reverse) -> Any:
            ordered = np.sort(x, -1)
            return ordered[..., -1 - int(n)] if reverse else ordered[..., int(n)]

        x = (distinct if dtype.kind == "f" else draw)(random, dtype, shape)
        yield Sample((x, scalar(n)), {"reverse": reverse}, reference, smooth=differentiable(dtype))


TABLE: dict[str, Draw] = {
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    "TensorScatterUpdate": _tensor_scatter(lambda old, new: new),
    "TensorScatterAdd": _tensor_scatter(lambda old, new: old + new),
    "TensorScatterSub": _tensor_scatter(lambda old, new: old - new),
    "Where": _where,
    "Select": _select,
    "SelectV2": _select_v2,
    "TopKV2": _top_k,
    "NthElement": _nth_element,
    "InTopKV2": _in_top_k,
    "Bucketize": _bucketize,
    "LowerBound": _bound("LowerBound"),
    "UpperBound": _bound("UpperBound"),
    "Unique": _unique(False),
    "UniqueWithCounts": _unique(True),
    "ListDiff": _list_diff,
    "Bincount": _bincount,
    "HistogramFixedWidth": _histogram,
    "DynamicPartition": _dynamic_partition,
    "DynamicStitch": _dynamic_stitch,
}
TABLE |= {f"Segment{kind}": _segment(kind) for kind in ("Sum", "Mean", "Prod", "Max", "Min")}
TABLE |= {f"UnsortedSegment{kind}": _unsorted(kind) for kind in ("Sum", "Prod", "Max", "Min")}
TABLE |= {
    f"SparseSegment{kind}{'WithNumSegments' * counted}": _sparse_segment(kind, counted)
    for kind, counted in itertools.product(("Sum", "Mean", "SqrtN"), (False, True))
}
