"""Packages that keep the names alone that they document (tensorflow.python.util.all_util)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, Final

_DOCUMENTED: Final = re.compile(r"^@@([a-zA-Z0-9_]+)", re.MULTILINE)
_hidden: Final[dict[str, tuple[ModuleType, Any]]] = {}


def make_all(module_name: str, doc_string_modules: Sequence[ModuleType] | None = None) -> list[str]:
    """The names of a module that docstrings name, each behind @@.

    Args:
        module_name: The module's name.
        doc_string_modules: Whose docstrings; by default the module's own.

    Returns:
        The sorted names that the module has.
    """
    module = sys.modules[module_name]
    texts = [each.__doc__ or "" for each in ([module] if doc_string_modules is None else doc_string_modules)]
    named = {name for text in texts for name in _DOCUMENTED.findall(text)}
    return sorted(named & set(dir(module)))


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Iterable[str] | None = None,
    doc_string_modules: Sequence[ModuleType] | None = None,
) -> None:
    """Takes from a module the names that neither a docstring nor a list names; those with an underscore stay.

    Args:
        module_name: The module's name.
        allowed_exception_list: Names that stay.
        doc_string_modules: Whose docstrings name what stays; by default the module's own.
    """
    module = sys.modules[module_name]
    kept = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in dir(module):
        if name not in kept and not name.startswith("_"):
            _hidden[f"{module_name}.{name}"] = (module, getattr(module, name))
            delattr(module, name)


def reveal_undocumented(symbol_name: str, target_module: ModuleType | None = None) -> None:
    """Gives back what remove_undocumented took.

    Args:
        symbol_name: The name with that of its module.
        target_module: The module that gets it; by default the one that it was taken from.

    Raises:
        LookupError: It was not taken.
    """
    if symbol_name not in _hidden:
        raise LookupError(f"Symbol {symbol_name} is not a hidden symbol")
    module, value = _hidden[symbol_name]
    setattr(target_module or module, symbol_name.rpartition(".")[2], value)
