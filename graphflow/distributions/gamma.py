"""The gamma distribution and its kind with concentration 1, the exponential distribution."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones, ones_like
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.arithmetic import xlogy
from graphflow._core.ops.math.special import digamma, igamma, lgamma
from graphflow._core.ops.math.transcendental import log, sqrt, square
from graphflow._core.ops.random import random_gamma, random_uniform
from graphflow.distributions import checks
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, float_parameters
from graphflow.distributions.kullback_leibler import RegisterKL


class Gamma(ScalarDistribution):
    """The gamma distribution with the mean `concentration` / `rate` (tf.distributions.Gamma).

    Both are floats of one dtype and broadcast. Gradients flow through samples. The mode is NaN if the concentration
    is not above 1.

    Args:
        concentration: The shape, a tensor of positive floats.
        rate: The inverse scale.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not.
        InvalidArgumentError: If, with `validate_args`, one is not positive.
    """

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Gamma", [concentration, rate]) as scope:
            checks = [assert_positive(concentration), assert_positive(rate)] if validate_args else []
            self._concentration, self._rate = float_parameters(checks, concentration=concentration, rate=rate)
        super().__init__(
            self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._concentration, self._rate], scope,
        )  # fmt: skip

    @property
    def concentration(self) -> Tensor:
        """The shape parameter, often called alpha."""
        return self._concentration

    @property
    def rate(self) -> Tensor:
        """The inverse of the scale, often called beta."""
        return self._rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_gamma([n], self._concentration, self._rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            x = checks.positive(x)
        normalization = lgamma(self._concentration) - self._concentration * log(self._rate)
        return xlogy(self._concentration - 1.0, x) - self._rate * x - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        if self.validate_args:
            x = checks.positive(x)
        return igamma(self._concentration, self._rate * x)

    def _entropy(self) -> Tensor:
        c = self._concentration
        return c - log(self._rate) + lgamma(c) + (1.0 - c) * digamma(c)

    def _mean(self) -> Tensor:
        return self._concentration / self._rate

    def _variance(self) -> Tensor:
        squared: Tensor = square(self._rate)
        return self._concentration / squared

    def _stddev(self) -> Tensor:
        root: Tensor = sqrt(self._concentration)
        return root / self._rate

    def _mode(self) -> Tensor:
        mode = (self._concentration - 1.0) / self._rate
        defined = self._concentration * ones_like(self._rate) > 1.0
        return self._defined(
            defined, mode, "A gamma distribution has a mode if its concentration is above 1."
        )


class Exponential(Gamma):
    """The exponential distribution with the mean 1 / `rate` (tf.distributions.Exponential).

    The rate is of floats, else ValueError, InvalidArgumentError if, with `validate_args`, it is not positive.
    Gradients flow through samples. As TensorFlow's, the mode is that of a Gamma of concentration 1: NaN.

    Args:
        rate: The inverse of the mean, a tensor of positive floats.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.
    """

    def __init__(
        self,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Exponential", [rate]) as scope:
            given = convert_to_tensor(rate, name="rate_value")
            super().__init__(ones([], dtype=given.dtype), given, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = self.dtype.finfo.tiny
        drawn = random_uniform(self._sample_shape(n), tiny, 1.0, dtype=self.dtype, seed=seed)
        return -log(drawn) / self._rate

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return -self._rate * x


@RegisterKL(Gamma, Gamma)
def _divergence(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_gamma_gamma", [a.concentration, b.concentration, a.rate, b.rate]):
        return (
            (a.concentration - b.concentration) * digamma(a.concentration)
            + (lgamma(b.concentration) - lgamma(a.concentration))
            + b.concentration * (log(a.rate) - log(b.rate))
            + a.concentration * (b.rate / a.rate - 1.0)
        )
