"""Matrices with three diagonals: systems of linear equations, and products (tf.linalg.tridiagonal_solve, _matmul)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import concat, expand_dims, matrix_transpose, squeeze, stack, zeros_like
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math.arithmetic import add
from graphflow._core.ops.math.linalg import TRIDIAGONAL_SOLVE, matrix_diag_part
from graphflow._core.ops.math.numeric import conj

_DTYPES: Final = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def tridiagonal_solve(
    diagonals: TensorLike | Sequence[TensorLike],
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """Solves matrix x = rhs for matrices with three diagonals, in a time that grows as their size.

    Args:
        diagonals: By diagonals_format: "compact", [..., 3, M], the diagonal above, the main one and the one below,
            where the last element of the first and the first one of the last do not count; "sequence", the three
            of them, [..., M] or shorter by 1 where an element does not count; "matrix", [..., M, M], of which only
            three diagonals count.
        rhs: The right sides, [..., M] or [..., M, K].
        diagonals_format: See above.
        transpose_rhs: Whether right sides [..., K, M] are transposed first, and the solutions in the end.
        conjugate_rhs: Whether the right sides are conjugated first.
        name: A name for the operation.
        partial_pivoting: Whether rows change places where that makes it more exact.

    Returns:
        The solutions, of the shape of `rhs`.

    Raises:
        ValueError: For shapes that do not go together, or another format.
        InvalidArgumentError: If a matrix is singular, or needs rows to change places.
    """
    compact, right = _compact(diagonals, diagonals_format), convert_to_tensor(rhs)
    dims = compact.shape.as_list()
    if len(dims) < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {len(dims)}.")
    rank = len(right.shape.as_list())
    if rank not in (len(dims) - 1, len(dims)):
        raise ValueError(f"Expected the rank of rhs to be {len(dims) - 1} or {len(dims)}, got {rank}.")
    if conjugate_rhs:
        right = conj(right)
    attrs = {"partial_pivoting": bool(partial_pivoting)}
    if rank < len(dims):
        return squeeze(
            apply(TRIDIAGONAL_SOLVE, (compact, expand_dims(right, -1)), attrs, name).outputs[0], [-1]
        )
    if transpose_rhs:
        right = matrix_transpose(right)
    found = apply(TRIDIAGONAL_SOLVE, (compact, right), attrs, name).outputs[0]
    return matrix_transpose(found) if transpose_rhs else found


def tridiagonal_matmul(
    diagonals: TensorLike | Sequence[TensorLike],
    rhs: TensorLike,
    diagonals_format: str = "compact",
    name: str | None = None,
) -> Tensor:
    """The product of matrices with three diagonals and others, in a time that grows as their size.

    Args:
        diagonals: By diagonals_format, as of tridiagonal_solve.
        rhs: The matrices on the right, [..., M, K].
        diagonals_format: "compact", "sequence" or "matrix".
        name: A name for the operation.

    Returns:
        The products, [..., M, K].

    Raises:
        ValueError: For shapes that do not go together, or another format.
        TypeError: For dtypes that are not float32, float64 or complex.
    """
    given = list(diagonals) if isinstance(diagonals, tuple | list) else [diagonals]
    with op_scope(name, "TridiagonalMatMul", [*given, rhs]) as scope:
        right = convert_to_tensor(rhs, name="rhs")
        if diagonals_format == "sequence" and len(given) == 3:
            given = [convert_to_tensor(one, right.dtype) for one in given]
        compact = _compact(given if diagonals_format == "sequence" else diagonals, diagonals_format)
        if right.dtype not in _DTYPES:
            raise TypeError(
                f"rhs must be of {', '.join(d.name for d in _DTYPES)}, not of {right.dtype.name}."
            )
        rows = right.shape.with_rank_at_least(2)[-2:-1]
        compact.shape[-1:].assert_is_compatible_with(rows)
        above, middle, below = (expand_dims(compact[..., n, :], -1) for n in range(3))
        nothing = zeros_like(right[..., :1, :])
        after = concat([right[..., 1:, :], nothing], -2)
        before = concat([nothing, right[..., :-1, :]], -2)
        # The elements of the outer diagonals that do not count may be anything, also infinite.
        above = concat([above[..., :-1, :], zeros_like(above[..., :1, :])], -2)
        below = concat([zeros_like(below[..., :1, :]), below[..., 1:, :]], -2)
        return add(above * after + middle * right, below * before, name=scope)


def _compact(diagonals: Any, form: str) -> Tensor:
    """The three diagonals as one tensor, [..., 3, M]."""
    if form == "compact":
        return convert_to_tensor(diagonals)
    if form == "sequence":
        if not isinstance(diagonals, tuple | list) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, middle, below = map(convert_to_tensor, diagonals)
    elif form == "matrix":
        matrix = convert_to_tensor(diagonals)
        rows, columns = matrix.shape.with_rank_at_least(2).as_list()[-2:]
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(
                f"Expected the last two axes of diagonals to be the same, got {rows} and {columns}."
            )
        if rows is None and columns is None:
            raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix".')
        middle = matrix_diag_part(matrix)
        above, below = matrix_diag_part(matrix[..., :-1, 1:]), matrix_diag_part(matrix[..., 1:, :-1])
        size = columns if rows is None else rows
        for diagonal, length in ((above, size - 1), (middle, size), (below, size - 1)):
            diagonal.set_shape([*diagonal.shape.as_list()[:-1], length])
    else:
        raise ValueError(f"diagonals_format is 'compact', 'sequence' or 'matrix', not {form!r}.")
    zero = zeros_like(middle[..., :1])
    size = middle.shape.as_list()[-1]
    return stack([_padded(above, size, [above, zero]), middle, _padded(below, size, [zero, below])], -2)


def _padded(diagonal: Tensor, size: int | None, parts: list[Tensor]) -> Tensor:
    """A diagonal that is as long as the main one; what is shorter by 1 is joined from parts."""
    length = diagonal.shape.as_list()[-1]
    if length is None or length == size:
        return diagonal
    if size is None or length == size - 1:
        return concat(parts, -1)
    raise ValueError(f"Expected a diagonal to have the length {size} or {size - 1}, got {length}.")
