"""Activations: functions of a layer's outputs (tf.keras.activations)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.types import TensorLike
from graphflow.keras import ops
from graphflow.keras.typing import Config, Named, Objects
from graphflow.keras.utils import registry

__all__ = [
    "deserialize", "elu", "exponential", "get", "hard_sigmoid", "linear", "relu", "selu", "serialize", "sigmoid",
    "softmax", "softplus", "softsign", "tanh",
]  # fmt: skip


def linear(x: TensorLike) -> Any:
    """x (tf.keras.activations.linear).

    Args:
        x: What is given back, as it is.

    Returns:
        `x` itself.
    """
    return x


def softmax(x: TensorLike, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis (tf.keras.activations.softmax).

    Args:
        x: A tensor of two axes or more.
        axis: The axis whose elements add up to 1.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ValueError: `x` has less than two axes.
    """
    tensor = ops.convert_to_tensor(x)
    rank = len(tensor.shape.as_list())
    if rank < 2:
        raise ValueError(f"softmax takes a tensor of two axes or more, but {tensor.name!r} has {rank}.")
    return ops.softmax(tensor, axis=axis)


def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """x, or alpha * (exp(x) - 1) below 0 (tf.keras.activations.elu).

    Args:
        x: A tensor, or what becomes one, of floats.
        alpha: What values below 0 tend to, with its sign turned.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    found = ops.elu(x)
    return found if alpha == 1 else ops.where(ops.convert_to_tensor(x) > 0, found, alpha * found)


def selu(x: TensorLike) -> Any:
    """The scaled elu (tf.keras.activations.selu).

    Args:
        x: A tensor, or what becomes one, of floats.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.selu(x)


def softplus(x: TensorLike) -> Any:
    """log(exp(x) + 1) (tf.keras.activations.softplus).

    Args:
        x: A tensor, or what becomes one, of floats.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softplus(x)


def softsign(x: TensorLike) -> Any:
    """x / (|x| + 1) (tf.keras.activations.softsign).

    Args:
        x: A tensor, or what becomes one, of floats.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softsign(x)


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """x above the threshold, at most max_value, and alpha * (x - threshold) below (tf.keras.activations.relu).

    Args:
        x: A tensor, or what becomes one, of floats.
        alpha: The slope below the threshold.
        max_value: The largest value of the result; None for no limit.
        threshold: The value up to which `x` counts as small.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    tensor = ops.convert_to_tensor(x)
    if isinstance(alpha, int | float) and alpha == 0.0 and threshold == 0.0:
        return (
            ops.relu6(tensor)
            if max_value == 6
            else (
                ops.relu(tensor) if max_value is None else ops.clip_by_value(ops.relu(tensor), 0.0, max_value)
            )
        )
    if threshold == 0.0 and max_value is None:
        return ops.leaky_relu(tensor, alpha=alpha)
    below = ops.relu(threshold - tensor) if threshold != 0.0 else ops.relu(-tensor)
    above = tensor * ops.cast(tensor > threshold, tensor.dtype) if threshold != 0.0 else ops.relu(tensor)
    if max_value is not None:
        above = ops.clip_by_value(above, 0.0, max_value)
    return above - alpha * below


def tanh(x: TensorLike) -> Any:
    """The hyperbolic tangent (tf.keras.activations.tanh).

    Args:
        x: A tensor, or what becomes one, of floats.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.tanh(x)


def sigmoid(x: TensorLike) -> Any:
    """1 / (1 + exp(-x)) (tf.keras.activations.sigmoid).

    Args:
        x: A tensor, or what becomes one, of floats.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sigmoid(x)


def exponential(x: TensorLike) -> Any:
    """exp(x) (tf.keras.activations.exponential).

    Args:
        x: A tensor, or what becomes one, of floats.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.exp(x)


def hard_sigmoid(x: TensorLike) -> Any:
    """0.2 * x + 0.5, between 0 and 1 (tf.keras.activations.hard_sigmoid).

    Args:
        x: A tensor, or what becomes one, of floats.

    Returns:
        A tensor of the shape and dtype of `x`, of values from 0 to 1.
    """
    return ops.clip_by_value(ops.convert_to_tensor(x) * 0.2 + 0.5, 0.0, 1.0)


def serialize(activation: Named) -> Config:
    """The name of an activation (tf.keras.activations.serialize).

    Args:
        activation: A function, or its name.

    Returns:
        The name, or the configuration of a callable object.
    """
    if isinstance(activation, str) or activation is None:
        return activation
    return registry.serialize_keras_object(activation)


def deserialize(name: Config, custom_objects: Objects = None) -> Any:
    """The activation of a name (tf.keras.activations.deserialize).

    Args:
        name: The name, or a configuration.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The function.

    Raises:
        ValueError: No activation has that name.
    """
    return registry.deserialize(name, __name__, "activation function", custom_objects)


def get(identifier: Named) -> Any:
    """An activation from itself or its name (tf.keras.activations.get).

    Args:
        identifier: A function, its name, its configuration, or None for `linear`.

    Returns:
        The function.

    Raises:
        ValueError: It is none of these, or no activation has that name.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"An activation is a function or its name; got {identifier!r}.")
