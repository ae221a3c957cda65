"""Distributions of one number, or one vector, alone."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import ones_like, zeros, zeros_like
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import tile
from graphflow._core.ops.array.shaping import expand_dims, identity, shape
from graphflow._core.ops.control_flow.assertions import assert_non_negative
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater_equal, less_equal
from graphflow._core.ops.math.numeric import abs_
from graphflow._core.ops.math.reductions import reduce_all
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution


class _Deterministic(Distribution):
    def __init__(
        self,
        loc: Any,
        atol: Any,
        rtol: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
        parameters: Any,
    ) -> None:
        with op_scope(name, type(self).__name__, [loc, atol, rtol]) as scope:
            self._loc = convert_to_tensor(loc, name="loc")
            self._check_loc(validate_args)
            self._atol, self._rtol = (self._tolerance(tol, validate_args) for tol in (atol, rtol))
            self._slack: Tensor = self._atol if rtol is None else self._atol + self._rtol * abs_(self._loc)
        super().__init__(
            self._loc.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._loc],
            scope,
        )

    def _check_loc(self, validate_args: bool) -> None:
        """Whether there is one that the class can have."""

    def _tolerance(self, given: Any, validate_args: bool) -> Tensor:
        tolerance = convert_to_tensor(0 if given is None else given, dtype=self._loc.dtype)
        message = "Argument 'tol' must be non-negative"
        checks = (
            [assert_non_negative(tolerance, message=message)] if validate_args and given is not None else []
        )
        with control_dependencies(checks):
            return identity(tolerance)

    @property
    def loc(self) -> Tensor:
        """What it is."""
        return self._loc

    @property
    def atol(self) -> Tensor:
        """How far a value may be from it that counts as it."""
        return self._atol

    @property
    def rtol(self) -> Tensor:
        """The same, as a share of it."""
        return self._rtol

    def _near(self, x: Tensor) -> Tensor:
        return less_equal(abs_(x - self._loc), self._slack)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        times = concat([[n], ones_like(shape(self._loc))], 0)
        return tile(expand_dims(self._loc, 0), times)

    def _entropy(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _mean(self) -> Tensor:
        return identity(self._loc)

    def _mode(self) -> Tensor:
        return identity(self._loc)

    def _variance(self) -> Tensor:
        return zeros_like(self._loc)


class Deterministic(_Deterministic):
    """One number, always (tf.contrib.distributions.Deterministic).

    Args:
        loc: The number, or a batch of them.
        atol: How far a value may be from it that counts as it; 0 by default.
        rtol: The same, as a share of it.
        validate_args: Whether the tolerances are checked at the run.
        allow_nan_stats: Changes nothing.
        name: A name for the operation.
    """

    def __init__(
        self,
        loc: TensorLike,
        atol: TensorLike | None = None,
        rtol: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name, dict(locals()))

    def _batch_shape(self) -> TensorShape:
        return self._loc.shape

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._loc)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _prob(self, x: Tensor) -> Tensor:
        return cast(self._near(x), self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        return cast(greater_equal(x, self._loc - self._slack), self.dtype)


class VectorDeterministic(_Deterministic):
    """One vector, always (tf.contrib.distributions.VectorDeterministic).

    Args:
        loc: The vector, or a batch of them.
        atol: How far an element of a value may be from its that counts as it; 0 by default.
        rtol: The same, as a share of it.
        validate_args: Whether there are vectors, and the tolerances are checked at the run.
        allow_nan_stats: Changes nothing.
        name: A name for the operation.

    Raises:
        ValueError: If, with `validate_args`, it is a number.
    """

    def __init__(
        self,
        loc: TensorLike,
        atol: TensorLike | None = None,
        rtol: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name, dict(locals()))

    def _check_loc(self, validate_args: bool) -> None:
        if validate_args and self._loc.dims == ():
            raise ValueError("Argument loc must be at least rank 1.")

    def _batch_shape(self) -> TensorShape:
        batch: TensorShape = self._loc.shape[:-1]
        return batch

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._loc)[:-1]

    def _event_shape(self) -> TensorShape:
        event: TensorShape = self._loc.shape[-1:]
        return event

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._loc)[-1:]

    def _prob(self, x: Tensor) -> Tensor:
        return cast(reduce_all(self._near(x), -1), self.dtype)
