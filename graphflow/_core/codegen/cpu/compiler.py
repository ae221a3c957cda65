"""Client of the compiler process: source text in, address of a kernel out, without ever waiting on the
calling thread.

One daemon thread takes requests, looks into the cache first, asks the compile server of the user otherwise
(service/server.py) and loads the object file with LLVM's loader; Numba is never imported here. If there can be no
server (no folder that lasts, no Unix sockets), or if it ends again and again, a helper process of this one compiles.
While a helper that dies again and again is left alone, requests fail, the caller stays on NumPy, and a warning says
why. Loaded code is never unloaded: threads may be in it.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from graphflow._core.codegen.cpu.cache import CompiledObject, KernelCache, environment_name, source_key
from graphflow._core.codegen.cpu.helper import Helper, HelperDied, Restarts
from graphflow._core.codegen.cpu.service.link import Link, NoServer, ServerGone
from graphflow._core.common.compile_timeouts import COMPILER_JOIN_SECONDS, LAST_REQUESTS_SECONDS
from graphflow._core.common.waiting.conditions import Condition

_LOG = logging.getLogger("graphflow")
_MOST_LOST_SERVERS: Final = 3
"""Ends of the compile server in a row, without an answer between them, after which this process compiles for itself."""

# Held around every use of LLVM and taken by a fork, so that a child never inherits LLVM's own lock in mid-use.
_LLVM_LOCK = threading.RLock()
# The same for the lock of the compile server, while a process starts one.
_SERVER_LOCK = threading.RLock()


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


class _LeftAlone(Exception):
    """The helper is not started at the moment."""


class Compiler:
    """Compiles kernels in the background into one cache folder.

    shared: whether the compile server of the user does it, by default if the folder is the user's. Without it, and if
    there can be none, a process of this compiler's own does.

    Safe to use from any thread, renewed in a forked child.
    """

    def __init__(self, directory: Path | None = None, shared: bool | None = None) -> None:
        self.cache = KernelCache(directory)
        self._compilations: dict[str, Compilation] = {}
        self._is_shared = directory is None if shared is None else shared
        self._reset()
        _COMPILERS.add(self)

    def _reset(self) -> None:
        self._condition = Condition()
        self._new: deque[Compilation] = deque()
        self._thread: threading.Thread | None = None
        self._link: Link | None = None
        self._lost_servers = 0
        """How often the compile server has ended since it last answered."""
        self._helper: Helper | None = None
        self._restarts = Restarts()
        self._closed = False
        self._standing = 0
        """How many threads of this process stand still until they have their kernels."""

    @contextlib.contextmanager
    def awaited(self) -> Iterator[None]:
        """Tells the compile server that the program stands still inside, so that it takes the idle cores, too."""
        self._stand(1)
        try:
            yield
        finally:
            self._stand(-1)

    def _stand(self, more: int) -> None:
        with self._condition:
            self._standing += more
            if self._link is not None:
                self._link.wake()

    @staticmethod
    def look_around() -> None:
        """Finds out what names the kernels of this machine, which is asked for once: versions, files, processor."""
        with _LLVM_LOCK:
            environment_name()

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
                if self._link is not None:
                    self._link.wake()
        return known

    def compile_many(self, sources: Sequence[str]) -> list[Compilation]:
        """compile_async for each text."""
        return [self.compile_async(source) for source in sources]

    def holds(self, source: str) -> bool:
        """Whether a kernel is there without being compiled: loaded, or in the cache."""
        with _LLVM_LOCK:
            key = source_key(source)
        with self._condition:
            known = self._compilations.get(key)
        if known is not None and known.done():
            return not known.failed()
        return self.cache.path(key).is_file()

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
    def server_pid(self) -> int | None:
        """Process id of the compile server, None while this process does not know of one."""
        link = self._link
        return None if link is None else link.process

    @property
    def helper_pid(self) -> int | None:
        """Process id of the helper, None while there is none."""
        helper = self._helper
        return None if helper is None else helper.process.pid

    def close(self) -> None:
        """Ends the helper process; what is not compiled yet fails. The compile server goes on for who comes later."""
        with self._condition:
            self._closed = True
            helper, self._helper = self._helper, None
            thread = self._thread
            self._condition.notify()
            if self._link is not None:
                self._link.wake()
        if helper is not None:
            helper.process.kill()  # whoever reads its answers sees the end of them
            if thread is not None:
                thread.join(COMPILER_JOIN_SECONDS)
            helper.stop()
        elif thread is not None:
            thread.join(LAST_REQUESTS_SECONDS)

    def _serve(self) -> None:
        waiting: dict[str, Compilation] = {}
        try:
            while self._take(waiting):
                if self._is_shared and waiting:
                    self._ask_server(waiting)
                elif waiting:
                    first = next(iter(waiting.values()))
                    self._compile(first)
                    del waiting[first.key]
            self._send_last(waiting)
        finally:  # nobody waits for ever, whatever ended this thread
            with self._condition:
                self._thread = None
                left = [*waiting.values(), *self._new]
                self._new.clear()
            self._leave_server()
            for compilation in left:
                if not compilation.done():
                    compilation._finish(0, "the compiler was closed", True)

    def _take(self, waiting: dict[str, Compilation]) -> bool:
        """Waits for work; what the cache has must not queue behind what must be compiled. False: closed."""
        with self._condition:
            while not self._new and not waiting and not self._closed:
                self._condition.wait()
            fresh = list(self._new)
            self._new.clear()
        for compilation in fresh:
            if self._closed or not self._finish_from(compilation, self.cache.load(compilation.key)):
                waiting[compilation.key] = compilation
        with self._condition:
            if self._closed:  # What came meanwhile is asked for as well.
                waiting.update((compilation.key, compilation) for compilation in self._new)
                self._new.clear()
            return not self._closed

    # ---- by the compile server ----------------------------------------------------------------------------------

    def _ask_server(self, waiting: dict[str, Compilation]) -> None:
        """Asks for what is wanted and not asked for yet, and waits for some answers, or for new requests."""
        try:
            link = self._running_link()
            self._send_requests(link, waiting)
            link.tell(self._standing > 0)
            for answer in link.answers():
                self._lost_servers = 0
                self._take_answer(waiting.pop(answer["key"]), answer)
        except NoServer as error:
            _LOG.debug("graphflow compiles kernels in a process of its own: %s", error)
            self._is_shared = False
        except ServerGone as error:
            self._leave_server()
            self._lost_servers += 1
            if self._lost_servers >= _MOST_LOST_SERVERS:
                _LOG.info("graphflow compiles kernels in a process of its own: %s", error)
                self._is_shared = False
            for key, compilation in list(waiting.items()):  # It may have made some that it did not say.
                if self._finish_from(compilation, self.cache.load(key)):
                    del waiting[key]

    def _running_link(self) -> Link:
        link = self._link
        if link is not None and not link.asked and link.is_gone():
            self._leave_server()  # It had nothing to do any more.
            link = None
        if link is None:
            link = Link(self.cache, _SERVER_LOCK)
            with self._condition:
                self._link = link
                if self._new or self._closed:
                    link.wake()
        return link

    def _send_requests(self, link: Link, waiting: dict[str, Compilation]) -> None:
        for key, compilation in list(waiting.items()):
            if not link.takes(compilation.source):
                self._compile(compilation)
                del waiting[key]
        wanted = [(key, c.source) for key, c in waiting.items() if key not in link.asked]
        if wanted:
            link.ask(wanted)

    def _take_answer(self, compilation: Compilation, answer: dict[str, Any]) -> None:
        if "error" in answer:
            pause = float(answer.get("pause", 0.0))
            if pause:
                self._leave_alone(pause, str(answer.get("reason", "")))
            compilation._finish(0, str(answer["error"]), bool(answer.get("passing")))
        elif not self._finish_from(compilation, self.cache.load(compilation.key)):
            self._compile(compilation)  # The server cannot keep it, or it was removed.

    def _send_last(self, waiting: dict[str, Compilation]) -> None:
        """At the end: has the compile server make for the next program what this one will not see."""
        if not self._is_shared or not waiting:
            return
        limit = time.monotonic() + LAST_REQUESTS_SECONDS
        with contextlib.suppress(NoServer, ServerGone):
            link = self._running_link()
            wanted = [(key, c.source) for key, c in waiting.items() if key not in link.asked]
            link.ask(pair for pair in wanted if link.takes(pair[1]))
            link.send_rest(limit - time.monotonic())

    def _leave_server(self) -> None:
        with self._condition:
            link, self._link = self._link, None
        if link is not None:
            link.close()

    # ---- by a process of its own --------------------------------------------------------------------------------

    def _finish_from(self, compilation: Compilation, compiled: CompiledObject | None) -> bool:
        if compiled is None:
            return False
        try:
            compilation._finish(load_object(compiled))
        except (KernelCompileError, RuntimeError, OSError) as error:
            compilation._finish(0, f"cannot load kernel {compilation.key[:16]}: {error}")
        return True

    def _compile(self, compilation: Compilation) -> None:
        reason = "the compiler process keeps ending"
        for _ in range(2):
            try:
                answer = self._running_helper().ask(compilation.key, compilation.source)
            except _LeftAlone as error:
                reason = str(error)
                break
            except HelperDied as error:
                reason = f"the compiler process ended: {error}"
                self._drop_helper(reason)
                continue
            self._restarts.deaths = 0
            if "error" in answer:
                compilation._finish(0, f"kernel {compilation.key[:16]} does not compile:\n{answer['error']}")
                return
            compiled = CompiledObject(answer["symbol"], base64.b64decode(answer["data"]))
            self.cache.store(compilation.key, compiled)
            self._finish_from(compilation, compiled)
            return
        compilation._finish(0, f"kernel {compilation.key[:16]} could not be compiled: {reason}", True)

    def _is_left_alone(self) -> bool:
        return self._restarts.left_alone(time.monotonic()) > 0

    def _running_helper(self) -> Helper:
        with self._condition:
            if self._closed:
                raise _LeftAlone("the compiler was closed")
            if self._helper is None and self._is_left_alone():
                left = self._restarts.left_alone(time.monotonic())
                raise _LeftAlone(f"the compiler process keeps ending, and is started again in {left:.0f} s")
            if self._helper is None:
                self._helper = Helper()
            return self._helper

    def _drop_helper(self, reason: str) -> None:
        with self._condition:
            helper, self._helper = self._helper, None
            pause = self._restarts.died(time.monotonic())
            if pause and not self._closed:
                self._warn(pause, reason)
        if helper is not None:
            helper.stop()

    def _leave_alone(self, pause: float, reason: str) -> None:
        """Asks the compile server for nothing that it has failed at, for so many seconds."""
        with self._condition:
            if not self._is_left_alone():
                self._warn(pause, reason)
            self._restarts.alone_until = time.monotonic() + pause

    @staticmethod
    def _warn(pause: float, reason: str) -> None:
        _LOG.warning(
            "graphflow compiles no kernels for %.0f s and stays on NumPy; then it tries again: %s",
            pause,
            reason,
        )

    def _after_fork(self) -> None:
        """In a forked child: keep what is loaded, queue again what was not, and own no helper."""
        if self._helper is not None:
            self._helper.abandon()
        if self._link is not None:
            self._link.abandon()
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


def _before_fork() -> None:
    _SERVER_LOCK.acquire()
    _LLVM_LOCK.acquire()


def _after_fork_in_parent() -> None:
    _LLVM_LOCK.release()
    _SERVER_LOCK.release()


def _renew_all() -> None:
    _after_fork_in_parent()
    for compiler in list(_COMPILERS):
        compiler._after_fork()


atexit.register(_close_all)
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_renew_all)
