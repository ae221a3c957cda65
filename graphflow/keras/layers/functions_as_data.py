"""Functions of Lambda layers as data: by name, or as code, which runs when a model with it is called."""

from __future__ import annotations

import base64
import builtins
import marshal
import sys
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any


def encode(function: Callable[..., Any]) -> tuple[Any, str, str | None]:
    """A function as data, "lambda" if it is code and "function" if it is a name, and its module."""
    module = getattr(function, "__module__", None)
    if isinstance(function, types.LambdaType) and function.__name__ == "<lambda>":
        code = base64.b64encode(marshal.dumps(function.__code__)).decode()
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        return (code, function.__defaults__, cells or None), "lambda", module
    return getattr(function, "__name__", type(function).__name__), "function", module


def decode(data: Any, module: str | None) -> Callable[..., Any]:
    """The function of encoded code.

    Raises:
        ValueError: It is code of another version of Python.
    """
    code, defaults, cells = data
    try:
        loaded = marshal.loads(base64.b64decode(code))
    except (ValueError, EOFError, TypeError) as error:
        raise ValueError(
            "The model has a Lambda layer with Python code of another version of Python, which this one cannot read: "
            "name the function, and give it in custom_objects, or build the model anew and load its weights."
        ) from error
    names = dict(vars(sys.modules.get(module or "", builtins)))
    names.setdefault("tf", import_module("graphflow"))
    closure = tuple(types.CellType(value) for value in cells or ())
    return types.FunctionType(
        loaded, names, "<lambda>", tuple(defaults) if defaults else None, closure or None
    )
