"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones, zeros
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.numeric import abs_
from graphflow._core.ops.math.special import betainc, digamma, lgamma
from graphflow._core.ops.math.transcendental import log, log1p, rsqrt, square
from graphflow._core.ops.random import random_gamma, random_normal
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, float_parameters
from graphflow.distributions.special import salted


class StudentT(ScalarDistribution):
    """Student's t-distribution with `df` degrees of freedom, moved by `loc` and stretched by `scale`.

    All three are floats of one dtype and broadcast. Gradients flow through samples. The mean is NaN if df is not
    above 1; there the variance is NaN, too, and it is infinite up to a df of 2 (tf.distributions.StudentT).

    Args:
        df: The degrees of freedom, a tensor of positive floats.
        loc: The middle.
        scale: The factor.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not.
        InvalidArgumentError: If, with `validate_args`, df is not positive.
    """

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "StudentT", [df, loc, scale]) as scope:
            checks = [assert_positive(df)] if validate_args else []
            self._df, self._loc, self._scale = float_parameters(checks, df=df, loc=loc, scale=scale)
        super().__init__(
            self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._df, self._loc, self._scale], scope,
        )  # fmt: skip

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Tensor:
        """The middle."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The factor by which the distribution is stretched."""
        return self._scale

    def _ones(self) -> Tensor:
        return ones(self._whole_shape_tensor(), dtype=self.dtype)

    def _standard(self, x: Tensor) -> Tensor:
        return (x - self._loc) / self._scale

    def _log_scale(self) -> Tensor:
        """The logarithm of the scale and of the root of df."""
        return log(abs_(self._scale)) + 0.5 * log(self._df)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        normal = random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        df = self._df * self._ones()
        squares = random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=salted(seed, "student_t"))
        return normal * rsqrt(squares / df) * self._scale + self._loc

    def _log_prob(self, x: Tensor) -> Tensor:
        squared: Tensor = square(self._standard(x))
        half = 0.5 * self._df
        normalization = self._log_scale() + 0.5 * math.log(math.pi) + lgamma(half) - lgamma(half + 0.5)
        return -(half + 0.5) * log1p(squared / self._df) - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._standard(x)
        squared: Tensor = square(z)
        lower = 0.5 * betainc(0.5 * self._df, 0.5, self._df / (squared + self._df))
        return where_v2(z < 0.0, lower, 1.0 - lower)

    def _entropy(self) -> Tensor:
        half = 0.5 * self._df
        log_beta = lgamma(half) + math.lgamma(0.5) - lgamma(half + 0.5)
        spread: Tensor = self._log_scale() + log_beta
        return (
            spread
            + (half + 0.5) * (digamma(half + 0.5) - digamma(half))
            + zeros(self._whole_shape_tensor(), self.dtype)
        )

    def _mean(self) -> Tensor:
        message = "Student's t-distribution has a mean if df is above 1."
        return self._defined(self._df * self._ones() > 1.0, self._loc * self._ones(), message)

    def _variance(self) -> Tensor:
        df = self._df * self._ones()
        finite = where_v2(df > 2.0, df - 2.0, self._ones())
        squared: Tensor = square(self._scale)
        variance = where_v2(df > 2.0, squared * df / finite, math.inf)
        return self._defined(df > 1.0, variance, "Student's t-distribution has a variance if df is above 1.")

    def _mode(self) -> Tensor:
        return identity(self._loc)
