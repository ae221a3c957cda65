"""The categorical distribution."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.creation import ones, ones_like, range_, zeros_like
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.shaping import expand_dims, identity, reshape, shape
from graphflow._core.ops.array.transposing import transpose
from graphflow._core.ops.control_flow.assertions import assert_near, assert_non_negative
from graphflow._core.ops.core import constant, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.scans import argmax
from graphflow._core.ops.math.transcendental import log
from graphflow._core.ops.nn.softmax import log_softmax, softmax, sparse_softmax_cross_entropy_with_logits
from graphflow._core.ops.random import multinomial
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.distributions import checks
from graphflow.distributions.bernoulli import one_of
from graphflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from graphflow.distributions.kullback_leibler import RegisterKL


def class_parameters(
    logits: TensorLike | None, probs: TensorLike | None, validate_args: bool
) -> tuple[Tensor, Tensor]:
    """Logits and probabilities of classes (..., classes), one made of the other.

    ValueError if a static shape has no axis of classes, or unless one of the two is given.
    """
    given, shares = one_of(logits, probs)
    tensor = given if given is not None else shares
    assert tensor is not None
    if tensor.shape.ndims == 0:
        raise ValueError(
            "The logits or probs of classes need an axis, which the classes are on; these have none."
        )
    if given is not None:
        return identity(given, name="logits"), softmax(given, name="probs")
    checks = []
    if validate_args:
        whole = ones_like(reduce_sum(tensor, -1))
        checks = [assert_non_negative(tensor), assert_near(reduce_sum(tensor, -1), whole)]
    with control_dependencies(checks):
        found = identity(tensor, name="probs")
    with op_scope("logits", "", []):
        return log(found), found


class Categorical(Distribution):
    """One of several classes, drawn with the probabilities `probs` = softmax(`logits`) (tf.distributions.Categorical).

    The parameters are (..., classes), the batch has their first axes; draws are of `dtype`. No gradient flows
    through samples. As TensorFlow's, cdf(k) is the probability of a class below k.

    Args:
        logits: Unnormalised log-probabilities, [..., classes].
        probs: Probabilities instead of them.
        dtype: The dtype of the classes drawn.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.
        InvalidArgumentError: If log_prob gets a class that is not there.
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Categorical", [logits, probs]) as scope:
            self._logits, self._probs = class_parameters(logits, probs, validate_args)
            classes = self._logits.shape.as_list()[-1] if self._logits.shape.ndims else None
            self._event_size = (
                shape(self._logits)[-1]
                if classes is None
                else constant(classes, dtype=dtypes.int32, name="event_size")
            )
        super().__init__(
            dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._logits, self._probs], scope,
        )  # fmt: skip

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities but for a constant, (..., classes)."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities, (..., classes)."""
        return self._probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes, int32 ()."""
        return self._event_size

    def _batch_shape(self) -> TensorShape:
        batch: TensorShape = self._logits.shape[:-1]
        return batch

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._logits)[:-1]

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        rows = self._logits
        if rows.shape.ndims != 2:
            rows = reshape(rows, [-1, self._event_size])
        wide = dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        drawn = transpose(multinomial(rows, n, seed=seed, output_dtype=wide))
        classes: Tensor = cast(reshape(drawn, concat([[n], self.batch_shape_tensor()], 0)), self.dtype)
        return classes

    def _log_prob(self, k: Tensor) -> Tensor:
        if self.validate_args:
            k = checks.after(checks.whole_numbers(k, "Elements"), k)
        labels = k if k.dtype.is_integer else cast(k, dtypes.int32)
        logits = self._logits
        if not labels.shape.is_fully_defined() or labels.shape != logits.shape[:-1]:
            logits = logits * expand_dims(cast(ones_like(labels), logits.dtype), -1)
            labels = labels * ones(shape(logits)[:-1], dtype=labels.dtype)
        return -sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _cdf(self, k: Tensor) -> Tensor:
        below = cast(range_(self._event_size), k.dtype) < expand_dims(k, -1)
        return reduce_sum(where_v2(below, self._probs, zeros_like(self._probs)), -1)

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self._logits) * self._probs, -1)

    def _mode(self) -> Tensor:
        likeliest: Tensor = cast(argmax(self._logits, -1), self.dtype)
        return likeliest


@RegisterKL(Categorical, Categorical)
def _divergence(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        return reduce_sum(softmax(a.logits) * (log_softmax(a.logits) - log_softmax(b.logits)), -1)
