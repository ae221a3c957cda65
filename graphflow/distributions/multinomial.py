"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.compositions import sequence_mask
from graphflow._core.ops.array.creation import one_hot, ones_like
from graphflow._core.ops.array.shaping import expand_dims, reshape, shape
from graphflow._core.ops.array.transposing import transpose
from graphflow._core.ops.control_flow.assertions import assert_non_negative
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import matrix_set_diag
from graphflow._core.ops.math.reductions import reduce_max, reduce_sum
from graphflow._core.ops.math.special import lgamma
from graphflow._core.ops.nn.softmax import log_softmax
from graphflow._core.ops.random import multinomial
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.distributions import checks
from graphflow.distributions.categorical import class_parameters
from graphflow.distributions.distribution import NOT_REPARAMETERIZED, VectorDistribution


class Multinomial(VectorDistribution):
    """How often each class comes in `total_count` draws with `probs` (tf.distributions.Multinomial).

    The parameters are (..., classes), the counts broadcast with their first axes. Draws are of the parameters'
    dtype; no gradient flows through them.

    Args:
        total_count: How many are drawn, a tensor.
        logits: Unnormalised log-probabilities, [..., classes].
        probs: Probabilities instead of them.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.
        InvalidArgumentError: If, with `validate_args`, a count or a probability is negative.
    """

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Multinomial", [total_count, logits, probs]) as scope:
            self._logits, self._probs = class_parameters(logits, probs, validate_args)
            counts = convert_to_tensor(
                total_count, name="total_count_value", preferred_dtype=self._probs.dtype
            )
            with control_dependencies([assert_non_negative(counts)] if validate_args else []):
                self._total_count: Tensor = cast(counts, self._probs.dtype, name="total_count")
            wide = expand_dims(self._total_count, -1)
        super().__init__(
            self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [wide, self._probs], scope,
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """The number of draws."""
        return self._total_count

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities but for a constant, (..., classes)."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities, (..., classes)."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        classes = shape(self._logits)[-1]
        counts = cast(self._total_count, dtypes.int32) * cast(ones_like(self._mean()[..., 0]), dtypes.int32)
        rows = reshape(self._logits * ones_like(self._mean()), [-1, classes])
        most = reduce_max(counts)
        drawn = reshape(multinomial(rows, n * most, seed=seed), [shape(rows)[0], n, most])
        taken = sequence_mask(reshape(counts, [-1, 1]), most, dtype=self.dtype)
        found = reduce_sum(one_hot(drawn, classes, dtype=self.dtype) * expand_dims(taken, -1), 2)
        return reshape(transpose(found, [1, 0, 2]), self._sample_shape(n))

    def _log_prob(self, counts: Tensor) -> Tensor:
        if self.validate_args:
            counts = checks.counts(counts, self._total_count, "counts")
        orders = lgamma(self._total_count + 1.0) - reduce_sum(lgamma(counts + 1.0), -1)
        return reduce_sum(counts * log_softmax(self._logits), -1) + orders

    def _mean(self) -> Tensor:
        return self._graph_parents[0] * self._probs

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._probs)

    def _covariance(self) -> Tensor:
        shares = self._probs * ones_like(self._graph_parents[0])
        products = expand_dims(self._mean(), -1) * expand_dims(shares, -2)
        return matrix_set_diag(-products, self._variance())
