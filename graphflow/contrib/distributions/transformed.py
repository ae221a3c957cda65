"""What becomes of a distribution if a bijector is applied to its samples."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike
from graphflow._core.ops.array.array import concat, rank, transpose, zeros
from graphflow._core.ops.array.array import range_ as numbers
from graphflow._core.ops.core import constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow.contrib.distributions.bijectors.bijector import Bijector
from graphflow.contrib.distributions.bijectors.elementwise import Identity
from graphflow.distributions.distribution import Distribution


class TransformedDistribution(Distribution):
    """The distribution of bijector.forward(a draw) (tf.contrib.distributions.TransformedDistribution).

    A distribution of single numbers can be drawn from for larger batches or events: these are `batch_shape`, which
    needs a batch of one, and `event_shape`.

    Args:
        distribution: The distribution that is drawn from.
        bijector: The bijector; by default the identity.
        batch_shape: The shape of the batch, known when the graph is built, or None for that of `distribution`.
        event_shape: The shape of events, known when the graph is built, or None for that of `distribution`.
        validate_args: Changes nothing.
        name: A name for the operation; by default made of both.

    Raises:
        ValueError: If `batch_shape` or `event_shape` is given and the distribution has its own.

    Examples:
        >>> b = gf.contrib.distributions.bijectors
        >>> normal = gf.distributions.Normal(0.0, 1.0)
        >>> log_normal = gf.contrib.distributions.TransformedDistribution(normal, b.Exp())
        >>> with gf.Session() as session:
        ...     print(session.run(log_normal.cdf(1.0)))
        0.5
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Bijector | None = None,
        batch_shape: IntTensorLike | None = None,
        event_shape: IntTensorLike | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        own = distribution.name.rstrip("/").rpartition("/")[2]
        self._distribution = distribution
        self._bijector = Identity() if bijector is None else bijector
        self._batch = self._override("batch_shape", batch_shape, distribution.batch_shape)
        self._event = self._override("event_shape", event_shape, distribution.event_shape)
        default = own if bijector is None else f"{bijector.name}{own}"
        with op_scope(name, default.replace("/", ""), []) as scope:
            pass
        super().__init__(
            distribution.dtype, distribution.reparameterization_type, validate_args, distribution.allow_nan_stats,
            parameters, [], scope,
        )  # fmt: skip

    @staticmethod
    def _override(what: str, given: Any, own: TensorShape) -> list[int] | None:
        if given is None:
            return None
        known = constant_value(convert_to_tensor(given, "int32"))
        if known is None:
            raise ValueError(f"TransformedDistribution: {what} must be known when the graph is built.")
        if known.size and own.ndims != 0:
            raise ValueError(f"Base distribution is not scalar: its {what} is {own}, and {what} is given.")
        return [int(size) for size in known] or None

    @property
    def distribution(self) -> Distribution:
        """The distribution that is drawn from."""
        return self._distribution

    @property
    def bijector(self) -> Bijector:
        """What is applied to draws."""
        return self._bijector

    def _batch_shape(self) -> TensorShape:
        return self._distribution.batch_shape if self._batch is None else TensorShape(self._batch)

    def _batch_shape_tensor(self) -> Tensor:
        return (
            self._distribution.batch_shape_tensor() if self._batch is None else convert_to_tensor(self._batch)
        )

    def _inner_event(self) -> TensorShape:
        return self._distribution.event_shape if self._event is None else TensorShape(self._event)

    def _event_shape(self) -> TensorShape:
        return self._bijector.forward_event_shape(self._inner_event())

    def _event_shape_tensor(self) -> Tensor:
        inner = (
            self._distribution.event_shape_tensor() if self._event is None else convert_to_tensor(self._event)
        )
        return self._bijector.forward_event_shape_tensor(inner)

    def _event_ndims(self) -> int:
        inner = self._inner_event().ndims
        if inner is None:
            raise ValueError(
                f"{type(self).__name__}: the rank of events must be known when the graph is built."
            )
        return inner

    def _sized(self, x: Tensor, to_base: bool) -> Tensor:
        """Draws with given axes of events behind those of the batch; or before them, as the distribution has them."""
        batch = self._distribution.batch_shape.ndims
        if self._event is None or not batch:
            return x
        own, moved = batch, len(self._event)
        first, second = (own, moved) if to_base else (moved, own)
        count = rank(x)
        outer = numbers(count - own - moved)
        inner = [count - second + place for place in range(second)]
        inner += [count - second - first + place for place in range(first)]
        return transpose(x, concat([outer, inner], 0))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        sizes = concat([[n], [*(self._batch or ()), *(self._event or ())]], 0)
        drawn = self._sized(self._distribution.sample(sizes, seed), to_base=False)
        static = TensorShape([None]).concatenate(self._batch_shape()).concatenate(self._inner_event())
        drawn.set_shape(static)
        return self._bijector.forward(drawn)

    def _log_prob(self, y: Tensor) -> Tensor:
        x = self._bijector.inverse(y)
        stretched = self._bijector.inverse_log_det_jacobian(y, self._event_shape().ndims or 0)
        found = self._distribution.log_prob(self._sized(x, to_base=True))
        if self._event is not None:
            batch = self._distribution.batch_shape.ndims or 0
            found = reduce_sum(found, [-1 - batch - place for place in range(len(self._event))])
        return found + stretched

    def _cdf(self, y: Tensor) -> Tensor:
        return self._distribution.cdf(self._of_numbers(y, "cdf"))

    def _log_cdf(self, y: Tensor) -> Tensor:
        return self._distribution.log_cdf(self._of_numbers(y, "log_cdf"))

    def _survival_function(self, y: Tensor) -> Tensor:
        return self._distribution.survival_function(self._of_numbers(y, "survival_function"))

    def _log_survival_function(self, y: Tensor) -> Tensor:
        return self._distribution.log_survival_function(self._of_numbers(y, "log_survival_function"))

    def _quantile(self, p: Tensor) -> Tensor:
        if self._event is not None:
            raise NotImplementedError("quantile is not implemented when overriding event_shape")
        return self._bijector.forward(self._distribution.quantile(p))

    def _of_numbers(self, y: Tensor, what: str) -> Tensor:
        if self._event is not None:
            raise NotImplementedError(f"{what} is not implemented when overriding event_shape")
        return self._bijector.inverse(y)

    def _entropy(self) -> Tensor:
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        found = self._distribution.entropy()
        if self._event is not None:
            for size in self._event:
                found = found * float(size)
        if self._batch is not None:
            found = found + zeros(self._batch, found.dtype)
        ndims = self._event_ndims()
        somewhere = zeros(self._sizes_of_event(), self.dtype)
        return found + self._bijector.forward_log_det_jacobian(somewhere, ndims)

    def _sizes_of_event(self) -> list[int]:
        inner = self._inner_event()
        if not inner.is_fully_defined():
            raise ValueError(f"{type(self).__name__}: the shape of events must be known for the entropy.")
        return [int(size) for size in inner.as_list()]
