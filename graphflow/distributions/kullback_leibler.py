"""Kullback-Leibler divergences: a formula for each pair of families, found by the classes of the two distributions.

The formulas stand beside their families; a program adds its own with RegisterKL. A pair without one of its own takes
that of the nearest base classes, so that an Exponential is compared with a Gamma as the Gamma it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.checking import assert_true
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.math.comparison import is_nan, logical_not
from graphflow._core.ops.math.reductions import reduce_all
from graphflow._core.ops.state.scopes import control_dependencies

Formula = Callable[..., Tensor]


class HasEntropy(Protocol):
    """A distribution whose entropy can be asked for."""

    def entropy(self) -> Tensor: ...


_formulas: dict[tuple[type, type], Formula] = {}


class RegisterKL:
    """Decorates `formula(a, b, name=None)`, the divergence of two classes (tf.distributions.RegisterKL).

    Args:
        dist_cls_a: A class of distributions.
        dist_cls_b: A class of distributions.

    Raises:
        TypeError: If the formula is not callable.
        ValueError: If the pair of classes has one.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._pair = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Formula) -> Formula:
        """Registers a formula.

        Args:
            kl_fn: A function (a, b, name=None) that gives the divergence, a tensor.

        Returns:
            The function, as it is.
        """
        a, b = (cls.__name__ for cls in self._pair)
        if not callable(kl_fn):
            raise TypeError(
                f"The divergence of {a} and {b} must be callable, a function of both, not {kl_fn!r}."
            )
        if self._pair in _formulas:
            raise ValueError(
                f"The divergence of {a} and {b} has already been registered: {_formulas[self._pair]!r}."
            )
        _formulas[self._pair] = kl_fn
        return kl_fn


def _formula(a: type, b: type) -> Formula | None:
    """The formula of the classes, or of those bases that are the fewest steps away."""
    pairs = [
        (up_a + up_b, up_a, (base_a, base_b))
        for up_a, base_a in enumerate(a.__mro__)
        for up_b, base_b in enumerate(b.__mro__)
        if (base_a, base_b) in _formulas
    ]
    return _formulas[min(pairs, key=lambda pair: pair[:2])[2]] if pairs else None


def kl_divergence(
    distribution_a: object,
    distribution_b: object,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Tensor:
    """The Kullback-Leibler divergence of a from b, for each pair of the two batches (tf.distributions.kl_divergence).

    The result has the batch shapes broadcast.

    Args:
        distribution_a: A distribution.
        distribution_b: A distribution.
        allow_nan_stats: Whether a statistic that is not defined is NaN and no error.
        name: A name for the operation.

    Returns:
        A tensor of floats.

    Raises:
        NotImplementedError: If the pair of classes has no formula.
        InvalidArgumentError: At the run if a number is NaN and `allow_nan_stats` is False.
    """
    a, b = type(distribution_a), type(distribution_b)
    formula = _formula(a, b)
    if formula is None:
        raise NotImplementedError(
            f"There is no Kullback-Leibler divergence of {a.__name__} from {b.__name__}: "
            "give one with gf.distributions.RegisterKL."
        )
    with op_scope(None, "KullbackLeibler", []):
        divergence = formula(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        defined = reduce_all(logical_not(is_nan(divergence)))
        message = (
            f"KL calculation between {distribution_a!r} and {distribution_b!r} returned NaN values: "
            f"the divergence of {a.__name__} from {b.__name__} is NaN."
        )
        with control_dependencies([assert_true(defined, message, [divergence])]):
            return identity(divergence, name="checked")


def cross_entropy(ref: HasEntropy, other: object, name: str | None = None) -> Tensor:
    """The cross entropy of `ref` and `other`: the entropy of `ref` and its divergence from `other`, added.

    Shapes and errors are those of kl_divergence (tf.distributions.Distribution.cross_entropy).
    """
    with op_scope(name, "cross_entropy", []):
        return ref.entropy() + kl_divergence(ref, other)
