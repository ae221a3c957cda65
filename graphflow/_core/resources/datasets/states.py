"""States of iterators as flat dictionaries of numeric arrays, which is what a checkpoint can hold.

Nested states are joined with "/". Elements that have to be kept, such as those of a shuffle's buffer, are stacked
if their shapes agree, and stored one by one otherwise; strings become their bytes and lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

import graphflow.errors as errors
from graphflow._core.plan.ir import Origin

State: TypeAlias = dict[str, Any]


class Component:
    """A component of an element that is no array, and knows how a state holds it: a dataset, for one.

    kept_as: the name of its class in states, "" for what no state holds.
    """

    kept_as: ClassVar[str] = ""
    _classes: ClassVar[dict[str, type[Component]]] = {}

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "kept_as" in vars(cls):
            Component._classes[cls.kept_as] = cls

    def as_state(self) -> State:
        """What from_state makes it of again."""
        raise NotImplementedError(type(self).__name__)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Component:
        """The component of a state that as_state returned."""
        raise NotImplementedError(cls.__name__)

    @staticmethod
    def kept(state: Mapping[str, Any]) -> Component:
        """The component of whatever class that a state holds."""
        name = get_text(state, "class")
        if name not in Component._classes:
            raise ValueError(f"The state of an iterator holds a component of an unknown class {name!r}.")
        return Component._classes[name].from_state(state)


def put(state: State, name: str, part: Mapping[str, Any]) -> None:
    """Adds a state under a name; the name's own slashes are kept apart from the separator."""
    prefix = name.replace("%", "%25").replace("/", "%2F")
    for key, value in part.items():
        state[f"{prefix}/{key}"] = value


def get(state: Mapping[str, Any], name: str) -> State:
    """The state that was added under a name; empty if none was."""
    prefix = name.replace("%", "%25").replace("/", "%2F") + "/"
    return {key[len(prefix) :]: value for key, value in state.items() if key.startswith(prefix)}


def parts(state: Mapping[str, Any]) -> dict[str, State]:
    """All states that were added, by name."""
    found: dict[str, State] = {}
    for path, value in state.items():
        name, _, key = path.partition("/")
        found.setdefault(name.replace("%2F", "/").replace("%25", "%"), {})[key] = value
    return found


def integer(state: Mapping[str, Any], name: str) -> int:
    """A number that was stored; ValueError if it is not there, or is no single integer."""
    value = np.asarray(state.get(name))
    if value.shape != () or value.dtype.kind not in "iub":
        raise ValueError(
            f"The state of an iterator lacks the number {name!r}: it was saved by another program."
        )
    return int(value)


def number(value: int) -> np.ndarray[Any, Any]:
    """A number to be stored."""
    return np.array(value, np.int64)


def text(value: str) -> np.ndarray[Any, Any]:
    """A text to be stored."""
    return np.frombuffer(value.encode(), np.uint8).copy()


def get_text(state: Mapping[str, Any], name: str) -> str:
    """A text that was stored; "" if none was."""
    return bytes(np.asarray(state.get(name, ()), np.uint8)).decode()


def put_origin(state: State, origin: Origin) -> None:
    """Adds where a dataset comes from."""
    state["type"], state["name"] = text(origin.type), text(origin.name)


def get_origin(state: Mapping[str, Any]) -> Origin:
    """Where a dataset comes from; the line is not kept."""
    return Origin(get_text(state, "name"), get_text(state, "type"), ("<checkpoint>", 0))


def error(value: errors.OpError) -> State:
    """An error to be stored: its number and its text."""
    return {"code": number(value.error_code), "message": text(value.message)}


def get_error(state: Mapping[str, Any]) -> errors.OpError:
    """An error that was stored."""
    code = integer(state, "code")
    kinds = (kind for kind in errors.OpError.__subclasses__() if kind.default_code == code)
    return next(kinds, errors.UnknownError)(None, None, get_text(state, "message"))


def put_elements(state: State, name: str, elements: Sequence[tuple[Any, ...]]) -> None:
    """Adds elements under a name."""
    state[f"{name}.count"] = number(len(elements))
    state[f"{name}.width"] = number(len(elements[0]) if elements else 0)
    for position, column in enumerate(zip(*elements, strict=True)):
        if any(isinstance(value, Component) for value in column):
            for row, value in enumerate(column):
                put(state, f"{name}.{position}.{row}", {"class": text(value.kept_as), **value.as_state()})
            continue
        arrays = [np.asarray(value) for value in column]
        if len({array.shape for array in arrays}) == 1:
            _put_array(state, f"{name}.{position}", np.stack(arrays))
        else:
            for row, array in enumerate(arrays):
                _put_array(state, f"{name}.{position}.{row}", array)


def get_elements(state: Mapping[str, Any], name: str) -> list[tuple[Any, ...]]:
    """The elements that were added under a name."""
    count, width = integer(state, f"{name}.count"), integer(state, f"{name}.width")
    if width < 1 < count or min(width, count) < 0:
        raise ValueError(f"{count} elements of {width} components cannot be.")
    columns = []
    for position in range(width):
        stacked = _get_array(state, f"{name}.{position}")
        if stacked is not None:
            columns.append([_element(stacked[row]) for row in range(count)])
        else:
            columns.append([_single(state, f"{name}.{position}.{row}") for row in range(count)])
    return list(zip(*columns, strict=True))


def _single(state: Mapping[str, Any], name: str) -> Any:
    array = _get_array(state, name)
    return Component.kept(get(state, name)) if array is None else _element(array)


def _element(value: Any) -> Any:
    if isinstance(value, bytes):
        return np.array(value, object)
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object else value


def _put_array(state: State, name: str, array: np.ndarray[Any, Any]) -> None:
    if array.dtype != object:
        state[name] = array
        return
    flat = list(array.reshape(-1))
    state[f"{name}.bytes"] = np.frombuffer(b"".join(flat), np.uint8).copy()
    state[f"{name}.lengths"] = np.array([len(item) for item in flat], np.int64).reshape(array.shape)


def _get_array(state: Mapping[str, Any], name: str) -> Any:
    if name in state:
        return state[name]
    if f"{name}.lengths" not in state:
        return None
    lengths = np.asarray(state[f"{name}.lengths"])
    data = bytes(np.asarray(state[f"{name}.bytes"], np.uint8))
    array = np.empty(lengths.size, object)
    start = 0
    for position, length in enumerate(lengths.reshape(-1).tolist()):
        array[position] = data[start : start + length]
        start += length
    return array.reshape(lengths.shape)
