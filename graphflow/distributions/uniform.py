"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import zeros_like
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.control_flow.assertions import assert_less
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.comparison import is_nan
from graphflow._core.ops.math.transcendental import log, square
from graphflow._core.ops.random import random_uniform
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, float_parameters


class Uniform(ScalarDistribution):
    """Numbers from `low` up to, but not including, `high`, each as likely (tf.distributions.Uniform).

    Both are floats of one dtype and broadcast. Gradients flow through samples.

    Args:
        low: The lower bound, a tensor of floats.
        high: The upper bound, a tensor of floats.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not.
        InvalidArgumentError: With `validate_args`, if low is not below high.
    """

    def __init__(
        self,
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = dict(locals())
        message = "A uniform distribution needs a low below its high."
        with op_scope(name, "Uniform", [low, high]) as scope:
            checks = [assert_less(low, high, message=message)] if validate_args else []
            self._low, self._high = float_parameters(checks, low=low, high=high)
        super().__init__(
            self._low.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._low, self._high], scope,
        )  # fmt: skip

    @property
    def low(self) -> Tensor:
        """The lower bound, which may be drawn."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The upper bound, which is not drawn."""
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """high - low (tf.distributions.Uniform.range).

        Args:
            name: A name for the operation.
        """
        with self._name_scope(name):
            return self._high - self._low

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_uniform(self._sample_shape(n), dtype=self.dtype, seed=seed)
        return self._low + self.range() * drawn

    def _prob(self, x: Tensor) -> Tensor:
        inside = (x >= self._low) & (x < self._high)
        return where_v2(is_nan(x), x, where_v2(inside, 1.0 / self.range(), zeros_like(x)))

    def _cdf(self, x: Tensor) -> Tensor:
        inside = where_v2(x < self._low, 0.0, (x - self._low) / self.range())
        return where_v2(x >= self._high, 1.0, inside)

    def _entropy(self) -> Tensor:
        return log(self.range())

    def _mean(self) -> Tensor:
        return (self._low + self._high) / 2.0

    def _variance(self) -> Tensor:
        squared: Tensor = square(self.range())
        return squared / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / math.sqrt(12.0)
