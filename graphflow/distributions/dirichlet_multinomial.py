"""The Dirichlet-multinomial distribution: counts of classes whose shares are themselves drawn."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.array.shaping import expand_dims
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.linalg import matrix_set_diag
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.special import lgamma
from graphflow._core.ops.math.transcendental import log
from graphflow._core.ops.random import random_gamma
from graphflow.distributions import checks
from graphflow.distributions.dirichlet import log_beta
from graphflow.distributions.distribution import NOT_REPARAMETERIZED, VectorDistribution, float_parameters
from graphflow.distributions.multinomial import Multinomial


class DirichletMultinomial(VectorDistribution):
    """How often each class comes in `total_count` draws with shares that a Dirichlet distribution gives.

    As tf.distributions.DirichletMultinomial. The concentration is (..., classes), the counts broadcast with its first
    axes, or, as in TensorFlow, with all of them if their last one has the length 1. Draws are of the concentration's
    dtype; no gradient flows through them.

    Args:
        total_count: How many are drawn, a tensor.
        concentration: The parameters of the shares, [..., classes] of positive floats.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If the concentration has no axis, or is not of floats, or the counts are of another dtype.
        InvalidArgumentError: If, with `validate_args`, a count is negative or has a fraction, or a concentration is
            not positive.
    """

    def __init__(
        self,
        total_count: TensorLike,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "DirichletMultinomial", [total_count, concentration]) as scope:
            valid = [assert_positive(concentration)] if validate_args else []
            (self._concentration,) = float_parameters(valid, concentration=concentration)
            if self._concentration.shape.ndims == 0:
                raise ValueError(
                    "The concentration of a distribution of counts needs an axis; this has none."
                )
            dtype = self._concentration.dtype
            has_dtype = hasattr(
                total_count, "dtype"
            )  # Python's numbers have none, and become what the others are.
            total = convert_to_tensor(total_count, None if has_dtype else dtype, name="total_count")
            if total.dtype is not dtype:
                raise ValueError(
                    f"total_count must be of {dtype.name}, as the concentration is, not of {total.dtype.name}."
                )
            if validate_args:
                total = checks.after(checks.whole_numbers(total, "total_count"), total)
            self._total_count: Tensor = total
            self._total = reduce_sum(self._concentration, -1)
            ranks = total.shape.ndims, self._concentration.shape.ndims
            has_classes = None not in ranks and ranks[0] == ranks[1] and total.shape.as_list()[-1] == 1
            wide = total if has_classes else expand_dims(total, -1)
        super().__init__(
            dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [wide, self._concentration], scope
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """The number of draws."""
        return self._total_count

    @property
    def concentration(self) -> Tensor:
        """The weights of the classes, (..., classes)."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """Their sums, (...)."""
        return self._total

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        weights = self._concentration * ones_like(self._graph_parents[0])
        drawn = random_gamma([n], weights, dtype=self.dtype, seed=seed)
        counts = self._graph_parents[0][..., 0]
        found: Tensor = Multinomial(counts, logits=log(drawn)).sample(seed=seed)
        return found

    def _log_prob(self, counts: Tensor) -> Tensor:
        if self.validate_args:
            counts = checks.counts(counts, self._total_count, "counts last-dimension")
        orders = lgamma(self._total_count + 1.0) - reduce_sum(lgamma(counts + 1.0), -1)
        return log_beta(self._concentration + counts) - log_beta(self._concentration) + orders

    def _shares(self) -> Tensor:
        return self._concentration / expand_dims(self._total, -1)

    def _spread(self) -> Tensor:
        """How much a variance is larger than that of one draw, (..., 1)."""
        n, total = self._graph_parents[0], expand_dims(self._total, -1)
        spread: Tensor = n * (total + n) / (1.0 + total)
        return spread

    def _mean(self) -> Tensor:
        return self._graph_parents[0] * self._shares()

    def _variance(self) -> Tensor:
        shares = self._shares()
        return self._spread() * shares * (1.0 - shares)

    def _covariance(self) -> Tensor:
        shares = self._shares()
        products = expand_dims(shares, -1) * expand_dims(shares, -2)
        return matrix_set_diag(-expand_dims(self._spread(), -1) * products, self._variance())
