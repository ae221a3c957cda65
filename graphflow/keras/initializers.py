"""Initializers by name, object or configuration (tf.keras.initializers)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.state import initializers as made
from graphflow._core.ops.state.initializers import (
    Constant,
    Identity,
    Initializer,
    Ones,
    Orthogonal,
    VarianceScaling,
    Zeros,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from graphflow._core.ops.state.initializers import GlorotNormal as glorot_normal
from graphflow._core.ops.state.initializers import GlorotUniform as glorot_uniform
from graphflow.keras.typing import Config, Named, Objects
from graphflow.keras.utils import registry


class RandomNormal(made.RandomNormal):
    """Normal draws of deviation 0.05 (tf.keras.initializers.RandomNormal).

    Args:
        mean: The mean.
        stddev: The standard deviation.
        seed: An int from which the draws follow; by default the graph's seed.
        dtype: The dtype of what is made, unless the caller says another.
    """

    def __init__(
        self, mean: TensorLike = 0.0, stddev: TensorLike = 0.05, seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(made.RandomUniform):
    """Uniform draws from -0.05 to 0.05 (tf.keras.initializers.RandomUniform).

    Args:
        minval: The smallest value.
        maxval: The end of the range, which is not in it.
        seed: An int from which the draws follow; by default the graph's seed.
        dtype: The dtype of what is made, unless the caller says another.
    """

    def __init__(
        self, minval: TensorLike = -0.05, maxval: TensorLike | None = 0.05, seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        super().__init__(minval, maxval, seed, dtype)


class TruncatedNormal(made.TruncatedNormal):
    """Normal draws of deviation 0.05 within two of them (tf.keras.initializers.TruncatedNormal).

    Args:
        mean: The mean.
        stddev: The standard deviation; what is further than two of them is drawn again.
        seed: An int from which the draws follow; by default the graph's seed.
        dtype: The dtype of what is made, unless the caller says another.
    """

    def __init__(
        self, mean: TensorLike = 0.0, stddev: TensorLike = 0.05, seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:  # fmt: skip
        super().__init__(mean, stddev, seed, dtype)


GlorotNormal = glorot_normal
GlorotUniform = glorot_uniform
constant = Constant
identity = Identity
ones = one = Ones
zeros = zero = Zeros
orthogonal = Orthogonal
normal = random_normal = RandomNormal
uniform = random_uniform = RandomUniform
truncated_normal = TruncatedNormal

__all__ = [
    "Constant", "Identity", "Initializer", "Ones", "Orthogonal", "RandomNormal", "RandomUniform", "TruncatedNormal",
    "VarianceScaling", "Zeros", "constant", "deserialize", "get", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "identity", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "random_normal",
    "random_uniform", "serialize", "truncated_normal", "uniform", "zeros",
]  # fmt: skip

_BY_OTHER_NAMES: dict[str, Any] = {
    "one": Ones, "zero": Zeros, "GlorotNormal": glorot_normal, "GlorotUniform": glorot_uniform,
    "variance_scaling": VarianceScaling,
}  # fmt: skip


def serialize(initializer: Initializer) -> Config:
    """The configuration of an initializer (tf.keras.initializers.serialize).

    Args:
        initializer: An initializer, or a function.

    Returns:
        {"class_name": ..., "config": ...}, or a function's name.
    """
    return registry.serialize_keras_object(initializer)


def deserialize(config: Config, custom_objects: Objects = None) -> Any:
    """The initializer of a configuration or name (tf.keras.initializers.deserialize).

    Args:
        config: A configuration, or a name.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The initializer.

    Raises:
        ValueError: No initializer has that name.
    """
    known = {**_BY_OTHER_NAMES, **(custom_objects or {})}
    return registry.deserialize(config, __name__, "initializer", known)


def get(identifier: Named) -> Any:
    """An initializer from itself, its class, its name or its configuration (tf.keras.initializers.get).

    Args:
        identifier: One of these, or None.

    Returns:
        The initializer; None for None.

    Raises:
        ValueError: It is none of these.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str | dict):
        found = deserialize(identifier)
        return (
            found()
            if inspect.isfunction(found)
            and not inspect.signature(found).bind_partial().args
            and ("shape" not in inspect.signature(found).parameters)
            else found
        )
    if callable(identifier):
        return identifier() if inspect.isclass(identifier) else identifier
    raise ValueError(f"An initializer is an object, its name or its configuration; got {identifier!r}.")


def initial_value(initializer: Callable[..., Any], shape: Sequence[int], dtype: DType) -> Any:
    """What an initializer makes of a shape; the dtype goes to it by name if it takes one.

    Args:
        initializer: A function of a shape, and perhaps of a dtype.
        shape: The shape.
        dtype: The dtype.

    Returns:
        A tensor or an array.
    """
    try:
        parameters = inspect.signature(initializer).parameters
    except (TypeError, ValueError):
        return initializer(shape)
    takes = "dtype" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return initializer(shape, dtype=dtype) if takes else initializer(shape)
