"""Regularizers: functions of a weight or an output whose result is added to the loss (tf.keras.regularizers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.typing import Config, Elements, Named, Objects
from graphflow.keras.utils import registry

__all__ = ["L1L2", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2", "serialize"]


class Regularizer:
    """What regularizers are derived from: __call__ gives a scalar (tf.keras.regularizers.Regularizer)."""

    def __call__(self, x: TensorLike) -> Any:
        """The scalar that is added to the loss: none.

        Args:
            x: A weight or an output, a tensor of floats.

        Returns:
            A scalar.
        """
        return 0.0

    @classmethod
    def from_config(cls, config: Config) -> Any:
        """The regularizer of a configuration that get_config gave.

        Args:
            config: What get_config gave.

        Returns:
            A new regularizer.
        """
        return cls(**config)


class L1L2(Regularizer):
    """l1 * sum(|x|) + l2 * sum(x ** 2) (tf.keras.regularizers.L1L2).

    Args:
        l1: What the sum of the absolute values is multiplied by.
        l2: What the sum of the squares is multiplied by.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1: float = float(l1)
        self.l2: float = float(l2)

    def __call__(self, x: TensorLike) -> Any:
        """The scalar that is added to the loss.

        Args:
            x: A weight or an output, a tensor of floats.

        Returns:
            A scalar.
        """
        total: Any = 0.0
        if self.l1:
            total += ops.reduce_sum(self.l1 * ops.abs(x))
        if self.l2:
            total += ops.reduce_sum(self.l2 * ops.square(x))
        return total

    def get_config(self) -> Config:
        """The arguments that make a regularizer like it."""
        return {"l1": self.l1, "l2": self.l2}


def l1(l: float = 0.01) -> L1L2:  # noqa: E741
    """l * sum(|x|) (tf.keras.regularizers.l1).

    Args:
        l: What the sum is multiplied by.

    Returns:
        The regularizer.
    """
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741
    """l * sum(x ** 2) (tf.keras.regularizers.l2).

    Args:
        l: What the sum is multiplied by.

    Returns:
        The regularizer.
    """
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Both of l1 and l2 (tf.keras.regularizers.l1_l2).

    Args:
        l1: What the sum of the absolute values is multiplied by.
        l2: What the sum of the squares is multiplied by.

    Returns:
        The regularizer.
    """
    return L1L2(l1, l2)


def serialize(regularizer: Elements) -> Config:
    """The configuration of a regularizer (tf.keras.regularizers.serialize).

    Args:
        regularizer: A regularizer, or a function.

    Returns:
        {"class_name": ..., "config": ...}, or a function's name.
    """
    return registry.serialize_keras_object(regularizer)


def deserialize(config: Config, custom_objects: Objects = None) -> Any:
    """The regularizer of a configuration or name (tf.keras.regularizers.deserialize).

    Args:
        config: A configuration, or a name.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The regularizer.

    Raises:
        ValueError: No regularizer has that name.
    """
    return registry.deserialize(config, __name__, "regularizer", custom_objects)


def get(identifier: Named) -> Any:
    """A regularizer from itself, its name or its configuration (tf.keras.regularizers.get).

    Args:
        identifier: One of these, or None.

    Returns:
        The regularizer; None for None.

    Raises:
        ValueError: It is none of these, or no regularizer has that name.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str):
        found = deserialize(identifier)
        return found() if found in (l1, l2, l1_l2) else found
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"A regularizer is a function, its name or its configuration; got {identifier!r}.")
