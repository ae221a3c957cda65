"""What weights of layers are told by, initializers, regularizers and constraints by names, as attributes and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphflow.keras import activations, constraints, initializers, regularizers

_KINDS = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}


def keep(layer: Any, **given: Any) -> None:
    """Keeps what weights are told by as attributes, such as kernel_initializer, each made of what stands for it."""
    for name, value in given.items():
        kind = name.rpartition("_")[2]
        if kind == "activation":
            setattr(layer, name, activations.get(value))
        elif name == "activity_regularizer":
            pass  # The layer keeps it.
        elif kind in _KINDS:
            setattr(layer, name, _KINDS[kind].get(value))
        else:
            setattr(layer, name, value)
    layer.__dict__.setdefault("_config_names", []).extend(given)


def config_of(layer: Any) -> Mapping[str, Any]:
    """What was kept, as a configuration has it."""
    found: dict[str, Any] = {}
    for name in layer.__dict__.get("_config_names", ()):
        value = getattr(layer, name)
        kind = name.rpartition("_")[2]
        if kind == "activation":
            found[name] = activations.serialize(value)
        elif kind in _KINDS:
            found[name] = _KINDS[kind].serialize(value)
        else:
            found[name] = value
    return found
