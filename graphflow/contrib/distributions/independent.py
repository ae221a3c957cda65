"""Batches of distributions taken as one distribution of larger events."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array.array import concat
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow.distributions.distribution import Distribution
from graphflow.distributions.kullback_leibler import RegisterKL, kl_divergence


class Independent(Distribution):
    """The last axes of a batch as axes of one event, whose parts do not depend on each other.

    TensorFlow: tf.contrib.distributions.Independent.

    Args:
        distribution: The distribution.
        reinterpreted_batch_ndims: How many axes of the batch become axes of events; by default all but the first.
        validate_args: Changes nothing.
        name: A name for the operation; by default "Independent" and the distribution's.

    Raises:
        ValueError: If the rank of the batch is not known, or below that.

    Examples:
        >>> pairs = gf.contrib.distributions.Independent(gf.distributions.Normal([[0.0, 0.0]], [[1.0, 1.0]]))
        >>> print(pairs.batch_shape, pairs.event_shape)
        (1,) (2,)
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        rank = distribution.batch_shape.ndims
        if rank is None:
            raise ValueError("Independent: the rank of the distribution's batch must be known.")
        moved = max(0, rank - 1) if reinterpreted_batch_ndims is None else reinterpreted_batch_ndims
        if moved > rank:
            raise ValueError(
                f"reinterpreted_batch_ndims({moved}) cannot exceed distribution.batch_ndims({rank})"
            )
        self._distribution, self._moved = distribution, moved
        with op_scope(name, f"Independent{distribution.name.rstrip('/').rpartition('/')[2]}", []) as scope:
            pass
        super().__init__(
            distribution.dtype, distribution.reparameterization_type, validate_args, distribution.allow_nan_stats,
            parameters, [], scope,
        )  # fmt: skip

    @property
    def distribution(self) -> Distribution:
        """The distribution whose batch is taken as events."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many axes of the batch are axes of events."""
        return self._moved

    def _cut(self) -> int:
        rank = self._distribution.batch_shape.ndims
        assert rank is not None
        return rank - self._moved

    def _batch_shape(self) -> TensorShape:
        batch: TensorShape = self._distribution.batch_shape[: self._cut()]
        return batch

    def _batch_shape_tensor(self) -> Tensor:
        return self._distribution.batch_shape_tensor()[: self._cut()]

    def _event_shape(self) -> TensorShape:
        return self._distribution.batch_shape[self._cut() :].concatenate(self._distribution.event_shape)

    def _event_shape_tensor(self) -> Tensor:
        moved = self._distribution.batch_shape_tensor()[self._cut() :]
        return concat([moved, self._distribution.event_shape_tensor()], 0)

    def _summed(self, found: Tensor) -> Tensor:
        return reduce_sum(found, list(range(-self._moved, 0))) if self._moved else found

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._distribution.sample(n, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._summed(self._distribution.log_prob(x))

    def _entropy(self) -> Tensor:
        return self._summed(self._distribution.entropy())

    def _mean(self) -> Tensor:
        return self._distribution.mean()

    def _variance(self) -> Tensor:
        return self._distribution.variance()

    def _stddev(self) -> Tensor:
        return self._distribution.stddev()

    def _mode(self) -> Tensor:
        return self._distribution.mode()


@RegisterKL(Independent, Independent)
def _divergence(a: Independent, b: Independent, name: str | None = None) -> Tensor:
    if (
        a.event_shape.is_fully_defined()
        and b.event_shape.is_fully_defined()
        and a.event_shape != b.event_shape
    ):
        raise ValueError(f"Event shapes do not match: {a.event_shape} and {b.event_shape}.")
    if a.reinterpreted_batch_ndims != b.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "The divergence of Independent distributions needs the same reinterpreted_batch_ndims, not "
            f"{a.reinterpreted_batch_ndims} and {b.reinterpreted_batch_ndims}."
        )
    with op_scope(name, "kl_independent", []):
        found = kl_divergence(a.distribution, b.distribution)
        moved = a.reinterpreted_batch_ndims
        return reduce_sum(found, list(range(-moved, 0))) if moved else found
