"""Bijectors of matrices: triangles filled from vectors, other diagonals, products with the transposed."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import concat, range_, reshape, reverse, shape, zeros_like
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_positive, assert_rank_at_least
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.decompositions import cholesky
from graphflow._core.ops.math.linalg import matmul, matrix_band_part, matrix_diag_part, matrix_set_diag
from graphflow._core.ops.math.math import cast, log, sqrt
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow.contrib.distributions.bijectors.bijector import Bijector
from graphflow.contrib.distributions.bijectors.composed import Chain
from graphflow.contrib.distributions.bijectors.elementwise import AffineScalar, Softplus
from graphflow.distributions.checks import after


def _side(length: int) -> int:
    """The side of a triangle of so many elements; ValueError if there is none."""
    side = (math.isqrt(1 + 8 * length) - 1) // 2
    if side * (side + 1) // 2 != length:
        raise ValueError(f"Vector length is not a triangular number: {length}.")
    return side


def _side_of(length: Tensor) -> Tensor:
    """The same of a length that is known at the run, of its dtype."""
    return cast(sqrt(0.25 + 2.0 * cast(length, dtypes.float32)) - 0.49, length.dtype)


def fill_triangular(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """Triangular matrices with the elements of vectors (tf.contrib.distributions.fill_triangular).

    The last elements of a vector fill the first rows of a lower triangle, so that it is filled along a spiral.

    Args:
        x: Vectors in the last axis, whose length is 1, 3, 6, ...
        upper: Whether they fill the upper triangle.
        name: A name for the operation.

    Returns:
        Matrices in the last two axes.

    Raises:
        ValueError: For another length.

    Examples:
        >>> with gf.Session() as session:
        ...     print(session.run(gf.contrib.distributions.fill_triangular([1, 2, 3, 4, 5, 6])))
        [[4 0 0]
         [6 5 0]
         [3 2 1]]
    """
    with op_scope(name, "fill_triangular", [x]):
        given = convert_to_tensor(x, name="x")
        length = given.shape.with_rank_at_least(1).as_list()[-1] if given.dims is not None else None
        if length is not None:
            side: Any = _side(length)
        else:
            side = _side_of(shape(given)[-1])
        parts = (
            [given, reverse(given[..., side:], [-1])] if upper else [given[..., side:], reverse(given, [-1])]
        )
        square = reshape(concat(parts, -1), concat([shape(given)[:-1], [side, side]], 0))
        filled = matrix_band_part(square, 0 if upper else -1, -1 if upper else 0)
        if given.dims is not None:
            sides = [None if length is None else side] * 2
            filled.set_shape([*given.dims[:-1], *sides])
        return filled


def fill_triangular_inverse(x: TensorLike, upper: bool = False, name: str | None = None) -> Tensor:
    """The vectors that fill triangular matrices (tf.contrib.distributions.fill_triangular_inverse).

    Args:
        x: Square matrices in the last two axes.
        upper: Whether the upper triangle is read.
        name: A name for the operation.

    Returns:
        Vectors in the last axis.
    """
    with op_scope(name, "fill_triangular_inverse", [x]):
        given = convert_to_tensor(x, name="x")
        known = given.shape.with_rank_at_least(2).as_list()[-1] if given.dims is not None else None
        side: Any = shape(given)[-1] if known is None else known
        length = side * (side + 1) // 2
        first = given[..., 0, :] if upper else reverse(given[..., -1, :], [-1])
        rest = given[..., 1:, :] if upper else given[..., :-1, :]
        turned = reverse(reverse(rest, [-1]), [-2])
        flat = reshape(rest + turned, concat([shape(given)[:-2], [side * (side - 1)]], 0))
        found = concat([first, flat[..., : length - side]], -1)
        if given.dims is not None:
            found.set_shape([*given.dims[:-2], None if known is None else length])
        return found


class FillTriangular(Bijector):
    """Vectors as triangular matrices; see fill_triangular (tf.contrib.distributions.bijectors.FillTriangular).

    Args:
        upper: Whether they fill the upper triangle.
        validate_args: Changes nothing.
        name: A name for the operations.
    """

    def __init__(
        self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular"
    ) -> None:
        self._upper = upper
        super().__init__(
            validate_args=validate_args, forward_min_event_ndims=1, inverse_min_event_ndims=2, name=name
        )

    def _forward(self, x: Tensor) -> Tensor:
        return fill_triangular(x, self._upper)

    def _inverse(self, y: Tensor) -> Tensor:
        return fill_triangular_inverse(y, self._upper)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        length = input_shape.as_list()[-1]
        side = None if length is None else _side(length)
        return input_shape[:-1].concatenate([side, side])

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        rows, columns = output_shape.as_list()[-2:]
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
        length = None if rows is None or columns is None else rows * (rows + 1) // 2
        return output_shape[:-2].concatenate([length])

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        side = _side_of(input_shape[-1])
        return concat([input_shape[:-1], [side, side]], 0)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        side = output_shape[-1]
        return concat([output_shape[:-2], [side * (side + 1) // 2]], 0)


class TransformDiagonal(Bijector):
    """Matrices whose diagonals go through a bijector (tf.contrib.distributions.bijectors.TransformDiagonal).

    Args:
        diag_bijector: The bijector, of numbers or vectors.
        validate_args: Changes nothing.
        name: A name for the operations.
    """

    def __init__(
        self, diag_bijector: Bijector, validate_args: bool = False, name: str = "transform_diagonal"
    ) -> None:
        self._diagonal = diag_bijector
        super().__init__(validate_args=validate_args, forward_min_event_ndims=2, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, self._diagonal.forward(matrix_diag_part(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        return matrix_set_diag(y, self._diagonal.inverse(matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return self._diagonal.forward_log_det_jacobian(matrix_diag_part(x), 1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return self._diagonal.inverse_log_det_jacobian(matrix_diag_part(y), 1)


class ScaleTriL(Chain):
    """Vectors as triangular matrices with positive diagonals (tf.contrib.distributions.bijectors.ScaleTriL).

    Args:
        diag_bijector: What the diagonal goes through; by default softplus.
        diag_shift: What is added to it then; None for nothing.
        validate_args: Whether values are checked at the run.
        name: A name for the operations.
    """

    def __init__(
        self,
        diag_bijector: Bijector | None = None,
        diag_shift: TensorLike | None = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        diagonal = diag_bijector or Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diagonal = Chain([AffineScalar(shift=diag_shift), diagonal])
        super().__init__([TransformDiagonal(diagonal), FillTriangular()], validate_args, name)


class CholeskyOuterProduct(Bijector):
    """Lower triangles times their transposed (tf.contrib.distributions.bijectors.CholeskyOuterProduct).

    Args:
        validate_args: Whether values are checked at the run.
        name: A name for the operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        super().__init__(validate_args=validate_args, forward_min_event_ndims=2, name=name)

    def _square(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        sizes = shape(x)
        return after([assert_rank_at_least(x, 2), assert_equal(sizes[-2], sizes[-1])], x)

    def _forward(self, x: Tensor) -> Tensor:
        lower = matrix_band_part(self._square(x), -1, 0)
        return matmul(lower, lower, adjoint_b=True)

    def _inverse(self, y: Tensor) -> Tensor:
        return cholesky(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        diagonal = matrix_diag_part(self._square(x))
        if self.validate_args:
            diagonal = after(
                [assert_positive(diagonal, message="Input must be positive definite.")], diagonal
            )
        size = shape(diagonal)[-1]
        weights = cast(size - range_(size), x.dtype)
        return cast(size, x.dtype) * math.log(2.0) + reduce_sum(weights * log(diagonal), -1)
