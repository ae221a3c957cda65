"""The logistic distribution, and numbers between 0 and 1 that are made of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import ones_like
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.math import log, log1p, sigmoid
from graphflow._core.ops.math.transcendental import softplus
from graphflow._core.ops.random import random_uniform
from graphflow.contrib.distributions.bijectors.elementwise import Sigmoid
from graphflow.contrib.distributions.transformed import TransformedDistribution
from graphflow.distributions.bernoulli import Bernoulli
from graphflow.distributions.distribution import float_parameters
from graphflow.distributions.location_scale import LocationScale


class Logistic(LocationScale):
    """The distribution whose cdf is sigmoid((x - loc) / scale) (tf.contrib.distributions.Logistic).

    Both are floats of one dtype and broadcast. Gradients flow through samples.

    Args:
        loc: The mean.
        scale: How wide it is, above 0.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not.
        InvalidArgumentError: If, with `validate_args`, a scale is not positive.

    Examples:
        >>> with gf.Session() as session:
        ...     print(session.run(gf.contrib.distributions.Logistic(0.0, 1.0).cdf(0.0)))
        0.5
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = float(np.finfo(self.dtype.as_numpy_dtype).tiny)
        drawn = random_uniform(self._sample_shape(n), tiny, 1.0, dtype=self.dtype, seed=seed)
        return (log(drawn) - log1p(-drawn)) * self._scale + self._loc

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._standard(x)
        return -z - 2.0 * softplus(-z) - log(self._scale)

    def _cdf(self, x: Tensor) -> Tensor:
        return sigmoid(self._standard(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -softplus(-self._standard(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return sigmoid(-self._standard(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return -softplus(self._standard(x))

    def _entropy(self) -> Tensor:
        return 2.0 + log(self._scale * ones_like(self._loc))

    def _stddev(self) -> Tensor:
        return self._scale * ones_like(self._loc) * (math.pi / math.sqrt(3))


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1, the nearer to either the lower the temperature; gradients flow through samples.

    They are sigmoid((logits + logistic noise) / temperature) (Maddison, Mnih and Teh, 2016;
    tf.contrib.distributions.RelaxedBernoulli).

    Args:
        temperature: How smooth draws are, above 0.
        logits: The logarithms of the odds of 1.
        probs: Probabilities of 1 instead of them.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.
    """

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "RelaxedBernoulli", [logits, probs, temperature]) as scope:
            checks = [assert_positive(temperature)] if validate_args else []
            (self._temperature,) = float_parameters(checks, temperature=temperature)
            self._sharp = Bernoulli(logits, probs, validate_args=validate_args)
            noisy = Logistic(
                self._sharp.logits / self._temperature,
                1.0 / self._temperature,
                validate_args,
                allow_nan_stats,
            )
        super().__init__(noisy, Sigmoid(), validate_args=validate_args, name=scope)
        self._parameters = {
            key: value for key, value in parameters.items() if key not in ("self", "__class__")
        }

    @property
    def temperature(self) -> Tensor:
        """How smooth draws are."""
        return self._temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds of 1."""
        return self._sharp.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self._sharp.probs
