"""Operators of few numbers: reflections, and matrices that are constant along diagonals, by Fourier transforms."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from graphflow import errors
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.array import matrix_transpose, zeros_like
from graphflow._core.ops.array.creation import ones, zeros
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import broadcast_dynamic_shape, broadcast_static_shape, reverse
from graphflow._core.ops.array.shaping import expand_dims, reshape, shape
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_less, assert_positive
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import adjoint as adjoint_of
from graphflow._core.ops.math.linalg import matmul, matrix_set_diag
from graphflow._core.ops.math.norms import norm
from graphflow._core.ops.math.numeric import abs_, conj, imag, real
from graphflow._core.ops.math.reductions import reduce_prod, reduce_sum
from graphflow._core.ops.math.transcendental import log
from graphflow.linalg.operators.algebra import all_hint, implied, rule
from graphflow.linalg.operators.base import LinearOperator
from graphflow.signal.transforms import fft, fft2d, fft3d, ifft, ifft2d, ifft3d


class LinearOperatorHouseholder(LinearOperator):
    """Reflections at the planes that stand on given vectors: the identity less twice the projection on the vector.

    Args:
        reflection_axis: The vectors, [..., n], of any length but zero.
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes; true by itself.
        is_positive_definite: As LinearOperator takes; never true.
        is_square: As LinearOperator takes; true by itself.
        name: Its name.

    Raises:
        ValueError: If a hint is not true.
    """

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        self.reflection_axis: Tensor = convert_to_tensor(reflection_axis)
        if self.reflection_axis.shape.ndims == 0:
            raise ValueError(f"{name}: a vector has at least one axis, got {self.reflection_axis}.")
        if False in (is_non_singular, is_self_adjoint, is_square) or is_positive_definite:
            raise ValueError(
                f"{name}: a reflection is always square, self-adjoint, and never positive definite."
            )
        super().__init__(
            self.reflection_axis.dtype, [self.reflection_axis], is_non_singular, True, False, True, name
        )

    def _shape(self) -> TensorShape:
        dims = self.reflection_axis.shape
        return dims if dims.ndims is None else dims.concatenate(dims[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape(self.reflection_axis)
        return concat([sizes, sizes[-1:]], 0)

    def _unit(self) -> Tensor:
        axis = self.reflection_axis
        return axis / cast(norm(axis, axis=-1, keepdims=True), self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        unit = expand_dims(self._unit(), -1)
        return x - 2.0 * unit * matmul(unit, x, adjoint_a=True)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        column = expand_dims(self._unit(), -1)
        dense = -2.0 * matmul(column, column, adjoint_b=True)
        return matrix_set_diag(dense, self.diag_part())

    def _diag_part(self) -> Tensor:
        unit = self._unit()
        return 1.0 - 2.0 * unit * conj(unit)

    def _trace(self) -> Tensor:
        sides: Tensor = cast(self._columns(), self.dtype)
        return ones(self._batch(), self.dtype) * (sides - 2.0)

    def _determinant(self) -> Tensor:
        return -ones(self._batch(), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(self._batch(), self.dtype)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _assert_positive_definite(self) -> Operation:
        raise errors.InvalidArgumentError(
            None, None, "Householder operators are always non-positive definite."
        )


def _complex(x: Tensor) -> Tensor:
    wide = x.dtype in (dtypes.float64, dtypes.complex128)
    return cast(x, dtypes.complex128 if wide else dtypes.complex64)


class Circulant(LinearOperator):
    """Matrices that a Fourier transform over some axes of their vectors makes diagonal: of the spectrum."""

    _TRANSFORMS: ClassVar[Any]
    block_depth: ClassVar[int]

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        """Matrices of a spectrum.

        Args:
            spectrum: The transforms of the first columns, over as many axes as blocks are nested.
            input_output_dtype: Of its elements and of what is multiplied.
            is_non_singular: As LinearOperator takes.
            is_self_adjoint: As LinearOperator takes; true by itself for a real spectrum.
            is_positive_definite: As LinearOperator takes.
            is_square: As LinearOperator takes; true by itself.
            name: Its name.

        Raises:
            ValueError: If a hint is not true, or the spectrum has too few axes.
        """
        name = name or type(self).__name__
        self.spectrum: Tensor = convert_to_tensor(spectrum)
        rank = self.spectrum.shape.ndims
        if rank is not None and rank < self.block_depth:
            raise ValueError(f"{name}: a spectrum has at least {self.block_depth} axes, got {self.spectrum}.")
        is_self_adjoint = implied(
            is_self_adjoint,
            not self.spectrum.dtype.is_complex,
            f"{name}: a real spectrum is always that of self-adjoint matrices.",
        )
        if is_square is False:
            raise ValueError(f"{name}: a circulant matrix is always square.")
        super().__init__(
            as_dtype(input_output_dtype), [self.spectrum], is_non_singular, is_self_adjoint,
            is_positive_definite, True, name,
        )  # fmt: skip

    @property
    def block_shape(self) -> TensorShape:
        """The static shape of the spectrum without the batch."""
        return self.spectrum.shape[-self.block_depth :]

    def block_shape_tensor(self) -> Tensor:
        """The shape of the spectrum without the batch."""
        return shape(self.spectrum)[-self.block_depth :]

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The first columns, of the shape of the spectrum.

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            kernel: Tensor = self._TRANSFORMS[1](_complex(self.spectrum))
            return cast(kernel, self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """An operation that fails if the matrices are not real, up to rounding.

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            parts = abs_(imag(self._TRANSFORMS[1](_complex(self.spectrum))))
            most = float(np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps)
            bound = cast(self._columns(), parts.dtype) * most
            return assert_less(parts, bound, message="Spectrum was not Hermitian")

    def _shape(self) -> TensorShape:
        dims = self.spectrum.shape
        if dims.ndims is None:
            return dims
        block = dims[-self.block_depth :]
        side = int(np.prod(block.as_list())) if block.is_fully_defined() else None
        return dims[: -self.block_depth].concatenate([side, side])

    def _shape_tensor(self) -> Tensor:
        side = expand_dims(reduce_prod(self.block_shape_tensor()), 0)
        return concat([shape(self.spectrum)[: -self.block_depth], side, side], 0)

    def _transformed(self, x: Tensor, factor: Tensor, turned: bool) -> Tensor:
        """Matrices whose columns are transformed, multiplied and transformed back."""
        forward, back = self._TRANSFORMS
        rows = _complex(matrix_transpose(adjoint_of(x) if turned else x))
        factor = expand_dims(factor, -1 - self.block_depth)
        blocks = reshape(rows, concat([shape(rows)[:-1], self.block_shape_tensor()], 0))
        if blocks.dtype != factor.dtype:
            blocks, factor = cast(blocks, dtypes.complex128), cast(factor, dtypes.complex128)
        found = back(forward(blocks) * factor)
        flat = reshape(found, concat([shape(found)[: -self.block_depth], [-1]], 0))
        return cast(matrix_transpose(flat), self.dtype)

    def _factor(self, adjoint: bool) -> Tensor:
        spectrum = _complex(self.spectrum)
        return conj(spectrum) if adjoint else spectrum

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._transformed(x, self._factor(adjoint), adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._transformed(rhs, 1.0 / self._factor(adjoint), adjoint_arg)

    def _axes(self) -> list[int]:
        return list(range(-self.block_depth, 0))

    def _determinant(self) -> Tensor:
        return cast(reduce_prod(self.spectrum, axis=self._axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(log(abs_(self.spectrum)), axis=self._axes()), self.dtype)

    def _trace(self) -> Tensor:
        return cast(reduce_sum(self.spectrum, axis=self._axes()), self.dtype)

    def _diag_part(self) -> Tensor:
        each = self.trace() / cast(self._columns(), self.dtype)
        return expand_dims(each, -1) * ones([self._columns()], self.dtype)

    def _assert_non_singular(self) -> Operation:
        return assert_positive(
            abs_(self.spectrum), message="Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> Operation:
        return assert_positive(
            real(self.spectrum),
            message="Not positive definite:  Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self) -> Operation:
        parts = imag(self.spectrum)
        return assert_equal(
            parts,
            zeros_like(parts),
            message="Not self-adjoint:  The spectrum contained non-zero imaginary part.",
        )

    def _of(self, spectrum: Tensor, *others: Circulant) -> LinearOperator:
        """Another of such matrices, with what is true of this one and others, with which it commutes."""
        every = (self, *others)
        real_one = None if spectrum.dtype.is_complex else True
        return type(self)(
            spectrum,
            self.dtype,
            all_hint(one.is_non_singular for one in every),
            real_one or all_hint(one.is_self_adjoint for one in every),
            all_hint(one.is_positive_definite and one.is_self_adjoint for one in every),
        )


class LinearOperatorCirculant(Circulant):
    """Circulant matrices: each column is the one before, moved down by one place in a circle."""

    block_depth = 1
    _TRANSFORMS = (fft, ifft)


class LinearOperatorCirculant2D(Circulant):
    """Circulant matrices of circulant blocks: convolutions in a circle of images that are written out as vectors."""

    block_depth = 2
    _TRANSFORMS = (fft2d, ifft2d)


class LinearOperatorCirculant3D(Circulant):
    """Circulant matrices in three nested depths: convolutions in a circle of volumes written out as vectors."""

    block_depth = 3
    _TRANSFORMS = (fft3d, ifft3d)


class LinearOperatorToeplitz(LinearOperator):
    """Matrices that are constant along each diagonal.

    Args:
        col: The first columns, [..., n].
        row: The first rows, [..., n]; the first element is that of `col`.
        is_non_singular: As LinearOperator takes.
        is_self_adjoint: As LinearOperator takes.
        is_positive_definite: As LinearOperator takes.
        is_square: As LinearOperator takes; true by itself.
        name: Its name.

    Raises:
        ValueError: If a hint is not true, or the lengths differ.
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        self.col: Tensor = convert_to_tensor(col)
        self.row: Tensor = convert_to_tensor(row, self.col.dtype)
        for vector in (self.col, self.row):
            if vector.shape.ndims == 0:
                raise ValueError(f"{name}: a vector has at least one axis, got {vector}.")
        lengths = [vector.shape[-1] for vector in (self.col, self.row) if vector.shape.ndims is not None]
        if len(lengths) == 2 and not lengths[0].is_compatible_with(lengths[1]):
            raise ValueError(
                f"{name}: the first column has {lengths[0]} elements, the first row {lengths[1]}."
            )
        if is_square is False:
            raise ValueError(f"{name}: only square Toeplitz operators are there.")
        super().__init__(
            self.col.dtype,
            [self.col, self.row],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    def _shape(self) -> TensorShape:
        dims = broadcast_static_shape(self.row.shape, self.col.shape)
        return dims if dims.ndims is None else dims.concatenate(dims[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = broadcast_dynamic_shape(shape(self.row), shape(self.col))
        return concat([sizes, sizes[-1:]], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        # A circulant matrix of twice the size has this one in its corner.
        x = adjoint_of(x) if adjoint_arg else x
        sizes = broadcast_dynamic_shape(shape(self.row), shape(self.col))
        wide = zeros(sizes, self.dtype)
        col, row = self.col + wide, self.row + wide
        kernel = concat([col, zeros_like(col[..., :1]), reverse(row[..., 1:], [-1])], -1)
        corner = LinearOperatorCirculant(fft(_complex(kernel)), self.dtype)
        whole = corner.matmul(concat([x, zeros_like(x)], -2), adjoint=adjoint)
        found: Tensor = whole[..., : self._columns(), :]
        return found

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def _diag_part(self) -> Tensor:
        batch = zeros(self.shape_tensor()[:-1], self.dtype)
        return self.col[..., :1] + batch

    def _assert_self_adjoint(self) -> Operation:
        return assert_equal(
            conj(self.row),
            self.col,
            message="row and col are not the same, and so this operator is not self-adjoint.",
        )


@rule("adjoint", LinearOperatorHouseholder)
@rule("inverse", LinearOperatorHouseholder)
def _itself(one: LinearOperator) -> LinearOperator:
    return one


@rule("adjoint", Circulant)
def _adjoint(one: Circulant) -> LinearOperator:
    return one._of(conj(one.spectrum), one)


@rule("inverse", Circulant)
def _inverse(one: Circulant) -> LinearOperator:
    return one._of(1.0 / one.spectrum, one)


@rule("matmul", LinearOperatorCirculant, LinearOperatorCirculant)
def _product(one: Circulant, other: Circulant) -> LinearOperator:
    return one._of(one.spectrum * other.spectrum, other)
