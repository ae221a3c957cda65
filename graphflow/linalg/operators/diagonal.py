"""Operators that have nothing beside their diagonals: any, multiples of the identity, the identity, and zeros."""

from __future__ import annotations

from typing import Any

from graphflow import errors
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.compositions import eye
from graphflow._core.ops.array.creation import zeros
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import broadcast_dynamic_shape
from graphflow._core.ops.array.shaping import expand_dims, shape
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import constant_value, convert_to_tensor
from graphflow._core.ops.math.linalg import adjoint as adjoint_of
from graphflow._core.ops.math.linalg import matrix_diag, matrix_diag_part
from graphflow._core.ops.math.numeric import conj, real
from graphflow._core.ops.math.transcendental import sqrt
from graphflow.linalg.operators.algebra import all_hint, rule
from graphflow.linalg.operators.base import LinearOperator
from graphflow.linalg.operators.dense import LinearOperatorLowerTriangular, OfItsDiagonal


class LinearOperatorDiag(OfItsDiagonal):
    """Matrices that have nothing beside their diagonals, of shape [..., n].

    Args:
        diag: The diagonals.
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes; true for real ones by itself.
        is_positive_definite: As LinearOperator takes.
        is_square: As LinearOperator takes.
        name: Its name.

    Raises:
        ValueError: As LinearOperator does.
    """

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = convert_to_tensor(diag)
        if self._diag.shape.ndims == 0:
            raise ValueError(f"{name}: a diagonal has at least one axis, got {self._diag}.")
        if is_square is False:
            raise ValueError(f"{name}: only square diagonal operators are there.")
        if is_self_adjoint is None and not self._diag.dtype.is_complex:
            is_self_adjoint = True
        super().__init__(
            self._diag.dtype, [self._diag], is_non_singular, is_self_adjoint, is_positive_definite, True, name
        )

    @property
    def diag(self) -> Tensor:
        """The diagonals."""
        return self._diag

    def _shape(self) -> TensorShape:
        dims = self._diag.shape
        return dims if dims.ndims is None else dims.concatenate(dims[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self._diag)
        return concat([sizes, sizes[-1:]], 0)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _diag_part(self) -> Tensor:
        return self._diag

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._column(adjoint) * (adjoint_of(x) if adjoint_arg else x)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return (adjoint_of(rhs) if adjoint_arg else rhs) / self._column(adjoint)

    def _column(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self._diag) if adjoint else self._diag, -1)

    def _assert_positive_definite(self) -> Operation:
        return assert_positive(
            real(self._diag), message="Not positive definite: the real part of the diagonal was not positive."
        )


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """Multiples of the identity matrix.

    Args:
        num_rows: The number of rows.
        multiplier: Of the shape of the batch.
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes.
        is_positive_definite: As LinearOperator takes.
        is_square: As LinearOperator takes.
        assert_proper_shapes: Has no effect: shapes are always checked.
        name: Its name.

    Raises:
        ValueError: As LinearOperator does.
    """

    def __init__(
        self,
        num_rows: IntTensorLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self.multiplier: Tensor = convert_to_tensor(multiplier)
        self._num_rows = num_rows
        ones = matrix_diag_part(eye(num_rows, dtype=self.multiplier.dtype))
        super().__init__(
            expand_dims(self.multiplier, -1) * ones, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip

    def _scaled(self, multiplier: Tensor) -> LinearOperator:
        return LinearOperatorScaledIdentity(
            self._num_rows, multiplier, self.is_non_singular, self.is_self_adjoint, self.is_positive_definite
        )


class LinearOperatorIdentity(LinearOperatorDiag):
    """The identity matrix.

    Args:
        num_rows: The number of rows.
        batch_shape: The shape of the batch; None for one matrix.
        dtype: Of its elements, float32 by default.
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes.
        is_positive_definite: As LinearOperator takes.
        is_square: As LinearOperator takes.
        assert_proper_shapes: Has no effect: shapes are always checked.
        name: Its name.

    Raises:
        ValueError: As LinearOperator does, and if a hint is not true.
    """

    def __init__(
        self,
        num_rows: IntTensorLike,
        batch_shape: IntTensorLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        if not (is_non_singular and is_self_adjoint and is_positive_definite and is_square):
            raise ValueError(f"{name}: an identity matrix is always all that the hints say.")
        diag = matrix_diag_part(eye(num_rows, batch_shape=batch_shape, dtype=dtype or dtypes.float32))
        super().__init__(diag, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)


class LinearOperatorZeros(LinearOperator):
    """Matrices of zeros.

    Args:
        num_rows: The number of rows.
        num_columns: The number of columns; None for as many as rows.
        batch_shape: The shape of the batch; None for one matrix.
        dtype: Of its elements, float32 by default.
        is_non_singular: As LinearOperator takes; never true.
        is_self_adjoint: As LinearOperator takes.
        is_positive_definite: As LinearOperator takes; never true.
        is_square: As LinearOperator takes.
        assert_proper_shapes: Has no effect: shapes are always checked.
        name: Its name.

    Raises:
        ValueError: As LinearOperator does, and if a hint is not true.
    """

    def __init__(
        self,
        num_rows: IntTensorLike,
        num_columns: IntTensorLike | None = None,
        batch_shape: IntTensorLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if not is_self_adjoint and is_square:
            raise ValueError(f"{name}: a square matrix of zeros is always self-adjoint.")
        if is_non_singular or is_positive_definite:
            raise ValueError(f"{name}: a matrix of zeros is always singular, and not positive definite.")
        super().__init__(
            as_dtype(dtype or dtypes.float32), [], is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip
        rows = convert_to_tensor(num_rows, dtypes.int32)
        columns = rows if num_columns is None else convert_to_tensor(num_columns, dtypes.int32)
        batch = convert_to_tensor([] if batch_shape is None else batch_shape, dtypes.int32)
        self._sizes = concat([batch, expand_dims(rows, 0), expand_dims(columns, 0)], 0)
        static = constant_value(batch)
        sides = [None if size is None else int(size) for size in map(constant_value, (rows, columns))]
        self._dims = TensorShape(batch.shape.as_list()[0] * [None] if static is None else list(static))
        self._dims = self._dims.concatenate(sides)
        _ = self.is_square  # Raises, if the shape says otherwise.

    def _shape(self) -> TensorShape:
        return self._dims

    def _shape_tensor(self) -> Tensor:
        return self._sizes

    def _zeros(self, sizes: Any) -> Tensor:
        return zeros(sizes, self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        sizes = shape(x)
        batch = broadcast_dynamic_shape(self.batch_shape_tensor(), sizes[:-2])
        rows = self.shape_tensor()[-1:] if adjoint else self.shape_tensor()[-2:-1]
        return self._zeros(concat([batch, rows, sizes[-2:-1] if adjoint_arg else sizes[-1:]], 0))

    def _to_dense(self) -> Tensor:
        return self._zeros(self.shape_tensor())

    def _determinant(self) -> Tensor:
        return self._zeros(self._batch())

    def _trace(self) -> Tensor:
        return self._zeros(self._batch())

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return x + self._zeros(self.shape_tensor())

    def _assert_non_singular(self) -> Operation:
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise errors.InvalidArgumentError(None, None, "Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")


def _diagonal(diag: Tensor, *operators: LinearOperator) -> LinearOperator:
    """A diagonal with what is true of all the operators that it is made of, which commute."""
    return LinearOperatorDiag(
        diag,
        all_hint(operator.is_non_singular for operator in operators),
        all_hint(operator.is_self_adjoint for operator in operators),
        all_hint(operator.is_positive_definite and operator.is_self_adjoint for operator in operators),
    )


@rule("adjoint", LinearOperatorDiag)
def _adjoint(one: LinearOperatorDiag) -> LinearOperator:
    return _diagonal(conj(one.diag), one)


@rule("adjoint", LinearOperatorScaledIdentity)
def _scaled_adjoint(one: LinearOperatorScaledIdentity) -> LinearOperator:
    return one._scaled(conj(one.multiplier))


@rule("inverse", LinearOperatorDiag)
def _inverse(one: LinearOperatorDiag) -> LinearOperator:
    return _diagonal(1.0 / one.diag, one)


@rule("inverse", LinearOperatorScaledIdentity)
def _scaled_inverse(one: LinearOperatorScaledIdentity) -> LinearOperator:
    return one._scaled(1.0 / one.multiplier)


@rule("cholesky", LinearOperatorDiag)
def _cholesky(one: LinearOperatorDiag) -> LinearOperator:
    return _diagonal(sqrt(one.diag), one)


@rule("cholesky", LinearOperatorScaledIdentity)
def _scaled_cholesky(one: LinearOperatorScaledIdentity) -> LinearOperator:
    return one._scaled(sqrt(one.multiplier))


@rule("adjoint", LinearOperatorIdentity)
@rule("inverse", LinearOperatorIdentity)
@rule("cholesky", LinearOperatorIdentity)
def _itself(one: LinearOperator) -> LinearOperator:
    return one


@rule("matmul", LinearOperatorIdentity, LinearOperator)
@rule("solve", LinearOperatorIdentity, LinearOperator)
@rule("matmul", LinearOperatorIdentity, LinearOperatorDiag)
@rule("matmul", LinearOperatorIdentity, LinearOperatorIdentity)
@rule("solve", LinearOperatorIdentity, LinearOperatorDiag)
def _other(one: LinearOperator, other: LinearOperator) -> LinearOperator:
    return other


@rule("matmul", LinearOperator, LinearOperatorIdentity)
@rule("matmul", LinearOperatorDiag, LinearOperatorIdentity)
def _first(one: LinearOperator, other: LinearOperator) -> LinearOperator:
    return one


@rule("matmul", LinearOperatorDiag, LinearOperatorDiag)
def _product(one: LinearOperatorDiag, other: LinearOperatorDiag) -> LinearOperator:
    return _diagonal(one.diag * other.diag, one, other)


@rule("solve", LinearOperatorDiag, LinearOperatorDiag)
def _quotient(one: LinearOperatorDiag, other: LinearOperatorDiag) -> LinearOperator:
    return _diagonal(other.diag / one.diag, one, other)


@rule("matmul", LinearOperatorDiag, LinearOperatorLowerTriangular)
def _rows(one: LinearOperatorDiag, other: LinearOperator) -> LinearOperator:
    non_singular = all_hint([one.is_non_singular, other.is_non_singular])
    return LinearOperatorLowerTriangular(expand_dims(one.diag, -1) * other.to_dense(), non_singular)


@rule("matmul", LinearOperatorLowerTriangular, LinearOperatorDiag)
def _columns(one: LinearOperator, other: LinearOperatorDiag) -> LinearOperator:
    non_singular = all_hint([one.is_non_singular, other.is_non_singular])
    return LinearOperatorLowerTriangular(one.to_dense() * expand_dims(other.diag, -2), non_singular)


@rule("matmul", LinearOperator, LinearOperatorZeros)
@rule("matmul", LinearOperatorZeros, LinearOperator)
@rule("matmul", LinearOperatorIdentity, LinearOperatorZeros)
@rule("matmul", LinearOperatorZeros, LinearOperatorIdentity)
def _nothing(one: LinearOperator, other: LinearOperator) -> LinearOperator:
    if not (one.is_square and other.is_square):
        raise ValueError(f"{one.name}, {other.name}: zeros are multiplied with square operators alone.")
    return other if isinstance(other, LinearOperatorZeros) else one
