"""Samples of matrix products, diagonals and decompositions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import Draw, Random, Sample, cast_wrapping, draw, dtypes_of, over, scalar

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


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


def _function_of_eigenvalues(function: Callable[[Any], Any], kinds: str) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        def reference(a: Any) -> Any:
            values, vectors = np.linalg.eig(a.astype(np.complex128))
            found = vectors * function(values)[..., None, :] @ np.linalg.inv(vectors)
            return (found if a.dtype.kind == "c" else found.real).astype(a.dtype)

        for dtype, a in _squares(random):
            if dtype.kind in kinds and dtype.itemsize > 2:
                yield Sample((a,), {}, reference, tolerance=50)

    return generate


def _tridiagonal(random: Random) -> Iterable[Sample]:
    def reference(diagonals: Any, b: Any) -> Any:
        full = np.zeros((*diagonals.shape[:-2], diagonals.shape[-1], diagonals.shape[-1]), diagonals.dtype)
        for i, j in np.ndindex(full.shape[-2:]):
            if abs(i - j) < 2:
                full[..., i, j] = diagonals[..., 1 + i - j, i]
        return _solved(full, b)

    pivots = itertools.cycle((True, False))
    for dtype, (batch, size) in over(CONTINUOUS, [((), 1), ((2,), 3), ((1, 2), 4), ((0,), 2)]):
        if dtype.itemsize == 2:
            continue
        diagonals = draw(random, dtype, (*batch, 3, size))
        partial = next(pivots)
        diagonals[..., 1, :] = 3 + np.abs(diagonals[..., 1, :])
        if partial:
            diagonals[..., 1, 0] = 0.25
            diagonals[..., 2, 1:2] = 1
        b = draw(random, dtype, (*batch, size, 2))
        yield Sample((diagonals, b), {"partial_pivoting": partial}, reference, tolerance=50)


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
                (a,),
                {"full_matrices": full},
                lambda a: a,
                through=product,
                smooth=smooth,
                static=True,
                tolerance=20,
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


TABLE: dict[str, Draw] = {name: _matrix(name) for name in MATRICES}
TABLE |= {
    "MatMul": _matmul,
    "BatchMatMulV2": _batch_matmul,
    "MatrixBandPart": _band_part,
    "MatrixInverse": _inverse,
    "MatrixDeterminant": _determinants,
    "LogMatrixDeterminant": _log_determinants,
    "MatrixLogarithm": _function_of_eigenvalues(np.log, "c"),
    "MatrixSquareRoot": _function_of_eigenvalues(np.sqrt, "fc"),
    "MatrixSolve": _solve("MatrixSolve"),
    "MatrixTriangularSolve": _solve("MatrixTriangularSolve"),
    "TridiagonalSolve": _tridiagonal,
    "Cholesky": _cholesky,
    "Svd": _svd,
    "Qr": _qr,
    "SelfAdjointEigV2": _eigen,
}
