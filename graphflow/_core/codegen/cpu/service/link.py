"""How a process reaches the compile server of its user, and starts it if there is none.

The server's socket lies in the user's own cache folder. Who holds the lock beside it may start a server: it makes the
socket, listens at it, and hands both to the server that it starts. So there is one server, nobody waits until it is
there, and what was sent to it stays there if the sender ends at once. The lock is free again when the server has
ended, however it did.

Neither side trusts more than that the other is of the same user, which Linux says. No code comes over the socket: what
was compiled is in the cache, signed.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from graphflow._core.codegen.cpu import isolated
from graphflow._core.codegen.cpu.cache import KernelCache, environment_name, first_texts_name, server_name
from graphflow._core.codegen.cpu.service import messages
from graphflow._core.common.compile_timeouts import (
    COMPILE_SERVER_LEFT_SECONDS,
    COMPILE_SERVER_POLL_SECONDS,
    COMPILE_SERVER_SILENT_SECONDS,
    COMPILE_SERVER_START_SECONDS,
)
from graphflow._core.common.files.own_files import own_folder

_CREDENTIALS: Final = struct.Struct("3i")
_BACKLOG: Final = 128
_BLOCK_BYTES: Final = 1 << 16
_NAME_START: Final = "compiler-"


class NoServer(Exception):
    """There can be no compile server here: processes compile for themselves."""


class ServerGone(Exception):
    """The compile server has ended or says nothing; it may be started again."""


def is_of_this_user(end: socket.socket) -> bool:
    """Whether the process at the other end of a Unix socket is of this process's user."""
    found = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(found)[1] == os.geteuid())


@contextmanager
def _opened(cache: KernelCache) -> Iterator[int]:
    """The cache folder, if it is the user's alone and lasts."""
    if sys.platform != "linux" or not cache.home.lasting:
        raise NoServer("kernels are kept for this process alone")
    try:
        folder = os.open(own_folder(cache.directory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NoServer(str(error)) from error
    try:
        yield folder
    finally:
        os.close(folder)


def short_path(folder: int, name: str) -> str:
    """The path of a file in an open folder, which is as short as that of a Unix socket has to be."""
    return f"/proc/self/fd/{folder}/{name}"


def _connected(folder: int, name: str) -> socket.socket | None:
    """A connection to the socket of that name; None if nobody listens there, NoServer if it is another's."""
    try:
        status = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise NoServer(f"{name} is not a socket of this user")
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        end.connect(short_path(folder, name))
        if is_of_this_user(end):
            return end
    except (ConnectionRefusedError, FileNotFoundError):
        end.close()
        return None
    except BlockingIOError:  # Many connect at once.
        end.close()
        return None
    except OSError as error:
        end.close()
        raise NoServer(str(error)) from error
    end.close()
    raise NoServer(f"a process of another user listens at {name}")


def take_lock(folder: int, name: str) -> int | None:
    """The lock of that name, as a file descriptor, or None if somebody has it. Its file is removed by who ends."""
    while True:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_ino == os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino:
                return lock
        except BlockingIOError:
            os.close(lock)
            return None
        except FileNotFoundError:  # It was removed before it was ours.
            pass
        except OSError:
            os.close(lock)
            raise
        os.close(lock)


def _listening(folder: int, name: str) -> socket.socket:
    """A socket that listens under that name, in place of one that was left there."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
    try:
        listener.bind(short_path(folder, name))
        os.chmod(name, 0o600, dir_fd=folder)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _started(
    folder: int, cache: KernelCache, name: str, forks: AbstractContextManager[Any]
) -> subprocess.Popen[bytes] | None:
    """Starts a server, whose socket listens from now on; None if another process does."""
    with forks:
        lock = take_lock(folder, f"{name}.lock")
        if lock is None:
            return None
        try:
            _remove_left(folder, name)
            return _start(folder, cache, name, lock)
        finally:
            os.close(lock)


def _start(folder: int, cache: KernelCache, name: str, lock: int) -> subprocess.Popen[bytes]:
    """Starts a server that has the lock and the socket; its first process ends when there is a second."""
    with _listening(folder, f"{name}.socket") as listener:
        given = {
            "listener": listener.fileno(),
            "lock": lock,
            "directory": str(cache.directory),
            "home": str(cache.home.folder),
            "name": name,
            "environment": environment_name(),
            "texts": first_texts_name(),
        }
        return subprocess.Popen(
            isolated.server_command(given),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=isolated.server_environment(),
            cwd=isolated.WORKING_DIRECTORY,
            pass_fds=(listener.fileno(), lock),
            start_new_session=True,
        )


def _remove_left(folder: int, name: str) -> None:
    """Removes what killed servers of other versions have left."""
    before = time.time() - COMPILE_SERVER_LEFT_SECONDS
    for lock_name in [n for n in os.listdir(folder) if n.startswith(_NAME_START) and n.endswith(".lock")]:
        if lock_name == f"{name}.lock":
            continue
        with suppress(OSError):
            if os.lstat(lock_name, dir_fd=folder).st_mtime > before:
                continue
            lock = take_lock(folder, lock_name)
            if lock is not None:
                remove_files(short_path(folder, ""), lock_name.removesuffix(".lock"))
                os.close(lock)


def remove_files(folder: str | Path, name: str) -> None:
    """Removes the socket and the lock of a server, which the caller must hold."""
    for ending in ("socket", "lock"):
        with suppress(OSError):
            os.unlink(os.path.join(folder, f"{name}.{ending}"))


def look(cache: KernelCache) -> tuple[int, int] | None:
    """The process of the running compile server, and how many kernels it has to make; None if there is none."""
    parser = messages.Parser()
    with suppress(NoServer, OSError, messages.BadFrame), _opened(cache) as folder:
        end = _connected(folder, f"{server_name()}.socket")
        if end is not None:
            with end:
                end.settimeout(COMPILE_SERVER_START_SECONDS)
                while block := end.recv(_BLOCK_BYTES):
                    for message in parser.feed(block):
                        return int(message["process"]), int(message["requests"])
    return None


class Link:
    """A connection to the compile server. One thread uses it; any may wake() that one."""

    def __init__(self, cache: KernelCache, forks: AbstractContextManager[Any]) -> None:
        """Connects, and starts the server if there is none; NoServer or ServerGone if that cannot be.

        forks: a lock that whoever forks this process holds, so that no child inherits the server's lock.
        """
        self._environment = environment_name()
        self._parser = messages.Parser()
        self._unsent = b""
        self._waits = False
        self._heard = time.monotonic()
        self.asked: set[str] = set()
        """The keys that were asked for and not answered."""
        self.process: int | None = None
        """The number of the server's process, once it has said it."""
        self._starting: subprocess.Popen[bytes] | None = None
        """The first process of a server that this one has started; it is waited for when requests are sent."""
        try:
            self._end = self._connect(cache, forks)
        except (NoServer, ServerGone):
            self._await_start()
            raise
        self._sleeper, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def _connect(self, cache: KernelCache, forks: AbstractContextManager[Any]) -> socket.socket:
        name = server_name()
        limit = time.monotonic() + COMPILE_SERVER_START_SECONDS
        with _opened(cache) as folder:
            try:
                while time.monotonic() < limit:
                    end = _connected(folder, f"{name}.socket")
                    if end is not None:
                        return end
                    if self._starting is not None and self._starting.poll():
                        raise ServerGone(f"the compile server ended with {self._starting.returncode}")
                    started = _started(folder, cache, name, forks)
                    if started is None:
                        time.sleep(COMPILE_SERVER_POLL_SECONDS)
                    else:
                        self._await_start()
                        self._starting = started
            except OSError as error:
                raise NoServer(str(error)) from error
        raise NoServer("another process has begun a compile server, which is not there")

    def _await_start(self) -> None:
        """Waits until the first process of a server has ended, which it does when there is a second."""
        process, self._starting = self._starting, None
        if process is not None:
            try:
                process.wait(COMPILE_SERVER_START_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def is_gone(self) -> bool:
        """Whether the server has ended since it was last asked; for a link that waits for nothing."""
        try:
            return not self._end.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    @staticmethod
    def takes(source: str) -> bool:
        """Whether a source is small enough for the server."""
        return len(source) <= messages.MOST_SOURCE_CHARACTERS

    def ask(self, sources: Iterable[tuple[str, str]]) -> None:
        """Asks for kernels, keys with sources that it takes. What cannot be sent yet is kept."""
        wanted = dict(sources)
        if not self.asked:
            self._heard = time.monotonic()
        for frame in messages.pack_sources(self._environment, list(wanted.values())):
            self._unsent += frame
        self.asked.update(wanted)
        self._send()

    def tell(self, waits: bool) -> None:
        """Says whether this process stands still until its kernels are there, unless that was said last."""
        if waits != self._waits:
            self._waits = waits
            self._unsent += messages.pack_waits(self._environment, waits)
            self._send()

    def answers(self) -> list[dict[str, Any]]:
        """Waits for answers, or until it is woken: then there may be none. ServerGone if the server is."""
        left = self._heard + COMPILE_SERVER_SILENT_SECONDS - time.monotonic()
        if left <= 0:
            raise ServerGone(f"the compile server has said nothing for {COMPILE_SERVER_SILENT_SECONDS:.0f} s")
        sending = [self._end] if self._unsent else []
        awaited: list[socket.socket | int] = [self._end, self._sleeper]
        readable, _, _ = select.select(awaited, sending, [], left)
        if self._sleeper in readable:
            with suppress(BlockingIOError):
                os.read(self._sleeper, _BLOCK_BYTES)
        self._send()
        return self._received() if self._end in readable else []

    def send_rest(self, seconds: float) -> None:
        """Sends what is not sent yet; gives up after so many seconds."""
        limit = time.monotonic() + seconds
        with suppress(ServerGone, OSError, ValueError):
            while self._unsent and time.monotonic() < limit:
                select.select([], [self._end], [], max(0.0, limit - time.monotonic()))
                self._send()

    def wake(self) -> None:
        """Has answers() return."""
        with suppress(OSError):
            os.write(self._waker, b"x")

    def close(self) -> None:
        """Leaves the server, which makes later what was asked for."""
        self._close_ends()
        self._await_start()

    def abandon(self) -> None:
        """In a forked child: closes what it has inherited; a server that starts is its parent's."""
        self._close_ends()
        if self._starting is not None:
            self._starting.returncode = 0  # Else Python warns that it goes on.

    def _close_ends(self) -> None:
        self._end.close()
        for end in (self._sleeper, self._waker):
            with suppress(OSError):
                os.close(end)

    def _send(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._end.send(self._unsent[:_BLOCK_BYTES]) :]
        except BlockingIOError:
            return
        except OSError as error:
            raise ServerGone(str(error)) from error

    def _received(self) -> list[dict[str, Any]]:
        try:
            block = self._end.recv(_BLOCK_BYTES)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ServerGone(str(error)) from error
        if not block:
            raise ServerGone("the compile server has ended")
        self._heard = time.monotonic()
        try:
            found = self._parser.feed(block)
        except messages.BadFrame as error:
            raise ServerGone(f"the compile server said what is no answer: {error}") from error
        answers = []
        for message in found:
            if "process" in message:
                self.process = message["process"]
                self._await_start()
            elif message.get("key") in self.asked:
                self.asked.discard(message["key"])
                answers.append(message)
        return answers
