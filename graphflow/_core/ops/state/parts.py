"""What of an object a checkpoint by objects holds: variables, and other objects that hold some, by their names.

An object says so by a method checkpoint_parts(). Attributes of layers are looked through: variables, objects with such
a method, and lists and dictionaries of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from graphflow._core.ops.state.variable import Variable


@runtime_checkable
class HasParts(Protocol):
    """An object that a checkpoint by objects can hold."""

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """Its variables, and the objects that hold others, by their names."""


class Container:
    """A list or dictionary that is an attribute, as an object with parts."""

    def __init__(self, parts: list[tuple[str, Any]]) -> None:
        self._parts = parts

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """Its elements by their positions or keys."""
        return self._parts


def as_part(value: Any) -> Any:
    """A value as an object of a checkpoint, None if it is none."""
    if isinstance(value, Variable):
        return value
    if isinstance(value, list | tuple | Mapping):
        named = value.items() if isinstance(value, Mapping) else enumerate(value)
        found = [(str(name), part) for name, item in named if (part := as_part(item)) is not None]
        return Container(found) if found else None
    if isinstance(value, type) or not isinstance(value, HasParts) or getattr(value, "_is_metric", False):
        return None
    return value


def attribute_parts(
    owner: Any, weights: Iterable[Any], unsaved: Iterable[str] = ()
) -> Iterator[tuple[str, Any]]:
    """The parts that an object's attributes are, and then `weights` that none is, by the names of their operations."""
    known: set[int] = set()
    for name, value in vars(owner).items():
        if name in unsaved:
            continue
        part = as_part(value)
        if name.startswith("_"):
            part = _without_variables(part)
        if part is not None:
            known |= {id(leaf) for leaf in _variables(part)}
            yield name, part
    for weight in weights:
        if id(weight) not in known:
            yield weight.op.name.rpartition("/")[2], weight


def _without_variables(part: Any) -> Any:
    """What stands in a private attribute: lists of variables are a layer's own book, others the program's."""
    if isinstance(part, Variable):
        return None
    if isinstance(part, Container):
        found = [
            (n, p)
            for n, p in ((n, _without_variables(p)) for n, p in part.checkpoint_parts())
            if p is not None
        ]
        return Container(found) if found else None
    return part


def _variables(part: Any) -> Iterator[Any]:
    """The variables that a part is, or that stand in it as a list or dictionary."""
    if isinstance(part, Variable):
        yield part
    elif isinstance(part, Container):
        for _, item in part.checkpoint_parts():
            yield from _variables(item)
