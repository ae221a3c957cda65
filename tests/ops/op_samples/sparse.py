"""Samples of ops on sparse tensors: coordinates, values and a shape."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import graphflow as gf
from tests.ops.op_samples.sample import (
    DOUBLE,
    INT,
    NUMBERS,
    SINGLE,
    Draw,
    Random,
    Sample,
    differentiable,
    distinct,
    draw,
    ints,
    over,
    scalar,
    strings,
)

COMPLEX = np.dtype(np.complex128)
KINDS = [DOUBLE, SINGLE, INT]
SHAPES = (((2, 3), 3), ((3, 2), 0), ((4,), 2), ((2, 2, 2), 5), ((1, 1), 1), ((3, 3), 9))
"""Dense shapes, and how many values there are."""


def _long(values: Any) -> Any:
    return np.array(values, np.int64)


def _places(random: Random, shape: Sequence[int], count: int) -> Any:
    """Coordinates in row-major order, none twice."""
    chosen = np.sort(random.choice(math.prod(shape), count, replace=False)) if count else np.zeros(0, int)
    return (
        np.stack(np.unravel_index(chosen.astype(int), tuple(shape)), -1)
        .astype(np.int64)
        .reshape(count, len(shape))
    )


def _dense(indices: Any, values: Any, shape: Any, default: Any = 0) -> Any:
    result = np.empty(tuple(shape), values.dtype)
    result[...] = default
    for i, place in enumerate(indices.tolist()):
        result[tuple(place)] = values[i] if values.ndim else values[()]
    return result


def _to_dense(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, shape: Any, values: Any, default: Any) -> Any:
        return _dense(indices.reshape(-1, len(shape)), values, shape, default[()])

    for number, (dtype, (shape, count)) in enumerate(over([*NUMBERS, np.dtype(object)], SHAPES)):
        index = (np.int64, np.int32)[number % 2]
        values = draw(random, dtype, (count,) if number % 3 else ())
        inputs = (
            _places(random, shape, count).astype(index),
            np.array(shape, index),
            values,
            draw(random, dtype, ()),
        )
        # A scalar value has no gradient of its own in TensorFlow either.
        smooth = differentiable(dtype) and values.ndim == 1
        yield Sample(inputs, {"validate_indices": True}, reference, smooth=smooth)


def _matmul(random: Random) -> Iterable[Sample]:
    flags = itertools.cycle(itertools.product((False, True), repeat=2))
    sizes = (((2, 3), 3, 2), ((3, 2), 0, 1), ((1, 4), 2, 3), ((2, 2), 4, 0), ((3, 3), 5, 2))
    for dtype, (shape, count, columns) in over([DOUBLE, SINGLE, COMPLEX, INT], sizes, 4):
        left, right = next(flags)

        def reference(
            indices: Any, values: Any, shape: Any, b: Any, left: bool = left, right: bool = right
        ) -> Any:
            a = _dense(indices, values, shape)
            return (np.conj(a.T) if left else a) @ (np.conj(b.T) if right else b)

        inner = shape[0] if left else shape[1]
        b = draw(random, dtype, (columns, inner) if right else (inner, columns))
        inputs = (_places(random, shape, count), draw(random, dtype, (count,)), _long(shape), b)
        yield Sample(inputs, {"adjoint_a": left, "adjoint_b": right}, reference, smooth=differentiable(dtype))


def _reduction(largest: bool) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for number, (dtype, (shape, count)) in enumerate(over(KINDS, SHAPES)):
            keep = number % 2 == 0

            def reference(indices: Any, values: Any, shape: Any, axes: Any, keep: bool = keep) -> Any:
                reduced = {int(a) % len(shape) for a in axes}
                dims = [1 if i in reduced else int(n) for i, n in enumerate(shape)]
                groups: dict[tuple[int, ...], list[Any]] = {}
                for place, value in zip(indices.tolist(), values):
                    groups.setdefault(
                        tuple(0 if i in reduced else p for i, p in enumerate(place)), []
                    ).append(value)
                result = np.zeros(dims, values.dtype)
                for at, group in groups.items():
                    result[at] = max(group) if largest else sum(group)
                return result if keep else result.reshape([n for i, n in enumerate(dims) if i not in reduced])

            axes = [ints(0), ints(-1), ints(*range(len(shape)))][number % 3]
            values = (distinct if largest else draw)(random, dtype, (count,))
            inputs = (_places(random, shape, count), values, _long(shape), axes)
            # As in TensorFlow, the gradient needs the rank and the axes to be known.
            smooth = differentiable(dtype)
            yield Sample(inputs, {"keep_dims": keep}, reference, smooth=smooth, static=True, constants=(3,))

    return generate


def _reorder(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, values: Any, shape: Any) -> Any:
        order = sorted(range(len(indices)), key=lambda i: indices[i].tolist())
        return indices[order], values[order]

    for dtype, (shape, count) in over([*NUMBERS, np.dtype(object)], SHAPES):
        indices = random.permutation(_places(random, shape, count))
        yield Sample(
            (indices, draw(random, dtype, (count,)), _long(shape)),
            {},
            reference,
            smooth=differentiable(dtype),
        )


def _reshape(random: Random) -> Iterable[Sample]:
    for old, new, wanted in (
        ((2, 3), (3, 2), (3, 2)),
        ((4,), (2, 2), (2, -1)),
        ((2, 2, 2), (8,), (-1,)),
        ((1, 1), (1,), (1,)),
    ):

        def reference(indices: Any, shape: Any, wanted: Any, new: Any = new) -> Any:
            marks = np.arange(math.prod(new)).reshape(new)
            flat = np.arange(math.prod(shape)).reshape(tuple(shape))
            found = [np.argwhere(marks == flat[tuple(place)])[0] for place in indices]
            return np.array(found, np.int64).reshape(len(found), len(new)), _long(new)

        for count in (0, 1, min(3, math.prod(old))):
            yield Sample((_places(random, old, count), _long(old), _long(wanted)), {}, reference)


def _slice(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
        end = np.minimum(start + size, shape)
        kept = [i for i, p in enumerate(indices) if all(p >= start) and all(p < end)]
        return indices[kept] - start, values[kept], np.maximum(end - start, 0)

    for dtype, (shape, count) in over([*NUMBERS, np.dtype(object)], SHAPES):
        start = np.minimum(_long([1, 0, 1][: len(shape)]), _long(shape) - 1)
        inputs = (
            _places(random, shape, count),
            draw(random, dtype, (count,)),
            _long(shape),
            start,
            _long(shape),
        )
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype))


def _slice_grad(random: Random) -> Iterable[Sample]:
    def reference(g: Any, indices: Any, start: Any, kept: Any) -> Any:
        rows = [r.tolist() for r in kept + start]
        found = [g[rows.index(p)] if p in rows else 0 for p in indices.tolist()]
        return np.array(found, g.dtype)

    for dtype, (shape, count) in over([DOUBLE, SINGLE], SHAPES):
        indices, start = _places(random, shape, count), _long([0] * len(shape))
        kept = indices[::2]
        yield Sample((draw(random, dtype, (len(kept),)), indices, start, kept), {}, reference)


def _sums(a: Any, b: Any) -> dict[tuple[int, ...], Any]:
    found: dict[tuple[int, ...], Any] = {}
    for indices, values in (a, b):
        for place, value in zip(indices.tolist(), values):
            found[tuple(place)] = found.get(tuple(place), 0) + value
    return dict(sorted(found.items()))


def _add(random: Random) -> Iterable[Sample]:
    def reference(ai: Any, av: Any, shape: Any, bi: Any, bv: Any, _: Any, threshold: Any) -> Any:
        kept = {p: v for p, v in _sums((ai, av), (bi, bv)).items() if abs(v) >= threshold}
        places = np.array(list(kept), np.int64).reshape(len(kept), len(shape))
        return places, np.array(list(kept.values()), av.dtype), shape

    for dtype, (shape, count) in over([DOUBLE, SINGLE, COMPLEX, INT], SHAPES):
        real = np.zeros(0, dtype).real.dtype
        for threshold in (0, 1):
            a, b = (_places(random, shape, count) for _ in range(2))
            values = [draw(random, dtype, (count,)) for _ in range(2)]
            # A sum of float64 at the threshold itself would jump; none is drawn there.
            inputs = (a, values[0], _long(shape), b, values[1], _long(shape), scalar(threshold, real))
            yield Sample(inputs, {}, reference, smooth=differentiable(dtype), varied=(1, 4))


def _add_grad(random: Random) -> Iterable[Sample]:
    def reference(g: Any, ai: Any, bi: Any, sums: Any) -> Any:
        rows = sums.tolist()
        return [
            np.array([g[rows.index(p)] if p in rows else 0 for p in x.tolist()], g.dtype) for x in (ai, bi)
        ]

    for dtype, (shape, count) in over([DOUBLE, SINGLE], SHAPES):
        a, b = (_places(random, shape, count) for _ in range(2))
        places = np.array(list(_sums((a, [0] * count), (b, [0] * count))), np.int64).reshape(-1, len(shape))[
            1:
        ]
        yield Sample((draw(random, dtype, (len(places),)), a, b, places), {}, reference)


def _dense_add(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, values: Any, shape: Any, b: Any) -> Any:
        return _dense(indices, values, shape) + b

    for dtype, (shape, count) in over([DOUBLE, SINGLE, COMPLEX, INT], SHAPES):
        inputs = (
            _places(random, shape, count),
            draw(random, dtype, (count,)),
            _long(shape),
            draw(random, dtype, shape),
        )
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype))


def _with_dense(divided: bool) -> Draw:
    def samples(random: Random) -> Iterable[Sample]:
        def reference(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
            whole = np.broadcast_to(dense, tuple(shape))
            picked = np.array([whole[tuple(place)] for place in indices.tolist()], dense.dtype)
            if not divided:
                return values * picked
            if dense.dtype.kind == "f":
                return values / picked
            return np.trunc(values / picked.astype(np.float64)).astype(values.dtype)

        for dtype, (shape, count) in over(KINDS, SHAPES):
            for broadcast in (shape, shape[1:], (1, *shape[1:]), (*shape[:-1], 1), ()):
                dense = draw(random, dtype, broadcast)
                dense = np.where(np.abs(dense) < 0.25, dtype.type(1), dense).astype(dtype)
                inputs = (_places(random, shape, count), draw(random, dtype, (count,)), _long(shape), dense)
                yield Sample(inputs, {}, reference, smooth=differentiable(dtype))

    return samples


def _split(random: Random) -> Iterable[Sample]:
    for dtype, axis, count in ((DOUBLE, 0, 2), (SINGLE, 1, 3), (np.dtype(object), 1, 1)):

        def reference(
            _: Any, indices: Any, values: Any, shape: Any, axis: int = axis, count: int = count
        ) -> Any:
            parts = np.array_split(np.arange(shape[axis]), count)
            own = [[i for i, place in enumerate(indices) if place[axis] in part] for part in parts]
            moved = [indices[i] - np.eye(2, dtype=np.int64)[axis] * part[0] for i, part in zip(own, parts)]
            extents = [np.where(np.arange(2) == axis, len(part), shape).astype(np.int64) for part in parts]
            return (*moved, *(values[i] for i in own), *extents)

        inputs = (
            scalar(axis, np.int64),
            _places(random, (3, 5), 7),
            draw(random, dtype, (7,)),
            _long((3, 5)),
        )
        yield Sample(inputs, {"num_split": count}, reference, smooth=False)


def _fill_empty_rows(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, values: Any, shape: Any, default: Any) -> Any:
        rows, filled, back = [], [], []
        for row in range(shape[0]):
            own = [i for i, p in enumerate(indices) if p[0] == row]
            for i in own:
                back.append((i, len(rows)))
                rows.append(indices[i].tolist())
                filled.append(values[i])
            if not own:
                rows.append([row] + [0] * (len(shape) - 1))
                filled.append(default[()])
        empty = [row not in indices[:, 0] for row in range(shape[0])]
        found = np.empty(len(filled), values.dtype)
        found[:] = filled
        places = [new for _, new in sorted(back)]
        return (
            _long(rows).reshape(len(rows), len(shape)),
            found,
            np.array(empty, bool),
            _long(places).reshape(len(places)),
        )

    for dtype, (shape, count) in over([*NUMBERS, np.dtype(object)], SHAPES):
        values = draw(random, dtype, (count,))
        inputs = (_places(random, shape, count), values, _long(shape), draw(random, dtype, ()))
        yield Sample(inputs, {}, reference, smooth=differentiable(dtype))


def _distance(a: list[Any], b: list[Any]) -> int:
    """Levenshtein's, by its definition."""
    if not a or not b:
        return len(a) + len(b)
    return min(_distance(a[1:], b) + 1, _distance(a, b[1:]) + 1, _distance(a[1:], b[1:]) + (a[0] != b[0]))


def _edit_distance(random: Random) -> Iterable[Sample]:
    def sequence(indices: Any, values: Any, row: tuple[int, ...]) -> list[Any]:
        return [v for place, v in zip(indices.tolist(), values) if tuple(place[:-1]) == row]

    for normalize in (False, True):

        def reference(
            hi: Any, hv: Any, hs: Any, ti: Any, tv: Any, ts: Any, normalize: bool = normalize
        ) -> Any:
            result = np.zeros(np.maximum(hs, ts)[:-1], np.float32)
            for row in np.ndindex(result.shape):
                truth = sequence(ti, tv, row)
                steps = _distance(sequence(hi, hv, row), truth)
                result[row] = (
                    steps if not normalize else steps / len(truth) if truth else math.inf if steps else 0
                )
            return result

        for dtype, (shape, count) in over(
            [INT, np.dtype(object)], (((2, 4), 5), ((1, 3), 0), ((2, 2, 2), 6))
        ):
            first, second = (_places(random, shape, n) for n in (count, min(count + 1, math.prod(shape))))
            inputs = (first, draw(random, dtype, (len(first),)), _long(shape))
            inputs += (second, draw(random, dtype, (len(second),)), _long(shape))
            yield Sample(inputs, {"normalize": normalize}, reference)


def _cross(random: Random) -> Iterable[Sample]:
    """What TensorFlow's fingerprints are is recorded in tests/oracle/cases/lookup.py."""
    for hashed, (rows, columns) in itertools.product((True, False), ((2, 3), (1, 1), (3, 0))):
        places = _long(list(np.ndindex(rows, columns))).reshape(-1, 2)
        values = draw(random, np.dtype(object), (rows * columns,))
        dense = draw(random, np.int64, (rows, 2))
        kind = gf.int64 if hashed else gf.string

        def reference(indices: Any, texts: Any, shape: Any, other: Any, rows: int = rows) -> Any:
            found = []
            for row in range(rows):
                chosen = [text for place, text in zip(indices, texts, strict=True) if place[0] == row]
                found.append([b"%s_X_%d" % (text, number) for text in chosen for number in other[row]])
            at = [(i, j) for i, row in enumerate(found) for j in range(len(row))]
            flat = np.empty(len(at), object)
            flat[:] = [text for row in found for text in row]
            return _long(at).reshape(-1, 2), flat, _long([rows, max(map(len, found))])

        attrs = {
            "N": 1, "hashed_output": hashed, "num_buckets": 7, "hash_key": 5, "sparse_types": [gf.string],
            "dense_types": [gf.int64], "out_type": kind, "internal_type": gf.int64,
        }  # fmt: skip
        inputs = ([places], [values], [_long([rows, columns])], [dense])
        yield Sample(inputs, attrs, None if hashed else reference)


def _proto(array: Any) -> bytes:
    """An array as TensorFlow's message."""
    dtype = gf.as_dtype(np.dtype(array.dtype)) if array.dtype != object else gf.string
    message = gf.make_tensor_proto(array, dtype, array.shape)
    if array.dtype != object:
        for name in ("float_val", "double_val", "int_val", "int64_val", "bool_val"):
            message.ClearField(name)
        message.tensor_content = array.tobytes()
    elif array.size:
        message.ClearField("string_val")
        message.tensor_content = bytes(map(len, array)) + b"".join(array)
    data: bytes = message.SerializeToString()
    return data


def _pieces(random: Random) -> Iterable[tuple[Any, Any, Any]]:
    for dtype in (np.float64, np.int32, np.int64, object):
        shape = np.array([3, 4], np.int64)
        places = np.sort(random.choice(12, 5, replace=False))
        yield np.stack([places // 4, places % 4], 1).astype(np.int64), draw(random, dtype, (5,)), shape
    yield np.zeros((0, 2), np.int64), np.zeros(0), np.array([2, 2], np.int64)


def _serialized(random: Random) -> Iterable[Sample]:
    for parts in _pieces(random):
        yield Sample(parts, {"out_type": gf.string}, lambda *p: strings([_proto(x) for x in p]), smooth=False)


def _rows(indices: Any, values: Any, shape: Any) -> Any:
    found = []
    for row in range(shape[0]):
        own = indices[:, 0] == row
        found.append([_proto(x) for x in (indices[own, 1:], values[own], shape[1:])])
    return strings(found)


def _serialized_rows(random: Random) -> Iterable[Sample]:
    for parts in _pieces(random):
        yield Sample(parts, {"out_type": gf.string}, _rows, smooth=False)


def _deserialized(rows: bool) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for parts in _pieces(random):
            dtype = gf.string if parts[1].dtype == object else gf.as_dtype(parts[1].dtype)
            given = _rows(*parts) if rows else strings([_proto(x) for x in parts])
            yield Sample((given,), {"dtype": dtype}, lambda _, parts=parts: parts, smooth=False)

    return generate


# ---- sets -----------------------------------------------------------------------------------------------------------

_SET_OPERATIONS = {
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
    "intersection": set.intersection,
    "union": set.union,
}


def _set_values(random: Random, dtype: Any, shape: Sequence[int]) -> Any:
    values = random.integers(0, 4, shape)
    return values.astype(str).astype("S").astype(object) if dtype is object else values.astype(dtype)


def _sparse_sets(random: Random, dtype: Any, shape: Sequence[int]) -> tuple[Any, Any, Any]:
    places = np.argwhere(random.random(shape) < 0.6).reshape(-1, len(shape))
    return places.astype(np.int64), _set_values(random, dtype, [len(places)]), np.array(shape, np.int64)


def _members(parts: Sequence[Any]) -> dict[tuple[int, ...], set[Any]]:
    if len(parts) == 1:
        return {place: set(parts[0][place].tolist()) for place in np.ndindex(parts[0].shape[:-1])}
    found: dict[tuple[int, ...], set[Any]] = {}
    for place, value in zip(parts[0].tolist(), parts[1].tolist(), strict=True):
        found.setdefault(tuple(place[:-1]), set()).add(value)
    return found


def _set_size(random: Random) -> Iterable[Sample]:
    def reference(indices: Any, values: Any, shape: Any) -> Any:
        found = _members((indices, values))
        return np.array(
            [len(found.get(place, ())) for place in np.ndindex(*shape[:-1].tolist())], np.int32
        ).reshape(shape[:-1])

    for dtype in (np.int8, np.int32, np.int64, np.uint16, object):
        for shape in ((3, 4), (2, 3, 2), (2, 0)):
            yield Sample(
                _sparse_sets(random, dtype, shape), {"validate_indices": True}, reference, smooth=False
            )


def _set_operation(first: bool, second: bool) -> Draw:
    """Samples of an operation on sets; whether each operand is sparse."""

    def generate(random: Random) -> Iterable[Sample]:
        for kind, combine in _SET_OPERATIONS.items():

            def reference(*inputs: Any, combine: Any = combine) -> Any:
                cut = 3 if first else 1
                a, b = _members(inputs[:cut]), _members(inputs[cut:])
                group = inputs[2][:-1].tolist() if first else list(inputs[0].shape[:-1])
                rows = [
                    ((*place, i), value)
                    for place in np.ndindex(*group)
                    for i, value in enumerate(sorted(combine(a.get(place, set()), b.get(place, set()))))
                ]
                longest = max((place[-1] + 1 for place, _ in rows), default=0)
                return (
                    np.array([place for place, _ in rows], np.int64).reshape(-1, len(group) + 1),
                    np.array([value for _, value in rows], inputs[1 if first else 0].dtype),
                    np.array([*group, longest], np.int64),
                )

            for dtype in (np.int32, np.uint8, object):
                for group in ((3,), (2, 2)):
                    operands = [
                        _sparse_sets(random, dtype, (*group, size))
                        if is_sparse
                        else (_set_values(random, dtype, (*group, size)),)
                        for is_sparse, size in ((first, 3), (second, 4))
                    ]
                    attrs = {"set_operation": kind, "validate_indices": True}
                    yield Sample((*operands[0], *operands[1]), attrs, reference, smooth=False)

    return generate


TABLE: dict[str, Draw] = {
    "SetSize": _set_size,
    "DenseToDenseSetOperation": _set_operation(False, False),
    "DenseToSparseSetOperation": _set_operation(False, True),
    "SparseToSparseSetOperation": _set_operation(True, True),
    "SparseCross": _cross,
    "SparseSplit": _split,
    "SparseToDense": _to_dense,
    "SparseTensorDenseMatMul": _matmul,
    "SparseDenseCwiseMul": _with_dense(False),
    "SparseDenseCwiseDiv": _with_dense(True),
    "SparseReduceSum": _reduction(False),
    "SparseReduceMax": _reduction(True),
    "SparseReorder": _reorder,
    "SparseReshape": _reshape,
    "SparseSlice": _slice,
    "SparseSliceGrad": _slice_grad,
    "SparseAdd": _add,
    "SparseAddGrad": _add_grad,
    "SparseTensorDenseAdd": _dense_add,
    "SparseFillEmptyRows": _fill_empty_rows,
    "EditDistance": _edit_distance,
    "SerializeSparse": _serialized,
    "SerializeManySparse": _serialized_rows,
    "DeserializeSparse": _deserialized(False),
    "DeserializeManySparse": _deserialized(True),
}
