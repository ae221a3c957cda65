"""Functions of Lambda layers as data: by name, or as code, which is read again in the process that wrote it alone."""

from __future__ import annotations

import base64
import builtins
import marshal
import sys
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any

_encoded_here: set[tuple[str, str | None]] = set()
"""Code and module of what this process wrote: a copy of a model has nothing new to run, a file of others may."""


def encode(function: Callable[..., Any]) -> tuple[Any, str, str | None]:
    """A function as data, "lambda" if it is code and "function" if it is a name, and its module.

    A function inside of another has no name by which it could be found, as a lambda has none.
    """
    module = getattr(function, "__module__", None)
    if isinstance(function, types.LambdaType) and {"<lambda>", "<locals>"} & set(
        function.__qualname__.split(".")
    ):
        code = base64.b64encode(marshal.dumps(function.__code__)).decode()
        _encoded_here.add((code, module))
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        return (code, function.__defaults__, cells or None), "lambda", module
    name = getattr(function, "__name__", type(function).__name__)
    _encoded_here.add((name, module))
    return name, "function", module


def named(name: str, module: str | None) -> Callable[..., Any] | None:
    """The function of a name in a module of the program, if this process wrote it; None otherwise."""
    found = getattr(sys.modules.get(module or ""), name, None) if (name, module) in _encoded_here else None
    return found if callable(found) else None


def decode(data: Any, module: str | None) -> Callable[..., Any]:
    """The function of encoded code.

    Raises:
        ValueError: This process did not write it, so that it would be code of a file.
    """
    code, defaults, cells = data
    if (code, module) not in _encoded_here:
        raise ValueError(
            "The model has a Lambda layer with Python code, and code of files does not run. Give the function in "
            "custom_objects by the layer's name, or build the model anew and load its weights."
        )
    loaded = marshal.loads(base64.b64decode(code))
    names = dict(vars(sys.modules.get(module or "", builtins)))
    names.setdefault("tf", import_module("graphflow"))
    closure = tuple(types.CellType(value) for value in cells or ())
    return types.FunctionType(
        loaded, names, "<lambda>", tuple(defaults) if defaults else None, closure or None
    )
