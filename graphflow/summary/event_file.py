"""One event file: a thread of its own writes to it, so that training does not wait for the disk.

What is added is kept in memory for a moment and then handed to the operating system in one call, at the latest after a
second: what is there by then survives even the death of the process. Nothing else is buffered, so a flush waits only
for the thread. The thread sleeps in between: woken for every few events it took 8 % of the time of a training step.
A file that is dropped without being closed, by an exception or at the end of the program, is written to its end.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Final

import graphflow.protos as protos
from graphflow._core.common.timeouts import EVENT_DELAY_SECONDS
from graphflow._core.resources.records import record
from graphflow.errors import OpError, PermissionDeniedError, ResourceExhaustedError, UnknownError

_SMALL: Final = 1 << 20
"""Bytes that may wait in any case, however many events they are."""
_NAME: Final = re.compile(r"events\.out\.tfevents\.(\d+)\.")
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


def failure(path: str, error: OSError) -> OpError:
    """The failure of a file as the class of error that TensorFlow has for it."""
    kind = UnknownError
    if error.errno in _FULL:
        kind = ResourceExhaustedError  # type: ignore[assignment]
    elif error.errno in _FORBIDDEN:
        kind = PermissionDeniedError  # type: ignore[assignment]
    return kind(None, None, f"{path}: {error.strerror or error}. Summaries cannot be written there.")


class EventFile:
    """A new event file in a folder, which is made if it is missing.

    capacity: how many events may wait before `write` does, unless they are less than a megabyte together. delay:
    seconds that an event waits at most; never more than one. Any thread may call it. An OpError if the file cannot
    be made; one that the thread meets is raised by every later call.
    """

    def __init__(self, folder: str, capacity: int, delay: float, suffix: str = "") -> None:
        try:
            self.path, descriptor = _create(folder, suffix)
        except OSError as error:
            raise failure(error.filename or folder, error) from error
        self._state = _State(
            self.path, descriptor, max(1, capacity), min(max(delay, 0.0), EVENT_DELAY_SECONDS)
        )
        self._finalizer = weakref.finalize(self, self._state.close)
        event = protos.event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2")
        self.write(event.SerializeToString())
        self.flush()

    def write(self, event: bytes) -> None:
        """Adds a serialized Event."""
        self._state.write(record(event))

    def flush(self) -> None:
        """Waits until all that was added is in the file."""
        self._state.flush()

    def close(self) -> None:
        """Writes what is left and closes the file; more calls do nothing."""
        if self._finalizer.detach() is not None:
            self._state.close()


def _create(folder: str, suffix: str) -> tuple[str, int]:
    """Makes an event file that sorts behind those that are there; its path and descriptor."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    # TensorBoard reads a folder in the order of names and does not go back, so the time in the name must grow even
    # if the clock did not: after a restart within a second, or on another host.
    times = [int(match[1]) for match in map(_NAME.match, os.listdir(folder)) if match]
    moment = max([int(time.time()), *(t + 1 for t in times)])
    while True:
        path = os.path.join(folder, f"events.out.tfevents.{moment:010d}.{socket.gethostname()}{suffix}")
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except FileExistsError:
            moment += 1


class _State:
    """The state that the file and its thread share.

    It has no reference to the EventFile, so that this can be collected.
    """

    def __init__(self, path: str, descriptor: int, capacity: int, delay: float) -> None:
        self._path = path
        self._descriptor = descriptor
        self._capacity = capacity
        self._delay = delay
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._since = 0.0
        self._added = 0
        self._written = 0
        self._urgent = False
        self._closed = False
        self._error: OpError | None = None
        self._thread = threading.Thread(target=self._run, name=f"write {path}", daemon=True)
        self._thread.start()

    def write(self, framed: bytes) -> None:
        self._check_process()
        with self._changed:
            self._check()
            while self._bytes >= _SMALL and len(self._waiting) >= self._capacity:
                self._changed.wait()
                self._check()
            self._waiting.append(framed)
            self._bytes += len(framed)
            self._added += 1
            if len(self._waiting) == 1:
                self._since = time.monotonic()
                self._changed.notify_all()
            elif self._due():
                self._changed.notify_all()

    def flush(self) -> None:
        self._check_process()
        with self._changed:
            self._check()
            last = self._added
            if self._waiting:
                self._urgent = True
                self._changed.notify_all()
            while self._written < last:
                self._changed.wait()
                self._check()

    def close(self) -> None:
        if os.getpid() != self._process:
            return  # A forked process has a copy of what waits, and no thread; the parent writes it.
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:  # The garbage collector may call from there.
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _check_process(self) -> None:
        """Comes before the lock, which another thread may have held at the fork."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self._path} was opened before a fork. Make a FileWriter in the new process."
            )

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._closed:
            raise RuntimeError(f"{self._path} is closed.")

    def _run(self) -> None:
        while self._step():
            pass
        try:
            os.close(self._descriptor)
        except OSError as error:  # Some file systems tell of a full disk only here.
            self._error = self._error or failure(self._path, error)

    def _step(self) -> bool:
        """Waits until something is to be done and does it; False at the end."""
        with self._changed:
            while not self._due():
                left = self._since + self._delay - time.monotonic()
                self._changed.wait(max(left, 0.0) if self._waiting else None)
            batch, self._waiting, self._bytes, self._urgent = self._waiting, [], 0, False
            if self._error is not None or not batch:
                return False
            self._changed.notify_all()
        error = None
        try:
            _write_all(self._descriptor, b"".join(batch))
        except OSError as problem:
            error = failure(self._path, problem)
        with self._changed:
            self._written += len(batch)
            self._error = error
            self._changed.notify_all()
        return True

    def _due(self) -> bool:
        """Whether the thread has something to do now."""
        if self._closed or self._error is not None:
            return True
        if not self._waiting:
            return False
        late = time.monotonic() >= self._since + self._delay
        return self._urgent or 2 * self._bytes >= _SMALL or late


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def as_bytes(message: Any) -> bytes:
    """A protobuf message or its bytes, as bytes."""
    return message if isinstance(message, bytes) else bytes(message.SerializeToString())
