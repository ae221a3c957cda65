"""Distributions of positive numbers: half of the normal one, the inverse gamma, chi-squared; and Cauchy's."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import fill, ones_like, zeros
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater_equal
from graphflow._core.ops.math.numeric import abs_
from graphflow._core.ops.math.special import digamma, erf, igammac, lgamma
from graphflow._core.ops.math.transcendental import atan, exp, log, log1p, square, tan
from graphflow._core.ops.random import random_gamma, random_normal, random_uniform
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.distributions import checks
from graphflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    ScalarDistribution,
    float_parameters,
)
from graphflow.distributions.gamma import Gamma
from graphflow.distributions.location_scale import LocationScale
from graphflow.nn import relu


class HalfNormal(ScalarDistribution):
    """The distance of normal draws from their mean 0 (tf.contrib.distributions.HalfNormal).

    Gradients flow through samples.

    Args:
        scale: The deviation of these draws, a tensor of positive floats.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.
    """

    def __init__(
        self,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "HalfNormal", [scale]) as scope:
            (self._scale,) = float_parameters([assert_positive(scale)] if validate_args else [], scale=scale)
        super().__init__(
            self._scale.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._scale],
            scope,
        )

    @property
    def scale(self) -> Tensor:
        """The deviation of the normal draws."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        distance: Tensor = abs_(drawn * self._scale)
        return distance

    def _prob(self, x: Tensor) -> Tensor:
        density = math.sqrt(2.0 / math.pi) / self._scale * exp(-0.5 * square(x / self._scale))
        return density * cast(greater_equal(x, 0.0), self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        return erf(relu(x) / self._scale / math.sqrt(2.0))

    def _entropy(self) -> Tensor:
        return 0.5 * log(math.pi * square(self._scale) / 2.0) + 0.5

    def _mean(self) -> Tensor:
        return self._scale * math.sqrt(2.0 / math.pi)

    def _mode(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _variance(self) -> Tensor:
        return square(self._scale) * (1.0 - 2.0 / math.pi)


class InverseGamma(ScalarDistribution):
    """The reciprocals of what a gamma distribution draws (tf.contrib.distributions.InverseGamma).

    Mean and variance are NaN for concentrations that are not above 1 and 2.

    Args:
        concentration: The shape, a tensor of positive floats.
        rate: The scale, a tensor of positive floats.
        validate_args: Whether parameters and values are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.
    """

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "InverseGamma", [concentration, rate]) as scope:
            positive = [assert_positive(concentration), assert_positive(rate)] if validate_args else []
            self._concentration, self._rate = float_parameters(
                positive, concentration=concentration, rate=rate
            )
        super().__init__(
            self._concentration.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._concentration, self._rate], scope,
        )  # fmt: skip

    @property
    def concentration(self) -> Tensor:
        """The shape parameter."""
        return self._concentration

    @property
    def rate(self) -> Tensor:
        """The scale."""
        return self._rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        result: Tensor = 1.0 / random_gamma([n], self._concentration, self._rate, dtype=self.dtype, seed=seed)
        return result

    def _positive(self, x: Tensor) -> Tensor:
        return checks.positive(x) if self.validate_args else x

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._positive(x)
        normalization = lgamma(self._concentration) - self._concentration * log(self._rate)
        return -(1.0 + self._concentration) * log(x) - self._rate / x - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        return igammac(self._concentration, self._rate / self._positive(x))

    def _entropy(self) -> Tensor:
        c = self._concentration
        return c + log(self._rate) + lgamma(c) - (1.0 + c) * digamma(c)

    def _above(self, least: float, value: Tensor, what: str) -> Tensor:
        defined = self._concentration * ones_like(self._rate) > least
        return self._defined(defined, value, f"{what} undefined when any concentration <= {least:g}")

    def _mean(self) -> Tensor:
        return self._above(1.0, self._rate / (self._concentration - 1.0), "mean")

    def _variance(self) -> Tensor:
        c = self._concentration
        return self._above(2.0, square(self._rate) / square(c - 1.0) / (c - 2.0), "variance")

    def _mode(self) -> Tensor:
        return self._rate / (1.0 + self._concentration)


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal draws (tf.contrib.distributions.Chi2).

    Args:
        df: The degrees of freedom, a tensor of positive floats.
        validate_args: Whether parameters and values are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.
    """

    def __init__(
        self, df: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2"
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Chi2", [df]) as scope:
            with control_dependencies([assert_positive(df)] if validate_args else []):
                self._df = identity(convert_to_tensor(df), name="df")
            half = constant(0.5, dtype=self._df.dtype)
            super().__init__(0.5 * self._df, half, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df


class Cauchy(LocationScale):
    """Cauchy's distribution, which has no mean (tf.contrib.distributions.Cauchy). Gradients flow through samples.

    Args:
        loc: The middle, a tensor of floats.
        scale: Half of the numbers are nearer to it than this.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether mean and deviation, which are not defined, are NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not floats of one dtype; for the mean and the deviation, unless NaNs are allowed.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._quantile(random_uniform(self._sample_shape(n), 0.0, 1.0, dtype=self.dtype, seed=seed))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -log1p(square(self._standard(x))) - (math.log(math.pi) + log(self._scale))

    def _cdf(self, x: Tensor) -> Tensor:
        return atan(self._standard(x)) / math.pi + 0.5

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log1p(2 / math.pi * atan(self._standard(x))) - math.log(2)

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc + self._scale * tan(math.pi * (p - 0.5))

    def _entropy(self) -> Tensor:
        return (math.log(4 * math.pi) + log(self._scale)) * ones_like(self._loc)

    def _mode(self) -> Tensor:
        return self._loc * ones_like(self._scale)

    def _undefined(self, what: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return fill(self.batch_shape_tensor(), constant(math.nan, dtype=self.dtype))

    def _mean(self) -> Tensor:
        return self._undefined("mean")

    def _stddev(self) -> Tensor:
        return self._undefined("stddev")
