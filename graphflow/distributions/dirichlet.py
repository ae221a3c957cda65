"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.shaping import expand_dims, shape
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.arithmetic import xlogy
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import matrix_set_diag
from graphflow._core.ops.math.reductions import reduce_all, reduce_sum
from graphflow._core.ops.math.special import digamma, lgamma
from graphflow._core.ops.random import random_gamma
from graphflow.distributions import checks
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, VectorDistribution, float_parameters
from graphflow.distributions.kullback_leibler import RegisterKL


def log_beta(concentration: Tensor) -> Tensor:
    """The logarithm of the beta function of the last axis."""
    return reduce_sum(lgamma(concentration), -1) - lgamma(reduce_sum(concentration, -1))


class Dirichlet(VectorDistribution):
    """Vectors of shares that add to 1, with the mean `concentration` / its sum (tf.distributions.Dirichlet).

    The concentration is (..., shares) of floats. Gradients flow through samples. The mode is NaN if a concentration
    is not above 1.

    Args:
        concentration: The parameters, [..., classes] of positive floats.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If it is not.
        InvalidArgumentError: If, with `validate_args`, one is not positive.
    """

    def __init__(
        self,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Dirichlet", [concentration]) as scope:
            checks = [assert_positive(concentration)] if validate_args else []
            (self._concentration,) = float_parameters(checks, concentration=concentration)
            if self._concentration.shape.ndims == 0:
                raise ValueError(
                    "The concentration of a Dirichlet distribution needs an axis; this has none."
                )
            self._total = reduce_sum(self._concentration, -1)
        super().__init__(
            self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._concentration], scope,
        )  # fmt: skip

    @property
    def concentration(self) -> Tensor:
        """The weights of the shares, (..., shares)."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """Their sums, (...)."""
        return self._total

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_gamma([n], self._concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            x = checks.shares(x)
        return reduce_sum(xlogy(self._concentration - 1.0, x), -1) - log_beta(self._concentration)

    def _count(self) -> Tensor:
        count: Tensor = cast(shape(self._concentration)[-1], self.dtype)
        return count

    def _entropy(self) -> Tensor:
        weighted = reduce_sum((self._concentration - 1.0) * digamma(self._concentration), -1)
        return log_beta(self._concentration) + (self._total - self._count()) * digamma(self._total) - weighted

    def _mean(self) -> Tensor:
        return self._concentration / expand_dims(self._total, -1)

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + expand_dims(self._total, -1))

    def _covariance(self) -> Tensor:
        mean = self._mean()
        products = expand_dims(mean, -1) * expand_dims(mean, -2)
        return matrix_set_diag(-products / (1.0 + self._total[..., None, None]), self._variance())

    def _mode(self) -> Tensor:
        mode = (self._concentration - 1.0) / expand_dims(self._total - self._count(), -1)
        defined = reduce_all(self._concentration > 1.0, -1, keepdims=True)
        return self._defined(
            defined, mode, "A Dirichlet distribution has a mode if the concentration is above 1."
        )


@RegisterKL(Dirichlet, Dirichlet)
def _divergence(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_dirichlet_dirichlet", [a.concentration, b.concentration]):
        logs = digamma(a.concentration) - expand_dims(digamma(a.total_concentration), -1)
        distance = reduce_sum((a.concentration - b.concentration) * logs, -1)
        return distance + log_beta(b.concentration) - log_beta(a.concentration)
