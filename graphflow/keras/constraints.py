"""Constraints: what a weight becomes after each update (tf.keras.constraints)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.backend import settings
from graphflow.keras.typing import Config, Named, Objects
from graphflow.keras.utils import registry

__all__ = [
    "Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "RadialConstraint", "UnitNorm", "deserialize", "get", "max_norm",
    "min_max_norm", "non_neg", "radial_constraint", "serialize", "unit_norm",
]  # fmt: skip


class Constraint:
    """What constraints are derived from: __call__ gives the weight as it is to be (tf.keras.constraints.Constraint)."""

    def __call__(self, w: TensorLike) -> Any:
        """The weight as it is to be.

        Args:
            w: A weight, a tensor of floats.

        Returns:
            A tensor of the shape and dtype of `w`.
        """
        return w

    def get_config(self) -> Config:
        """The arguments that make a constraint like it."""
        return {}


def _norms(w: Any, axis: Any) -> Any:
    return ops.sqrt(ops.reduce_sum(ops.square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    """No norm along `axis` above max_value (tf.keras.constraints.MaxNorm).

    Args:
        max_value: The largest norm.
        axis: The axis, or axes, along which norms are taken.
    """

    def __init__(self, max_value: float = 2, axis: int | Sequence[int] = 0) -> None:
        self.max_value = max_value
        self.axis = axis

    def __call__(self, w: TensorLike) -> Any:
        """The weight with its norms cut off.

        Args:
            w: A weight, a tensor of floats.

        Returns:
            A tensor of the shape and dtype of `w`.
        """
        norms = _norms(w, self.axis)
        desired = ops.clip_by_value(norms, 0.0, self.max_value)
        return w * (desired / (settings.epsilon() + norms))

    def get_config(self) -> Config:
        """The arguments that make a constraint like it."""
        return {"max_value": self.max_value, "axis": self.axis}


class NonNeg(Constraint):
    """No element below 0 (tf.keras.constraints.NonNeg)."""

    def __call__(self, w: TensorLike) -> Any:
        """The weight with 0 for what is negative.

        Args:
            w: A weight, a tensor of floats.

        Returns:
            A tensor of the shape and dtype of `w`.
        """
        return w * ops.cast(ops.greater_equal(w, 0.0), settings.floatx())


class UnitNorm(Constraint):
    """All norms along `axis` 1 (tf.keras.constraints.UnitNorm).

    Args:
        axis: The axis, or axes, along which norms are taken.
    """

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: TensorLike) -> Any:
        """The weight divided by its norms.

        Args:
            w: A weight, a tensor of floats.

        Returns:
            A tensor of the shape and dtype of `w`.
        """
        return w / (settings.epsilon() + _norms(w, self.axis))

    def get_config(self) -> Config:
        """The arguments that make a constraint like it."""
        return {"axis": self.axis}


class MinMaxNorm(Constraint):
    """Norms along `axis` drawn towards the range from min_value to max_value (tf.keras.constraints.MinMaxNorm).

    Args:
        min_value: The smallest norm.
        max_value: The largest norm.
        rate: How far norms are drawn, from 0 to 1; 1 is into the range.
        axis: The axis, or axes, along which norms are taken.
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: int | Sequence[int] = 0
    ) -> None:
        self.min_value = min_value
        self.max_value = max_value
        self.rate = rate
        self.axis = axis

    def __call__(self, w: TensorLike) -> Any:
        """The weight with its norms moved.

        Args:
            w: A weight, a tensor of floats.

        Returns:
            A tensor of the shape and dtype of `w`.
        """
        norms = _norms(w, self.axis)
        inside = ops.clip_by_value(norms, self.min_value, self.max_value)
        desired = self.rate * inside + (1 - self.rate) * norms
        return w * (desired / (settings.epsilon() + norms))

    def get_config(self) -> Config:
        """The arguments that make a constraint like it."""
        return {
            "min_value": self.min_value, "max_value": self.max_value, "rate": self.rate, "axis": self.axis,
        }  # fmt: skip


class RadialConstraint(Constraint):
    """Kernels [rows, columns, inputs, outputs] the same in each direction (tf.keras.constraints.RadialConstraint)."""

    def __call__(self, w: TensorLike) -> Any:
        """The weight, each ring of which has one value.

        Args:
            w: A kernel [n, n, inputs, outputs].

        Returns:
            A tensor of the shape and dtype of `w`.

        Raises:
            ValueError: It has another rank, or not as many rows as columns.
        """
        shape = ops.convert_to_tensor(w).shape.as_list()
        if len(shape) != 4 or shape[0] != shape[1]:
            raise ValueError(
                f"RadialConstraint takes a kernel of shape [n, n, inputs, outputs], got {shape}."
            )
        size = shape[0]
        # The ring of an element, counted from the outside, has the value on the middle column's upper half.
        rings = [[min(r, c, size - 1 - r, size - 1 - c) for c in range(size)] for r in range(size)]
        middle: Any = w[:, size // 2]  # type: ignore[index, call-overload]
        return ops.gather(middle, rings)


max_norm = MaxNorm
non_neg = NonNeg
unit_norm = UnitNorm
min_max_norm = MinMaxNorm
radial_constraint = RadialConstraint


def serialize(constraint: Constraint) -> Config:
    """The configuration of a constraint (tf.keras.constraints.serialize).

    Args:
        constraint: A constraint, or a function.

    Returns:
        {"class_name": ..., "config": ...}, or a function's name.
    """
    return registry.serialize_keras_object(constraint)


def deserialize(config: Config, custom_objects: Objects = None) -> Any:
    """The constraint of a configuration or name (tf.keras.constraints.deserialize).

    Args:
        config: A configuration, or a name.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The constraint.

    Raises:
        ValueError: No constraint has that name.
    """
    return registry.deserialize(config, __name__, "constraint", custom_objects)


def get(identifier: Named) -> Any:
    """A constraint from itself, its name or its configuration (tf.keras.constraints.get).

    Args:
        identifier: One of these, or None.

    Returns:
        The constraint; None for None.

    Raises:
        ValueError: It is none of these, or no constraint has that name.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"A constraint is a function, its name or its configuration; got {identifier!r}.")
