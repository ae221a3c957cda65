"""The compile server: one process of a user on a machine, which has every kernel compiled once, for whoever asks.

Processes that each compile for themselves make the same kernels at the same time, beside the training that these are
for, and lose what they had begun when they end: a program that ends sooner than its compiler is as slow the next time.
So they ask this process. It stays until it has made what it was asked for, and for some seconds more, and leaves
nothing then. Kernels go into the cache, signed; who asked is told that they are there.

It compiles nothing itself: that is done by compiler processes, which may crash or hang over a kernel, and which it
starts, ends and starts again as a program does that has one of its own (helper.py). They know neither the cache nor
its secret. One thread does all else, without waiting for anybody: what a client sends is bounded, who sends garbage or
does not read is closed, and who says nothing at all, too. What stops it: nothing to do for a while, its folder gone,
SIGTERM.
"""

from __future__ import annotations

import base64
import os
import selectors
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from graphflow._core.codegen.cpu import isolated
from graphflow._core.codegen.cpu.cache import CompiledObject, KernelCache, key_in, texts_name
from graphflow._core.codegen.cpu.helper import Helper, HelperDied, Restarts
from graphflow._core.codegen.cpu.service import messages
from graphflow._core.codegen.cpu.service.link import is_of_this_user, remove_files
from graphflow._core.codegen.cpu.service.requests import Request, Requests, is_worth_another
from graphflow._core.common.compile_timeouts import (
    COMPILE_SERVER_ALIVE_SECONDS,
    COMPILE_SERVER_IDLE_SECONDS,
    COMPILE_SERVER_LOOK_SECONDS,
    COMPILE_SERVER_STRANGER_SECONDS,
)
from graphflow._core.common.files.own_files import own_secret
from graphflow._core.common.files.signed_files import CacheHome

_MOST_CLIENTS: Final = 256
_MOST_BLOCKS_AT_ONCE: Final = 64
_MOST_UNREAD_BYTES: Final = 1 << 20
_BLOCK_BYTES: Final = 1 << 16
_MOST_ERROR_CHARACTERS: Final = 10_000
_MOST_TRIES: Final = 2
_MOST_HELPERS: Final = 4
"""Compiler processes: half of the cores, the other half being the programs', or all of them while a program stands
still until it has its kernels."""


class _Client:
    """A process that asks."""

    def __init__(self, number: int, end: socket.socket, now: float) -> None:
        self.number = number
        self.end = end
        self.parser = messages.Parser()
        self.unsent = b""
        self.came = self.told = now
        self.has_asked = self.waits = False


class _Worker:
    """A compiler process, and the request that it has."""

    def __init__(self, helper: Helper) -> None:
        self.helper = helper
        self.request: Request | None = None


class Server:
    """All that the process does; run() returns when it has nothing to do any more."""

    def __init__(
        self, listener: socket.socket, lock: int, cache: KernelCache, given: Mapping[str, Any]
    ) -> None:
        self._listener = listener
        self._lock = lock
        self._cache = cache
        self._name: str = given["name"]
        self._environment: str = given["environment"]
        self._texts: str = given["texts"]
        self._folders: list[str] = given["folders"]
        self._requests = Requests()
        self._restarts = Restarts()
        self._clients: dict[int, _Client] = {}
        self._workers: list[_Worker] = []
        self._cores = len(os.sched_getaffinity(0))
        self._numbers = 0
        self._busy_at = self._looked_at = time.monotonic()
        self._selector = selectors.DefaultSelector()
        self._is_closed = False
        self._selector.register(listener, selectors.EVENT_READ, listener)

    def close(self) -> None:
        """Has run() return."""
        self._is_closed = True

    def run(self) -> None:
        """Serves until there is nothing to do."""
        try:
            while not self._is_closed and not self._may_end(time.monotonic()):
                self._begin_work()
                for key, mask in self._selector.select(COMPILE_SERVER_LOOK_SECONDS):
                    if key.data is self._listener:
                        self._accept()
                    elif isinstance(key.data, _Client):
                        self._serve(key.data, mask)
                    else:
                        self._hear(key.data)
                self._look(time.monotonic())
        finally:
            for worker in self._workers:
                worker.helper.stop()
            for client in self._clients.values():
                client.end.close()
            self._selector.close()
            if self._is_there():
                remove_files(self._cache.directory, self._name)

    def _may_end(self, now: float) -> bool:
        if now - self._looked_at > COMPILE_SERVER_LOOK_SECONDS:
            self._looked_at = now
            if not self._is_there() and not any(map(self._requests.outstanding, self._clients)):
                return True
        if len(self._requests):
            return False
        return now - self._busy_at > COMPILE_SERVER_IDLE_SECONDS and not self._restarts.left_alone(now)

    def _is_there(self) -> bool:
        """Whether who looks for this process can find it: its folder may be gone, or another be there."""
        try:
            found = os.lstat(self._cache.directory / f"{self._name}.lock")
        except OSError:
            return False
        return found.st_ino == os.fstat(self._lock).st_ino

    # ---- clients ------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            end, _ = self._listener.accept()
        except OSError:
            return
        if len(self._clients) >= _MOST_CLIENTS:
            for stranger in [client for client in self._clients.values() if not client.has_asked][:1]:
                self._close(stranger)
        if len(self._clients) >= _MOST_CLIENTS or not is_of_this_user(end):
            end.close()
            return
        end.setblocking(False)
        self._numbers += 1
        client = self._clients[self._numbers] = _Client(self._numbers, end, time.monotonic())
        self._selector.register(end, selectors.EVENT_READ, client)
        for other in list(self._clients.values()):
            self._read_all(other)
        self._tell(client, {"process": os.getpid(), "requests": len(self._requests)})

    def _read_all(self, client: _Client) -> None:
        """Takes what a client has sent: it counts for who comes after, who may want to know whether all is made."""
        for _ in range(_MOST_BLOCKS_AT_ONCE):
            if client.number not in self._clients or not self._serve(client, selectors.EVENT_READ):
                return

    def _close(self, client: _Client) -> None:
        if self._clients.pop(client.number, None) is not None:
            self._selector.unregister(client.end)
            client.end.close()
            self._requests.leave(client.number)

    def _serve(self, client: _Client, mask: int) -> bool:
        """Sends and reads as far as that is possible now; whether anything was read."""
        if mask & selectors.EVENT_WRITE:
            self._send(client)
        if mask & selectors.EVENT_READ:
            try:
                block = client.end.recv(_BLOCK_BYTES)
                found = client.parser.feed(block)
            except BlockingIOError:
                return False
            except (OSError, messages.BadFrame):
                self._close(client)
                return False
            if not block or not all(self._take(client, message) for message in found):
                self._close(client)
                return False
            return True
        return False

    def _take(self, client: _Client, message: dict[str, Any]) -> bool:
        """Notes what a client asks for; False if it makes no sense."""
        sources = message.get("sources")
        if message.get("environment") != self._environment or not isinstance(sources, list):
            return False
        if not all(isinstance(source, str) for source in sources):
            return False
        client.has_asked = True
        client.waits = message.get("waits", client.waits) is True
        self._busy_at = time.monotonic()
        for source in dict.fromkeys(sources):
            try:
                key = key_in(bytes.fromhex(self._environment), source)
            except UnicodeEncodeError:
                return False
            if self._cache.load(key) is not None:
                self._tell(client, {"key": key, "stored": True})
            elif not self._requests.add(client.number, key, source):
                error = f"kernel {key[:16]} could not be compiled: the compile server has too much to do"
                self._tell(client, {"key": key, "error": error, "passing": True})
        return True

    def _tell(self, client: _Client, message: dict[str, Any]) -> None:
        client.told = time.monotonic()
        client.unsent += messages.pack(message)
        self._send(client)

    def _send(self, client: _Client) -> None:
        if client.number not in self._clients:
            return
        try:
            while client.unsent:
                client.unsent = client.unsent[client.end.send(client.unsent[:_BLOCK_BYTES]) :]
        except BlockingIOError:
            pass
        except OSError:  # It has gone; what it has sent before is read all the same.
            client.unsent = b""
        if len(client.unsent) > _MOST_UNREAD_BYTES:
            self._close(client)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.unsent else 0)
        self._selector.modify(client.end, events, client)

    def _answer(self, request: Request, answer: dict[str, Any]) -> None:
        self._busy_at = time.monotonic()
        for number in list(self._requests.finish(request)):
            client = self._clients.get(number)
            if client is not None:
                self._tell(client, {"key": request.key, **answer})

    def _fail(self, request: Request, reason: str, pause: float = 0.0) -> None:
        error = f"kernel {request.key[:16]} could not be compiled: {reason}"
        self._answer(request, {"error": error, "passing": True, "pause": pause, "reason": reason})

    # ---- compiler processes -------------------------------------------------------------------------------------

    def _begin_work(self) -> None:
        waiting = self._requests.all_waiting()
        if not waiting:
            return
        alone = self._restarts.left_alone(time.monotonic())
        if alone:
            for request in waiting:
                reason = f"the compiler process keeps ending, and is started again in {alone:.0f} s"
                self._fail(request, reason, alone)
            return
        free = [worker for worker in self._workers if worker.request is None]
        count, most = len(self._workers), self._most_workers()
        if count < most and is_worth_another(len(waiting), len(free), count):
            self._start_worker()
            free = [worker for worker in self._workers if worker.request is None]
        for worker in free[: max(0, most - len(self._workers) + len(free))]:
            wanted = self._requests.take()
            if wanted is None:
                return
            worker.request = wanted
            try:
                worker.helper.send(wanted.key, wanted.source)
            except HelperDied as error:
                self._died(worker, error)
                continue
            self._watch_sending(worker)

    def _most_workers(self) -> int:
        """How many compiler processes may work now."""
        awaited = any(c.waits and self._requests.outstanding(c.number) for c in self._clients.values())
        return max(1, min(_MOST_HELPERS, self._cores if awaited else self._cores // 2))

    def _start_worker(self) -> None:
        if texts_name() != self._texts:  # What it would compile is not what its clients mean.
            self.close()
            return
        try:
            worker = _Worker(Helper(isolated.worker_command(self._folders)))
        except HelperDied as error:
            self._restarts.died(time.monotonic())
            first = self._requests.take()
            if first is not None:
                self._try_again(first, str(error))
            return
        self._workers.append(worker)
        self._selector.register(worker.helper.answers, selectors.EVENT_READ, worker)

    def _watch_sending(self, worker: _Worker) -> None:
        """Has the loop go on with a request of which a part is not sent yet."""
        requests = worker.helper.requests
        is_watched = requests in self._selector.get_map()
        if worker.helper.is_sending and not is_watched:
            self._selector.register(requests, selectors.EVENT_WRITE, worker)
        elif is_watched and not worker.helper.is_sending:
            self._selector.unregister(requests)

    def _hear(self, worker: _Worker) -> None:
        if worker not in self._workers:
            return
        try:
            worker.helper.send_more()
            answer = worker.helper.receive()
        except HelperDied as error:
            self._died(worker, error)
            return
        self._watch_sending(worker)
        request = worker.request
        if answer is None or request is None:
            return
        worker.request = None
        self._restarts.deaths = 0
        if "error" in answer:
            reason = f"kernel {request.key[:16]} does not compile:\n{answer['error']}"
            self._answer(request, {"error": reason[:_MOST_ERROR_CHARACTERS], "passing": False})
        elif self._cache.store(
            request.key, CompiledObject(answer["symbol"], base64.b64decode(answer["data"]))
        ):
            self._answer(request, {"stored": True})
        else:
            self._answer(request, {"unstored": True})

    def _died(self, worker: _Worker, error: HelperDied) -> None:
        self._workers.remove(worker)
        for end in (worker.helper.answers, worker.helper.requests):
            with suppress(KeyError, ValueError):
                self._selector.unregister(end)
        worker.helper.stop()
        self._restarts.died(time.monotonic())
        if worker.request is not None:
            self._try_again(worker.request, str(error))

    def _try_again(self, request: Request, error: str) -> None:
        alone = self._restarts.left_alone(time.monotonic())
        if request.tries < _MOST_TRIES and not alone:
            self._requests.put_back(request)
        else:
            self._fail(request, f"the compiler process ended: {error}", alone)

    # ---- what is due --------------------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        for worker in list(self._workers):
            if worker.request is not None:
                try:
                    worker.helper.check(now)
                except HelperDied as error:
                    self._died(worker, error)
        for client in list(self._clients.values()):
            if not client.has_asked and now - client.came > COMPILE_SERVER_STRANGER_SECONDS:
                self._close(client)
            elif now - client.told > COMPILE_SERVER_ALIVE_SECONDS and self._requests.outstanding(
                client.number
            ):
                self._tell(client, {"waiting": self._requests.outstanding(client.number)})


def main(given: dict[str, Any]) -> None:
    """Serves at the socket that this process was started with; service/link.py says with what else."""
    os.umask(0o077)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    listener = socket.socket(fileno=given["listener"])
    os.set_inheritable(given["listener"], False)
    os.set_inheritable(given["lock"], False)
    folder = Path(given["home"])
    cache = KernelCache(Path(given["directory"]), CacheHome(folder, own_secret(folder / "signing-key"), True))
    server = Server(listener, given["lock"], cache, given)
    signal.signal(signal.SIGTERM, lambda number, frame: server.close())
    server.run()
