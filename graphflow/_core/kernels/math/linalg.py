"""NumPy kernels of matrix products and diagonals, and what those of decompositions have from them.

BLAS, through NumPy, knows float32, float64 and their complex kin; float16 is computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.math.products import PRODUCTS
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import InvalidArgumentError

Array = Any


def widened(x: Array) -> Array:
    """The matrices in a dtype that BLAS and LAPACK know."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def _product(x: Array, y: Array) -> Array:
    if x.shape[-1] != y.shape[-2]:
        raise InvalidArgumentError(
            None,
            None,
            f"Matrix size-incompatible: In[0]: {list(x.shape)}, In[1]: {list(y.shape)}: inner dimensions differ.",
        )
    try:
        return PRODUCTS.multiply(widened(x), widened(y)).astype(x.dtype, copy=False)
    except ValueError:
        raise InvalidArgumentError(
            None, None, f"Batches of shapes {x.shape} and {y.shape} do not broadcast."
        ) from None


def require_matrices(*inputs: Array) -> None:
    """InvalidArgumentError if one of the inputs has less than two axes."""
    for x in inputs:
        if x.ndim < 2:
            raise InvalidArgumentError(
                None, None, f"input must be at least 2-dim, got shape {list(x.shape)}."
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


def adjoint_of(x: Array) -> Array:
    """The matrices transposed, and conjugated if they are complex."""
    turned = np.swapaxes(x, -1, -2)
    return np.conjugate(turned) if x.dtype.kind == "c" else turned


@kernel("BatchMatMulV2")
def _batch_matmul(node: Node) -> Kernel:
    adj_x, adj_y = node.attrs["adj_x"], node.attrs["adj_y"]

    def compute(x: Array, y: Array) -> Array:
        require_matrices(x, y)
        return _product(adjoint_of(x) if adj_x else x, adjoint_of(y) if adj_y else y)

    return compute


# ---- diagonals -----------------------------------------------------------------------------------------------------


def _set_diag(matrix: Array, diagonal: Array) -> Array:
    """Writes a diagonal into fresh matrices."""
    index = np.arange(diagonal.shape[-1])
    matrix[..., index, index] = diagonal
    return matrix


def _require_diagonal(diagonal: Array) -> None:
    if not diagonal.ndim:
        raise InvalidArgumentError(None, None, "diagonal must be at least 1-dim, received shape: []")


def _matrix_diag(diagonal: Array) -> Array:
    _require_diagonal(diagonal)
    size = diagonal.shape[-1]
    return _set_diag(np.zeros((*diagonal.shape, size), diagonal.dtype), diagonal)


def _matrix_diag_part(x: Array) -> Array:
    require_matrices(x)
    return np.ascontiguousarray(np.diagonal(x, axis1=-2, axis2=-1))


def _matrix_set_diag(x: Array, diagonal: Array) -> Array:
    require_matrices(x)
    _require_diagonal(diagonal)
    expected = (*x.shape[:-2], min(x.shape[-2:]))
    if diagonal.shape != expected:
        raise InvalidArgumentError(
            None,
            None,
            f"first dimensions of diagonal don't match: it must have shape {list(expected)}, got "
            f"{list(diagonal.shape)}.",
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
    require_matrices(x)
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


@kernel("TridiagonalSolve")
def _tridiagonal_solve(node: Node) -> Kernel:
    pivoting = node.attrs["partial_pivoting"]

    def run(diagonals: Array, rhs: Array) -> Array:
        require_matrices(diagonals, rhs)
        if diagonals.shape[-2] != 3 or (*diagonals.shape[:-2], diagonals.shape[-1]) != rhs.shape[:-1]:
            raise InvalidArgumentError(
                None,
                None,
                f"Diagonals of shape {diagonals.shape} do not go with a right side of {rhs.shape}.",
            )
        x = np.array(rhs)
        if x.size:
            above, middle, below = (np.array(diagonals[..., i, :]) for i in range(3))
            _eliminate(above, middle, below, x, pivoting)
        return x

    return run


def _eliminate(above: Array, middle: Array, below: Array, x: Array, pivoting: bool) -> None:
    """Gaussian elimination in place, row after row, of all matrices together; x is the right side, then the solution.

    If rows change places, a row may have an element two places above the diagonal, too.
    """
    size = middle.shape[-1]
    above[..., -1] = 0
    second = np.zeros_like(middle)
    singular = False
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(size - 1):
            pivot, lower = middle[..., i].copy(), below[..., i + 1]
            swap = pivoting & (np.abs(pivot) < np.abs(lower))
            middle[..., i] = np.where(swap, lower, pivot)
            singular = singular or not np.all(middle[..., i])
            factor = np.where(swap, pivot, lower) / middle[..., i]
            ours, theirs = (above[..., i].copy(), 0 * second[..., i]), (middle[..., i + 1], above[..., i + 1])
            first, last = (
                [np.where(swap, b, a) for a, b in zip(ours, theirs, strict=True)],
                [np.where(swap, a, b) for a, b in zip(ours, theirs, strict=True)],
            )
            above[..., i], second[..., i] = first
            middle[..., i + 1] = last[0] - factor * first[0]
            above[..., i + 1] = last[1] - factor * first[1]
            row, next_row = x[..., i, :].copy(), x[..., i + 1, :]
            x[..., i, :] = np.where(swap[..., None], next_row, row)
            kept = np.where(swap[..., None], row, next_row)
            x[..., i + 1, :] = kept - factor[..., None] * x[..., i, :]
        if singular or not np.all(middle[..., -1]):
            hint = "" if pivoting else ", or needs partial_pivoting=True"
            raise InvalidArgumentError(None, None, f"The matrix is not invertible{hint}.")
        for i in range(size - 1, -1, -1):
            if i + 1 < size:
                x[..., i, :] -= above[..., i, None] * x[..., i + 1, :]
            if i + 2 < size:
                x[..., i, :] -= second[..., i, None] * x[..., i + 2, :]
            x[..., i, :] /= middle[..., i, None]


_NEAR: Final = 0.25
"""How far from the identity, by the 1-norm, the approximation has all digits of a double."""
_NODES: Final = 7
_MOST_ROOTS: Final = 64
_MOST_SHIFTS: Final = 60
"""Steps for one eigenvalue; two or three are usual."""
_ROUNDING: Final = 1e-9
"""How large an imaginary part may be for rounding alone, beside the largest element."""


def _schur(matrix: Array) -> tuple[Array, Array]:
    """A unitary matrix Q and an upper triangle T with Q T Q^H the matrix, by QR steps with Wilkinson's shifts."""
    triangle, unitary = matrix.copy(), np.eye(len(matrix), dtype=matrix.dtype)
    small = np.finfo(np.float64).eps * np.linalg.norm(matrix)
    for end in range(len(matrix), 1, -1):
        for step in range(1, _MOST_SHIFTS + 1):
            if np.linalg.norm(triangle[end - 1, : end - 1]) <= small:
                break
            corner = np.linalg.eigvals(triangle[end - 2 : end, end - 2 : end])
            shift = corner[np.argmin(np.abs(corner - triangle[end - 1, end - 1]))]
            if step % 10 == 0:  # One that no symmetry holds fast.
                shift += np.linalg.norm(triangle[end - 1, :end]) * (0.6 + 0.3j)
            block = triangle[:end, :end] - shift * np.eye(end)
            turn = np.linalg.qr(block)[0]
            triangle[:, :end] = triangle[:, :end] @ turn
            triangle[:end] = adjoint_of(turn) @ triangle[:end]
            unitary[:, :end] = unitary[:, :end] @ turn
        triangle[end - 1, : end - 1] = 0
    return unitary, triangle


def _root(triangle: Array) -> Array:
    """The principal square root of an upper triangle, column after column."""
    root = np.diag(np.sqrt(np.diag(triangle)))
    for j in range(1, len(root)):
        for i in range(j - 1, -1, -1):
            rest = triangle[i, j] - root[i, i + 1 : j] @ root[i + 1 : j, j]
            root[i, j] = rest / (root[i, i] + root[j, j])
    return root


def _logarithm(matrix: Array) -> Array:
    """The principal logarithm of one matrix; of NaNs if an eigenvalue is zero, for then there is none.

    By Schur's form, and inverse scaling and squaring of the triangle, after Higham, "Functions of Matrices", 2008,
    chapter 11: the triangle's square roots come close to the identity, where a rational approximation has all digits.
    """
    if not np.isfinite(matrix).all():
        return np.full_like(matrix, np.nan + 1j * np.nan)
    unitary, triangle = _schur(matrix)
    values = np.diag(triangle).copy()
    if not values.all():
        return np.full_like(matrix, np.nan + 1j * np.nan)
    one, roots = np.eye(len(matrix)), 0
    while np.linalg.norm(triangle - one, 1) > _NEAR and roots < _MOST_ROOTS:
        triangle, roots = _root(triangle), roots + 1
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    rest = triangle - one
    parts = (
        weight * np.linalg.solve(one + (1 + node) / 2 * rest, rest)
        for node, weight in zip(nodes, weights, strict=True)
    )
    found = np.triu(sum(parts)) * 2.0 ** (roots - 1)
    np.fill_diagonal(found, np.log(values))
    return unitary @ found @ adjoint_of(unitary)


def _square_root(matrix: Array) -> Array:
    """The principal square root of one matrix, by Schur's form; of NaNs if there is none."""
    if not np.isfinite(matrix).all():
        return np.full_like(matrix, np.nan + 1j * np.nan)
    unitary, triangle = _schur(matrix)
    with np.errstate(all="ignore"):  # Two zeros among the eigenvalues may leave no root.
        return unitary @ _root(triangle) @ adjoint_of(unitary)


def _matrix_function(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A kernel that applies a function of one complex matrix to each."""

    def run(x: Array) -> Array:
        require_matrices(x)
        if x.shape[-1] != x.shape[-2]:
            raise InvalidArgumentError(
                None, None, f"Input matrix must be square, got: {x.shape[-2]} != {x.shape[-1]}."
            )
        if not x.size:
            return x.copy()
        found = np.stack([function(each) for each in x.reshape(-1, *x.shape[-2:]).astype(np.complex128)])
        if x.dtype.kind == "f":
            found = _real(found)
        return found.reshape(x.shape).astype(x.dtype)

    return run


def _real(matrices: Array) -> Array:
    """The real parts; NaNs for matrices that are not real."""
    sizes = np.abs(matrices).max((1, 2), keepdims=True)
    aside = np.abs(matrices.imag).max((1, 2), keepdims=True)
    return np.where(aside <= _ROUNDING * sizes, matrices.real, np.nan)


simple("MatrixLogarithm", _matrix_function(_logarithm))
simple("MatrixSquareRoot", _matrix_function(_square_root))
