"""What of a model or layer are its parts: layers and variables that were assigned to it as attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphflow._core.ops.state.variable import Variable
from graphflow.layers.base import Layer as PlainLayer


def layers_in(value: Any) -> Iterator[PlainLayer]:
    """The layers that a value is, or that stand in it if it is a list, tuple or dictionary."""
    if isinstance(value, PlainLayer):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from layers_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from layers_in(item)


def variables_in(value: Any) -> Iterator[Variable]:
    """The variables that a value is, or that stand in it if it is a list."""
    if isinstance(value, Variable):
        yield value
    elif isinstance(value, list | tuple) and all(isinstance(item, Variable) for item in value):
        yield from value


def once(elements: Any) -> list[Any]:
    """Elements in their order, each once, by identity."""
    found: dict[int, Any] = {}
    for element in elements:
        found.setdefault(id(element), element)
    return list(found.values())
