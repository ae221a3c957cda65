"""Names that one module may define, once.

A module whose import ends in the middle, as Ctrl-C makes it, is imported anew when it is asked for again, and then
defines its names again: that is no mistake, and must not make the process useless.
"""

from __future__ import annotations

import sys
from typing import Any, Final


class Claims:
    """Which module has defined each name. `kind` says what is named, for people."""

    def __init__(self, kind: str) -> None:
        self._kind: Final = kind
        self._modules: dict[str, dict[str, Any]] = {}

    def claim(self, name: str, module: dict[str, Any]) -> None:
        """The module with these globals defines a name; ValueError if another one has, or it has in this import."""
        before = self._modules.get(name)
        if before is module or (before is not None and before["__name__"] != module["__name__"]):
            raise ValueError(
                f"{self._kind} {name!r} is defined twice: in {before['__name__']} and in {module['__name__']}."
            )
        self._modules[name] = module

    def owner(self, name: str) -> str:
        """The name of the module that has defined a name; KeyError if none has."""
        module: str = self._modules[name]["__name__"]
        return module


def calling_module(depth: int) -> dict[str, Any]:
    """The globals of the module whose code is `depth` calls further out than the caller of this."""
    return sys._getframe(depth + 1).f_globals
