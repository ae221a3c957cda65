"""The Bernoulli distribution, and how the parameters of classes are given as logits or as probabilities."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.creation import zeros_like
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.assertions import assert_less_equal, assert_non_negative
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater, less
from graphflow._core.ops.math.transcendental import log, log1p, sigmoid, softplus
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.distributions import checks
from graphflow.distributions.distribution import NOT_REPARAMETERIZED, ScalarDistribution
from graphflow.distributions.kullback_leibler import RegisterKL
from graphflow.nn.cross_entropy import sigmoid_cross_entropy_with_logits


def one_of(logits: TensorLike | None, probs: TensorLike | None) -> tuple[Tensor | None, Tensor | None]:
    """The one of the two that is given, as a float tensor; ValueError if both are or neither is."""
    if (logits is None) == (probs is None):
        raise ValueError("Give a distribution logits or probs, but not both.")
    name = "probs" if logits is None else "logits"
    given: Any = probs if logits is None else logits
    tensor = convert_to_tensor(given, name=f"{name}_value")
    if not tensor.dtype.is_floating:
        raise TypeError(f"The {name} of a distribution must be floats, not {tensor.dtype.name}.")
    return (None, tensor) if logits is None else (tensor, None)


class Bernoulli(ScalarDistribution):
    """Ones with the probability `probs` = sigmoid(`logits`), else zeros (tf.distributions.Bernoulli).

    Draws are of `dtype`. No gradient flows through samples.

    Args:
        logits: The log-odds of 1.
        probs: The probability of 1 instead.
        dtype: The dtype of what is drawn.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: Unless one of logits and probs is given; with `validate_args`.
        InvalidArgumentError: If a probability is not from 0 to 1.
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = dict(locals())
        with op_scope(name, "Bernoulli", [logits, probs]) as scope:
            given, shares = one_of(logits, probs)
            if given is not None:
                self._logits = identity(given, name="logits")
                self._probs = sigmoid(given, name="probs")
            elif shares is not None:
                with control_dependencies(
                    [
                        assert_non_negative(shares),
                        assert_less_equal(shares, 1.0, message="probs has components greater than 1."),
                    ]
                    if validate_args
                    else []
                ):
                    self._probs = identity(shares, name="probs")
                with op_scope("logits", "", []):
                    self._logits = log(self._probs) - log1p(-self._probs)
        super().__init__(
            dtypes.as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._logits, self._probs], scope,
        )  # fmt: skip

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds of a one."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of a one."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_uniform(self._sample_shape(n), dtype=self._probs.dtype, seed=seed)
        ones: Tensor = cast(less(drawn, self._probs), self.dtype)
        return ones

    def _log_prob(self, event: Tensor) -> Tensor:
        if self.validate_args:
            event = checks.truths(event)
        ones = cast(event, self._logits.dtype)
        logits = self._logits + zeros_like(ones)
        return -sigmoid_cross_entropy_with_logits(labels=ones + zeros_like(logits), logits=logits)

    def _entropy(self) -> Tensor:
        return softplus(-self._logits) - self._logits * (sigmoid(self._logits) - 1.0)

    def _mean(self) -> Tensor:
        return identity(self._probs)

    def _variance(self) -> Tensor:
        return self._probs * (1.0 - self._probs)

    def _mode(self) -> Tensor:
        likelier: Tensor = cast(greater(self._probs, 0.5), self.dtype)
        return likelier


@RegisterKL(Bernoulli, Bernoulli)
def _divergence(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with op_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        zeros = softplus(b.logits) - softplus(a.logits)
        ones = softplus(-b.logits) - softplus(-a.logits)
        return sigmoid(a.logits) * ones + sigmoid(-a.logits) * zeros
