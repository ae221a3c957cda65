"""What the distributions have in common that are one standard distribution, moved and stretched."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import op_scope
from graphflow.distributions.distribution import FULLY_REPARAMETERIZED, ScalarDistribution, float_parameters


class LocationScale(ScalarDistribution):
    """A distribution that lies symmetrically around `loc`, as wide as `scale` says.

    Both are floats of one dtype and broadcast. ValueError if they are not; with `validate_args`,
    InvalidArgumentError if a scale is not positive. Gradients flow through samples.
    """

    def __init__(self, parameters: dict[str, Any]) -> None:
        """parameters: the arguments of the subclass, by name."""
        loc, scale = parameters["loc"], parameters["scale"]
        validate_args = parameters["validate_args"]
        with op_scope(parameters["name"], type(self).__name__, [loc, scale]) as scope:
            checks = [assert_positive(scale)] if validate_args else []
            self._loc, self._scale = float_parameters(checks, loc=loc, scale=scale)
        super().__init__(
            self._loc.dtype, FULLY_REPARAMETERIZED, validate_args, parameters["allow_nan_stats"], parameters,
            [self._loc, self._scale], scope,
        )  # fmt: skip

    @property
    def loc(self) -> Tensor:
        """The mean."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """How wide it is."""
        return self._scale

    def _standard(self, x: Tensor) -> Tensor:
        return (x - self._loc) / self._scale

    def _mean(self) -> Tensor:
        return self._loc * ones_like(self._scale)

    def _mode(self) -> Tensor:
        return self._mean()
