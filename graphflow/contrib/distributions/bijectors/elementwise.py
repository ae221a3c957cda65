"""Bijectors of single numbers."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import identity, ones_like, zeros_like
from graphflow._core.ops.control_flow.assertions import (
    assert_greater,
    assert_less,
    assert_non_negative,
    assert_none_equal,
    assert_positive,
)
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope
from graphflow._core.ops.math.math import abs_, cast, exp, expm1, log, log1p, sigmoid, sqrt, square
from graphflow._core.ops.math.math import pow_ as power
from graphflow._core.ops.math.transcendental import softplus
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.contrib.distributions.bijectors.bijector import Bijector


class _Elementwise(Bijector):
    def __init__(
        self,
        validate_args: bool,
        name: str,
        parents: list[Any] | None = None,
        constant_jacobian: bool = False,
    ) -> None:
        super().__init__(parents, constant_jacobian, validate_args, None, 0, name=name)

    def _check(self, checks: Any, value: Tensor) -> Tensor:
        """The value, after the checks if values are checked."""
        if not self.validate_args:
            return value
        made = [check for check in checks() if check is not None]
        with control_dependencies(made):
            return identity(value)


class Identity(_Elementwise):
    """y = x (tf.contrib.distributions.bijectors.Identity).

    Args:
        validate_args: Changes nothing.
        name: A name for the operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(validate_args, name, constant_jacobian=True)

    def _forward(self, x: Tensor) -> Tensor:
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        return y

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, dtype=x.dtype)


class PowerTransform(_Elementwise):
    """y = (1 + x * power) ** (1 / power), and exp(x) if power is 0 (tf.contrib.distributions.bijectors.PowerTransform).

    Args:
        power: A number that is not negative.
        validate_args: Whether values are checked at the run.
        name: A name for the operations.

    Raises:
        ValueError: If `power` is negative.
    """

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        if power < 0:
            raise ValueError("`power` must be a non-negative number.")
        self._power = power
        super().__init__(validate_args, name)

    @property
    def power(self) -> float:
        """The power."""
        return self._power

    def _forward(self, x: Tensor) -> Tensor:
        if self._power == 0:
            return exp(x)
        x = self._check(lambda: [assert_non_negative(1.0 + self._power * x)], x)
        return power(1.0 + x * self._power, 1.0 / self._power)

    def _inverse(self, y: Tensor) -> Tensor:
        y = self._check(lambda: [assert_positive(y)], y)
        if self._power == 0:
            return log(y)
        return (power(y, self._power) - 1.0) / self._power

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        y = self._check(lambda: [assert_positive(y)], y)
        return (self._power - 1.0) * log(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        if self._power == 0:
            return x
        x = self._check(lambda: [assert_non_negative(1.0 + self._power * x)], x)
        return (1.0 / self._power - 1.0) * log1p(x * self._power)


class Exp(PowerTransform):
    """y = exp(x) (tf.contrib.distributions.bijectors.Exp).

    Args:
        validate_args: Whether values are checked at the run.
        name: A name for the operations.

    Examples:
        >>> exp = gf.contrib.distributions.bijectors.Exp()
        >>> with gf.Session() as session:
        ...     print(session.run(exp.inverse_log_det_jacobian(gf.exp([1.0, 2.0]), event_ndims=1)))
        -3.0
    """

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(0.0, validate_args, name)


class Sigmoid(_Elementwise):
    """y = 1 / (1 + exp(-x)) (tf.contrib.distributions.bijectors.Sigmoid).

    Args:
        validate_args: Changes nothing.
        name: A name for the operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Tensor) -> Tensor:
        return sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return log(y) - log1p(-y)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -log(y) - log1p(-y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class Softplus(_Elementwise):
    """y = hinge_softness * log(1 + exp(x / hinge_softness)) (tf.contrib.distributions.bijectors.Softplus).

    Args:
        hinge_softness: How wide the bend is, 1 if it is not given.
        validate_args: Whether it is checked at the run that `hinge_softness` is not zero.
        name: A name for the operations.
    """

    def __init__(
        self, hinge_softness: TensorLike | None = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        self._hinge_softness: Tensor | None = None
        with op_scope(name, "", [hinge_softness]):
            if hinge_softness is not None:
                softness = convert_to_tensor(hinge_softness, name="hinge_softness")
                if validate_args:
                    check = assert_none_equal(
                        zeros_like(softness), softness, message="hinge_softness must be non-zero"
                    )
                    with control_dependencies([check] if check is not None else []):
                        softness = identity(softness)
                self._hinge_softness = softness
        super().__init__(validate_args, name, [] if hinge_softness is None else [self._hinge_softness])

    @property
    def hinge_softness(self) -> Tensor | None:
        """How wide the bend is; None for 1."""
        return self._hinge_softness

    def _scaled(self, value: Tensor) -> Tensor:
        return value if self._hinge_softness is None else value / cast(self._hinge_softness, value.dtype)

    def _back(self, value: Tensor) -> Tensor:
        return value if self._hinge_softness is None else value * cast(self._hinge_softness, value.dtype)

    def _forward(self, x: Tensor) -> Tensor:
        return self._back(softplus(self._scaled(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        small = self._scaled(y)
        return self._back(small + log(-expm1(-small)))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -log(-expm1(-self._scaled(y)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -softplus(-self._scaled(x))


class Softsign(_Elementwise):
    """y = x / (1 + abs(x)) (tf.contrib.distributions.bijectors.Softsign).

    Args:
        validate_args: Whether it is checked at the run that what is inverted lies between -1 and 1.
        name: A name for the operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Tensor) -> Tensor:
        return x / (1.0 + abs_(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = self._inside(y)
        return y / (1.0 - abs_(y))

    def _inside(self, y: Tensor) -> Tensor:
        low, high = "Inverse transformation input must be greater than -1.", "must be less than 1."
        one = ones_like(y)
        return self._check(
            lambda: [assert_greater(y, -one, message=low), assert_less(y, one, message=high)], y
        )

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return -2.0 * log1p(abs_(x))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return -2.0 * log1p(-abs_(self._inside(y)))


class Square(_Elementwise):
    """y = x ** 2 of numbers that are not negative (tf.contrib.distributions.bijectors.Square).

    Args:
        validate_args: Whether it is checked at the run that numbers are not negative.
        name: A name for the operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: Tensor) -> Tensor:
        return square(self._check(lambda: [assert_non_negative(x)], x))

    def _inverse(self, y: Tensor) -> Tensor:
        return sqrt(self._check(lambda: [assert_non_negative(y)], y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        x = self._check(lambda: [assert_non_negative(x)], x)
        return log(2.0 * ones_like(x)) + log(x)


class AffineScalar(_Elementwise):
    """y = scale * x + shift, element by element (tf.contrib.distributions.bijectors.AffineScalar).

    Args:
        shift: A tensor of floats; zero if it is not given.
        scale: A tensor of floats; one if it is not given.
        validate_args: Whether it is checked at the run that `scale` is not zero.
        name: A name for the operations.
    """

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        with op_scope(name, "", [shift, scale]):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else convert_to_tensor(scale, name="scale")
            if self._scale is not None and validate_args:
                check = assert_none_equal(self._scale, zeros_like(self._scale))
                with control_dependencies([check] if check is not None else []):
                    self._scale = identity(self._scale)
        parents = [each for each in (self._shift, self._scale) if each is not None]
        super().__init__(validate_args, name, parents, constant_jacobian=True)

    @property
    def shift(self) -> Tensor | None:
        """What is added, or None."""
        return self._shift

    @property
    def scale(self) -> Tensor | None:
        """What is multiplied with, or None."""
        return self._scale

    def _forward(self, x: Tensor) -> Tensor:
        y = x if self._scale is None else x * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = y if self._shift is None else y - self._shift
        return x if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, dtype=x.dtype) if self._scale is None else log(abs_(self._scale))


class Gumbel(_Elementwise):
    """y = exp(-exp(-(x - loc) / scale)), Gumbel's cumulative distribution (tf.contrib.distributions.bijectors.Gumbel).

    Args:
        loc: A tensor of floats.
        scale: A tensor of positive floats.
        validate_args: Whether it is checked at the run that `scale` is positive.
        name: A name for the operations.
    """

    def __init__(
        self,
        loc: TensorLike = 0.0,
        scale: TensorLike = 1.0,
        validate_args: bool = False,
        name: str = "gumbel",
    ) -> None:
        with op_scope(name, "", [loc, scale]):
            self._loc, self._scale = (
                convert_to_tensor(loc, name="loc"),
                convert_to_tensor(scale, name="scale"),
            )
            check = assert_positive(self._scale, message="Scale must be positive.") if validate_args else None
            with control_dependencies([check] if check is not None else []):
                self._scale = identity(self._scale)
        super().__init__(validate_args, name, [self._loc, self._scale])

    @property
    def loc(self) -> Tensor:
        """Where it lies."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """How wide it is."""
        return self._scale

    def _forward(self, x: Tensor) -> Tensor:
        return exp(-exp(-(x - self._loc) / self._scale))

    def _inverse(self, y: Tensor) -> Tensor:
        return self._loc - self._scale * log(-log(y))

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return log(self._scale / (-log(y) * y))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        z = (x - self._loc) / self._scale
        return -z - exp(-z) - log(self._scale)
