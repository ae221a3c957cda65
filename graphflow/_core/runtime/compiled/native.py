"""The process's compiler and machine, made when the first hot plan asks for them."""

from __future__ import annotations

import threading
from typing import Any

_lock = threading.Lock()
_made: dict[str, Any] = {}


def compiler() -> Any:
    """The compiler of this process."""
    with _lock:
        if "compiler" not in _made:
            from graphflow._core.codegen.cpu import MACHINE_SOURCES, Compiler

            _made["compiler"] = Compiler()
            _made["compiler"].compile_many(MACHINE_SOURCES)
        return _made["compiler"]


def machine() -> Any:
    """The machine of this process; waits for its code."""
    made = compiler()
    with _lock:
        if "machine" not in _made:
            from graphflow._core.codegen.cpu import Machine

            _made["machine"] = Machine(made, 60.0)
        return _made["machine"]
