"""What cells of recurrent networks say of themselves: the arguments that made them, and their variables' values."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_session
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow.layers.arguments import name_of_activation


def configuration_of(cell: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a cell was made with, by their names, defaults among them."""
    signature = inspect.signature(type(cell).__init__)
    bound = signature.bind(cell, *args, **kwargs)
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        elif kind is not inspect.Parameter.VAR_POSITIONAL:
            if value is None:  # What stands for it: the name that the class gives, and the usual activation.
                value = cell.name if name == "name" else getattr(cell, "_" + name, None)
            found[name] = value
    return {name: _written(value) for name, value in found.items()}


def _written(value: Any) -> Any:
    if isinstance(value, DType):
        return value.name
    if hasattr(value, "state_size") and hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_written(item) for item in value)
    return (callable(value) and name_of_activation(value)) or value


def arguments_of(config: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a configuration, with a new cell for each configuration of one in it."""
    return {name: _read(value, known) for name, value in config.items()}


def _read(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_read(item, known) for item in value)
    if not isinstance(value, Mapping) or set(value) != {"class_name", "config"}:
        return value
    kind = known.get(value["class_name"])
    if kind is None:
        raise ValueError(
            f"{value['class_name']!r} in the configuration is no cell of the library: give its class in "
            "custom_objects, or put a cell in its place."
        )
    return kind.from_config(value["config"])


def subclasses_of(kind: type) -> Iterator[type]:
    """The classes below one, at any depth."""
    below: list[type] = kind.__subclasses__()
    for found in below:
        yield found
        yield from subclasses_of(found)


def values_of(variables: Sequence[Any]) -> list[Any]:
    """The values of variables in the default session."""
    session = get_default_session()
    if session is None:
        raise ValueError(
            "The values of a cell's variables are read in the default session, and there is none."
        )
    found: list[Any] = session.run(list(variables)) if variables else []
    return found


def set_values(name: str, variables: Sequence[Any], values: Sequence[Any]) -> None:
    """Sets variables to arrays, in the default session."""
    if len(variables) != len(values):
        raise ValueError(
            f"The cell {name!r} has {len(variables)} weights, but set_weights() was given {len(values)}: "
            f"{[v.name for v in variables]}."
        )
    arrays = [np.asarray(value) for value in values]
    for variable, array in zip(variables, arrays, strict=True):
        if not variable.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"The variable {variable.name!r} has shape {variable.shape}, but the value has shape {array.shape}."
            )
    for variable, array in zip(variables, arrays, strict=True):
        variable.load(array)


def check_floating(values: Any) -> None:
    """ValueError if one of the dtypes, or tensors, in a structure is not of floating point."""
    for value in nest.flatten(values):
        dtype = None if value is None else as_dtype(getattr(value, "dtype", value))
        if dtype is not None and not (dtype.is_floating or dtype.is_complex):
            raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {dtype.name}.")
