"""Optimizers by name, object or configuration (tf.keras.optimizers)."""

from __future__ import annotations

from typing import Any

from graphflow.keras.optimizers.base import Optimizer
from graphflow.keras.optimizers.rules import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    Ftrl,
    Nadam,
    RMSprop,
    TFOptimizer,
)
from graphflow.keras.typing import Config, Elements, Objects
from graphflow.keras.utils import registry
from graphflow.train.optimizers.optimizer import Optimizer as TrainOptimizer

_BY_NAME = {
    kind.__name__.lower(): kind for kind in (SGD, Adadelta, Adagrad, Adam, Adamax, Ftrl, Nadam, RMSprop)
}  # fmt: skip


def serialize(optimizer: Optimizer) -> Config:
    """The configuration of an optimizer (tf.keras.optimizers.serialize).

    Args:
        optimizer: An optimizer.

    Returns:
        {"class_name": ..., "config": ...}.
    """
    return registry.serialize_keras_object(optimizer)


def deserialize(config: Config, custom_objects: Objects = None) -> Any:
    """The optimizer of a configuration (tf.keras.optimizers.deserialize).

    Args:
        config: {"class_name": ..., "config": ...}.
        custom_objects: Classes and functions of the program's own, by name.

    Returns:
        The optimizer.

    Raises:
        ValueError: The class is not known.
    """
    name = config["class_name"]
    known = {**({name: _BY_NAME[name.lower()]} if name.lower() in _BY_NAME else {}), **(custom_objects or {})}
    return registry.deserialize(config, "graphflow.keras.optimizers", "optimizer", known)


def get(identifier: Elements) -> Any:
    """An optimizer from itself, its name or its configuration; one of gf.train's is wrapped (tf.keras.optimizers.get).

    Args:
        identifier: One of these.

    Returns:
        An optimizer of Keras.

    Raises:
        ValueError: It is none of these.
    """
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, TrainOptimizer):
        return TFOptimizer(identifier)
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    if hasattr(identifier, "get_updates"):
        return identifier
    raise ValueError(f"Could not interpret optimizer identifier: {identifier!r}")
