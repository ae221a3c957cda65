"""Linear operators: matrices known by their structure, and what is computed of them (tf.linalg.LinearOperator...).

A structure knows its own products, solutions and determinant; all else follows from the matrix as it is written out.
They are made of ops, so gradients, batches and both tiers are those of the ops.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.compositions import eye
from graphflow._core.ops.array.shaping import expand_dims, shape, squeeze
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.arithmetic import multiply
from graphflow._core.ops.math.decompositions import (
    cholesky,
    matrix_determinant,
    matrix_inverse,
    matrix_solve,
    matrix_triangular_solve,
    slogdet,
)
from graphflow._core.ops.math.linalg import (
    adjoint as adjoint_of,
)
from graphflow._core.ops.math.linalg import matmul, matrix_band_part, matrix_diag, matrix_diag_part
from graphflow._core.ops.math.numeric import abs_, conj
from graphflow._core.ops.math.reductions import reduce_prod, reduce_sum
from graphflow._core.ops.math.transcendental import log


class LinearOperator:
    """A batch of matrices, of shape [..., rows, columns]; to be derived from.

    Args:
        matrix: The matrices written out.
        is_non_singular: Whether they can be inverted, None if that is not known; a hint that is not checked.
        is_self_adjoint: Whether each is its own adjoint; a hint.
        is_positive_definite: Whether each is positive definite; a hint.
        is_square: Whether there are as many rows as columns; None for what the shape says.
        name: Its name, by default that of its class.

    Raises:
        ValueError: If the hints contradict each other or the shape.
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._matrix = convert_to_tensor(matrix)
        self.name: str = name or type(self).__name__
        name = self.name
        rank = self._matrix.shape.ndims
        if rank is not None and rank < 2:
            raise ValueError(f"{name}: a matrix has at least two axes, got {self._matrix}.")
        sides = self._matrix.shape.as_list()[-2:] if rank else [None, None]
        known = None if None in sides else sides[0] == sides[1]
        if known is not None and is_square is not None and known != is_square:
            raise ValueError(f"{name}: is_square={is_square}, but the shape is {self._matrix.shape}.")
        if is_positive_definite and is_non_singular is False:
            raise ValueError(f"{name}: a positive definite matrix is always non-singular.")
        self.is_square: bool | None = known if is_square is None else is_square
        if self.is_square is False and (is_non_singular or is_self_adjoint or is_positive_definite):
            raise ValueError(f"{name}: only a square matrix can be what the hints say.")
        self.is_non_singular: bool | None = True if is_positive_definite else is_non_singular
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite

    # ---- sizes ------------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The dtype of its elements."""
        return self._matrix.dtype

    @property
    def graph_parents(self) -> list[Tensor]:
        """The tensors that it was made of."""
        return [self._matrix]

    @property
    def shape(self) -> TensorShape:
        """The static shape: that of the batch, rows, columns."""
        return self._matrix.shape

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes, two for one matrix; None if it is not known."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Any:
        """The number of columns, as far as it is known."""
        return self.shape[-1]

    @property
    def range_dimension(self) -> Any:
        """The number of rows, as far as it is known."""
        return self.shape[-2]

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as an int32 tensor.

        Args:
            name: A name for the operation.
        """
        return shape(self._matrix, name=name)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch as an int32 tensor.

        Args:
            name: A name for the operation.
        """
        return self.shape_tensor(name)[:-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The number of columns as an int32 tensor.

        Args:
            name: A name for the operation.
        """
        return self.shape_tensor(name)[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The number of rows as an int32 tensor.

        Args:
            name: A name for the operation.
        """
        return self.shape_tensor(name)[-2]

    # ---- what is computed -------------------------------------------------------------------------------------------

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices written out.

        Args:
            name: A name for the operation.
        """
        return self._matrix

    def matmul(
        self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Tensor:
        """The products with other matrices.

        Args:
            x: Of shape [..., columns, k], of the same dtype; another LinearOperator gives a LinearOperatorFullMatrix.
            adjoint: Whether the adjoint of this one is multiplied.
            adjoint_arg: Whether the adjoint of `x` is.
            name: Of the operation.

        Returns:
            A tensor of shape [..., rows, k].
        """
        return matmul(self.to_dense(), self._like(x), adjoint_a=adjoint, adjoint_b=adjoint_arg, name=name)

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The products with vectors of shape [..., columns]: of shape [..., rows].

        Args:
            x: Vectors in the last axis.
            adjoint: Whether the matrices are transposed and conjugated first.
            name: A name for the operation.
        """
        return squeeze(self.matmul(expand_dims(self._like(x), -1), adjoint, name=name), [-1])

    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Tensor:
        """What gives `rhs` if it is multiplied by this one.

        Args:
            rhs: Of shape [..., rows, k].
            adjoint: Whether the adjoint of this one is to give it.
            adjoint_arg: Whether the adjoint of `rhs` is given.
            name: Of the operation.

        Returns:
            A tensor of shape [..., columns, k].

        Raises:
            ValueError: If it is not square, or known to be singular.
        """
        self._check_solvable()
        rhs = self._like(rhs)
        return self._solved(adjoint_of(rhs) if adjoint_arg else rhs, adjoint, name)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """As solve, for vectors of shape [..., rows].

        Args:
            rhs: Vectors in the last axis.
            adjoint: Whether the matrices are transposed and conjugated first.
            name: A name for the operation.
        """
        return squeeze(self.solve(expand_dims(self._like(rhs), -1), adjoint, name=name), [-1])

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant of each matrix.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: If they are not square.
        """
        self._check_square("determinant")
        return matrix_determinant(self.to_dense(), name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of each determinant.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: If they are not square.
        """
        self._check_square("log_abs_determinant")
        return slogdet(self.to_dense(), name=name)[1]

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The main diagonals.

        Args:
            name: A name for the operation.
        """
        return matrix_diag_part(self.to_dense(), name=name)

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of each main diagonal.

        Args:
            name: A name for the operation.
        """
        return reduce_sum(self.diag_part(), axis=-1, name=name)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of the matrices and a tensor of their shape.

        Args:
            x: Matrices in the last two axes.
            name: A name for the operation.
        """
        return self.to_dense() + self._like(x)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The adjoints.

        Args:
            name: A name for the operation.
        """
        if self.is_self_adjoint:
            return self
        return self._made(adjoint_of(self.to_dense()), name)

    @property
    def H(self) -> LinearOperator:
        """The adjoints."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverses.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: If they are not square, or known to be singular.
        """
        self._check_solvable()
        return self._made(matrix_inverse(self.to_dense()), name)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular factors.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: Unless the hints say self-adjoint and positive definite.
        """
        if not (self.is_self_adjoint and self.is_positive_definite):
            raise ValueError(f"{self.name}: cholesky needs is_self_adjoint and is_positive_definite.")
        return LinearOperatorLowerTriangular(cholesky(self.to_dense()), True, name=name)

    def _solved(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return matrix_solve(self.to_dense(), rhs, adjoint=adjoint, name=name)

    def _made(self, matrix: Tensor, name: str) -> LinearOperator:
        return LinearOperatorFullMatrix(
            matrix,
            self.is_non_singular,
            self.is_self_adjoint,
            self.is_positive_definite,
            self.is_square,
            name,
        )

    def _like(self, x: Any) -> Tensor:
        return convert_to_tensor(x.to_dense() if isinstance(x, LinearOperator) else x, self.dtype)

    def _check_square(self, what: str) -> None:
        if self.is_square is False:
            raise ValueError(f"{self.name}: {what} is there for square matrices alone, got {self.shape}.")

    def _check_solvable(self) -> None:
        self._check_square("solve")
        if self.is_non_singular is False:
            raise ValueError(f"{self.name}: nothing is solved with a matrix that is said to be singular.")


class LinearOperatorFullMatrix(LinearOperator):
    """Matrices of no structure; the arguments are those of LinearOperator."""


class _OfItsDiagonal(LinearOperator):
    """Matrices whose determinant is the product of their diagonal."""

    def determinant(self, name: str = "det") -> Tensor:
        """The products of the diagonals."""
        return reduce_prod(self.diag_part(), axis=-1, name=name)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The sums of the diagonals' logarithms."""
        return reduce_sum(log(abs_(self.diag_part())), axis=-1, name=name)


class LinearOperatorLowerTriangular(_OfItsDiagonal):
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

    def _solved(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return matrix_triangular_solve(self.to_dense(), rhs, lower=True, adjoint=adjoint, name=name)


class LinearOperatorDiag(_OfItsDiagonal):
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
        if is_self_adjoint is None and not self._diag.dtype.is_complex:
            is_self_adjoint = True
        super().__init__(
            matrix_diag(self._diag), is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def diag(self) -> Tensor:
        """The diagonals."""
        return self._diag

    def matmul(
        self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Tensor:
        """The products with other matrices; see LinearOperator.

        Args:
            x: Matrices in the last two axes.
            adjoint: Whether the matrices are transposed and conjugated first.
            adjoint_arg: Whether they are transposed and conjugated first.
            name: A name for the operation.
        """
        x = self._like(x)
        return multiply(self._column(adjoint), adjoint_of(x) if adjoint_arg else x, name=name)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonals.

        Args:
            name: A name for the operation.
        """
        return self._diag

    def _column(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self._diag) if adjoint else self._diag, -1)

    def _solved(self, rhs: Tensor, adjoint: bool, name: str) -> Tensor:
        return rhs / self._column(adjoint)


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
        ones = matrix_diag_part(eye(num_rows, dtype=self.multiplier.dtype))
        super().__init__(
            expand_dims(self.multiplier, -1) * ones, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip


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
