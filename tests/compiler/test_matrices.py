"""Protects decompositions and solutions of matrices: in both tiers, small and large, and what cannot be solved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy

Solver = Callable[[Any, Any], Any]
SOLVERS: dict[str, Solver] = {
    "cholesky": lambda a, b: gf.cholesky(
        gf.matmul(a, a, adjoint_b=True) + gf.eye(a.shape[-1].value, dtype=a.dtype)
    ),
    "inverse": lambda a, b: gf.matrix_inverse(a),
    "inverse of the adjoint": lambda a, b: gf.matrix_inverse(a, adjoint=True),
    "solution": lambda a, b: gf.matrix_solve(a, b),
    "solution of the adjoint": lambda a, b: gf.matrix_solve(a, b, adjoint=True),
    "lower": lambda a, b: gf.matrix_triangular_solve(a, b),
    "upper": lambda a, b: gf.matrix_triangular_solve(a, b, lower=False),
    "lower adjoint": lambda a, b: gf.matrix_triangular_solve(a, b, adjoint=True),
    "upper adjoint": lambda a, b: gf.matrix_triangular_solve(a, b, lower=False, adjoint=True),
}
NATIVE = {"Cholesky", "MatrixInverse", "MatrixSolve", "MatrixTriangularSolve"}


def matrices(shape: tuple[int, ...]) -> Any:
    """Matrices that can be solved well, some of whose largest elements stand beside the diagonal."""
    random = np.random.RandomState(4)
    found = random.randn(*shape) * 0.3 / shape[-1] ** 0.5 + np.eye(shape[-1]) * 1.5
    if shape[-1] > 1:
        found[..., [0, 1], :] = found[..., [1, 0], :] + np.eye(shape[-1])[:2] * 0.2
    return found


def model(
    name: str, shape: tuple[int, ...], columns: int, dtype: Any, gradient: bool = True
) -> Callable[[], Any]:
    def build() -> Any:
        a = gf.placeholder(dtype, shape)
        b = gf.placeholder(dtype, (*shape[:-1], columns))
        x = SOLVERS[name](a * 1.25, b)
        sides = np.random.RandomState(5).randn(*shape[:-1], columns)
        fed = {a: matrices(shape).astype(dtype.as_numpy_dtype), b: sides.astype(dtype.as_numpy_dtype)}
        size = x.shape.num_elements()
        weights = gf.constant(np.cos(np.arange(size)).reshape(x.shape.as_list()), dtype)
        fetches = [x + 0.5, gf.reduce_sum(b)]
        return [*fetches, *(gf.gradients(x * weights, a) if gradient else [])], fed

    return build


@pytest.mark.parametrize("name", SOLVERS)
def test_small_matrices(name: str) -> None:
    for shape, columns in (((1, 1), 1), ((5, 5), 1), ((2, 3, 9, 9), 4), ((40, 33, 33), 70)):
        check(model(name, shape, columns, gf.float64))
    check(model(name, (3, 6, 6), 2, gf.float32), tolerance=1e-3)
    assert not NATIVE & set(left_to_numpy(model(name, (3, 6, 6), 2, gf.float32)))


@pytest.mark.parametrize("name", SOLVERS)
def test_large_matrices_are_numpys(name: str) -> None:
    built = model(name, (300, 300), 3, gf.float64, gradient=False)
    assert NATIVE & set(left_to_numpy(built))
    check(built)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_solutions_are_right(name: str) -> None:
    a, b = matrices((2, 70, 70)), np.random.RandomState(5).randn(2, 70, 3)
    adjoint = np.swapaxes(a, -1, -2)
    expected = {
        "cholesky": lambda: np.linalg.cholesky(a @ adjoint + np.eye(70)),
        "inverse": lambda: np.linalg.inv(a),
        "inverse of the adjoint": lambda: np.linalg.inv(adjoint),
        "solution": lambda: np.linalg.solve(a, b),
        "solution of the adjoint": lambda: np.linalg.solve(adjoint, b),
        "lower": lambda: np.linalg.solve(np.tril(a), b),
        "upper": lambda: np.linalg.solve(np.triu(a), b),
        "lower adjoint": lambda: np.linalg.solve(np.swapaxes(np.tril(a), -1, -2), b),
        "upper adjoint": lambda: np.linalg.solve(np.swapaxes(np.triu(a), -1, -2), b),
    }[name]()
    for tier in ("never", "always"):
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            x, y = gf.placeholder(gf.float64, a.shape), gf.placeholder(gf.float64, b.shape)
            found = SOLVERS[name](x, y)
            for _ in range(2):
                np.testing.assert_allclose(session.run(found, {x: a, y: b}), expected, rtol=1e-8, atol=1e-9)


WRONG: dict[str, tuple[str, Any]] = {
    "cholesky": ("not successful", -np.eye(3)),
    "inverse": ("not invertible", np.ones((3, 3))),
    "solution": ("not invertible", np.zeros((3, 3))),
    "lower": ("zero on its diagonal", np.diag([1.0, 0.0, 2.0])),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_solved_is_the_same_error(name: str) -> None:
    expected, matrix = WRONG[name]
    solve: Solver = (lambda a, b: gf.cholesky(a)) if name == "cholesky" else SOLVERS[name]

    def message(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            a, b = gf.placeholder(gf.float64, [2, 3, 3]), gf.ones([2, 3, 1], gf.float64)
            x = gf.identity(solve(a * 1.0, b), name="solved")
            fine = np.stack([np.eye(3), 2 * np.eye(3)])
            for _ in range(2):
                session.run(x, {a: fine})
            with pytest.raises(gf.errors.InvalidArgumentError, match=expected) as raised:
                session.run(x, {a: np.stack([np.eye(3), matrix])})
            return str(raised.value)

    assert message("always") == message("never")


def test_what_is_no_number() -> None:
    """Solutions of what is no number are none; such a matrix has no factors."""
    data = matrices((2, 4, 4))
    data[1, 2, 1] = np.nan
    for tier in ("never", "always"):
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            a = gf.placeholder(gf.float64, [2, 4, 4])
            solved = [
                gf.matrix_triangular_solve(a + 0, gf.ones([2, 4, 1], gf.float64)),
                gf.matrix_inverse(a + 0),
            ]
            factors = gf.cholesky(a + 0)
            for _ in range(2):
                for found in session.run(solved, {a: data}):
                    assert np.isfinite(found[0]).all() and np.isnan(found[1]).any()
                with pytest.raises(gf.errors.InvalidArgumentError, match="not successful"):
                    session.run(factors, {a: np.stack([np.eye(4), data[1]])})


def test_determinants() -> None:
    """Of both signs, of one row and of many, of what has no inverse, of what is no number."""

    def build() -> Any:
        fetches, feeds = [], {}
        for shape in ((1, 1), (2, 3, 3), (7, 20, 20)):
            for dtype in (gf.float32, gf.float64):
                a = gf.placeholder(dtype, shape)
                feeds[a] = matrices(shape).astype(dtype.as_numpy_dtype)
                number, (sign, logarithm) = gf.matrix_determinant(a), gf.linalg.slogdet(a * -2.0)
                fetches += [number, sign, logarithm, *gf.gradients(number * 0.5 + logarithm, a)]
        odd = gf.placeholder(gf.float32, [3, 2, 2])
        feeds[odd] = np.array([[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[np.nan, 1], [2, 3]]], np.float32)
        return [*fetches, gf.matrix_determinant(odd), *gf.linalg.slogdet(odd)], feeds

    assert not {"MatrixDeterminant", "LogMatrixDeterminant"} & set(left_to_numpy(build))
    check(build, tolerance=1e-4)
