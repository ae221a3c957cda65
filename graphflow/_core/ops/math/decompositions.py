"""Inverses, determinants and decompositions of matrices in the last two axes, and what is solved with them.

Gradients: of the Cholesky factor after Murray (2016), of the QR and singular value decompositions after
Townsend (2016) and Walter & Lehmann (2012), of eigenvectors after Giles (2008).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math import (
    arithmetic,
    casting,
    comparison,
    linalg,
    numeric,
    reductions,
    transcendental,
)
from graphflow._core.ops.math.elementwise import unary
from graphflow._core.ops.rules import require_rank_at_least


def _square(op: Operation, index: int = 0) -> Dims:
    dims = require_rank_at_least(op.inputs[index].dims, 2, "the matrix")
    if dims is None:
        return None
    rows, columns = dims[-2:]
    if rows is not None and columns is not None and rows != columns:
        raise ValueError(
            f"Dimensions must be equal, but are {rows} and {columns}: the matrix must be square."
        )
    side = columns if rows is None else rows
    return (*dims[:-2], side, side)


def _square_infer(op: Operation) -> Signature:
    return [(op.inputs[0].dtype, _square(op))]


def _scalar_infer(op: Operation) -> Signature:
    dims = _square(op)
    return [(op.inputs[0].dtype, None if dims is None else dims[:-2])] * len(op.op_def.outputs)


def _solve_infer(op: Operation) -> Signature:
    matrix, rhs = _square(op), require_rank_at_least(op.inputs[1].dims, 2, "the right-hand side")
    if matrix is None or rhs is None:
        return [(op.inputs[0].dtype, rhs)]
    outer = shapes.merge((*matrix[:-2], matrix[-1]), rhs[:-1])
    return [(op.inputs[0].dtype, (*(outer or ()), rhs[-1]))]


def _product(a: Tensor, b: Tensor, adjoint_a: bool = False, adjoint_b: bool = False) -> Tensor:
    return linalg.matmul(a, b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


def _column(x: Tensor) -> Tensor:
    return array.expand_dims(x, -1)


def _row(x: Tensor) -> Tensor:
    return array.expand_dims(x, -2)


def _inverse_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    inverse = op.outputs[0]
    if op.attrs["adjoint"]:
        g, inverse = linalg.adjoint(g), linalg.adjoint(inverse)
    return (numeric.negative(_product(inverse, _product(g, inverse, adjoint_b=True), adjoint_a=True)),)


def _determinant_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    scale = arithmetic.multiply(g, numeric.conj(op.outputs[0]))
    return (arithmetic.multiply(_column(_column(scale)), matrix_inverse(op.inputs[0], adjoint=True)),)


def _log_determinant_gradient(op: Operation, sign_g: Any, g: Tensor) -> tuple[Tensor]:
    return (arithmetic.multiply(_column(_column(g)), matrix_inverse(op.inputs[0], adjoint=True)),)


def _solve_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    adjoint = op.attrs["adjoint"]
    rhs_gradient = matrix_solve(op.inputs[0], g, adjoint=not adjoint)
    x = op.outputs[0]
    pair = (x, rhs_gradient) if adjoint else (rhs_gradient, x)
    return numeric.negative(_product(*pair, adjoint_b=True)), rhs_gradient


def _triangular_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    adjoint, lower = op.attrs["adjoint"], op.attrs["lower"]
    rhs_gradient = matrix_triangular_solve(op.inputs[0], g, lower=lower, adjoint=not adjoint)
    x = op.outputs[0]
    pair = (x, rhs_gradient) if adjoint else (rhs_gradient, x)
    whole = numeric.negative(_product(*pair, adjoint_b=True))
    band = (-1, 0) if lower else (0, -1)
    return linalg.matrix_band_part(whole, *band), rhs_gradient


def _lower_with_half_diagonal(x: Tensor) -> Tensor:
    halved = arithmetic.multiply(linalg.matrix_diag_part(x), 0.5)
    return linalg.matrix_band_part(linalg.matrix_set_diag(x, halved), -1, 0)


def _cholesky_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    factor = op.outputs[0]
    middle = _lower_with_half_diagonal(_product(factor, g, adjoint_a=True))
    left = matrix_triangular_solve(factor, middle, adjoint=True)
    whole = linalg.adjoint(matrix_triangular_solve(factor, linalg.adjoint(left), adjoint=True))
    return (arithmetic.multiply(arithmetic.add(whole, linalg.adjoint(whole)), 0.5),)


def _qr_gradient(op: Operation, q_g: Tensor, r_g: Tensor) -> tuple[Tensor]:
    q, r = op.outputs
    rows, columns = (op.inputs[0].dims or (None, None))[-2:]
    if rows is None or columns is None or rows < columns or (op.attrs["full_matrices"] and rows != columns):
        raise ValueError(
            f"The gradient of {op.describe()} exists for matrices of known shape with no more columns than rows, "
            "without full_matrices."
        )
    inner_r, inner_q = _product(r, r_g, adjoint_b=True), _product(q, q_g, adjoint_a=True)
    skew_r = arithmetic.subtract(inner_r, linalg.adjoint(inner_r))
    skew_q = arithmetic.subtract(inner_q, linalg.adjoint(inner_q))
    strict = arithmetic.add(_strictly_lower(skew_r), _strictly_lower(skew_q))
    first = _product(q, arithmetic.add(r_g, _right_solve(strict, r)))
    if rows == columns:
        return (first,)
    rest = _right_solve(arithmetic.subtract(q_g, _product(q, inner_q)), r)
    return (arithmetic.add(first, rest),)


def _strictly_lower(x: Tensor) -> Tensor:
    return arithmetic.subtract(linalg.matrix_band_part(x, -1, 0), linalg.matrix_band_part(x, 0, 0))


def _right_solve(x: Tensor, r: Tensor) -> Tensor:
    """x times the inverse of the adjoint of r, which is upper triangular."""
    return linalg.adjoint(matrix_triangular_solve(r, linalg.adjoint(x), lower=False))


def _differences(values: Tensor) -> Tensor:
    """1 / (values[j] - values[i]), with zeros where they are equal."""
    gaps = arithmetic.subtract(_row(values), _column(values))
    return arithmetic.div_no_nan(array.ones_like(gaps), gaps)


def _eig_gradient(op: Operation, e_g: Tensor, v_g: Tensor) -> tuple[Tensor]:
    e = op.outputs[0]
    if op.attrs["compute_v"]:
        v = op.outputs[1]
        weighted = arithmetic.multiply(_differences(e), _product(v, v_g, adjoint_a=True))
        inner = arithmetic.add(linalg.matrix_diag(e_g), weighted)
    else:
        _, v = self_adjoint_eig(op.inputs[0])
        inner = linalg.matrix_diag(e_g)
    whole = _product(v, _product(inner, v, adjoint_b=True))
    # Only the lower triangle is read: what belongs to the upper one is added to it.
    folded = linalg.matrix_band_part(arithmetic.add(whole, linalg.adjoint(whole)), -1, 0)
    return (linalg.matrix_set_diag(folded, linalg.matrix_diag_part(whole)),)


def _svd_gradient(op: Operation, s_g: Tensor, u_g: Tensor, v_g: Tensor) -> tuple[Tensor]:
    x, s = op.inputs[0], op.outputs[0]
    if not op.attrs["compute_uv"]:
        _, u, v = svd(x)
        return (_product(u, _product(linalg.matrix_diag(s_g), v, adjoint_b=True)),)
    rows, columns = (x.dims or (None, None))[-2:]
    if op.attrs["full_matrices"] and rows != columns or x.dtype.is_complex:
        raise ValueError(f"The gradient of {op.describe()} exists for real matrices, without full_matrices.")
    u, v = op.outputs[1], op.outputs[2]
    squared = transcendental.square(s)
    gaps = _differences(squared)
    inner_u, inner_v = _product(u, u_g, adjoint_a=True), _product(v, v_g, adjoint_a=True)
    turn_u = arithmetic.multiply(gaps, arithmetic.subtract(inner_u, linalg.adjoint(inner_u)))
    turn_v = arithmetic.multiply(gaps, arithmetic.subtract(inner_v, linalg.adjoint(inner_v)))
    inner = arithmetic.add(arithmetic.multiply(turn_u, _row(s)), arithmetic.multiply(_column(s), turn_v))
    whole = _product(u, _product(arithmetic.add(inner, linalg.matrix_diag(s_g)), v, adjoint_b=True))
    inverse = transcendental.reciprocal(s)
    if rows is None or columns is None or rows > columns:
        outside = arithmetic.subtract(u_g, _product(u, inner_u))
        whole = arithmetic.add(
            whole, _product(arithmetic.multiply(outside, _row(inverse)), v, adjoint_b=True)
        )
    if rows is None or columns is None or columns > rows:
        outside = arithmetic.subtract(v_g, _product(v, inner_v))
        whole = arithmetic.add(
            whole, _product(u, arithmetic.multiply(outside, _row(inverse)), adjoint_b=True)
        )
    return (whole,)


def _svd_infer(op: Operation) -> Signature:
    x = op.inputs[0]
    dims = require_rank_at_least(x.dims, 2, "the matrix")
    if dims is None:
        return [(x.dtype, None if op.attrs["compute_uv"] or i == 0 else (0,)) for i in range(3)]
    outer, (rows, columns) = dims[:-2], dims[-2:]
    small = None if rows is None or columns is None else min(rows, columns)
    if not op.attrs["compute_uv"]:
        return [(x.dtype, (*outer, small)), (x.dtype, (0,)), (x.dtype, (0,))]
    full = op.attrs["full_matrices"]
    u, v = (rows, rows if full else small), (columns, columns if full else small)
    return [(x.dtype, (*outer, small)), (x.dtype, outer + u), (x.dtype, outer + v)]


def _qr_infer(op: Operation) -> Signature:
    x = op.inputs[0]
    dims = require_rank_at_least(x.dims, 2, "the matrix")
    if dims is None:
        return [(x.dtype, None)] * 2
    outer, (rows, columns) = dims[:-2], dims[-2:]
    small = None if rows is None or columns is None else min(rows, columns)
    inner = rows if op.attrs["full_matrices"] else small
    return [(x.dtype, (*outer, rows, inner)), (x.dtype, (*outer, inner, columns))]


def _eig_infer(op: Operation) -> Signature:
    x, dims = op.inputs[0], _square(op)
    values = None if dims is None else dims[:-1]
    return [(x.dtype, values), (x.dtype, dims if op.attrs["compute_v"] else (0,))]


INVERSE = op_def("MatrixInverse", ("input: T=continuous",), infer=_square_infer, gradient=_inverse_gradient)
DETERMINANT = op_def(
    "MatrixDeterminant", ("input: T=continuous",), infer=_scalar_infer, gradient=_determinant_gradient
)
LOG_DETERMINANT = op_def(
    "LogMatrixDeterminant",
    ("input: T=continuous",),
    infer=_scalar_infer,
    gradient=_log_determinant_gradient,
    outputs=("sign", "log_abs_determinant"),
)
CHOLESKY = op_def("Cholesky", ("input: T=continuous",), infer=_square_infer, gradient=_cholesky_gradient)
SOLVE = op_def(
    "MatrixSolve", ("matrix: T=continuous", "rhs: T"), infer=_solve_infer, gradient=_solve_gradient
)
TRIANGULAR_SOLVE = op_def(
    "MatrixTriangularSolve",
    ("matrix: T=continuous", "rhs: T"),
    infer=_solve_infer,
    gradient=_triangular_gradient,
)
SVD = op_def(
    "Svd", ("input: T=continuous",), infer=_svd_infer, gradient=_svd_gradient, outputs=("s", "u", "v")
)
QR = op_def("Qr", ("input: T=continuous",), infer=_qr_infer, gradient=_qr_gradient, outputs=("q", "r"))
EIG = op_def(
    "SelfAdjointEigV2", ("input: T=continuous",), infer=_eig_infer, gradient=_eig_gradient, outputs=("e", "v")
)


class Qr(NamedTuple):
    """Orthonormal columns and an upper triangular matrix."""

    q: Tensor
    r: Tensor


class LogMatrixDeterminant(NamedTuple):
    """The sign of a determinant and the logarithm of its absolute value."""

    sign: Tensor
    log_abs_determinant: Tensor


def matrix_inverse(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverses of square matrices (tf.matrix_inverse).

    Args:
        input: Square matrices in the last two axes.
        adjoint: Whether the matrices are transposed and conjugated first.
        name: A name for the operation.

    Returns:
        Matrices of the same shape.

    Raises:
        InvalidArgumentError: If one is singular.
    """
    return apply(INVERSE, (input,), {"adjoint": bool(adjoint)}, name).outputs[0]


def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """The determinants of square matrices (tf.matrix_determinant).

    Args:
        input: Square matrices in the last two axes.
        name: A name for the operation.

    Returns:
        The determinants, of the shape in front.
    """
    return unary(DETERMINANT, input, name)


def slogdet(input: TensorLike, name: str | None = None) -> LogMatrixDeterminant:
    """Sign and logarithm of the determinants (tf.linalg.slogdet).

    Args:
        input: Square matrices in the last two axes.
        name: A name for the operation.

    Returns:
        The signs, and the logarithms of the absolute values.
    """
    return LogMatrixDeterminant(*apply(LOG_DETERMINANT, (input,), name=name).outputs)


def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The logarithm of the determinants of positive definite matrices (tf.linalg.logdet).

    Args:
        matrix: Positive definite matrices in the last two axes.
        name: A name for the operation.

    Returns:
        The logarithms of the determinants.
    """
    with op_scope(name, "logdet", (matrix,)):
        diagonal = numeric.real(linalg.matrix_diag_part(cholesky(matrix)))
        return arithmetic.multiply(2.0, reductions.reduce_sum(transcendental.log(diagonal), [-1]), "mul")


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """The lower triangular factors of positive definite matrices (tf.cholesky); only the lower triangle is read.

    Args:
        input: Positive definite matrices in the last two axes.
        name: A name for the operation.

    Returns:
        Matrices of the same shape.

    Raises:
        InvalidArgumentError: If a matrix is not positive definite.
    """
    return unary(CHOLESKY, input, name)


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solves A x = rhs for A = chol chol^H (tf.cholesky_solve).

    Args:
        chol: What cholesky gave.
        rhs: The right sides, [..., rows, columns].
        name: A name for the operation.

    Returns:
        The solutions.
    """
    with op_scope(name, "cholesky_solve", (chol, rhs)):
        return matrix_triangular_solve(chol, matrix_triangular_solve(chol, rhs), adjoint=True)


def matrix_solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves matrix x = rhs (tf.matrix_solve).

    Args:
        matrix: Square matrices in the last two axes.
        rhs: The right sides, [..., rows, columns].
        adjoint: Whether the matrices are transposed and conjugated first.
        name: A name for the operation.

    Returns:
        The solutions, of the shape of `rhs`.

    Raises:
        InvalidArgumentError: If a matrix is singular.
    """
    return apply(SOLVE, (matrix, rhs), {"adjoint": bool(adjoint)}, name).outputs[0]


def matrix_triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves with one triangle of the matrices, by substitution (tf.matrix_triangular_solve).

    Args:
        matrix: Triangular matrices in the last two axes.
        rhs: The right sides, [..., rows, columns].
        lower: Whether the lower triangles count, else the upper.
        adjoint: Whether the matrices are transposed and conjugated first.
        name: A name for the operation.

    Returns:
        The solutions, of the shape of `rhs`.
    """
    attrs = {"lower": bool(lower), "adjoint": bool(adjoint)}
    return apply(TRIANGULAR_SOLVE, (matrix, rhs), attrs, name).outputs[0]


def matrix_solve_ls(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Least squares (tf.matrix_solve_ls), by normal equations and Cholesky, or by orthogonal means if not `fast`.

    l2_regularizer is added to the diagonal of the normal equations; `fast` does not need it if the rank is full.

    Args:
        matrix: Matrices in the last two axes.
        rhs: The right sides, [..., rows, columns].
        l2_regularizer: At least 0.
        fast: Whether by the normal equations.
        name: A name for the operation.

    Returns:
        The solutions.
    """
    with op_scope(name, "matrix_solve_ls", (matrix, rhs)) as scope:
        matrix, rhs = convert_to_tensor(matrix, name="matrix"), convert_to_tensor(rhs, name="rhs")
        rows, columns = (matrix.dims or (None, None))[-2:]
        if not fast:
            values, left, right = svd(matrix)
            if l2_regularizer:
                damped = arithmetic.add(transcendental.square(values), l2_regularizer)
                weights = arithmetic.realdiv(values, damped)
            else:
                weights = _reciprocal_of_large(values, matrix)
            projected = arithmetic.multiply(_column(weights), _product(left, rhs, adjoint_a=True))
            return linalg.matmul(right, projected, name=scope)
        if rows is not None and columns is not None and rows < columns:
            factor = cholesky(_regularized(_product(matrix, matrix, adjoint_b=True), l2_regularizer))
            return _product(matrix, cholesky_solve(factor, rhs), adjoint_a=True)
        factor = cholesky(_regularized(_product(matrix, matrix, adjoint_a=True), l2_regularizer))
        return cholesky_solve(factor, _product(matrix, rhs, adjoint_a=True))


def _reciprocal_of_large(values: Tensor, matrix: Tensor) -> Tensor:
    """1 / s of the singular values that differ from rounding noise, 0 of the others."""
    largest = reductions.reduce_max(values, -1, True)
    epsilon = {dtypes.float16: 1e-3, dtypes.float32: 1.2e-7}.get(values.dtype, 2.3e-16)
    side = max([d for d in (matrix.dims or ())[-2:] if d] or [1000])
    usable = comparison.greater(values, arithmetic.multiply(largest, epsilon * side))
    return arithmetic.div_no_nan(casting.cast(usable, values.dtype), values)


def _regularized(gram: Tensor, l2_regularizer: Any) -> Tensor:
    if isinstance(l2_regularizer, int | float) and l2_regularizer == 0:
        return gram
    damped = arithmetic.add(linalg.matrix_diag_part(gram), casting.cast(l2_regularizer, gram.dtype))
    return linalg.matrix_set_diag(gram, damped)


@overload
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: Literal[True] = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd(
    tensor: TensorLike, full_matrices: bool, compute_uv: Literal[False], name: str | None = None
) -> Tensor: ...
@overload
def svd(
    tensor: TensorLike, full_matrices: bool = False, *, compute_uv: Literal[False], name: str | None = None
) -> Tensor: ...
def svd(
    tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition (tf.svd): (s, u, v) with tensor = u diag(s) v^H, or s alone.

    Singular values come in descending order.

    Args:
        tensor: Matrices in the last two axes.
        full_matrices: Whether u and v are square.
        compute_uv: Whether u and v are given.
        name: A name for the operation.

    Returns:
        s, u and v, or s alone.
    """
    attrs = {"compute_uv": bool(compute_uv), "full_matrices": bool(full_matrices)}
    s, u, v = apply(SVD, (tensor,), attrs, name).outputs
    return (numeric.real(s), u, v) if compute_uv else numeric.real(s)


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """The QR decomposition (tf.qr).

    Args:
        input: Matrices in the last two axes.
        full_matrices: Whether q is square.
        name: A name for the operation.

    Returns:
        q and r.
    """
    return Qr(*apply(QR, (input,), {"full_matrices": bool(full_matrices)}, name).outputs)


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues, ascending, and eigenvectors of symmetric matrices (tf.self_adjoint_eig).

    Only the lower triangle is read.

    Args:
        tensor: Symmetric matrices in the last two axes.
        name: A name for the operation.

    Returns:
        The eigenvalues [..., n], and the eigenvectors as columns.
    """
    e, v = apply(EIG, (tensor,), {"compute_v": True}, name).outputs
    return e, v


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending (tf.self_adjoint_eigvals).

    Args:
        tensor: Symmetric matrices in the last two axes.
        name: A name for the operation.

    Returns:
        The eigenvalues, ascending.
    """
    return apply(EIG, (tensor,), {"compute_v": False}, name).outputs[0]


def spectral_norm(x: Tensor, axis: Any) -> Tensor:
    """The largest singular value of the matrices in two axes, which are kept as axes of one element."""
    if x.dims is None:
        raise ValueError("The spectral norm needs a tensor of known rank.")
    rank = len(x.dims)
    first, second = (shapes.normalize_axis(int(a), rank) for a in axis)
    others = [i for i in range(rank) if i not in (first, second)]
    values = svd(array.transpose(x, [*others, first, second]), compute_uv=False)
    largest = reductions.reduce_max(values, -1)
    for place in sorted((first, second)):
        largest = array.expand_dims(largest, place)
    return largest
