"""The compiler of kernels and the machine that a process has one of, made when the first hot plan asks for them.

Both are slow to import and to start, and many a program never becomes hot: so they are imported when they are made.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphflow._core.codegen.cpu.compiler import Compiler
    from graphflow._core.codegen.cpu.programs.machine import Machine

_lock = threading.Lock()
_made: dict[str, Any] = {}


def _classes() -> tuple[type[Compiler], type[Machine], Sequence[str]]:
    from graphflow._core.codegen.cpu.compiler import Compiler
    from graphflow._core.codegen.cpu.programs.machine import MACHINE_SOURCES, Machine

    return Compiler, Machine, MACHINE_SOURCES


def compiler() -> Compiler:
    """The compiler of this process."""
    with _lock:
        if "compiler" not in _made:
            its_class, _, sources = _classes()
            _made["compiler"] = its_class()
            _made["compiler"].compile_many(sources)
        made: Compiler = _made["compiler"]
        return made


def machine() -> Machine:
    """The machine of this process; waits for its code."""
    its_compiler = compiler()
    with _lock:
        if "machine" not in _made:
            _, its_class, _ = _classes()
            _made["machine"] = its_class(its_compiler, 60.0)
        made: Machine = _made["machine"]
        return made
