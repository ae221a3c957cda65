"""The compiler of kernels and the machine that a process has one of, made when the first hot plan asks for them.

Both are slow to import and to start, and many a program never becomes hot: so they are imported when they are made.
"""

from __future__ import annotations

import atexit
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
            atexit.register(_ask_for_the_next, _made["compiler"])  # Before the compiler itself is closed.
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


def look_around() -> None:
    """Does beforehand what takes the first compile job long and starts nothing."""
    its_class, _, _ = _classes()
    its_class.look_around()


def _ask_for_the_next(its_compiler: Compiler) -> None:
    """Has the compile server make what the next program will want, after what this one had asked it for.

    Not if this process has asked it for nothing: then there is nothing new on this machine.
    """
    if its_compiler.server_pid is None:
        return
    from graphflow._core.codegen.generic import MOST_WANTED, generic_sources

    wanted = [source for source in generic_sources(MOST_WANTED) if not its_compiler.holds(source)]
    its_compiler.compile_many(wanted)
