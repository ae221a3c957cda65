"""An operator and a product of low rank, solved by Woodbury's formula."""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import broadcast_dynamic_shape, broadcast_static_shape
from graphflow._core.ops.array.shaping import shape
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.decompositions import (
    cholesky,
    cholesky_solve,
    matrix_determinant,
    matrix_solve,
    slogdet,
)
from graphflow._core.ops.math.linalg import matmul
from graphflow.linalg.operators.algebra import implied
from graphflow.linalg.operators.base import LinearOperator, same_batch
from graphflow.linalg.operators.diagonal import LinearOperatorDiag, LinearOperatorIdentity


class LinearOperatorLowRankUpdate(LinearOperator):
    """An operator L and a product of low rank: L + U D V^H, for a diagonal D.

    Args:
        base_operator: L.
        u: U, [..., rows, k].
        diag_update: The diagonal of D, [..., k]; None for ones.
        v: V, [..., columns, k]; None for `u`.
        is_diag_update_positive: Whether the diagonal is real and positive.
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes; what follows from L and D holds by itself.
        is_positive_definite: As LinearOperator takes; what follows from L and D holds by itself.
        is_square: As LinearOperator takes.
        name: Its name.

    Raises:
        ValueError: If the hints contradict each other.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        dtype = base_operator.dtype
        is_diag_update_positive = implied(
            is_diag_update_positive,
            diag_update is None,
            f"{name}: without diag_update the diagonal is of ones, which are positive.",
        )
        same = bool(base_operator.is_self_adjoint and v is None)
        positive = bool(same and base_operator.is_positive_definite and is_diag_update_positive)
        follows = f"{name}: the operator and its update are always "
        is_self_adjoint = implied(
            is_self_adjoint, (same and not dtype.is_complex) or positive, f"{follows}self-adjoint."
        )
        is_positive_definite = implied(is_positive_definite, positive, f"{follows}positive definite.")
        self.base_operator: LinearOperator = base_operator
        self.u: Tensor = convert_to_tensor(u, dtype)
        self.v: Tensor = self.u if v is None else convert_to_tensor(v, dtype)
        self.diag_update: Tensor | None = (
            None if diag_update is None else convert_to_tensor(diag_update, dtype)
        )
        self.is_diag_update_positive: bool | None = is_diag_update_positive
        super().__init__(
            dtype,
            [*base_operator.graph_parents, *(each for each in (self.u, self.diag_update, self.v) if each is not None)],
            is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip
        if self.diag_update is None:
            rank = self.u.shape.as_list()[-1] if self.u.shape.ndims else None
            self.diag_operator: LinearOperator = LinearOperatorIdentity(
                shape(self.u)[-1] if rank is None else rank, dtype=dtype
            )
        else:
            self.diag_operator = LinearOperatorDiag(
                self.diag_update, is_positive_definite=is_diag_update_positive
            )
        self._uses_cholesky = positive

    def _shape(self) -> TensorShape:
        dims = self.base_operator.shape
        if dims.ndims is None or self.u.shape.ndims is None:
            return TensorShape(None)
        return broadcast_static_shape(dims[:-2], self.u.shape[:-2]).concatenate(dims[-2:])

    def _shape_tensor(self) -> Tensor:
        sizes = self.base_operator.shape_tensor()
        return concat([broadcast_dynamic_shape(sizes[:-2], shape(self.u)[:-2]), sizes[-2:]], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        inner = self.diag_operator.matmul(matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg), adjoint)
        found: Tensor = self.base_operator.matmul(x, adjoint, adjoint_arg) + matmul(left, inner)
        return found

    def _capacitance(self) -> Tensor:
        """D^-1 + V^H L^-1 U, the small matrix of Woodbury's formula."""
        inner = matmul(self.v, self.base_operator.solve(self.u), adjoint_a=True)
        return self.diag_operator.inverse().add_to_tensor(inner)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        first: Tensor = self.base_operator.solve(rhs, adjoint, adjoint_arg)
        small, inner = same_batch(self._capacitance(), matmul(right, first, adjoint_a=True))
        if self._uses_cholesky:
            inner = cholesky_solve(cholesky(small), inner)
        else:
            inner = matrix_solve(small, inner, adjoint=adjoint)
        found: Tensor = first - self.base_operator.solve(matmul(left, inner), adjoint)
        return found

    def _determinant(self) -> Tensor:
        inner = matrix_determinant(self._capacitance()) * self.diag_operator.determinant()
        return inner * self.base_operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        inner = slogdet(self._capacitance())[1] + self.diag_operator.log_abs_determinant()
        return inner + self.base_operator.log_abs_determinant()
