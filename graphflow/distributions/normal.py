"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.arithmetic import squared_difference
from graphflow._core.ops.math.transcendental import log, square
from graphflow._core.ops.random import random_normal
from graphflow.distributions.kullback_leibler import RegisterKL
from graphflow.distributions.location_scale import LocationScale
from graphflow.distributions.special import log_ndtr, ndtr, ndtri


class Normal(LocationScale):
    """The normal distribution with mean `loc` and standard deviation `scale` (tf.distributions.Normal).

    Both are floats of one dtype and broadcast. Gradients flow through samples.

    Args:
        loc: The mean, a tensor of floats.
        scale: The standard deviation, a tensor of floats.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not.
        InvalidArgumentError: With `validate_args`, if a scale is not positive.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        return drawn * self._scale + self._loc

    def _log_prob(self, x: Tensor) -> Tensor:
        squared: Tensor = square(self._standard(x))
        return -0.5 * squared - (0.5 * math.log(2 * math.pi) + log(self._scale))

    def _cdf(self, x: Tensor) -> Tensor:
        return ndtr(self._standard(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_ndtr(self._standard(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return ndtr(-self._standard(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_ndtr(-self._standard(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return ndtri(p) * self._scale + self._loc

    def _entropy(self) -> Tensor:
        return 0.5 * math.log(2 * math.pi * math.e) + log(self._stddev())

    def _stddev(self) -> Tensor:
        return self._scale * ones_like(self._loc)


@RegisterKL(Normal, Normal)
def _divergence(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        ratio: Tensor = square(a.scale / b.scale)
        distance: Tensor = squared_difference(a.loc, b.loc) / square(b.scale)
        return 0.5 * (distance + ratio - 1.0 - log(ratio))
