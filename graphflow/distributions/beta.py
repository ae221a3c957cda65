"""The beta distribution."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.arithmetic import xlogy
from graphflow._core.ops.math.special import betainc, digamma, lgamma
from graphflow._core.ops.math.transcendental import log1p
from graphflow._core.ops.random import random_gamma
from graphflow.distributions import checks
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, float_parameters
from graphflow.distributions.kullback_leibler import RegisterKL
from graphflow.distributions.special import salted


class Beta(ScalarDistribution):
    """The beta distribution, with the mean `concentration1` / (both concentrations) (tf.distributions.Beta).

    Both are floats of one dtype and broadcast. Gradients flow through samples. The mode is NaN if a concentration
    is not above 1.

    Args:
        concentration1: The first parameter, a tensor of positive floats.
        concentration0: The second.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not.
        InvalidArgumentError: If, with `validate_args`, one is not positive.
    """

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = dict(locals())
        if concentration1 is None or concentration0 is None:
            raise ValueError("A beta distribution needs both of concentration1 and concentration0.")
        with op_scope(name, "Beta", [concentration1, concentration0]) as scope:
            checks = (
                [assert_positive(concentration1), assert_positive(concentration0)] if validate_args else []
            )
            self._concentration1, self._concentration0 = float_parameters(
                checks, concentration1=concentration1, concentration0=concentration0
            )
            self._total = self._concentration1 + self._concentration0
        super().__init__(
            self._total.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._total], scope,
        )  # fmt: skip

    @property
    def concentration1(self) -> Tensor:
        """The weight of one, often called alpha."""
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        """The weight of zero, often called beta."""
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both."""
        return self._total

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        ones = ones_like(self._total)
        one = random_gamma([n], ones * self._concentration1, dtype=self.dtype, seed=seed)
        zero = random_gamma([n], ones * self._concentration0, dtype=self.dtype, seed=salted(seed, "beta"))
        return one / (one + zero)

    def _log_normalization(self) -> Tensor:
        return lgamma(self._concentration1) + lgamma(self._concentration0) - lgamma(self._total)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            x = checks.between_zero_and_one(x)
        rest: Tensor = log1p(-x)
        powers = xlogy(self._concentration1 - 1.0, x) + (self._concentration0 - 1.0) * rest
        return powers - self._log_normalization()

    def _cdf(self, x: Tensor) -> Tensor:
        if self.validate_args:
            x = checks.between_zero_and_one(x)
        return betainc(self._concentration1, self._concentration0, x)

    def _entropy(self) -> Tensor:
        return (
            self._log_normalization()
            - (self._concentration1 - 1.0) * digamma(self._concentration1)
            - (self._concentration0 - 1.0) * digamma(self._concentration0)
            + (self._total - 2.0) * digamma(self._total)
        )

    def _mean(self) -> Tensor:
        return self._concentration1 / self._total

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self._total)

    def _mode(self) -> Tensor:
        mode = (self._concentration1 - 1.0) / (self._total - 2.0)
        defined = (self._concentration1 > 1.0) & (self._concentration0 > 1.0)
        return self._defined(
            defined, mode, "A beta distribution has a mode if both concentrations are above 1."
        )


@RegisterKL(Beta, Beta)
def _divergence(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_beta_beta", [a.total_concentration, b.total_concentration]):
        return (
            b._log_normalization()
            - a._log_normalization()
            + (a.concentration1 - b.concentration1) * digamma(a.concentration1)
            + (a.concentration0 - b.concentration0) * digamma(a.concentration0)
            + (b.total_concentration - a.total_concentration) * digamma(a.total_concentration)
        )
