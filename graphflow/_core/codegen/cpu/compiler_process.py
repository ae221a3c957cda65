# mypy: disable-error-code="import-untyped, import-not-found"
"""The helper process that compiles kernels, because compiling in a thread of the program stops its hot loop
(Numba holds the GIL).

Speaks JSON lines: {"key", "source"} comes in, {"key", "error", "symbol", "data"} goes out. It reads and writes
no files, and nothing is ever unpickled. It ends when its input ends or its parent is gone. Interrupts from the
terminal are the parent's affair. How it is started, and that nothing but this module, what it imports and Numba
is loaded here: isolated.py.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import threading
import time
import traceback
from contextlib import suppress
from typing import Any

_PARENT_CHECK_SECONDS = 0.5
_LLVM_OPTIONS = (
    # a fused region has many pointers; LLVM gives up vectorising beyond eight run-time overlap checks otherwise
    "-runtime-memory-check-threshold=128",
    # a loop over the lanes of a run is to become vectors before it is unrolled: then it is one of scalars
    "-unroll-full-max-count=16",
    # what is added in order is computed as vectors all the same
    "-force-ordered-reductions=true",
)


class Backend:
    """Numba and LLVM set up once for many compilations."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        for option in _LLVM_OPTIONS:
            llvm.set_option("graphflow", option)
        from graphflow._core.codegen.cpu.llvm import intrinsics

        intrinsics.keep_instructions()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._namespace = {name: getattr(intrinsics, name) for name in intrinsics.__all__}
        self._machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            opt=3,
            codemodel="jitdefault",
            jit=True,
        )

    def compile(self, source: str, key: str) -> tuple[str, bytes]:
        """The symbol and the object file of the function `kernel` of a text; whatever Numba raises is the caller's."""
        namespace: dict[str, Any] = dict(self._namespace, __name__=f"graphflow_kernel_{key[:16]}")
        exec(compile(source, f"<graphflow kernel {key[:16]}>", "exec"), namespace)
        kernel = namespace["kernel"]
        module = self._llvm.parse_assembly(kernel._library.get_llvm_str())
        self._check_symbols(module)
        return kernel.native_name, self._machine.emit_object(module)

    def _check_symbols(self, module: Any) -> None:
        """Refuse code that refers to what only this process has; loading it elsewhere would end that process."""
        process = ctypes.CDLL(None)
        for item in (*module.functions, *module.global_variables):
            if item.is_declaration and not item.name.startswith("llvm.") and not hasattr(process, item.name):
                raise TypeError(f"a kernel must not use {item.name}: no arrays, strings or exceptions")


def answer(backend: Backend, request: dict[str, str]) -> dict[str, str]:
    """Compile one request; an error of the source is part of the answer."""
    key = request["key"]
    try:
        symbol, data = backend.compile(request["source"], key)
    except (Exception, SystemExit):  # whatever a generated text can raise inside Numba belongs to that text
        return {"key": key, "error": traceback.format_exc(limit=-3)}
    return {"key": key, "symbol": symbol, "data": base64.b64encode(data).decode()}


def _lines() -> Any:
    """Lines of the standard input until it ends."""
    buffer = b""
    while block := os.read(0, 1 << 20):
        *lines, buffer = (buffer + block).split(b"\n")
        yield from lines


def _end_with(parent: int) -> None:
    """Ends the process when its parent is gone: also in the middle of a compilation, which nobody awaits then."""
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(0)


def _share_fairly() -> None:
    """One thread among others, which interrupts none of them.

    Not a nicer one: beside a training that keeps all cores busy a niceness of 10 leaves it a twentieth of a core, with
    which 30 kernels were not begun after 40 s, while these take 30 s as one thread among equals. It is needed for
    seconds, and the training is slower for want of what it makes.
    """
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def main(parent: int) -> None:
    """Serve requests until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _share_fairly()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    backend = Backend()
    for line in _lines():
        answers.write(json.dumps(answer(backend, json.loads(line))) + "\n")
        answers.flush()
