"""Samples of reductions, scans, broadcasting, matrix products and decompositions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import graphflow as gf
from op_samples.sample import (
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


# ---- matrices -------------------------------------------------------------------------------------------------------


def _product(a: Any, b: Any) -> Any:
    result = np.empty((a.shape[0], b.shape[1]), a.dtype)
    for i, j in np.ndindex(result.shape):
        result[i, j] = cast_wrapping(sum(x * y for x, y in zip(a[i].tolist(), b[:, j].tolist())), a.dtype)
    return result


def _flip(x: Any, flip: bool, conjugate: bool) -> Any:
    flipped = np.swapaxes(x, -1, -2) if flip else x
    return np.conj(flipped) if flip and conjugate else flipped


def _matmul(random: Random) -> Iterable[Sample]:
    sizes = ((2, 3, 2), (1, 1, 1), (0, 2, 3), (2, 0, 3), (3, 2, 0), (1, 4, 2), (3, 1, 2), (2, 2, 2))
    flags = itertools.cycle(itertools.product((False, True), repeat=2))
    for dtype, (n, k, m) in over(dtypes_of("MatMul"), sizes):
        flip_a, flip_b = next(flags)
        a = draw(random, dtype, (k, n) if flip_a else (n, k))
        b = draw(random, dtype, (m, k) if flip_b else (k, m))

        def reference(a: Any, b: Any, flip_a: bool = flip_a, flip_b: bool = flip_b) -> Any:
            return _product(_flip(a, flip_a, False), _flip(b, flip_b, False))

        yield Sample(
            (a, b), {"transpose_a": flip_a, "transpose_b": flip_b}, reference, smooth=dtype.kind in "fc"
        )


def _batch_matmul(random: Random) -> Iterable[Sample]:
    cases = (
        ((2,), (2,), (2, 3, 1)), ((), (), (1, 2, 2)), ((2, 1), (1, 3), (1, 1, 1)), ((), (2,), (2, 1, 2)),
        ((0,), (1,), (2, 2, 2)), ((2,), (), (1, 0, 2)), ((1,), (2,), (2, 2, 1)),
    )  # fmt: skip
    flags = itertools.cycle(itertools.product((False, True), repeat=2))
    for dtype, (left, right, (n, k, m)) in over(dtypes_of("BatchMatMulV2"), cases):
        flip_x, flip_y = next(flags)
        x = draw(random, dtype, (*left, k, n) if flip_x else (*left, n, k))
        y = draw(random, dtype, (*right, m, k) if flip_y else (*right, k, m))

        def reference(x: Any, y: Any, flip_x: bool = flip_x, flip_y: bool = flip_y) -> Any:
            x, y = _flip(x, flip_x, True), _flip(y, flip_y, True)
            batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            x, y = np.broadcast_to(x, batch + x.shape[-2:]), np.broadcast_to(y, batch + y.shape[-2:])
            result = np.empty((*batch, x.shape[-2], y.shape[-1]), x.dtype)
            for place in np.ndindex(*batch):
                result[place] = _product(x[place], y[place])
            return result

        yield Sample((x, y), {"adj_x": flip_x, "adj_y": flip_y}, reference, smooth=dtype.kind in "fc")


def _looped(shape: Callable[..., Any], element: Callable[..., Any]) -> Callable[..., Any]:
    """Each element of the result by a function of its place and the inputs."""

    def compute(*inputs: Any) -> Any:
        result = np.empty(shape(*inputs), inputs[0].dtype)
        for place in np.ndindex(result.shape):
            result[place] = element(place, *inputs)
        return result

    return compute


MATRICES: dict[str, tuple[Callable[..., Any], Any, Any, tuple[Any, ...]]] = {
    # shape of the result, its elements, shapes of the inputs
    "MatrixDiag": (
        lambda d: (*d.shape, d.shape[-1]), lambda p, d: d[p[:-1]] if p[-1] == p[-2] else 0, None,
        (((3,),), ((2, 2),), ((0,),), ((2, 0, 1),)),
    ),
    "MatrixDiagPart": (
        lambda x: (*x.shape[:-2], min(x.shape[-2:])), lambda p, x: x[(*p, p[-1])], None,
        (((3, 3),), ((2, 2, 3),), ((3, 2),), ((0, 2),)),
    ),
    "MatrixSetDiag": (
        lambda x, d: x.shape, lambda p, x, d: d[p[:-1]] if p[-1] == p[-2] else x[p], None,
        (((3, 3), (3,)), ((2, 2, 3), (2, 2)), ((3, 2), (2,)), ((0, 2), (0,))),
    ),
    "Diag": (
        lambda d: d.shape * 2, lambda p, d: d[p[: d.ndim]] if p[: d.ndim] == p[d.ndim :] else 0, None,
        (((3,),), ((2, 2),), ((0,),), ((1,),)),
    ),
    "DiagPart": (
        lambda x: x.shape[: x.ndim // 2], lambda p, x: x[p + p], None, (((3, 3),), ((2, 2, 2, 2),), ((0, 0),)),
    ),
    "Cross": (
        lambda a, b: a.shape,
        lambda p, a, b: (
            a[(*p[:-1], (p[-1] + 1) % 3)] * b[(*p[:-1], (p[-1] + 2) % 3)]
            - a[(*p[:-1], (p[-1] + 2) % 3)] * b[(*p[:-1], (p[-1] + 1) % 3)]
        ),
        None, (((3,), (3,)), ((2, 3), (2, 3)), ((0, 3), (0, 3))),
    ),
}  # fmt: skip


def _matrix(name: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        shape, element, _, shapes = MATRICES[name]
        dtypes = [d for d in dtypes_of(name) if d.kind not in "O"]
        for dtype, given in over(dtypes, shapes, 1):
            inputs = tuple(draw(random, dtype, s) for s in given)
            yield Sample(inputs, {}, _looped(shape, element), smooth=dtype.kind in "fc")

    return generate


def _band_part(random: Random) -> Iterable[Sample]:
    def reference(x: Any, lower: Any, upper: Any) -> Any:
        def element(place: Any, x: Any) -> Any:
            i, j = place[-2:]
            return x[place] if (lower < 0 or i - j <= lower) and (upper < 0 or j - i <= upper) else 0

        return _looped(lambda x: x.shape, element)(x)

    cases = [((3, 3), 0, 0), ((3, 4), -1, 1), ((2, 3, 2), 1, -1), ((0, 2), 0, 1), ((2, 2), -1, -1)]
    for dtype, (shape, lower, upper) in over(
        [d for d in dtypes_of("MatrixBandPart") if d.kind != "O"], cases, 1
    ):
        inputs = (draw(random, dtype, shape), scalar(lower, np.int64), scalar(upper, np.int64))
        yield Sample(inputs, {}, reference, smooth=dtype.kind in "fc")


# ---- decompositions -------------------------------------------------------------------------------------------------

BATCHES = ((), (2,), (0,), (1, 2))
CONTINUOUS = [DOUBLE, SINGLE, np.dtype(np.complex128), np.dtype(np.complex64)]


def _solved(a: Any, b: Any) -> Any:
    """Gauss's elimination with pivots, matrix by matrix."""
    result = np.empty(a.shape[:-1] + b.shape[-1:], a.dtype)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    for place in np.ndindex(a.shape[:-2]):
        rows = np.concatenate([a[place], b[place]], axis=1).astype(wide)
        size = a.shape[-1]
        for k in range(size):
            pivot = k + int(np.argmax(np.abs(rows[k:, k])))
            rows[[k, pivot]] = rows[[pivot, k]]
            rows[k] /= rows[k, k]
            for i in range(size):
                if i != k:
                    rows[i] -= rows[i, k] * rows[k]
        result[place] = rows[:, size:]
    return result


def _determinant(a: Any) -> Any:
    """Laplace's expansion along the first row."""
    if len(a) == 0:
        return 1.0
    minors = (np.delete(a[1:], j, axis=1) for j in range(len(a)))
    return sum((-1) ** j * a[0, j] * _determinant(minor) for j, minor in enumerate(minors))


def _each(function: Callable[[Any], Any], dtype: Any = None) -> Callable[..., Any]:
    """A function of one matrix for each matrix of a batch."""

    def compute(a: Any) -> Any:
        values = [function(a[p]) for p in np.ndindex(a.shape[:-2])]
        result = np.array(values, dtype or a.dtype)
        tail = (
            result.shape[1:]
            if values
            else function(np.eye(a.shape[-1], dtype=a.dtype)).shape
            if values
            else ()
        )
        return result.reshape(a.shape[:-2] + tail)

    return compute


def _well_conditioned(random: Random, dtype: Any, batch: Sequence[int], size: int) -> Any:
    return (draw(random, dtype, (*batch, size, size), -1, 1) + 2 * np.eye(size)).astype(dtype)


def _squares(random: Random, sizes: Sequence[int] = (2, 3)) -> Iterable[tuple[Any, Any]]:
    for dtype, (batch, size) in over(CONTINUOUS, list(itertools.product(BATCHES, sizes)), 3):
        yield dtype, _well_conditioned(random, dtype, batch, size)


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _inverse(random: Random) -> Iterable[Sample]:
    for position, (_, a) in enumerate(_squares(random)):
        adjoint = position % 3 == 2

        def reference(a: Any, adjoint: bool = adjoint) -> Any:
            a = _adjoint(a) if adjoint else a
            return _solved(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))

        yield Sample((a,), {"adjoint": adjoint}, reference, tolerance=20)


def _determinants(random: Random) -> Iterable[Sample]:
    for _, a in _squares(random):
        yield Sample((a,), {}, _each(_determinant), tolerance=20)


def _log_determinants(random: Random) -> Iterable[Sample]:
    def reference(a: Any) -> Any:
        found = _each(_determinant)(a)
        return (found / np.abs(found)).astype(a.dtype), np.log(np.abs(found)).astype(a.dtype)

    for dtype, a in _squares(random):
        yield Sample((a,), {}, reference, tolerance=20, smooth=dtype.kind == "f")


def _solve(name: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for position, (dtype, a) in enumerate(_squares(random)):
            adjoint, lower = position % 2 == 1, position % 4 < 2
            b = draw(random, dtype, (*a.shape[:-1], 1 + position % 3))

            def reference(a: Any, b: Any, adjoint: bool = adjoint, lower: bool = lower) -> Any:
                if name == "MatrixTriangularSolve":
                    a = np.tril(a) if lower else np.triu(a)
                return _solved(_adjoint(a) if adjoint else a, b)

            attrs = {"adjoint": adjoint} | ({"lower": lower} if name == "MatrixTriangularSolve" else {})
            yield Sample((a, b), attrs, reference, tolerance=20)

    return generate


def _positive(random: Random, sizes: Sequence[int] = (2, 3)) -> Iterable[tuple[Any, Any]]:
    for dtype, a in _squares(random, sizes):
        yield dtype, (a @ _adjoint(a)).astype(dtype)


def _cholesky(random: Random) -> Iterable[Sample]:
    def factor(a: Any) -> Any:
        lower = np.zeros_like(a)
        for i, j in np.ndindex(a.shape):
            rest = a[i, j] - sum(lower[i, k] * np.conj(lower[j, k]) for k in range(j))
            if j < i:
                lower[i, j] = rest / lower[j, j]
            elif i == j:
                lower[i, j] = np.sqrt(rest)
        return lower

    for _, a in _positive(random):
        if a.size:
            yield Sample((a,), {}, _each(factor), tolerance=20, symmetric=True)
        else:
            yield Sample((a,), {}, np.zeros_like, symmetric=True)


def _svd(random: Random) -> Iterable[Sample]:
    def rebuilt(s: Any, u: Any, v: Any) -> Any:
        k = s.shape[-1]
        return ((u[..., :k] * s[..., None, :] @ _adjoint(v[..., :k])).astype(u.dtype),)

    shapes = ((2, 2), (3, 2), (2, 3), (2, 3, 3), (0, 2, 2))
    for dtype, shape in over(CONTINUOUS, shapes):
        a = draw(random, dtype, shape)
        uneven = shape[-1] != shape[-2]
        for full in (False, True):
            # Vectors of the null space are arbitrary, and so are phases.
            smooth = dtype.kind == "f" and not (full and uneven)
            attrs = {"compute_uv": True, "full_matrices": full}
            yield Sample((a,), attrs, lambda a: a, through=rebuilt, smooth=smooth, static=full, tolerance=20)

    def values(a: Any) -> Any:
        squares = np.linalg.eigvalsh(_adjoint(a) @ a)[..., ::-1][..., : min(a.shape[-2:])]
        return np.sqrt(squares).astype(a.real.dtype), np.zeros(0, a.dtype), np.zeros(0, a.dtype)

    def first(s: Any, u: Any, v: Any) -> Any:
        return s, np.zeros(0, u.dtype), np.zeros(0, v.dtype)

    for dtype, shape in over(CONTINUOUS[:2], shapes[:4]):
        a = draw(random, dtype, shape)
        attrs = {"compute_uv": False, "full_matrices": False}
        yield Sample((a,), attrs, values, through=first, smooth=False, tolerance=1000)


def _qr(random: Random) -> Iterable[Sample]:
    def product(q: Any, r: Any) -> Any:
        assert np.array_equal(r, np.triu(r))
        identity = np.broadcast_to(
            np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])
        )
        np.testing.assert_allclose(_adjoint(q) @ q, identity, atol=1e-5)
        return ((q @ r).astype(q.dtype),)

    for dtype, shape in over(CONTINUOUS, ((2, 2), (3, 2), (2, 3, 3), (0, 2, 2), (2, 3))):
        for full in (False, True):
            # As in TensorFlow, wide matrices and full factors have no gradient.
            smooth = dtype.kind == "f" and not (full and shape[-2] > shape[-1]) and shape[-2] >= shape[-1]
            a = draw(random, dtype, shape)
            yield Sample(
                (a,), {"full_matrices": full}, lambda a: a, through=product, smooth=smooth, tolerance=20
            )


def _eigen(random: Random) -> Iterable[Sample]:
    def rebuilt(e: Any, v: Any) -> Any:
        assert (np.diff(e) >= 0).all()
        return ((v * e[..., None, :] @ _adjoint(v)).astype(v.dtype),)

    for dtype, a in _positive(random):
        yield Sample(
            (a,),
            {"compute_v": True},
            lambda a: a,
            through=rebuilt,
            smooth=dtype.kind == "f",
            symmetric=True,
            tolerance=50,
        )


TABLE: dict[str, Draw] = {name: _reduction(name) for name in REDUCTIONS}
TABLE |= {name: _matrix(name) for name in MATRICES}
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
    "MatMul": _matmul,
    "BatchMatMulV2": _batch_matmul,
    "MatrixBandPart": _band_part,
    "MatrixInverse": _inverse,
    "MatrixDeterminant": _determinants,
    "LogMatrixDeterminant": _log_determinants,
    "MatrixSolve": _solve("MatrixSolve"),
    "MatrixTriangularSolve": _solve("MatrixTriangularSolve"),
    "Cholesky": _cholesky,
    "Svd": _svd,
    "Qr": _qr,
    "SelfAdjointEigV2": _eigen,
}
