"""NumPy kernels of matrix products, diagonals and decompositions.

LAPACK, through NumPy, knows float32, float64 and their complex kin; float16 is computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from graphflow._core.kernels.math.products import PRODUCTS
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
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


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _product(x: Array, y: Array) -> Array:
    if x.shape[-1] != y.shape[-2]:
        raise InvalidArgumentError(
            None,
            None,
            f"Matrix size-incompatible: In[0]: {list(x.shape)}, In[1]: {list(y.shape)}: inner dimensions differ.",
        )
    try:
        return PRODUCTS.multiply(_wide(x), _wide(y)).astype(x.dtype, copy=False)
    except ValueError:
        raise InvalidArgumentError(
            None, None, f"Batches of shapes {x.shape} and {y.shape} do not broadcast."
        ) from None


def _require_matrices(*inputs: Array) -> None:
    for x in inputs:
        if x.ndim < 2:
            raise InvalidArgumentError(
                None, None, f"Input must have at least 2 dimensions, got shape {list(x.shape)}."
            )


@kernel("MatMul")
def _matmul(node: Node) -> Kernel:
    transpose_a, transpose_b = node.attrs["transpose_a"], node.attrs["transpose_b"]

    def compute(a: Array, b: Array) -> Array:
        if a.ndim != 2 or b.ndim != 2:
            raise InvalidArgumentError(
                None, None, f"Both factors must be matrices, got shapes {a.shape} and {b.shape}."
            )
        return _product(a.T if transpose_a else a, b.T if transpose_b else b)

    return compute


def _adjoint(x: Array) -> Array:
    turned = np.swapaxes(x, -1, -2)
    return np.conjugate(turned) if x.dtype.kind == "c" else turned


@kernel("BatchMatMulV2")
def _batch_matmul(node: Node) -> Kernel:
    adj_x, adj_y = node.attrs["adj_x"], node.attrs["adj_y"]

    def compute(x: Array, y: Array) -> Array:
        _require_matrices(x, y)
        return _product(_adjoint(x) if adj_x else x, _adjoint(y) if adj_y else y)

    return compute


# ---- diagonals -----------------------------------------------------------------------------------------------------


def _set_diag(matrix: Array, diagonal: Array) -> Array:
    """Writes a diagonal into fresh matrices."""
    index = np.arange(diagonal.shape[-1])
    matrix[..., index, index] = diagonal
    return matrix


def _matrix_diag(diagonal: Array) -> Array:
    size = diagonal.shape[-1]
    return _set_diag(np.zeros((*diagonal.shape, size), diagonal.dtype), diagonal)


def _matrix_diag_part(x: Array) -> Array:
    _require_matrices(x)
    return np.ascontiguousarray(np.diagonal(x, axis1=-2, axis2=-1))


def _matrix_set_diag(x: Array, diagonal: Array) -> Array:
    _require_matrices(x)
    expected = (*x.shape[:-2], min(x.shape[-2:]))
    if diagonal.shape != expected:
        raise InvalidArgumentError(
            None, None, f"The diagonal must have shape {expected}, got {diagonal.shape}."
        )
    return _set_diag(np.array(x), diagonal)


def _diag(diagonal: Array) -> Array:
    return np.diag(np.ravel(diagonal)).reshape(diagonal.shape * 2)


def _diag_part(x: Array) -> Array:
    half = x.shape[: x.ndim // 2]
    if x.ndim % 2 or half != x.shape[x.ndim // 2 :]:
        raise InvalidArgumentError(
            None, None, f"The shape of the input must be one shape twice, got {x.shape}."
        )
    size = int(np.prod(half, dtype=np.int64))
    return np.array(np.diagonal(np.reshape(x, (size, size)))).reshape(half)


def _band_part(x: Array, lower: Array, upper: Array) -> Array:
    _require_matrices(x)
    for what, count, size in (("num_lower", lower, x.shape[-2]), ("num_upper", upper, x.shape[-1])):
        if count > size:
            raise InvalidArgumentError(
                None,
                None,
                f"{what} must be negative or less or equal to number of {what[4:]} diagonals ({size}) got: {count}.",
            )
    distance = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    kept = ((lower < 0) | (-distance <= lower)) & ((upper < 0) | (distance <= upper))
    return np.where(kept, x, x.dtype.type(0))


simple("MatrixDiag", _matrix_diag)
simple("MatrixDiagPart", _matrix_diag_part)
simple("MatrixSetDiag", _matrix_set_diag)
simple("Diag", _diag)
simple("DiagPart", _diag_part)
simple("MatrixBandPart", _band_part)


def _cross(a: Array, b: Array) -> Array:
    if a.shape != b.shape or a.ndim == 0 or a.shape[-1] != 3:
        raise InvalidArgumentError(
            None, None, f"Both inputs must be of one shape [..., 3], got {a.shape} and {b.shape}."
        )
    return np.cross(a, b).astype(a.dtype, copy=False)


simple("Cross", _cross)

# ---- decompositions ------------------------------------------------------------------------------------------------


def _require_square(x: Array) -> None:
    _require_matrices(x)
    if x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(
            None, None, f"Input matrix must be square, got: {x.shape[-2]} != {x.shape[-1]}."
        )


def _solved(function: Callable[..., Any], message: str, *matrices: Array) -> Any:
    try:
        return function(*map(_wide, matrices))
    except np.linalg.LinAlgError:
        raise InvalidArgumentError(None, None, message) from None


@kernel("MatrixInverse")
def _inverse(node: Node) -> Kernel:
    adjoint = node.attrs["adjoint"]

    def compute(x: Array) -> Array:
        _require_square(x)
        inverse = _solved(np.linalg.inv, NO_INVERSE, x).astype(x.dtype, copy=False)
        return _adjoint(inverse) if adjoint else inverse

    return compute


@kernel("MatrixSolve")
def _solve(node: Node) -> Kernel:
    adjoint = node.attrs["adjoint"]

    def compute(matrix: Array, rhs: Array) -> Array:
        _require_square(matrix)
        _require_rows(matrix, rhs)
        factor = _adjoint(matrix) if adjoint else matrix
        return _solved(np.linalg.solve, NO_SOLUTION, factor, rhs).astype(matrix.dtype, copy=False)

    return compute


def _require_rows(matrix: Array, rhs: Array) -> None:
    _require_matrices(rhs)
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
        factor = _wide(_adjoint(matrix) if adjoint else matrix)
        result = np.array(_wide(rhs))
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
    return np.linalg.det(_wide(x)).astype(x.dtype)


def _log_determinant(x: Array) -> tuple[Array, Array]:
    _require_square(x)
    sign, logarithm = np.linalg.slogdet(_wide(x))
    return sign.astype(x.dtype), logarithm.astype(x.dtype)


simple("Cholesky", _cholesky)
simple("MatrixDeterminant", _determinant)
simple("LogMatrixDeterminant", _log_determinant)


@kernel("Svd")
def _svd(node: Node) -> Kernel:
    vectors, full = node.attrs["compute_uv"], node.attrs["full_matrices"]

    def compute(x: Array) -> tuple[Array, Array, Array]:
        _require_matrices(x)
        message = "The singular value decomposition did not converge. Look for NaN or infinity in the input."
        if not vectors:
            values = _solved(lambda m: np.linalg.svd(m, compute_uv=False), message, x)
            return values.astype(x.dtype), np.zeros(0, x.dtype), np.zeros(0, x.dtype)
        u, values, v = _solved(lambda m: np.linalg.svd(m, full_matrices=full), message, x)
        return values.astype(x.dtype), u.astype(x.dtype), np.ascontiguousarray(_adjoint(v)).astype(x.dtype)

    return compute


@kernel("Qr")
def _qr(node: Node) -> Kernel:
    mode: Literal["complete", "reduced"] = "complete" if node.attrs["full_matrices"] else "reduced"

    def compute(x: Array) -> tuple[Array, Array]:
        _require_matrices(x)
        q, r = np.linalg.qr(_wide(x), mode=mode)
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
