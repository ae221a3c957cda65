"""Classes drawn as vectors: one-hot ones, and smooth ones that gradients flow through."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.array import (
    concat,
    expand_dims,
    one_hot,
    reshape,
    shape,
    stop_gradient,
    transpose,
)
from graphflow._core.ops.control_flow.assertions import assert_positive
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.linalg import matrix_set_diag
from graphflow._core.ops.math.math import cast, lgamma, log
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.scans import argmax
from graphflow._core.ops.nn.softmax import log_softmax, softmax
from graphflow._core.ops.random import multinomial, random_uniform
from graphflow.contrib.distributions.bijectors.elementwise import Exp
from graphflow.contrib.distributions.transformed import TransformedDistribution
from graphflow.distributions.categorical import class_parameters
from graphflow.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    ReparameterizationType,
    VectorDistribution,
    float_parameters,
)
from graphflow.distributions.kullback_leibler import RegisterKL


class _Classes(VectorDistribution):
    """Vectors with an element for each class."""

    def __init__(
        self,
        parameters: dict[str, Any],
        dtype: DType,
        how: ReparameterizationType,
        classes: tuple[Tensor, Tensor],
        scope: str,
    ) -> None:
        self._logits, self._probs = classes
        super().__init__(
            dtype,
            how,
            parameters["validate_args"],
            parameters["allow_nan_stats"],
            parameters,
            [self._logits],
            scope,
        )

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
        size: Tensor = self.event_shape_tensor()[-1]
        return size


class OneHotCategorical(_Classes):
    """One of several classes, drawn as a vector with 1 at its place and 0 elsewhere.

    TensorFlow: tf.contrib.distributions.OneHotCategorical.

    Args:
        logits: Unnormalised log-probabilities, [..., classes].
        probs: Probabilities instead of them.
        dtype: The dtype of draws.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.

    Examples:
        >>> classes = gf.contrib.distributions.OneHotCategorical(probs=[0.25, 0.75])
        >>> with gf.Session() as session:
        ...     print(*session.run([classes.prob([0.0, 1.0]), classes.mode()]))
        0.75 [0 1]
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "OneHotCategorical", [logits, probs]) as scope:
            classes = class_parameters(logits, probs, validate_args)
        super().__init__(parameters, dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, classes, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        count = shape(self._logits)[-1]
        rows = reshape(self._logits, [-1, count])
        chosen = reshape(
            transpose(multinomial(rows, n, seed=seed)), concat([[n], self.batch_shape_tensor()], 0)
        )
        return one_hot(chosen, count, dtype=self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        given = stop_gradient(cast(x, self._logits.dtype))  # As labels, draws have no gradient.
        return reduce_sum(given * log_softmax(self._logits), -1)

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self._logits) * self._probs, -1)

    def _mode(self) -> Tensor:
        return one_hot(argmax(self._logits, -1), shape(self._logits)[-1], dtype=self.dtype)

    def _covariance(self) -> Tensor:
        products = -expand_dims(self._probs, -1) * expand_dims(self._probs, -2)
        return matrix_set_diag(products, self._variance())

    def _variance(self) -> Tensor:
        return self._probs * (1.0 - self._probs)


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _divergence(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        return reduce_sum(softmax(a.logits) * (log_softmax(a.logits) - log_softmax(b.logits)), -1)


class ExpRelaxedOneHotCategorical(_Classes):
    """The logarithms of RelaxedOneHotCategorical's draws (tf.contrib.distributions.ExpRelaxedOneHotCategorical).

    Args:
        temperature: How smooth draws are, above 0; near 0 they are almost one-hot. It broadcasts with the batch.
        logits: Unnormalised log-probabilities, [..., classes].
        probs: Probabilities instead of them.
        dtype: Changes nothing: draws are of the parameters' dtype.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.
    """

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "ExpRelaxedOneHotCategorical", [logits, probs, temperature]) as scope:
            classes = class_parameters(logits, probs, validate_args)
            checks = [assert_positive(temperature)] if validate_args else []
            (self._temperature,) = float_parameters(checks, temperature=temperature)
        super().__init__(parameters, classes[0].dtype, FULLY_REPARAMETERIZED, classes, scope)

    @property
    def temperature(self) -> Tensor:
        """How smooth draws are."""
        return self._temperature

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        drawn = random_uniform(self._sample_shape(n), float(tiny), 1.0, dtype=self.dtype, seed=seed)
        noisy = (-log(-log(drawn)) + self._logits) / expand_dims(self._temperature, -1)
        return log_softmax(noisy)

    def _log_prob(self, x: Tensor) -> Tensor:
        count = cast(shape(self._logits)[-1], x.dtype)
        weights = log_softmax(self._logits - x * expand_dims(self._temperature, -1))
        return reduce_sum(weights, -1) + lgamma(count) + (count - 1.0) * log(self._temperature)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of positive numbers that sum to 1, the nearer to one-hot the lower the temperature.

    Gradients flow through samples, which are softmax((logits + Gumbel's noise) / temperature) (Jang, Gu and Poole,
    2016; Maddison, Mnih and Teh, 2016; tf.contrib.distributions.RelaxedOneHotCategorical).

    Args:
        temperature: How smooth draws are, above 0. It broadcasts with the batch.
        logits: Unnormalised log-probabilities, [..., classes].
        probs: Probabilities instead of them.
        dtype: Changes nothing: draws are of the parameters' dtype.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given.

    Examples:
        >>> relaxed = gf.contrib.distributions.RelaxedOneHotCategorical(0.5, probs=[0.25, 0.75])
        >>> with gf.Session() as session:
        ...     print(session.run(gf.reduce_sum(relaxed.sample())).round(3))
        1.0
    """

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        self._logarithms = ExpRelaxedOneHotCategorical(
            temperature, logits, probs, dtype, validate_args, allow_nan_stats
        )
        super().__init__(self._logarithms, Exp(), validate_args=validate_args, name=name)
        self._parameters = {
            key: value for key, value in parameters.items() if key not in ("self", "__class__")
        }

    @property
    def temperature(self) -> Tensor:
        """How smooth draws are."""
        return self._logarithms.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities but for a constant, (..., classes)."""
        return self._logarithms.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities, (..., classes)."""
        return self._logarithms.probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes, int32 ()."""
        return self._logarithms.event_size
