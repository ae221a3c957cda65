"""What all distributions offer, each number derived from what the family gives.

A family is a class with hooks named as TensorFlow names them (`_sample_n`, `_log_prob`, `_mean`, ...), so that a
program's own subclasses work as they are. A hook that a family does not have is derived from another if mathematics
allows it (`prob` from `log_prob`, `stddev` from `variance`); there are no hooks that only raise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, Self

import graphflow.distributions.kullback_leibler as kullback_leibler
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.extents import size
from graphflow._core.ops.array.indexing import where_v2
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.layout import broadcast_dynamic_shape, broadcast_static_shape
from graphflow._core.ops.array.shaping import identity, reshape, shape
from graphflow._core.ops.control_flow.checking import assert_true
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope, partial_vector
from graphflow._core.ops.math.reductions import reduce_all, reduce_prod
from graphflow._core.ops.math.transcendental import exp, log, log1p, sqrt, square
from graphflow._core.ops.state.scopes import control_dependencies


class ReparameterizationType:
    """Says whether gradients flow through samples to the parameters (tf.distributions.ReparameterizationType).

    Args:
        rep_type: Its name.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")

_Way = tuple[str, Callable[[Tensor], Tensor]]
_WAYS: Mapping[str, tuple[_Way, ...]] = {
    "log_prob": (("_log_prob", lambda v: v), ("_prob", log)),
    "prob": (("_prob", lambda v: v), ("_log_prob", exp)),
    "log_cdf": (("_log_cdf", lambda v: v), ("_cdf", log)),
    "cdf": (("_cdf", lambda v: v), ("_log_cdf", exp)),
    "log_survival_function": (
        ("_log_survival_function", lambda v: v),
        ("_cdf", lambda v: log1p(-v)),
        ("_log_cdf", lambda v: log1p(-exp(v))),
    ),
    "survival_function": (
        ("_survival_function", lambda v: v),
        ("_cdf", lambda v: 1.0 - v),
        ("_log_cdf", lambda v: 1.0 - exp(v)),
    ),
    "variance": (("_variance", lambda v: v), ("_stddev", square)),
    "stddev": (("_stddev", lambda v: v), ("_variance", sqrt)),
}
"""How a number is found, the first hook that the family has: its own, or another's and what to make of it."""


class Distribution:
    """A batch of distributions of one family (tf.distributions.Distribution).

    Samples have the shape sample_shape + batch_shape + event_shape; a value given to prob and the like broadcasts with
    batch_shape + event_shape, and the result has no event_shape. Whatever a family does not define raises
    NotImplementedError. Of a graph: not to be shared by threads that build.

    Args:
        dtype: Of the samples.
        reparameterization_type: Whether gradients flow through samples.
        validate_args: Whether parameters are checked at the run.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        parameters: The arguments it was made with.
        graph_parents: Tensors that it depends on.
        name: A name for the operation.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Sequence[Tensor] | None = None,
        name: str | None = None,
    ) -> None:
        parents = list(graph_parents or ())
        if not name or not name.endswith("/"):
            with op_scope(name, type(self).__name__, parents) as name:
                pass
        self._dtype = dtype
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = parameters or {}
        self._graph_parents = parents
        self._name = name

    @property
    def name(self) -> str:
        """The name scope of the distribution's ops, with a "/" at its end."""
        return self._name

    @property
    def dtype(self) -> DType | Any:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """What the distribution was made with, by the names of its constructor's arguments."""
        return {k: v for k, v in self._parameters.items() if k != "self" and not k.startswith("__")}

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """FULLY_REPARAMETERIZED if gradients flow through samples, else NOT_REPARAMETERIZED."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether an undefined mean, mode or variance is NaN; an InvalidArgumentError at the run if it is False."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether the parameters are checked at the run."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Self:
        """A distribution made with the same arguments, but those given (tf.distributions.Distribution.copy).

        Args:
            **override_parameters_kwargs: Parameters that differ.
        """
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    # -- shapes ------------------------------------------------------------------------------------------------
    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch: one distribution for each of its places."""
        return self._static("_batch_shape")

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one draw of one distribution."""
        return self._static("_event_shape")

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch, int32 (rank,).

        Args:
            name: A name for the operation.
        """
        return self._dynamic(self.batch_shape, "batch_shape", name)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one draw, int32 (rank,).

        Args:
            name: A name for the operation.
        """
        return self._dynamic(self.event_shape, "event_shape", name)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Whether the batch is one distribution, bool ().

        Args:
            name: A name for the operation.
        """
        return self._is_scalar(self.batch_shape, self.batch_shape_tensor, name)

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether one draw is one number, bool ().

        Args:
            name: A name for the operation.
        """
        return self._is_scalar(self.event_shape, self.event_shape_tensor, name)

    # -- numbers -----------------------------------------------------------------------------------------------
    def sample(
        self, sample_shape: IntTensorLike = (), seed: int | None = None, name: str = "sample"
    ) -> Tensor:
        """Draws of the shape sample_shape + batch_shape + event_shape (tf.distributions.Distribution.sample).

        Another run draws other numbers; `seed` is that of the op that draws.

        Args:
            sample_shape: Int32 () or (rank,).
            seed: The op's own seed; with the graph's it decides what is drawn.
            name: A name for the operation.
        """
        with self._name_scope(name, [sample_shape]):
            sizes = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            sizes = sizes if sizes.shape.ndims == 1 else reshape(sizes, [-1])
            known = partial_vector(sizes)
            whole = known is not None and None not in known
            count = math.prod(d or 0 for d in known or ()) if whole else reduce_prod(sizes)
            drawn = self._hook("sample", "_sample_n")(count, seed)
            result = reshape(drawn, concat([sizes, shape(drawn)[1:]], 0))
            static = TensorShape(known).concatenate(self.batch_shape).concatenate(self.event_shape)
            result.set_shape(result.shape.merge_with(static))
            return result

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> Tensor:
        """The logarithm of the density, or of the probability of a value that can be counted.

        Args:
            value: A tensor.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        return self._at(value, "log_prob", name)

    def prob(self, value: TensorLike, name: str = "prob") -> Tensor:
        """The density, or the probability of a value that can be counted.

        Args:
            value: A tensor.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        return self._at(value, "prob", name)

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> Tensor:
        """The logarithm of cdf.

        Args:
            value: A tensor.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        return self._at(value, "log_cdf", name)

    def cdf(self, value: TensorLike, name: str = "cdf") -> Tensor:
        """The probability of a draw that is not above `value`.

        Args:
            value: A tensor.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        return self._at(value, "cdf", name)

    def log_survival_function(self, value: TensorLike, name: str = "log_survival_function") -> Tensor:
        """The logarithm of survival_function.

        Args:
            value: A tensor.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        return self._at(value, "log_survival_function", name)

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Tensor:
        """The probability of a draw above `value`.

        Args:
            value: A tensor.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        return self._at(value, "survival_function", name)

    def quantile(self, value: TensorLike, name: str = "quantile") -> Tensor:
        """The number of which `value`, from 0 to 1, is the cdf.

        Args:
            value: Probabilities.
            name: A name for the operation.

        Returns:
            A tensor.
        """
        return self._at(value, "quantile", name)

    def entropy(self, name: str = "entropy") -> Tensor:
        """The entropy in nats, of the shape batch_shape.

        Args:
            name: A name for the operation.
        """
        return self._number("entropy", name)

    def mean(self, name: str = "mean") -> Tensor:
        """The mean, of the shape batch_shape + event_shape.

        Args:
            name: A name for the operation.
        """
        return self._number("mean", name)

    def mode(self, name: str = "mode") -> Tensor:
        """The likeliest draw, of the shape batch_shape + event_shape.

        Args:
            name: A name for the operation.
        """
        return self._number("mode", name)

    def variance(self, name: str = "variance") -> Tensor:
        """The variance of each element, of the shape batch_shape + event_shape.

        Args:
            name: A name for the operation.
        """
        return self._number("variance", name)

    def stddev(self, name: str = "stddev") -> Tensor:
        """The square root of variance.

        Args:
            name: A name for the operation.
        """
        return self._number("stddev", name)

    def covariance(self, name: str = "covariance") -> Tensor:
        """The covariances of an event's elements, of the shape batch_shape + (size, size).

        Args:
            name: A name for the operation.
        """
        return self._number("covariance", name)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """The Kullback-Leibler divergence of this from `other`; see gf.distributions.kl_divergence.

        Args:
            other: A distribution.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        with self._name_scope(name):
            return kullback_leibler.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """The entropy of this and its divergence from `other`, added.

        Args:
            other: A distribution.
            name: A name for the operation.

        Returns:
            A tensor of floats.
        """
        with self._name_scope(name):
            return kullback_leibler.cross_entropy(self, other)

    def __repr__(self) -> str:
        dtype = None if self._dtype is None else dtypes.as_dtype(self._dtype).name
        return (
            f"<gf.distributions.{type(self).__name__} {self._name!r} batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={dtype}>"
        )

    # -- for the families --------------------------------------------------------------------------------------
    @contextmanager
    def _name_scope(self, name: str, values: Sequence[Any] = ()) -> Iterator[str]:
        with op_scope(self._name, "", [*self._graph_parents, *values]), op_scope(name, "", []) as scope:
            yield scope

    def _hook(self, what: str, *names: str) -> Any:
        """The first of these hooks that the family has; NotImplementedError if there is none."""
        for name in names:
            rule = getattr(self, name, None)
            if rule is not None:
                return rule
        raise NotImplementedError(f"{type(self).__name__} defines no {what}.")

    def _derived(self, what: str, *arguments: Any) -> Tensor:
        ways = dict(_WAYS.get(what, ((f"_{what}", lambda v: v),)))
        rule = self._hook(what, *ways)
        result: Tensor = ways[rule.__name__](rule(*arguments))
        return result

    def _at(self, value: Any, what: str, name: str) -> Tensor:
        with self._name_scope(name, [value]):
            return self._derived(what, convert_to_tensor(value, name="value", preferred_dtype=self.dtype))

    def _number(self, what: str, name: str) -> Tensor:
        with self._name_scope(name):
            return self._derived(what)

    def _static(self, hook: str) -> TensorShape:
        rule = getattr(self, hook, None)
        return TensorShape(None if rule is None else rule())

    def _dynamic(self, static: TensorShape, what: str, name: str) -> Tensor:
        with self._name_scope(name):
            if static.is_fully_defined():
                return constant(static.as_list(), dtype=dtypes.int32, name=what)
            result: Tensor = self._hook(what, f"_{what}_tensor")()
            return result

    def _is_scalar(self, static: TensorShape, dynamic: Callable[[], Tensor], name: str) -> Tensor:
        with self._name_scope(name):
            if static.ndims is not None:
                return constant(static.ndims == 0, name=name)
            return size(dynamic()) <= 0

    def _defined(self, condition: Tensor, value: Tensor, message: str) -> Tensor:
        """The value where it is defined; elsewhere NaN, or an error if NaN is not allowed."""
        if self._allow_nan_stats:
            return where_v2(condition, value, math.nan)
        with control_dependencies([assert_true(reduce_all(condition), message, [condition])]):
            return identity(value)


class _ShapedByParameters(Distribution):
    """A distribution whose parameters (`graph_parents`), broadcast, have the shape of the batch and its events."""

    def _whole_shape(self) -> TensorShape:
        return reduce(broadcast_static_shape, [parameter.shape for parameter in self._graph_parents])

    def _whole_shape_tensor(self) -> Tensor:
        static = self._whole_shape()
        if static.is_fully_defined():
            return constant(static.as_list(), dtype=dtypes.int32)
        return reduce(broadcast_dynamic_shape, [shape(parameter) for parameter in self._graph_parents])

    def _sample_shape(self, count: Any) -> Tensor:
        """The shape of `count` draws for the batch."""
        return concat([[count], self._whole_shape_tensor()], 0)


class ScalarDistribution(_ShapedByParameters):
    """A distribution of single numbers: the batch has the shape of the parameters."""

    def _batch_shape(self) -> TensorShape:
        return self._whole_shape()

    def _batch_shape_tensor(self) -> Tensor:
        return self._whole_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return TensorShape([])


class VectorDistribution(_ShapedByParameters):
    """A distribution of vectors: the last axis of the parameters is that of the events."""

    def _batch_shape(self) -> TensorShape:
        batch: TensorShape = self._whole_shape()[:-1]
        return batch

    def _batch_shape_tensor(self) -> Tensor:
        return self._whole_shape_tensor()[:-1]

    def _event_shape(self) -> TensorShape:
        event: TensorShape = self._whole_shape()[-1:]
        return event

    def _event_shape_tensor(self) -> Tensor:
        return self._whole_shape_tensor()[-1:]


def float_parameters(checks: Sequence[Operation], **given: Any) -> tuple[Tensor, ...]:
    """The parameters as tensors of these names, after the checks; ValueError if they are not floats of one dtype."""
    with control_dependencies(checks):
        found = [
            identity(convert_to_tensor(value, name=f"{name}_value"), name=name)
            for name, value in given.items()
        ]
    for tensor in found:
        if not tensor.dtype.is_floating:
            raise ValueError(f"A distribution's {tensor.name} must be of floats, not of {tensor.dtype.name}.")
        if tensor.dtype is not found[0].dtype:
            raise ValueError(
                f"The parameters of a distribution must have one dtype, but {found[0].name} is of "
                f"{found[0].dtype.name} and {tensor.name} of {tensor.dtype.name}."
            )
    return tuple(found)
