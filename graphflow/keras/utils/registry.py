"""How objects become configurations and back: classes and functions by their names (tf.keras.utils)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from graphflow.keras.typing import Config, Elements, Objects

_custom: dict[str, Any] = {}

_OTHER_NAMES: Final = {f"BatchNormalization{version}": "BatchNormalization" for version in ("V1", "V2")}
"""Names that TensorFlow's own files have for classes which are public under another."""


def get_custom_objects() -> dict[str, Any]:
    """The classes and functions of the program that configurations may name (tf.keras.utils.get_custom_objects)."""
    return _custom


@contextmanager
def custom_object_scope(*args: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Classes and functions that configurations may name inside of a `with` (tf.keras.utils.custom_object_scope).

    Args:
        *args: Classes and functions by name.

    Yields:
        All that are known.
    """
    before = dict(_custom)
    for objects in args:
        _custom.update(objects)
    try:
        yield _custom
    finally:
        _custom.clear()
        _custom.update(before)


class CustomObjectScope:
    """custom_object_scope as a class (tf.keras.utils.CustomObjectScope)."""

    def __init__(self, *args: dict[str, Any]) -> None:
        self._scope = custom_object_scope(*args)

    def __enter__(self) -> dict[str, Any]:
        return self._scope.__enter__()

    def __exit__(self, *args: object) -> None:
        self._scope.__exit__(None, None, None)


def find(name: str, module: str, what: str, custom: Objects = None) -> Any:
    """The class or function of a name: of the program, or of a public module of keras.

    Args:
        name: The name.
        module: The public module of Keras.
        what: What it is, for the error.
        custom: Classes and functions of the program's own, by name.

    Returns:
        The class or function.

    Raises:
        ValueError: There is none; says how a class of the program's own is made known.
    """
    name = name if name in _custom else _OTHER_NAMES.get(name, name)
    for objects in (custom or {}, _custom):
        if name in objects:
            return objects[name]
    found = None if name.startswith("_") else getattr(import_module(module), name, None)
    if found is None or inspect.ismodule(found):
        raise ValueError(
            f"Unknown {what}: {name}. If it is a class or function of your own, name it in custom_objects, or put it "
            "into tf.keras.utils.get_custom_objects()."
        )
    return found


def serialize_keras_object(instance: Elements) -> Config:
    """The configuration of an object, or the name of a function (tf.keras.utils.serialize_keras_object).

    Args:
        instance: An object with get_config, a function, or None.

    Returns:
        {"class_name": ..., "config": ...}, a function's name, or None.

    Raises:
        ValueError: It has neither get_config nor a name.
    """
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return {"class_name": type(instance).__name__, "config": instance.get_config()}
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError(f"Cannot serialize {instance!r}: it has neither get_config() nor a name.")


def deserialize(identifier: Elements, module: str, what: str, custom: Objects = None) -> Any:
    """The object of a configuration {"class_name": ..., "config": ...}, or the function of a name.

    Args:
        identifier: The configuration, or the name.
        module: The public module of Keras.
        what: What it is, for errors.
        custom: Classes and functions of the program's own, by name.

    Returns:
        The object.

    Raises:
        ValueError: It is no configuration, or no class or function has that name.
    """
    if isinstance(identifier, str):
        found = find(identifier, module, what, custom)
        return found() if inspect.isclass(found) else found
    if not isinstance(identifier, dict) or "class_name" not in identifier or "config" not in identifier:
        raise ValueError(f"Improper config format of a {what}: {identifier!r}.")
    owner = find(identifier["class_name"], module, what, custom)
    config = identifier["config"]
    if not hasattr(owner, "from_config"):
        return owner(**config)
    if "custom_objects" in inspect.signature(owner.from_config).parameters:
        return owner.from_config(config, custom_objects={**_custom, **(custom or {})})
    with custom_object_scope(dict(custom or {})):
        return owner.from_config(config)


def deserialize_keras_object(
    identifier: Elements,
    module_objects: Objects = None,
    custom_objects: Objects = None,
    printable_module_name: str = "object",
) -> Elements:
    """The object of a configuration or name (tf.keras.utils.deserialize_keras_object).

    Args:
        identifier: The configuration, the name, or None.
        module_objects: Classes and functions by name.
        custom_objects: Those of the program's own, which come before them.
        printable_module_name: What it is, for errors.

    Returns:
        The object; None for None.

    Raises:
        ValueError: It is no configuration, or no class or function has that name.
    """
    if identifier is None:
        return None
    known = {**(module_objects or {}), **(custom_objects or {})}
    return deserialize(identifier, "graphflow.keras", printable_module_name, known)
