"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.math.numeric import abs_, sign
from graphflow._core.ops.math.transcendental import exp, expm1, log, log1p
from graphflow._core.ops.random import random_uniform
from graphflow.distributions.location_scale import LocationScale


class Laplace(LocationScale):
    """The Laplace distribution with mean `loc` and mean distance from it `scale` (tf.distributions.Laplace).

    Both are floats of one dtype and broadcast. Gradients flow through samples.

    Args:
        loc: The middle, a tensor of floats.
        scale: The mean distance from it.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If they are not.
        InvalidArgumentError: If, with `validate_args`, a scale is not positive.
    """

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        super().__init__(dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        number = self.dtype.as_numpy_dtype
        lowest = np.nextafter(number(-1.0), number(0.0))
        drawn = random_uniform(self._sample_shape(n), lowest, 1.0, dtype=self.dtype, seed=seed)
        towards: Tensor = sign(drawn)
        return self._loc - self._scale * towards * log1p(-abs_(drawn))

    def _log_prob(self, x: Tensor) -> Tensor:
        distance: Tensor = abs_(self._standard(x))
        return -distance - (math.log(2.0) + log(self._scale))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._standard(x)
        side: Tensor = sign(z)
        return 0.5 - 0.5 * side * expm1(-abs_(z))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return _log_cdf(self._standard(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return _log_cdf(-self._standard(x))

    def _entropy(self) -> Tensor:
        return log(self._scale * ones_like(self._loc)) + (1.0 + math.log(2.0))

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self._scale * ones_like(self._loc)


def _log_cdf(z: Tensor) -> Tensor:
    return where_v2(z < 0.0, z - math.log(2.0), log1p(-0.5 * exp(-abs_(z))))
