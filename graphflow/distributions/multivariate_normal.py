"""The normal distribution of vectors whose elements do not depend on each other."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like, zeros, zeros_like
from graphflow._core.ops.array.shaping import expand_dims, shape
from graphflow._core.ops.control_flow.assertions import assert_none_equal
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.arithmetic import squared_difference
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import matrix_diag
from graphflow._core.ops.math.numeric import abs_
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.transcendental import log, square
from graphflow._core.ops.random import random_normal
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, VectorDistribution, float_parameters
from graphflow.distributions.kullback_leibler import RegisterKL


class MultivariateNormalDiag(VectorDistribution):
    """Vectors of independent normal elements with mean `loc` (tf.contrib.distributions.MultivariateNormalDiag).

    loc and scale_diag are (..., size) of floats of one dtype and broadcast; the standard deviations are scale_diag
    + scale_identity_multiplier[..., None], or 1 if neither is given. loc is zero if it is not given. Gradients flow
    through samples.

    Args:
        loc: The means, [..., size].
        scale_diag: The deviations, [..., size].
        scale_identity_multiplier: One deviation for all.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If the size cannot be known.
        InvalidArgumentError: If, with `validate_args`, a deviation is zero.
    """

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        parameters = dict(locals())
        given = {"loc": loc, "scale_diag": scale_diag, "scale_identity_multiplier": scale_identity_multiplier}
        given = {argument: value for argument, value in given.items() if value is not None}
        if loc is None and scale_diag is None:
            raise ValueError("MultivariateNormalDiag needs loc or scale_diag, for the size of its events.")
        with op_scope(name, "MultivariateNormalDiag", list(given.values())) as scope:
            found = dict(zip(given, float_parameters([], **given), strict=True))
            sized = found["loc"] if scale_diag is None else found["scale_diag"]
            if sized.shape.ndims == 0:
                raise ValueError("The parameters of MultivariateNormalDiag need an axis; these have none.")
            self._loc = found.get("loc")
            scale = found.get("scale_diag")
            multiplier = found.get("scale_identity_multiplier")
            if multiplier is not None:
                equal = expand_dims(multiplier, -1)
                scale = equal * ones_like(sized) if scale is None else scale + equal
            scale = ones_like(sized) if scale is None else scale
            checks = [assert_none_equal(scale, zeros_like(scale))] if validate_args else []
            (self._scale,) = float_parameters(checks, scale=scale)
            self._center = zeros(shape(scale)[-1:], dtype=scale.dtype) if self._loc is None else self._loc
        super().__init__(
            self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._center, self._scale], scope,
        )  # fmt: skip

    @property
    def loc(self) -> Tensor | None:
        """The mean as it was given, (..., size); None if it was not."""
        return self._loc

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        return drawn * self._scale + self._center

    def _log_determinant(self) -> Tensor:
        return reduce_sum(log(abs_(self._scale)), -1)

    def _size(self) -> Tensor:
        size: Tensor = cast(self._whole_shape_tensor()[-1], self.dtype)
        return size

    def _log_prob(self, x: Tensor) -> Tensor:
        squares = reduce_sum(square((x - self._center) / self._scale), -1)
        return -0.5 * squares - 0.5 * math.log(2 * math.pi) * self._size() - self._log_determinant()

    def _entropy(self) -> Tensor:
        everywhere = zeros(self._batch_shape_tensor(), dtype=self.dtype)
        return 0.5 * math.log(2 * math.pi * math.e) * self._size() + self._log_determinant() + everywhere

    def _mean(self) -> Tensor:
        return self._center + zeros(self._whole_shape_tensor(), dtype=self.dtype)

    def _mode(self) -> Tensor:
        return self._mean()

    def _stddev(self) -> Tensor:
        deviation: Tensor = abs_(self._scale)
        return deviation

    def _covariance(self) -> Tensor:
        return matrix_diag(square(self._scale))


@RegisterKL(MultivariateNormalDiag, MultivariateNormalDiag)
def _divergence(a: MultivariateNormalDiag, b: MultivariateNormalDiag, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_mvn", [a._scale, b._scale]):
        ratio: Tensor = square(a._scale / b._scale)
        distance: Tensor = squared_difference(a._center, b._center) / square(b._scale)
        return 0.5 * reduce_sum(distance + ratio - 1.0 - log(ratio), -1)
