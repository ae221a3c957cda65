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
    """x (tf.keras.activations.linear)."""
    return x


def softmax(x: TensorLike, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis (tf.keras.activations.softmax). ValueError for less than two axes."""
    tensor = ops.convert_to_tensor(x)
    rank = len(tensor.shape.as_list())
    if rank < 2:
        raise ValueError(f"softmax takes a tensor of two axes or more, but {tensor.name!r} has {rank}.")
    return ops.softmax(tensor, axis=axis)


def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """x, or alpha * (exp(x) - 1) below 0 (tf.keras.activations.elu)."""
    found = ops.elu(x)
    return found if alpha == 1 else ops.where(ops.convert_to_tensor(x) > 0, found, alpha * found)


def selu(x: TensorLike) -> Any:
    """The scaled elu (tf.keras.activations.selu)."""
    return ops.selu(x)


def softplus(x: TensorLike) -> Any:
    """log(exp(x) + 1) (tf.keras.activations.softplus)."""
    return ops.softplus(x)


def softsign(x: TensorLike) -> Any:
    """x / (|x| + 1) (tf.keras.activations.softsign)."""
    return ops.softsign(x)


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """x above the threshold, at most max_value, and alpha * (x - threshold) below (tf.keras.activations.relu)."""
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
    """The hyperbolic tangent (tf.keras.activations.tanh)."""
    return ops.tanh(x)


def sigmoid(x: TensorLike) -> Any:
    """1 / (1 + exp(-x)) (tf.keras.activations.sigmoid)."""
    return ops.sigmoid(x)


def exponential(x: TensorLike) -> Any:
    """exp(x) (tf.keras.activations.exponential)."""
    return ops.exp(x)


def hard_sigmoid(x: TensorLike) -> Any:
    """0.2 * x + 0.5, between 0 and 1 (tf.keras.activations.hard_sigmoid)."""
    return ops.clip_by_value(ops.convert_to_tensor(x) * 0.2 + 0.5, 0.0, 1.0)


def serialize(activation: Named) -> Config:
    """The name of an activation (tf.keras.activations.serialize)."""
    if isinstance(activation, str) or activation is None:
        return activation
    return registry.serialize_keras_object(activation)


def deserialize(name: Config, custom_objects: Objects = None) -> Any:
    """The activation of a name (tf.keras.activations.deserialize)."""
    return registry.deserialize(name, __name__, "activation function", custom_objects)


def get(identifier: Named) -> Any:
    """An activation from itself or its name; None is linear. ValueError for others (tf.keras.activations.get)."""
    if identifier is None:
        return linear
    if isinstance(identifier, str | dict):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"An activation is a function or its name; got {identifier!r}.")
