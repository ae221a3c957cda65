"""The compiler of kernels and the machine that a process has one of, made when the first hot plan asks for them.

Both are slow to import and to start, and many a program never becomes hot: so they are imported when they are made.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphflow._core.codegen.cpu import Compiler, Machine

_lock = threading.Lock()
_made: dict[str, Any] = {}


def compiler() -> Compiler:
    """The compiler of this process."""
    with _lock:
        if "compiler" not in _made:
            from graphflow._core.codegen.cpu import MACHINE_SOURCES, Compiler

            _made["compiler"] = Compiler()
            _made["compiler"].compile_many(MACHINE_SOURCES)
        made: Compiler = _made["compiler"]
        return made


def machine() -> Machine:
    """The machine of this process; waits for its code."""
    its_compiler = compiler()
    with _lock:
        if "machine" not in _made:
            from graphflow._core.codegen.cpu import Machine

            _made["machine"] = Machine(its_compiler, 60.0)
        made: Machine = _made["machine"]
        return made
