"""The base class of linear operators (tf.linalg.LinearOperator): what follows from a shape and a product alone.

A structure says its shape and its product, and whatever it knows to compute in less time than its matrix would take.
All is made of ops, so gradients, batches and both tiers are those of the ops.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.compositions import eye
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import broadcast_dynamic_shape, broadcast_static_shape, broadcast_to
from graphflow._core.ops.array.shaping import expand_dims, shape, squeeze
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_less, assert_positive
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.decompositions import (
    cholesky,
    cholesky_solve,
    matrix_determinant,
    matrix_solve,
    slogdet,
    svd,
)
from graphflow._core.ops.math.linalg import adjoint as adjoint_of
from graphflow._core.ops.math.linalg import matrix_diag_part
from graphflow._core.ops.math.numeric import real
from graphflow._core.ops.math.reductions import reduce_max, reduce_min, reduce_sum
from graphflow.linalg.operators.algebra import combine


def same_batch(*matrices: Tensor) -> tuple[Tensor, ...]:
    """Matrices with the batches that they have together.

    Args:
        *matrices: Each [..., rows, columns].
    """
    batches = [matrix.shape[:-2] if matrix.shape.ndims is not None else None for matrix in matrices]
    known = all(batch is not None and batch.is_fully_defined() for batch in batches)
    if known and all(batch == batches[0] for batch in batches):
        return matrices
    whole: Any = shape(matrices[0])[:-2]
    for matrix in matrices[1:]:
        whole = broadcast_dynamic_shape(whole, shape(matrix)[:-2])
    static = TensorShape([]) if known else None
    for batch in batches if known else ():
        static = broadcast_static_shape(cast(TensorShape, static), cast(TensorShape, batch))
    found = []
    for matrix in matrices:
        wide = broadcast_to(matrix, concat([whole, shape(matrix)[-2:]], 0))
        if static is not None:
            wide.set_shape(static.concatenate(matrix.shape[-2:]))
        found.append(wide)
    return tuple(found)


class LinearOperator(ABC):
    """A batch of matrices, of shape [..., rows, columns]; to be derived from.

    A subclass has `_shape`, the static shape, `_matmul`, and, if the shape may be unknown, `_shape_tensor`. It may have
    any of `_matvec`, `_solve`, `_solvevec`, `_determinant`, `_log_abs_determinant`, `_diag_part`, `_trace`,
    `_to_dense`, `_add_to_tensor`, `_assert_non_singular`, `_assert_positive_definite` and `_assert_self_adjoint`.

    Args:
        dtype: Of its elements.
        graph_parents: The tensors that it is made of.
        is_non_singular: Whether they can be inverted, None if that is not known; a hint that is not checked.
        is_self_adjoint: Whether each is its own adjoint; a hint.
        is_positive_definite: Whether each is positive definite; a hint.
        is_square: Whether there are as many rows as columns; None for what the shape says.
        name: Its name, by default that of its class.

    Raises:
        ValueError: If the hints contradict each other.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Sequence[Tensor] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.name: str = name or type(self).__name__
        if is_positive_definite and is_non_singular is False:
            raise ValueError(f"{self.name}: a positive definite matrix is always non-singular.")
        if is_positive_definite:
            is_non_singular = True
        if is_square is False and (is_non_singular or is_self_adjoint):
            raise ValueError(f"{self.name}: only a square matrix can be what the hints say.")
        self._square_hint = True if is_non_singular or is_self_adjoint else is_square
        self._dtype = as_dtype(dtype).base_dtype
        self._graph_parents = list(graph_parents or ())
        self.is_non_singular = is_non_singular
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite

    # ---- sizes ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _shape(self) -> TensorShape: ...

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError(f"{self.name}: its shape is not known, so its class needs _shape_tensor.")

    @property
    def dtype(self) -> DType:
        """The dtype of its elements."""
        return self._dtype

    @property
    def graph_parents(self) -> list[Tensor]:
        """The tensors that it was made of."""
        return self._graph_parents

    @property
    def is_square(self) -> bool | None:
        """Whether there are as many rows as columns, as the shape or the hints say; None if that is not known."""
        sides = self.shape.as_list()[-2:] if self.shape.ndims else [None, None]
        if None in sides:
            return self._square_hint
        if self._square_hint is not None and self._square_hint != (sides[0] == sides[1]):
            raise ValueError(f"{self.name}: is_square={self._square_hint}, but the shape is {self.shape}.")
        return sides[0] == sides[1]

    @property
    def shape(self) -> TensorShape:
        """The static shape: that of the batch, rows, columns."""
        return self._shape()

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
        with self._name_scope(name):
            if self.shape.is_fully_defined():
                return convert_to_tensor(np.array(self.shape.as_list(), np.int32))
            return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch as an int32 tensor.

        Args:
            name: A name for the operation.
        """
        return self.shape_tensor(name)[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The number of axes as an int32 tensor.

        Args:
            name: A name for the operation.
        """
        return shape(self.shape_tensor(name))[0]

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

    def _columns(self) -> Any:
        """The number of columns, as a number if it is known."""
        known = self.shape.as_list()[-1] if self.shape.ndims else None
        return self.domain_dimension_tensor() if known is None else known

    def _rows(self) -> Any:
        """The number of rows, as a number if it is known."""
        known = self.shape.as_list()[-2] if self.shape.ndims else None
        return self.range_dimension_tensor() if known is None else known

    def _batch(self) -> Any:
        """The shape of the batch, as numbers if they are known."""
        known = self.shape.ndims is not None and self.batch_shape.is_fully_defined()
        return self.batch_shape.as_list() if known else self.batch_shape_tensor()

    # ---- what is asserted -------------------------------------------------------------------------------------------

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """An operation that fails if a matrix cannot be inverted, up to rounding.

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """An operation that fails if a matrix is not positive definite.

        Args:
            name: A name for the operation.

        Raises:
            NotImplementedError: If the matrices are not said to be self-adjoint.
        """
        with self._name_scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """An operation that fails if a matrix is not its own adjoint.

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _assert_non_singular(self) -> Operation:
        values = svd(self.to_dense(), compute_uv=False)
        most = float(1 / np.finfo(self.dtype.as_numpy_dtype).eps)
        condition = reduce_max(values, -1) / reduce_min(values, -1)
        return assert_less(condition, most, message="Singular matrix up to precision epsilon.")

    def _assert_positive_definite(self) -> Operation:
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"{self.name}: assert_positive_definite needs is_self_adjoint, which it is not said to be."
            )
        factor = real(matrix_diag_part(cholesky(self.to_dense())))
        return assert_positive(factor, message="Matrix was not positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        dense = self.to_dense()
        return assert_equal(dense, adjoint_of(dense), message="Matrix was not equal to its adjoint.")

    # ---- what is computed -------------------------------------------------------------------------------------------

    @abstractmethod
    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor: ...

    def matmul(
        self,
        x: TensorLike | LinearOperator,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "matmul",
    ) -> Any:
        """The products with other matrices.

        Args:
            x: Of shape [..., columns, k], of the same dtype; or another LinearOperator.
            adjoint: Whether the adjoint of this one is multiplied.
            adjoint_arg: Whether the adjoint of `x` is.
            name: Of the operation.

        Returns:
            A tensor of shape [..., rows, k]; a LinearOperator if `x` is one.

        Raises:
            ValueError: If the shapes do not go together.
        """
        if isinstance(x, LinearOperator):
            return self._combined("matmul", x, adjoint, adjoint_arg)
        with self._name_scope(name):
            x = self._like(x)
            self._check_sides(x, -2 if adjoint else -1, adjoint_arg)
            return self._shaped(self._matmul(x, adjoint, adjoint_arg), x, -1 if adjoint else -2, adjoint_arg)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.matmul(expand_dims(x, -1), adjoint), [-1])

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The products with vectors of shape [..., columns]: of shape [..., rows].

        Args:
            x: Vectors in the last axis.
            adjoint: Whether the matrices are transposed and conjugated first.
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._matvec(self._like(x), adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        matrix, rhs = same_batch(self.to_dense(), rhs)
        if self.is_self_adjoint and self.is_positive_definite:
            return cholesky_solve(cholesky(matrix), rhs)
        return matrix_solve(matrix, rhs, adjoint=adjoint)

    def solve(
        self,
        rhs: TensorLike | LinearOperator,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "solve",
    ) -> Any:
        """What gives `rhs` if it is multiplied by this one.

        Args:
            rhs: Of shape [..., rows, k]; or another LinearOperator.
            adjoint: Whether the adjoint of this one is to give it.
            adjoint_arg: Whether the adjoint of `rhs` is given.
            name: Of the operation.

        Returns:
            A tensor of shape [..., columns, k]; a LinearOperator if `rhs` is one.

        Raises:
            ValueError: If it is not square, or known to be singular.
        """
        self._check_solvable()
        if isinstance(rhs, LinearOperator):
            return self._combined("solve", rhs, adjoint, adjoint_arg)
        with self._name_scope(name):
            rhs = self._like(rhs)
            self._check_sides(rhs, -1 if adjoint else -2, adjoint_arg)
            return self._shaped(self._solve(rhs, adjoint, adjoint_arg), rhs, -1, adjoint_arg)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.solve(expand_dims(rhs, -1), adjoint), [-1])

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """As solve, for vectors of shape [..., rows].

        Args:
            rhs: Vectors in the last axis.
            adjoint: Whether the matrices are transposed and conjugated first.
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._solvevec(self._like(rhs), adjoint)

    def _determinant(self) -> Tensor:
        return matrix_determinant(self.to_dense())

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant of each matrix.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: If they are not square.
        """
        self._check_square("determinant")
        with self._name_scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> Tensor:
        return slogdet(self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of each determinant.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: If they are not square.
        """
        self._check_square("log_abs_determinant")
        with self._name_scope(name):
            return self._log_abs_determinant()

    def _to_dense(self) -> Tensor:
        return cast(Tensor, self.matmul(eye(self._columns(), batch_shape=self._batch(), dtype=self.dtype)))

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices written out.

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._to_dense()

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The main diagonals.

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._diag_part()

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of each main diagonal.

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._trace()

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of the matrices and a tensor of their shape.

        Args:
            x: Matrices in the last two axes.
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._add_to_tensor(self._like(x))

    # ---- other operators --------------------------------------------------------------------------------------------

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The adjoints.

        Args:
            name: A name for the operation.
        """
        if self.is_self_adjoint:
            return self
        with self._name_scope(name):
            return cast(LinearOperator, combine("adjoint", self))

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
        with self._name_scope(name):
            return cast(LinearOperator, combine("inverse", self))

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular factors.

        Args:
            name: A name for the operation.

        Raises:
            ValueError: Unless the hints say self-adjoint and positive definite.
        """
        if not (self.is_self_adjoint and self.is_positive_definite):
            raise ValueError(f"{self.name}: cholesky needs is_self_adjoint and is_positive_definite.")
        with self._name_scope(name):
            return cast(LinearOperator, combine("cholesky", self))

    # ---- checks -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _name_scope(self, name: str | None = None) -> Iterator[str]:
        """The scope of what is computed, under the operator's name."""
        with op_scope(f"{self.name}/{name}", self.name, self._graph_parents) as scope:
            yield scope

    def _like(self, x: Any) -> Tensor:
        return convert_to_tensor(x, self.dtype)

    def _combined(self, what: str, other: LinearOperator, adjoint: bool, adjoint_arg: bool) -> LinearOperator:
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        mine = left.domain_dimension if what == "matmul" else left.range_dimension
        if not mine.is_compatible_with(right.range_dimension):
            raise ValueError(
                f"{self.name}: Operators are incompatible. Expected `x` to have dimension {mine} but got "
                f"{right.range_dimension}."
            )
        return cast(LinearOperator, combine(what, left, right))

    def _check_sides(self, x: Tensor, mine: int, turned: bool) -> None:
        if x.shape.ndims is None or self.shape.ndims is None:
            return
        theirs = x.shape.with_rank_at_least(2)[-1 if turned else -2]
        if not self.shape[mine].is_compatible_with(theirs):
            raise ValueError(
                f"{self.name}: matrices {self.shape} do not go with {x.shape}: {self.shape[mine]} and {theirs}."
            )

    def _shaped(self, found: Tensor, x: Tensor, rows: int, turned: bool) -> Tensor:
        """A product with the static shape that follows from those of its factors."""
        if x.shape.ndims is not None and self.shape.ndims is not None:
            batch = broadcast_static_shape(self.batch_shape, x.shape[:-2])
            found.set_shape(batch.concatenate([self.shape[rows], x.shape[-2 if turned else -1]]))
        return found

    def _check_square(self, what: str) -> None:
        if self.is_square is False:
            raise ValueError(f"{self.name}: {what} is there for square matrices alone, got {self.shape}.")

    def _check_solvable(self) -> None:
        self._check_square("solve")
        if self.is_non_singular is False:
            raise ValueError(f"{self.name}: nothing is solved with a matrix that is said to be singular.")
