"""Mixtures: each draw is one of several distributions', which of them is drawn, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array.array import expand_dims, one_hot, stack
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.math import sqrt, squared_difference
from graphflow._core.ops.math.reductions import reduce_logsumexp, reduce_sum
from graphflow.distributions.categorical import Categorical
from graphflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from graphflow.distributions.special import salted
from graphflow.nn import log_softmax, softmax


class _Mixed(Distribution):
    """A mixture whose components lie along one axis, [..., components, *event]; subclasses say how they come there."""

    def _rank(self) -> int:
        rank: int | None = self.event_shape.ndims
        if rank is None:
            raise ValueError(f"{type(self).__name__}: the rank of events must be known.")
        return rank

    def _along(self, shares: Tensor) -> Tensor:
        """Something of each component, [..., components], with as many axes more as an event has."""
        for _ in range(self._rank()):
            shares = expand_dims(shares, -1)
        return shares

    def _logits(self) -> Tensor:
        raise NotImplementedError

    def _of_components(self, what: str, *arguments: Any) -> Tensor:
        """A number of each component, stacked."""
        raise NotImplementedError

    def _shares(self) -> Tensor:
        return softmax(self._logits())

    def _weighted(self, values: Tensor) -> Tensor:
        return reduce_sum(self._along(self._shares()) * values, -1 - self._rank())

    def _picked(self, values: Tensor, chosen: Tensor, count: int) -> Tensor:
        mask = self._along(one_hot(chosen, count, dtype=values.dtype))
        return reduce_sum(values * mask, -1 - self._rank())

    def _log_prob(self, x: Tensor) -> Tensor:
        return reduce_logsumexp(self._of_components("log_prob", x) + log_softmax(self._logits()), -1)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return reduce_logsumexp(self._of_components("log_cdf", x) + log_softmax(self._logits()), -1)

    def _mean(self) -> Tensor:
        return self._weighted(self._of_components("mean"))

    def _variance(self) -> Tensor:
        means = self._of_components("mean")
        center = expand_dims(self._weighted(means), -1 - self._rank())
        return self._weighted(self._of_components("variance") + squared_difference(means, center))

    def _stddev(self) -> Tensor:
        return sqrt(self._variance())


class Mixture(_Mixed):
    """Draws of one of several distributions of any families (tf.contrib.distributions.Mixture).

    Args:
        cat: The gf.distributions.Categorical that says which, of the batch shape of the components.
        components: A list of distributions of one dtype, batch and event shape.
        validate_args: Changes nothing.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        use_static_graph: Changes nothing: all components are drawn from.
        name: A name for the operation.

    Raises:
        TypeError: If they are not such distributions, or of different dtypes.
        ValueError: If there are none, or not as many as `cat` has classes.

    Examples:
        >>> cat = gf.distributions.Categorical(probs=[0.25, 0.75])
        >>> normals = [gf.distributions.Normal(0.0, 1.0), gf.distributions.Normal(4.0, 1.0)]
        >>> with gf.Session() as session:
        ...     print(session.run(gf.contrib.distributions.Mixture(cat, normals).mean()))
        3.0
    """

    def __init__(
        self,
        cat: Categorical,
        components: Sequence[Distribution],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = dict(locals())
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not isinstance(components, list | tuple):
            raise TypeError(f"components must be a list or tuple, but saw: {components}")
        if not all(isinstance(each, Distribution) for each in components):
            raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
        if len({each.dtype for each in components}) > 1:
            raise TypeError(
                "All components must have the same dtype, but saw dtypes: "
                f"{[(each.name, each.dtype) for each in components]}"
            )
        self._cat, self._components = cat, list[Distribution](components)
        self._static_event: TensorShape = components[0].event_shape
        self._static_batch: TensorShape = cat.batch_shape
        for each in components:
            self._static_event = self._static_event.merge_with(each.event_shape)
            self._static_batch = self._static_batch.merge_with(each.batch_shape)
        if self._static_event.ndims is None:
            raise ValueError("Expected to know rank(event_shape) from components, but none of them says it.")
        classes = cat.logits.shape.as_list()[-1] if cat.logits.shape.ndims else None
        if classes is None:
            raise ValueError("Could not infer number of classes from cat, to compare it with the components.")
        if classes != len(components):
            raise ValueError(f"cat.num_classes != len(components): {classes} vs. {len(components)}")
        with op_scope(name, "Mixture", [cat.logits]) as scope:
            pass
        super().__init__(
            components[0].dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [], scope
        )

    @property
    def cat(self) -> Categorical:
        """The distribution of which component is drawn from."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The distributions."""
        return self._components

    @property
    def num_components(self) -> int:
        """How many there are."""
        return len(self._components)

    def _batch_shape(self) -> TensorShape:
        return self._static_batch

    def _batch_shape_tensor(self) -> Tensor:
        return self._cat.batch_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self._static_event

    def _event_shape_tensor(self) -> Tensor:
        return self._components[0].event_shape_tensor()

    def _logits(self) -> Tensor:
        return self._cat.logits

    def _of_components(self, what: str, *arguments: Any) -> Tensor:
        values = [getattr(each, what)(*arguments) for each in self._components]
        return stack(values, -1 if arguments else -1 - self._rank())

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        chosen, drawn = self._cat.sample(n, seed), []
        for each in self._components:
            seed = salted(seed, "mixture")
            drawn.append(each.sample(n, seed))
        return self._picked(stack(drawn, -1 - self._rank()), chosen, len(drawn))

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """The mean of the components' entropies, which the mixture's is not below.

        Args:
            name: A name for the operation.

        Returns:
            A tensor of the batch shape.
        """
        with self._name_scope(name):
            entropies = stack([each.entropy() for each in self._components], -1)
            return reduce_sum(self._shares() * entropies, -1)


class MixtureSameFamily(_Mixed):
    """Draws of one of the distributions along the last axis of a batch (tf.contrib.distributions.MixtureSameFamily).

    Args:
        mixture_distribution: The gf.distributions.Categorical that says which; one, or a batch of the components'
            without their last axis.
        components_distribution: The distributions, whose last axis of the batch is that of the components.
        validate_args: Changes nothing.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Raises:
        ValueError: If the shapes do not fit, or the first is not of whole numbers.

    Examples:
        >>> cat, normals = gf.distributions.Categorical(probs=[0.25, 0.75]), gf.distributions.Normal([0.0, 4.0], 1.0)
        >>> with gf.Session() as session:
        ...     print(session.run(gf.contrib.distributions.MixtureSameFamily(cat, normals).mean()))
        3.0
    """

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = dict(locals())
        self._mixture, self._components = mixture_distribution, components_distribution
        if not mixture_distribution.dtype.is_integer:
            raise ValueError(
                f"`mixture_distribution.dtype` ({mixture_distribution.dtype.name}) is not over integers"
            )
        if mixture_distribution.event_shape.ndims not in (None, 0):
            raise ValueError("`mixture_distribution` must have scalar `event_dim`s")
        own, batch = (
            mixture_distribution.batch_shape,
            components_distribution.batch_shape.with_rank_at_least(1),
        )
        if own.is_fully_defined() and own.ndims and batch.is_fully_defined() and own != batch[:-1]:
            raise ValueError(
                f"`mixture_distribution.batch_shape` (`{own}`) is not compatible with "
                f"`components_distribution.batch_shape` (`{batch[:-1]}`)"
            )
        counts = mixture_distribution.logits.shape[-1:].as_list() + batch[-1:].as_list()
        if None not in counts and counts[0] != counts[1]:
            raise ValueError(
                f"`mixture_distribution components` ({counts[0]}) does not equal "
                f"`components_distribution.batch_shape[-1]` ({counts[1]})"
            )
        known = [count for count in counts if count is not None]
        if not known:
            raise ValueError("MixtureSameFamily: the number of components must be known.")
        self._count = known[0]
        with op_scope(name, "MixtureSameFamily", []) as scope:
            pass
        super().__init__(
            components_distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [],
            scope,
        )

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of which component is drawn from."""
        return self._mixture

    @property
    def components_distribution(self) -> Distribution:
        """The distributions."""
        return self._components

    def _batch_shape(self) -> TensorShape:
        batch: TensorShape = self._components.batch_shape.with_rank_at_least(1)[:-1]
        return batch

    def _batch_shape_tensor(self) -> Tensor:
        return self._components.batch_shape_tensor()[:-1]

    def _event_shape(self) -> TensorShape:
        return self._components.event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self._components.event_shape_tensor()

    def _logits(self) -> Tensor:
        logits: Tensor = self._mixture.logits
        return logits

    def _of_components(self, what: str, *arguments: Any) -> Tensor:
        values = [expand_dims(each, -1 - self._rank()) for each in arguments]
        found: Tensor = getattr(self._components, what)(*values)
        return found

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn, chosen = self._components.sample(n, seed), self._mixture.sample(n, salted(seed, "mixture"))
        if self._mixture.batch_shape.ndims == 0:  # As in TensorFlow, one choice is for a whole batch then.
            for _ in range(self._batch_shape().ndims or 0):
                chosen = expand_dims(chosen, -1)
        return self._picked(drawn, chosen, self._count)

    def _covariance(self) -> Tensor:
        if self._rank() != 1:
            raise NotImplementedError("covariance is not implemented")
        means = self._of_components("mean")
        apart = expand_dims(means - expand_dims(self._weighted(means), -2), -1)
        inner = self._components.covariance() + matmul(apart, apart, transpose_b=True)
        return reduce_sum(expand_dims(expand_dims(self._shares(), -1), -1) * inner, -3)
