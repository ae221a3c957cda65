"""The normal distribution of vectors whose elements depend on each other."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import concat, expand_dims, matrix_transpose, zeros, zeros_like
from graphflow._core.ops.array.layout import broadcast_dynamic_shape, broadcast_static_shape
from graphflow._core.ops.array.shaping import identity, shape
from graphflow._core.ops.control_flow.assertions import assert_near, assert_none_equal
from graphflow._core.ops.core import constant, op_scope
from graphflow._core.ops.math.decompositions import cholesky, matrix_triangular_solve
from graphflow._core.ops.math.linalg import matmul, matrix_band_part, matrix_diag, matrix_diag_part
from graphflow._core.ops.math.math import abs_, cast, log, sqrt, square
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.random import random_normal
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.contrib.distributions.linear import products, solutions, spread
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, float_parameters
from graphflow.distributions.kullback_leibler import RegisterKL
from graphflow.distributions.multivariate_normal import MultivariateNormalDiag


class MultivariateNormalTriL(Distribution):
    """Normal vectors with mean `loc` and covariance scale_tril @ scale_tril.T.

    Gradients flow through samples (tf.contrib.distributions.MultivariateNormalTriL).

    Args:
        loc: The means, [..., size]; zero if it is not given.
        scale_tril: [..., size, size], of which only the lower triangle counts; the identity if it is not given.
        validate_args: Whether it is checked at the run that no element of the diagonal is zero.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If neither is given, or they are not floats of one dtype.

    Examples:
        >>> normal = gf.contrib.distributions.MultivariateNormalTriL([1.0, 2.0], [[1.0, 0.0], [0.5, 1.0]])
        >>> with gf.Session() as session:
        ...     print(session.run(normal.covariance()))
        [[1.   0.5 ]
         [0.5  1.25]]
    """

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        self._set(dict(locals()), loc, scale_tril)

    def _set(self, parameters: dict[str, Any], loc: Any, scale_tril: Any) -> None:
        if loc is None and scale_tril is None:
            raise ValueError(f"Must specify one or both of `loc`, `scale_tril` of {type(self).__name__}.")
        name, validate_args = parameters["name"], parameters["validate_args"]
        given = {"loc": loc, "scale_tril": scale_tril}
        given = {argument: value for argument, value in given.items() if value is not None}
        with op_scope(name, type(self).__name__, list(given.values())) as scope:
            found = dict(zip(given, float_parameters([], **given), strict=True))
            self._loc = found.get("loc")
            if "scale_tril" in found:
                matrix = matrix_band_part(found["scale_tril"], -1, 0)
            else:
                matrix = matrix_diag(zeros_like(found["loc"]) + 1.0)
            if validate_args:
                diagonal = matrix_diag_part(matrix)
                check = assert_none_equal(diagonal, zeros_like(diagonal))
                with control_dependencies([check] if check is not None else []):
                    matrix = identity(matrix)
            self._tril = matrix
            self._center = zeros(shape(matrix)[-1:], matrix.dtype) if self._loc is None else self._loc
            if self._loc is None:
                self._center.set_shape(matrix.shape[-1:])
        super().__init__(
            matrix.dtype, FULLY_REPARAMETERIZED, validate_args, parameters["allow_nan_stats"], parameters,
            [self._center, matrix], scope,
        )  # fmt: skip

    @property
    def loc(self) -> Tensor | None:
        """The mean as it was given, (..., size); None if it was not."""
        return self._loc

    @property
    def scale_tril(self) -> Tensor:
        """The lower triangle of which the covariance is made, (..., size, size)."""
        return self._tril

    def _batch_shape(self) -> TensorShape:
        return broadcast_static_shape(self._center.shape[:-1], self._tril.shape[:-2])

    def _batch_shape_tensor(self) -> Tensor:
        return broadcast_dynamic_shape(shape(self._center)[:-1], shape(self._tril)[:-2])

    def _event_shape(self) -> TensorShape:
        event: TensorShape = self._tril.shape[-1:]
        return event

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._tril)[-1:]

    def _whole_shape_tensor(self) -> Tensor:
        batch, event = self._batch_shape(), self._event_shape()
        if batch.is_fully_defined() and event.is_fully_defined():
            return constant(batch.concatenate(event).as_list(), "int32")
        return concat([self._batch_shape_tensor(), self._event_shape_tensor()], 0)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        sizes = concat([[n], self._whole_shape_tensor()], 0)
        drawn = random_normal(sizes, dtype=self.dtype, seed=seed)
        return products(self._tril, drawn) + self._center

    def _standard(self, x: Tensor) -> Tensor:
        """The vectors whose product with the triangle, and the mean, are `x`."""
        return solutions(self._tril, x - self._center, matrix_triangular_solve)

    def _log_determinant(self) -> Tensor:
        return reduce_sum(log(abs_(matrix_diag_part(self._tril))), -1)

    def _size(self) -> Tensor:
        return cast(shape(self._tril)[-1], self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        squares = reduce_sum(square(self._standard(x)), -1)
        return -0.5 * squares - 0.5 * math.log(2 * math.pi) * self._size() - self._log_determinant()

    def _entropy(self) -> Tensor:
        everywhere = zeros(self._batch_shape_tensor(), dtype=self.dtype)
        return 0.5 * math.log(2 * math.pi * math.e) * self._size() + self._log_determinant() + everywhere

    def _mean(self) -> Tensor:
        return self._center + zeros(self._whole_shape_tensor(), dtype=self.dtype)

    def _mode(self) -> Tensor:
        return self._mean()

    def _covariance(self) -> Tensor:
        return matmul(self._tril, self._tril, transpose_b=True)

    def _variance(self) -> Tensor:
        return reduce_sum(square(self._tril), -1)

    def _stddev(self) -> Tensor:
        return sqrt(self._variance())


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Normal vectors of a mean and a covariance (tf.contrib.distributions.MultivariateNormalFullCovariance).

    Args:
        loc: The means, [..., size]; zero if it is not given.
        covariance_matrix: [..., size, size], symmetric and positive definite; the identity if it is not given.
        validate_args: Whether it is checked at the run that the matrix is symmetric.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If neither is given, or they are not floats of one dtype.
    """

    def __init__(
        self,
        loc: TensorLike | None = None,
        covariance_matrix: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        parameters = dict(locals())
        triangle = None
        if covariance_matrix is not None:
            (matrix,) = float_parameters([], covariance_matrix=covariance_matrix)
            if validate_args:
                check = assert_near(matrix, matrix_transpose(matrix), message="Matrix was not symmetric")
                with control_dependencies([check] if check is not None else []):
                    matrix = identity(matrix)
            triangle = cholesky(matrix)
        self._set(parameters, loc, triangle)


_Normal = MultivariateNormalTriL | MultivariateNormalDiag


def _parts(normal: _Normal) -> tuple[Tensor, Tensor]:
    """The mean, and the triangle of which the covariance is made."""
    if isinstance(normal, MultivariateNormalTriL):
        return normal.mean(), normal.scale_tril
    return normal.mean(), matrix_diag(normal.stddev())


@RegisterKL(MultivariateNormalTriL, MultivariateNormalTriL)
@RegisterKL(MultivariateNormalTriL, MultivariateNormalDiag)
@RegisterKL(MultivariateNormalDiag, MultivariateNormalTriL)
def _divergence(a: _Normal, b: _Normal, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_mvn", []):
        (mean_a, scale_a), (mean_b, scale_b) = _parts(a), _parts(b)
        column = expand_dims(mean_b - mean_a, -1)
        ratio = matrix_triangular_solve(*spread(scale_b, scale_a))
        distance = matrix_triangular_solve(*spread(scale_b, column))
        squares = reduce_sum(square(ratio), [-2, -1]) + reduce_sum(square(distance), [-2, -1])
        determinants = [reduce_sum(log(abs_(matrix_diag_part(scale))), -1) for scale in (scale_b, scale_a)]
        size = cast(shape(scale_b)[-1], a.dtype)
        return determinants[0] - determinants[1] + 0.5 * (squares - size)
