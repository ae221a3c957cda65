"""Imports the compiler on a thread of its own while a program does its first runs.

A plan asks for the compiler in its fourth run, which then waited for all imports of it: a tenth of a second of Python,
several beside other processes. Programs wait before that: for tasks of a cluster, for files, for products of NumPy's.
The modules come in the order of their dependencies, with a pause after each, in which other threads go on. Modules
have no circles, so who needs one of them meanwhile waits for that one, and imports the others itself.

It begins with the second plan of a process, since a program that only computes one value ends before it is of use. A
plan that stays on NumPy for some time by rule counts when half of that time is over. A
fork and the end of the program wait for the module that is being imported: its lock would stay taken in a child.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Final

from graphflow._core.codegen import shared
from graphflow._core.common.compile_timeouts import AHEAD_PAUSE_SECONDS, AHEAD_WAIT_SECONDS

_LOG: Final = logging.getLogger("graphflow")
_PLANS: Final = 2
"""The plan of a process with whose first run the imports begin."""

MODULES: Final = (
    "graphflow._core.codegen.cpu.kernels.kernel_source",
    "graphflow._core.codegen.cpu.regions.region_source",
    "graphflow._core.codegen.cpu.programs.machine",
    "graphflow._core.codegen.cpu.programs.array_machine",
    "graphflow._core.codegen.cpu.cache",
    "graphflow._core.codegen.cpu.helper",
    "llvmlite.ir",
    "llvmlite.binding",
    "graphflow._core.codegen.cpu.compiler",
    "graphflow._core.compiler.lower",
    "graphflow._core.compiler.emit",
    "graphflow._core.compiler.compile_job",
    "graphflow._core.compiler.cpu.index_rules",
    "graphflow._core.compiler.cpu.convolution_rules",
    "graphflow._core.compiler.cpu.rules",
    "graphflow._core.compiler.prepare",
    "graphflow._core.compiler.traced.job",
    "graphflow._core.runtime.compiled.laying",
    "graphflow._core.runtime.compiled.build",
    "graphflow._core.runtime.compiled.template",
    "graphflow._core.runtime.compiled.filling",
)
"""What the first hot plan needs, each after those that it imports itself."""


class Ahead:
    """The imports of one process. Thread-safe."""

    def __init__(self, modules: tuple[str, ...], afterwards: Callable[[], None] = lambda: None) -> None:
        """afterwards: called when all modules are there. It sees to forks itself."""
        self._modules = modules
        self._afterwards = afterwards
        self._lock = threading.Lock()
        self._importing = threading.Lock()
        """Held while one module is imported, and by a fork."""
        self._is_held = False
        """Whether the fork that goes on holds it."""
        self._plans = 0
        self._ended = False
        self.thread: threading.Thread | None = None
        """The thread that imports, once it has begun."""

    def plan_begins(self) -> None:
        """A plan is run for the first time, or for shapes that it has not seen."""
        if self._plans >= _PLANS:
            return
        with self._lock:
            self._plans += 1
            if self._plans == _PLANS:
                self._begin()

    def begin(self) -> None:
        """A plan will want the compiler soon."""
        if self.thread is None and not self._ended:
            with self._lock:
                self._begin()

    def _begin(self) -> None:
        if self._ended or self.thread is not None:
            return
        thread = threading.Thread(target=self._import_all, name="graphflow-imports", daemon=True)
        with suppress(RuntimeError):  # No thread can be had: the hot plan imports what it needs itself.
            thread.start()
            self.thread = thread

    def _import_all(self) -> None:
        try:
            for name in self._modules:
                with self._importing:
                    if self._ended:
                        return
                    import_module(name)
                time.sleep(AHEAD_PAUSE_SECONDS)
            self._afterwards()
        except Exception as error:  # The hot plan finds it as well, and says what follows.
            _LOG.debug("The compiler is not imported ahead: %s: %s", type(error).__name__, error)

    def end(self) -> None:
        """Imports nothing more; returns when the module that is being imported is there."""
        self._ended = True
        if self.thread is not None:
            self.thread.join(AHEAD_WAIT_SECONDS)
            _stay_interrupted()

    def before_fork(self) -> None:
        """Waits until no module is being imported, and lets none begin.

        Not for ever: if the thread that forks holds what the import waits for, the fork goes on without.
        """
        self._is_held = self._importing.acquire(timeout=AHEAD_WAIT_SECONDS)

    def after_fork(self) -> None:
        """Lets imports go on, in the parent."""
        if self._is_held:
            self._importing.release()

    def in_child(self) -> None:
        """In a forked child, which has no such thread: the hot plan imports what it needs itself."""
        self._ended, self.thread = True, None
        self._importing = threading.Lock()
        self._lock = threading.Lock()


def _stay_interrupted() -> None:
    """Has a process that ends by an unhandled Ctrl-C end by SIGINT, as shells expect, whatever was imported since.

    Python notes such an end until any text is evaluated, in whichever thread, and then exits with 1. Modules that are
    imported evaluate texts: each named tuple is one. Nobody reads a text that raises KeyboardInterrupt but that note.
    """
    if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt) and not hasattr(sys, "ps1"):
        with suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt", {})


AHEAD: Final = Ahead(MODULES, shared.look_around)
atexit.register(AHEAD.end)
os.register_at_fork(before=AHEAD.before_fork, after_in_parent=AHEAD.after_fork, after_in_child=AHEAD.in_child)
