"""Bijectors of other bijectors, and of a program's own functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.core import constant
from graphflow.contrib.distributions.bijectors.bijector import Bijector


class Invert(Bijector):
    """The inverse of a bijector (tf.contrib.distributions.bijectors.Invert).

    Args:
        bijector: The bijector.
        validate_args: Changes nothing.
        name: A name for the operations; by default "invert_" and the bijector's.

    Examples:
        >>> log = gf.contrib.distributions.bijectors.Invert(gf.contrib.distributions.bijectors.Exp())
        >>> with gf.Session() as session:
        ...     print(session.run(log.forward(1.0)))
        0.0
    """

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        self._bijector = bijector
        super().__init__(
            bijector.graph_parents, bijector.is_constant_jacobian, validate_args, bijector.dtype,
            bijector.inverse_min_event_ndims, bijector.forward_min_event_ndims,
            name or f"invert_{bijector.name}",
        )  # fmt: skip

    @property
    def bijector(self) -> Bijector:
        """What is inverted."""
        return self._bijector

    def _forward(self, x: Tensor, **kwargs: Any) -> Tensor:
        return self._bijector.inverse(x, **kwargs)

    def _inverse(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self._bijector.forward(y, **kwargs)

    def _forward_log_det_jacobian(self, x: Tensor, **kwargs: Any) -> Tensor:
        return self._bijector.inverse_log_det_jacobian(x, self.forward_min_event_ndims, **kwargs)

    def _inverse_log_det_jacobian(self, y: Tensor, **kwargs: Any) -> Tensor:
        return self._bijector.forward_log_det_jacobian(y, self.inverse_min_event_ndims, **kwargs)

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return self._bijector.inverse_event_shape(input_shape)

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        return self._bijector.forward_event_shape(output_shape)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return self._bijector.inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return self._bijector.forward_event_shape_tensor(output_shape)


def _least_rank(ranks: Sequence[tuple[int, int]]) -> int:
    """The least rank of events that go through bijectors of these least ranks, of what they take and give, in turn."""
    least = known = 0
    for taken, given in ranks:
        least += max(0, taken - known)
        known = max(taken, known) - taken + given
    return least


class Chain(Bijector):
    """Bijectors one after another, the last first: y = `bijectors[0](bijectors[1](...x))`.

    TensorFlow: tf.contrib.distributions.bijectors.Chain.

    Args:
        bijectors: The bijectors; without any it is the identity.
        validate_args: Changes nothing.
        name: A name for the operations; by default made of theirs.

    Raises:
        ValueError: If their dtypes differ.

    Examples:
        >>> b = gf.contrib.distributions.bijectors
        >>> chain = b.Chain([b.Exp(), b.AffineScalar(shift=0.0, scale=2.0)])
        >>> with gf.Session() as session:
        ...     print(session.run(chain.inverse(gf.exp(3.0))))
        1.5
    """

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._bijectors = tuple(bijectors or ())
        types = {each.dtype for each in self._bijectors if each.dtype is not None}
        if len(types) > 1:
            raise ValueError(f"incompatible dtypes: {sorted(str(each) for each in types)}")
        together = (
            "identity" if not self._bijectors else "_of_".join(["chain", *(b.name for b in self._bijectors)])
        )
        forward = [(b.forward_min_event_ndims, b.inverse_min_event_ndims) for b in reversed(self._bijectors)]
        inverse = [(given, taken) for taken, given in reversed(forward)]
        super().__init__(
            [parent for each in self._bijectors for parent in each.graph_parents],
            all(each.is_constant_jacobian for each in self._bijectors), validate_args,
            next(iter(types), None), _least_rank(forward), _least_rank(inverse), name or together.replace("/", ""),
        )  # fmt: skip

    @property
    def bijectors(self) -> tuple[Bijector, ...]:
        """The bijectors, the last of which comes first."""
        return self._bijectors

    def _forward(self, x: Tensor, **kwargs: Any) -> Tensor:
        return reduce(
            lambda value, b: b.forward(value, **kwargs.get(b.name, {})), reversed(self._bijectors), x
        )

    def _inverse(self, y: Tensor, **kwargs: Any) -> Tensor:
        return reduce(lambda value, b: b.inverse(value, **kwargs.get(b.name, {})), self._bijectors, y)

    def _forward_log_det_jacobian(self, x: Tensor, **kwargs: Any) -> Tensor:
        total: Any = constant(0.0, dtype=x.dtype)
        ndims = self.forward_min_event_ndims
        for each in reversed(self._bijectors):
            given = kwargs.get(each.name, {})
            total = total + each.forward_log_det_jacobian(x, ndims, **given)
            ndims += each.inverse_min_event_ndims - each.forward_min_event_ndims
            x = each.forward(x, **given)
        result: Tensor = total
        return result

    def _inverse_log_det_jacobian(self, y: Tensor, **kwargs: Any) -> Tensor:
        total: Any = constant(0.0, dtype=y.dtype)
        ndims = self.inverse_min_event_ndims
        for each in self._bijectors:
            given = kwargs.get(each.name, {})
            total = total + each.inverse_log_det_jacobian(y, ndims, **given)
            ndims += each.forward_min_event_ndims - each.inverse_min_event_ndims
            y = each.inverse(y, **given)
        result: Tensor = total
        return result

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        return reduce(lambda found, b: b.forward_event_shape(found), reversed(self._bijectors), input_shape)

    def _inverse_event_shape(self, output_shape: TensorShape) -> TensorShape:
        return reduce(lambda found, b: b.inverse_event_shape(found), self._bijectors, output_shape)

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        return reduce(
            lambda found, b: b.forward_event_shape_tensor(found), reversed(self._bijectors), input_shape
        )

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        return reduce(lambda found, b: b.inverse_event_shape_tensor(found), self._bijectors, output_shape)


class Inline(Bijector):
    """A bijector of a program's functions (tf.contrib.distributions.bijectors.Inline).

    Args:
        forward_fn: From x to y.
        inverse_fn: From y to x.
        inverse_log_det_jacobian_fn: From y to the logarithm of how much the inverse stretches space.
        forward_log_det_jacobian_fn: From x to the logarithm of how much space is stretched.
        forward_event_shape_fn: From the static shape of an event to that of what it becomes.
        forward_event_shape_tensor_fn: The same of shapes that are tensors.
        inverse_event_shape_fn: From the static shape of an event to that of what it was.
        inverse_event_shape_tensor_fn: The same of shapes that are tensors.
        is_constant_jacobian: Whether its Jacobian is the same everywhere.
        validate_args: Changes nothing.
        forward_min_event_ndims: The least rank of an event that it takes.
        inverse_min_event_ndims: The least rank of an event that it gives.
        name: A name for the operations.

    Examples:
        >>> inline = gf.contrib.distributions.bijectors.Inline
        >>> exp = inline(gf.exp, gf.log, lambda y: -gf.log(y), forward_min_event_ndims=0)
        >>> with gf.Session() as session:
        ...     print(session.run(exp.forward_log_det_jacobian(2.0, event_ndims=0)))
        2.0
    """

    def __init__(
        self,
        forward_fn: Callable[..., Any] | None = None,
        inverse_fn: Callable[..., Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            [],
            is_constant_jacobian,
            validate_args,
            None,
            forward_min_event_ndims,
            inverse_min_event_ndims,
            name,
        )
        # A hook that is not there is derived from another, so that only those are set that were given.
        for hook, function in {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "_forward_event_shape": forward_event_shape_fn,
            "_forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "_inverse_event_shape": inverse_event_shape_fn,
            "_inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }.items():
            if function is not None:
                setattr(self, hook, function)
