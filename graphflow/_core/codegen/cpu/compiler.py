"""Client of the compiler process: source text in, address of a kernel out, without ever waiting on the
calling thread.

One daemon thread takes requests, looks into the cache first, asks the helper process otherwise and loads the
object file with LLVM's loader; Numba is never imported here. A helper that dies is started again; one that dies
again and again is left alone for a while, longer each time: meanwhile requests fail, the caller stays on NumPy, and
a warning says why. It is never given up, as a server runs for weeks and what killed it may be mended. Loaded code
is never unloaded: threads may be in it.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import logging
import os
import select
import subprocess
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from graphflow._core.codegen.cpu import isolated
from graphflow._core.codegen.cpu.cache import CompiledObject, KernelCache, source_key

_LOG = logging.getLogger("graphflow")
_RESTARTS = 3
"""Deaths of the helper in a row after which it is left alone for a while."""
_PAUSE_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 600.0
_COMPILE_SECONDS = 120.0
_JOIN_SECONDS = 1.0

# Held around every use of LLVM and taken by a fork, so that a child never inherits LLVM's own lock in mid-use.
_LLVM_LOCK = threading.RLock()


class KernelCompileError(Exception):
    """A kernel could not be compiled; the program it belongs to runs on NumPy.

    passing: whether that was the compiler's fault and not the kernel's, so that it may be there later.
    """

    def __init__(self, text: str, passing: bool = False) -> None:
        super().__init__(text)
        self.passing = passing


class Compilation:
    """A kernel being compiled: done() without waiting, result() the address of its machine code."""

    def __init__(self, key: str, source: str) -> None:
        self.key = key
        self.source = source
        self._event = threading.Event()
        self._address = 0
        self._error = ""
        self.passing = False
        """Whether it failed for a reason that may pass."""

    def done(self) -> bool:
        """Whether result() returns or raises at once."""
        return self._event.is_set()

    def failed(self) -> bool:
        """Whether it is known that there will be no kernel."""
        return bool(self._error)

    def result(self, timeout: float | None = None) -> int:
        """Address of the kernel.

        KernelCompileError if there is none, TimeoutError after `timeout` seconds.
        """
        if not self._event.wait(timeout):
            raise TimeoutError(f"kernel {self.key[:16]} is not compiled after {timeout} s")
        if self._error:
            raise KernelCompileError(self._error, self.passing)
        return self._address

    def _finish(self, address: int, error: str = "", passing: bool = False) -> None:
        self._address, self._error, self.passing = address, error, passing
        self._event.set()


def load_object(compiled: CompiledObject) -> int:
    """Load machine code into this process for good and return the kernel's address."""
    with _LLVM_LOCK:
        llvm = import_module("llvmlite.binding")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault", jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(compiled.data))
        engine.finalize_object()
        address = int(engine.get_function_address(compiled.symbol))
        engine.detach()
    if not address:
        raise KernelCompileError(f"object file without the symbol {compiled.symbol}")
    return address


class _HelperDied(Exception):
    pass


class _LeftAlone(Exception):
    """The helper is not started at the moment."""


class _Helper:
    """The running compiler process."""

    def __init__(self) -> None:
        # a pipe could fill up and block the helper
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            isolated.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env=isolated.environment(),
            cwd=isolated.WORKING_DIRECTORY,
        )
        self._buffer = b""

    def ask(self, request: dict[str, str]) -> dict[str, str]:
        """Send one request and wait for its answer."""
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            deadline = time.monotonic() + _COMPILE_SECONDS
            while b"\n" not in self._buffer:
                if not select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                    raise _HelperDied(f"no answer within {_COMPILE_SECONDS:.0f} s")
                block = os.read(process.stdout.fileno(), 1 << 20)
                if not block:
                    raise _HelperDied(f"exit status {process.wait(5)} {self._last_message()}")
                self._buffer += block
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _HelperDied(str(error)) from error
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            answer: dict[str, str] = json.loads(line)
        except ValueError as error:
            raise _HelperDied(f"not an answer: {error}") from error
        return answer

    def _last_message(self) -> str:
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def stop(self) -> None:
        """End the process now."""
        self.process.kill()
        self.abandon()
        self.process.wait()

    def abandon(self) -> None:
        """Close this side's pipes; all that a forked child may do with its parent's helper."""
        for pipe in (self.process.stdin, self.process.stdout, self._messages):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


class Compiler:
    """Compiles kernels in the background into one cache folder.

    Safe to use from any thread, renewed in a forked child.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self.cache = KernelCache(directory)
        self._compilations: dict[str, Compilation] = {}
        self._reset()
        _COMPILERS.add(self)

    def _reset(self) -> None:
        self._condition = threading.Condition()
        self._new: deque[Compilation] = deque()
        self._thread: threading.Thread | None = None
        self._helper: _Helper | None = None
        self._deaths = 0
        """How often the helper has died since it last answered."""
        self._alone_until = 0.0
        self._closed = False

    def compile_async(self, source: str) -> Compilation:
        """Start compiling (or loading) the kernel of a source text; the same text gives the same handle."""
        with _LLVM_LOCK:
            key = source_key(source)
        with self._condition:
            known = self._compilations.get(key)
            if known is None or (known.failed() and known.passing and not self._is_left_alone()):
                known = self._compilations[key] = Compilation(key, source)
                self._new.append(known)
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._serve, name="graphflow-compiler", daemon=True
                    )
                    self._thread.start()
                self._condition.notify()
        return known

    def compile_many(self, sources: Sequence[str]) -> list[Compilation]:
        """compile_async for each text."""
        return [self.compile_async(source) for source in sources]

    def load(self, source: str) -> int | None:
        """Address of a kernel that is loaded or in the cache, without compiling: None otherwise."""
        with _LLVM_LOCK:
            key = source_key(source)
        with self._condition:
            known = self._compilations.get(key)
        if known is None:
            compiled = self.cache.load(key)
            if compiled is None:
                return None
            known = Compilation(key, source)
            self._finish_from(known, compiled)
            with self._condition:
                known = self._compilations.setdefault(key, known)
        return known.result(0) if known.done() and not known.failed() else None

    @property
    def helper_pid(self) -> int | None:
        """Process id of the helper, None while there is none."""
        helper = self._helper
        return None if helper is None else helper.process.pid

    def close(self) -> None:
        """End the helper process; what is not compiled yet fails."""
        with self._condition:
            self._closed = True
            helper, self._helper = self._helper, None
            thread = self._thread
            self._condition.notify()
        if helper is not None:
            helper.process.kill()  # whoever reads its answers sees the end of them
            if thread is not None:
                thread.join(_JOIN_SECONDS)
            helper.stop()

    def _serve(self) -> None:
        waiting: deque[Compilation] = deque()
        try:
            while self._take(waiting):
                if waiting:
                    self._compile(waiting[0])
                    waiting.popleft()
        finally:  # nobody waits for ever, whatever ended this thread
            with self._condition:
                self._thread = None
                left = [*waiting, *self._new]
                self._new.clear()
            for compilation in left:
                if not compilation.done():
                    compilation._finish(0, "the compiler was closed", True)

    def _take(self, waiting: deque[Compilation]) -> bool:
        """Wait for work; what the cache has must not queue behind what must be compiled. False: closed."""
        with self._condition:
            while not self._new and not waiting and not self._closed:
                self._condition.wait()
            fresh = list(self._new)
            self._new.clear()
        waiting.extend(fresh)
        if self._closed:
            return False
        for compilation in fresh:
            if self._finish_from(compilation, self.cache.load(compilation.key)):
                waiting.remove(compilation)
        return True

    def _finish_from(self, compilation: Compilation, compiled: CompiledObject | None) -> bool:
        if compiled is None:
            return False
        try:
            compilation._finish(load_object(compiled))
        except (KernelCompileError, RuntimeError, OSError) as error:
            compilation._finish(0, f"cannot load kernel {compilation.key[:16]}: {error}")
        return True

    def _compile(self, compilation: Compilation) -> None:
        request = {"key": compilation.key, "source": compilation.source}
        reason = "the compiler process keeps ending"
        for _ in range(2):
            try:
                answer = self._running_helper().ask(request)
            except _LeftAlone as error:
                reason = str(error)
                break
            except _HelperDied as error:
                reason = f"the compiler process ended: {error}"
                self._drop_helper(reason)
                continue
            self._deaths = 0
            if "error" in answer:
                compilation._finish(0, f"kernel {compilation.key[:16]} does not compile:\n{answer['error']}")
                return
            compiled = CompiledObject(answer["symbol"], base64.b64decode(answer["data"]))
            self.cache.store(compilation.key, compiled)
            self._finish_from(compilation, compiled)
            return
        compilation._finish(0, f"kernel {compilation.key[:16]} could not be compiled: {reason}", True)

    def _is_left_alone(self) -> bool:
        return time.monotonic() < self._alone_until

    def _running_helper(self) -> _Helper:
        with self._condition:
            if self._closed:
                raise _LeftAlone("the compiler was closed")
            if self._helper is None and self._is_left_alone():
                left = self._alone_until - time.monotonic()
                raise _LeftAlone(f"the compiler process keeps ending, and is started again in {left:.0f} s")
            if self._helper is None:
                try:
                    self._helper = _Helper()
                except OSError as error:
                    raise _HelperDied(str(error)) from error
            return self._helper

    def _drop_helper(self, reason: str) -> None:
        with self._condition:
            helper, self._helper = self._helper, None
            self._deaths += 1
            if self._deaths > _RESTARTS and not self._closed:
                pause = min(
                    _LONGEST_PAUSE_SECONDS, _PAUSE_SECONDS * 2 ** min(self._deaths - _RESTARTS - 1, 20)
                )
                self._alone_until = time.monotonic() + pause
                _LOG.warning(
                    "graphflow compiles no kernels for %.0f s and stays on NumPy; then it tries again: %s",
                    pause,
                    reason,
                )
        if helper is not None:
            helper.stop()

    def _after_fork(self) -> None:
        """In a forked child: keep what is loaded, queue again what was not, and own no helper."""
        if self._helper is not None:
            self._helper.abandon()
        unfinished = [c for c in self._compilations.values() if not c.done()]
        self._reset()
        for compilation in unfinished:
            compilation._event = threading.Event()
            self._new.append(compilation)
        if unfinished:
            self._thread = threading.Thread(target=self._serve, name="graphflow-compiler", daemon=True)
            self._thread.start()


_COMPILERS: weakref.WeakSet[Any] = weakref.WeakSet()


def _close_all() -> None:
    for compiler in list(_COMPILERS):
        compiler.close()


def _renew_all() -> None:
    _LLVM_LOCK.release()
    for compiler in list(_COMPILERS):
        compiler._after_fork()


atexit.register(_close_all)
os.register_at_fork(before=_LLVM_LOCK.acquire, after_in_parent=_LLVM_LOCK.release, after_in_child=_renew_all)
