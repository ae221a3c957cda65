"""Operators whose matrices are written out: all of them, or their lower triangles."""

from __future__ import annotations

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.shaping import shape
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.decompositions import cholesky, matrix_triangular_solve
from graphflow._core.ops.math.linalg import adjoint as adjoint_of
from graphflow._core.ops.math.linalg import matmul, matrix_band_part
from graphflow._core.ops.math.numeric import abs_
from graphflow._core.ops.math.reductions import reduce_prod, reduce_sum
from graphflow._core.ops.math.transcendental import log
from graphflow.linalg.operators.algebra import rule
from graphflow.linalg.operators.base import LinearOperator, same_batch


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices of no structure.

    Args:
        matrix: The matrices written out.
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes.
        is_positive_definite: As LinearOperator takes.
        is_square: As LinearOperator takes.
        name: Its name.

    Raises:
        ValueError: As LinearOperator does, or if the hints contradict the shape.
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = convert_to_tensor(matrix)
        rank = self._matrix.shape.ndims
        if rank is not None and rank < 2:
            raise ValueError(f"{name}: a matrix has at least two axes, got {self._matrix}.")
        sides = self._matrix.shape.as_list()[-2:] if rank else [None, None]
        if is_square is None and None not in sides:
            is_square = sides[0] == sides[1]
        super().__init__(
            self._matrix.dtype, [self._matrix], is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip
        _ = self.is_square  # Raises, if the shape says otherwise.

    def _shape(self) -> TensorShape:
        return self._matrix.shape

    def _shape_tensor(self) -> Tensor:
        return shape(self._matrix)

    def _to_dense(self) -> Tensor:
        return self._matrix

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)


class OfItsDiagonal(LinearOperator):
    """Matrices whose determinant is the product of their diagonal."""

    def _determinant(self) -> Tensor:
        return reduce_prod(self.diag_part(), axis=-1)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(log(abs_(self.diag_part())), axis=-1), self.dtype)

    def _assert_non_singular(self) -> Operation:
        return assert_positive(
            abs_(self.diag_part()), message="Singular operator: the diagonal contained zero values."
        )


class LinearOperatorLowerTriangular(LinearOperatorFullMatrix, OfItsDiagonal):
    """The lower triangles of matrices, with their main diagonals; what stands above is taken for zero.

    Args:
        tril: Of shape [..., n, n].
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes.
        is_positive_definite: As LinearOperator takes.
        is_square: As LinearOperator takes.
        name: Its name.

    Raises:
        ValueError: As LinearOperator does.
    """

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        super().__init__(
            matrix_band_part(tril, -1, 0), is_non_singular, is_self_adjoint, is_positive_definite,
            True if is_square is None else is_square, name,
        )  # fmt: skip

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        matrix, rhs = same_batch(self.to_dense(), adjoint_of(rhs) if adjoint_arg else rhs)
        return matrix_triangular_solve(matrix, rhs, lower=True, adjoint=adjoint)


@rule("cholesky", LinearOperator)
def _cholesky(one: LinearOperator) -> LinearOperator:
    return LinearOperatorLowerTriangular(cholesky(one.to_dense()), True, False, is_square=True)
