"""NumPy kernels of the decompositions of matrices, their determinants, inverses and solutions.

LAPACK, through NumPy, knows float32, float64 and their complex kin; float16 is computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from graphflow._core.kernels.math.linalg import adjoint_of, require_matrices, widened
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple, takes
from graphflow.errors import InvalidArgumentError

Array = Any
NOT_POSITIVE: Final = (
    "Cholesky decomposition was not successful. The input must be symmetric and positive definite."
)
NO_INVERSE: Final = "Input is not invertible: the matrix is singular."
NO_SOLUTION: Final = "Input matrix is not invertible: it is singular."
ZERO_ON_DIAGONAL: Final = "Input matrix is not invertible: there is a zero on its diagonal."
_FEW_ROWS: Final = 32
"""Triangular systems of more rows are halved, so that most of the work is products of matrices."""


def _require_square(x: Array) -> None:
    require_matrices(x)
    if x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(
            None, None, f"Input matrix must be square, got: {x.shape[-2]} != {x.shape[-1]}."
        )


def _solved(function: Callable[..., Any], message: str, *matrices: Array) -> Any:
    try:
        return function(*map(widened, matrices))
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(None, None, message) from None


@kernel("MatrixInverse")
def _inverse(node: Node) -> Kernel:
    adjoint = node.attrs["adjoint"]

    def compute(x: Array) -> Array:
        _require_square(x)
        inverse = _solved(np.linalg.inv, NO_INVERSE, x).astype(x.dtype, copy=False)
        return adjoint_of(inverse) if adjoint else inverse

    return compute


@kernel("MatrixSolve")
def _solve(node: Node) -> Kernel:
    adjoint = node.attrs["adjoint"]

    def compute(matrix: Array, rhs: Array) -> Array:
        _require_square(matrix)
        _require_rows(matrix, rhs)
        factor = adjoint_of(matrix) if adjoint else matrix
        return _solved(np.linalg.solve, NO_SOLUTION, factor, rhs).astype(matrix.dtype, copy=False)

    return compute


def _require_rows(matrix: Array, rhs: Array) -> None:
    require_matrices(rhs)
    if matrix.shape[:-2] != rhs.shape[:-2] or matrix.shape[-1] != rhs.shape[-2]:
        raise InvalidArgumentError(
            None, None, f"Input matrix and rhs are incompatible: shapes {matrix.shape} and {rhs.shape}."
        )


@kernel("MatrixTriangularSolve")
def _triangular_solve(node: Node) -> Kernel:
    lower, adjoint = node.attrs["lower"], node.attrs["adjoint"]

    def compute(matrix: Array, rhs: Array) -> Array:
        _require_square(matrix)
        _require_rows(matrix, rhs)
        if not np.all(np.diagonal(matrix, axis1=-2, axis2=-1)):
            raise InvalidArgumentError(None, None, ZERO_ON_DIAGONAL)
        factor = widened(adjoint_of(matrix) if adjoint else matrix)
        result = np.array(widened(rhs))
        _substitute(factor, result, lower != adjoint)
        return result.astype(matrix.dtype, copy=False)

    return compute


def _substitute(factor: Array, x: Array, forward: bool) -> None:
    """Solves in place, by substitution, which unlike a general solver does not pivot; reads one triangle alone."""
    size = factor.shape[-1]
    if size > _FEW_ROWS:
        first, last = slice(0, size // 2), slice(size // 2, size)
        done, left = (first, last) if forward else (last, first)
        _substitute(factor[..., done, done], x[..., done, :], forward)
        x[..., left, :] -= np.matmul(factor[..., left, done], x[..., done, :])
        _substitute(factor[..., left, left], x[..., left, :], forward)
        return
    for i in range(size) if forward else range(size - 1, -1, -1):
        x[..., i, :] /= factor[..., i, i, None]
        left = slice(i + 1, size) if forward else slice(0, i)
        x[..., left, :] -= factor[..., left, i, None] * x[..., None, i, :]


def _cholesky(x: Array) -> Array:
    _require_square(x)
    return _solved(np.linalg.cholesky, NOT_POSITIVE, x).astype(x.dtype, copy=False)


def _determinant(x: Array) -> Array:
    _require_square(x)
    return np.linalg.det(widened(x)).astype(x.dtype)


def _log_determinant(x: Array) -> tuple[Array, Array]:
    _require_square(x)
    sign, logarithm = np.linalg.slogdet(widened(x))
    return sign.astype(x.dtype), logarithm.astype(x.dtype)


simple("Cholesky", _cholesky)
takes(0.0, "MatrixTriangularSolve", call=70_000.0)
simple("MatrixDeterminant", _determinant)
simple("LogMatrixDeterminant", _log_determinant)


@kernel("Svd")
def _svd(node: Node) -> Kernel:
    vectors, full = node.attrs["compute_uv"], node.attrs["full_matrices"]

    def compute(x: Array) -> tuple[Array, Array, Array]:
        require_matrices(x)
        message = "The singular value decomposition did not converge. Look for NaN or infinity in the input."
        if not vectors:
            values = _solved(lambda m: np.linalg.svd(m, compute_uv=False), message, x)
            return values.astype(x.dtype), np.zeros(0, x.dtype), np.zeros(0, x.dtype)
        u, values, v = _solved(lambda m: np.linalg.svd(m, full_matrices=full), message, x)
        return values.astype(x.dtype), u.astype(x.dtype), np.ascontiguousarray(adjoint_of(v)).astype(x.dtype)

    return compute


@kernel("Qr")
def _qr(node: Node) -> Kernel:
    mode: Literal["complete", "reduced"] = "complete" if node.attrs["full_matrices"] else "reduced"

    def compute(x: Array) -> tuple[Array, Array]:
        require_matrices(x)
        q, r = np.linalg.qr(widened(x), mode=mode)
        return q.astype(x.dtype), r.astype(x.dtype)

    return compute


@kernel("SelfAdjointEigV2")
def _self_adjoint_eig(node: Node) -> Kernel:
    vectors = node.attrs["compute_v"]

    def compute(x: Array) -> tuple[Array, Array]:
        _require_square(x)
        message = "Self-adjoint eigen decomposition was not successful. The input might not be valid."
        if not vectors:
            return _solved(np.linalg.eigvalsh, message, x).astype(x.dtype), np.zeros(0, x.dtype)
        values, basis = _solved(np.linalg.eigh, message, x)
        return values.astype(x.dtype), basis.astype(x.dtype)

    return compute
