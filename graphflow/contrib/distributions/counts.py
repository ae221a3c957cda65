"""Distributions of numbers of events: Poisson's, geometric, binomial and negative binomial."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like, zeros, zeros_like
from graphflow._core.ops.array.indexing import where, where_v2
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.assertions import (
    assert_less_equal,
    assert_non_negative,
    assert_positive,
)
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.comparison import equal
from graphflow._core.ops.math.math import log_sigmoid
from graphflow._core.ops.math.special import betainc, igammac, lgamma
from graphflow._core.ops.math.transcendental import exp, expm1, floor, log, log1p, sigmoid, softplus
from graphflow._core.ops.random import random_gamma, random_poisson, random_uniform
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.distributions import checks
from graphflow.distributions.bernoulli import one_of
from graphflow.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution


def _float(value: TensorLike, name: str) -> Tensor:
    """A parameter as a tensor; TypeError if it is not of floats."""
    tensor = convert_to_tensor(value, name=name)
    if not tensor.dtype.is_floating:
        raise TypeError(f"{name}.dtype ({tensor.dtype.name}) is a not a float-type.")
    return tensor


def _odds(logits: TensorLike | None, probs: TensorLike | None, validate_args: bool) -> tuple[Tensor, Tensor]:
    """The log-odds and the probability, of which one is given."""
    given, shares = one_of(logits, probs)
    if given is not None:
        return identity(given, name="logits"), sigmoid(given, name="probs")
    assert shares is not None
    message = "probs has components greater than 1."
    limits = [assert_non_negative(shares), assert_less_equal(shares, 1.0, message=message)]
    with control_dependencies(limits if validate_args else []):
        chance = identity(shares, name="probs")
    return log(chance) - log1p(-chance), chance


class _Counts(ScalarDistribution):
    def _whole(self, x: Tensor) -> Tensor:
        return checks.after(checks.whole_numbers(x, "x"), x) if self.validate_args else x


class Poisson(_Counts):
    """How many independent events happen in a time in which `rate` do on average (tf.contrib.distributions.Poisson).

    Args:
        rate: The mean, a tensor of positive floats.
        log_rate: Its logarithm instead.
        validate_args: Whether parameters and values are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of rate and log_rate is given.
        TypeError: If it is not of floats.

    Examples:
        >>> with gf.Session() as session:
        ...     print(session.run(gf.contrib.distributions.Poisson(2.0).prob(1.0)).round(4))
        0.2707
    """

    def __init__(
        self,
        rate: TensorLike | None = None,
        log_rate: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Poisson", [rate, log_rate]) as scope:
            if (rate is None) == (log_rate is None):
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            if rate is not None:
                given = _float(rate, "rate")
                with control_dependencies([assert_positive(given)] if validate_args else []):
                    self._rate = identity(given, name="rate")
                    self._log_rate = log(given, name="log_rate")
            else:
                assert log_rate is not None
                self._log_rate = _float(log_rate, "log_rate")
                self._rate = exp(self._log_rate, name="rate")
        super().__init__(
            self._rate.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._rate],
            scope,
        )

    @property
    def rate(self) -> Tensor:
        """The mean."""
        return self._rate

    @property
    def log_rate(self) -> Tensor:
        """The logarithm of the mean."""
        return self._log_rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_poisson(self._rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._whole(x)
        return x * self._log_rate - lgamma(1.0 + x) - self._rate

    def _cdf(self, x: Tensor) -> Tensor:
        return igammac(1.0 + self._whole(x), self._rate)

    def _mean(self) -> Tensor:
        return identity(self._rate)

    def _variance(self) -> Tensor:
        return identity(self._rate)

    def _mode(self) -> Tensor:
        return floor(self._rate)


class _Trials(_Counts):
    """What happens in trials that succeed with a probability."""

    _logits: Tensor
    _probs: Tensor

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds of a success."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of a success."""
        return self._probs


class Geometric(_Trials):
    """How many trials fail before the first succeeds (tf.contrib.distributions.Geometric).

    Args:
        logits: The log-odds of a success.
        probs: The probability of a success instead.
        validate_args: Whether parameters and values are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Geometric", [logits, probs]) as scope:
            self._logits, chance = _odds(logits, probs, validate_args)
            with control_dependencies([assert_positive(chance)] if validate_args else []):
                self._probs = identity(chance, name="probs")
        super().__init__(
            self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._probs, self._logits], scope,
        )  # fmt: skip

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = self.dtype.finfo.tiny
        drawn = random_uniform(self._sample_shape(n), tiny, 1.0, dtype=self.dtype, seed=seed)
        return floor(log(drawn) / log1p(-self._probs))

    def _failures(self, x: Tensor) -> Tensor:
        return (self._whole(x) if self.validate_args else floor(x)) * ones_like(self._probs)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._failures(x)
        chance = self._probs * ones_like(x)
        of_failure = where(equal(x, 0.0), zeros_like(chance), chance)
        return x * log1p(-of_failure) + log(chance)

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._failures(x)
        return where(x < 0.0, zeros_like(x), -expm1((1.0 + x) * log1p(-self._probs)))

    def _entropy(self) -> Tensor:
        return softplus(self._logits) / self._probs - self._logits

    def _mean(self) -> Tensor:
        return exp(-self._logits)

    def _variance(self) -> Tensor:
        return self._mean() / self._probs

    def _mode(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), dtype=self.dtype)


class Binomial(_Trials):
    """How many of `total_count` trials succeed (tf.contrib.distributions.Binomial). It draws no samples, as there.

    Args:
        total_count: The number of trials, a tensor of floats.
        logits: The log-odds of a success.
        probs: The probability of a success instead.
        validate_args: Whether parameters and values are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.
    """

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Binomial", [total_count, logits, probs]) as scope:
            total = convert_to_tensor(total_count, name="total_count")
            self._total = (
                checks.after(checks.whole_numbers(total, "total_count"), total) if validate_args else total
            )
            self._logits, self._probs = _odds(logits, probs, validate_args)
        super().__init__(
            self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._total, self._logits, self._probs], scope,
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """The number of trials."""
        return self._total

    def _among(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        most = assert_less_equal(x, self._total, message="counts are not less than or equal to n.")
        return checks.after([*checks.whole_numbers(x, "counts"), most], x)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._among(x)
        ways = lgamma(1.0 + self._total) - lgamma(1.0 + self._total - x) - lgamma(1.0 + x)
        return x * log(self._probs) + (self._total - x) * log1p(-self._probs) + ways

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._among(x)
        chance = self._probs + zeros_like(x)
        x = x + zeros_like(self._probs)
        ones = ones_like(self._total - x)
        outside = self._total - x <= 0.0
        safe = where_v2(outside, ones, self._total - x)
        within = betainc(safe, x + ones, 1.0 - chance + zeros_like(safe))
        return where_v2(outside, ones, within)

    def _mean(self) -> Tensor:
        return self._total * self._probs

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._probs)

    def _mode(self) -> Tensor:
        return floor((1.0 + self._total) * self._probs)


class NegativeBinomial(_Trials):
    """How many trials succeed before `total_count` have failed (tf.contrib.distributions.NegativeBinomial).

    Args:
        total_count: How many failures end the trials, a tensor of positive floats.
        logits: The log-odds of a success.
        probs: The probability of a success instead.
        validate_args: Whether parameters and values are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.
    """

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "NegativeBinomial", [total_count, logits, probs]) as scope:
            self._logits, self._probs = _odds(logits, probs, validate_args)
            with control_dependencies([assert_positive(total_count)] if validate_args else []):
                self._total = identity(convert_to_tensor(total_count))
        super().__init__(
            self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._total, self._probs, self._logits], scope,
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """How many failures end the trials."""
        return self._total

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        rate = random_gamma([n], self._total, exp(-self._logits), dtype=self.dtype, seed=seed)
        another = None if seed is None else seed + 1
        return random_poisson(rate, [], dtype=self.dtype, seed=another)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._whole(x)
        ways = lgamma(self._total + x) - lgamma(1.0 + x) - lgamma(self._total)
        return self._total * log_sigmoid(-self._logits) + x * log_sigmoid(self._logits) + ways

    def _cdf(self, x: Tensor) -> Tensor:
        return betainc(self._total, 1.0 + self._whole(x), sigmoid(-self._logits))

    def _mean(self) -> Tensor:
        return self._total * exp(self._logits)

    def _mode(self) -> Tensor:
        fewer = where_v2(self._total > 1.0, self._total - 1.0, zeros_like(self._total))
        return floor(fewer * exp(self._logits))

    def _variance(self) -> Tensor:
        return self._mean() / sigmoid(-self._logits)
