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
import tempfile
import threading
import time
import weakref
from contextlib import nullcontext, suppress
from typing import Any, Final

import graphflow.protos as protos
from graphflow._core.common.files import storage
from graphflow._core.common.files.file_timeouts import EVENT_DELAY_SECONDS, REMOTE_EVENTS_SECONDS
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.resources.records import record
from graphflow.errors import (
    FailedPreconditionError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

_SMALL: Final = 1 << 20
"""Bytes that may wait in any case, however many events they are."""
_NAME: Final = re.compile(r".*\.out\.tfevents\.(\d+)\.")
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
    be made; one that the thread meets is raised by every later call. stem: what the name begins with.
    """

    def __init__(
        self, folder: str, capacity: int, delay: float, suffix: str = "", stem: str = "events"
    ) -> None:
        try:
            file = _create(folder, suffix, stem)
        except OSError as error:
            raise failure(error.filename or folder, error) from error
        self.path: str = file.path
        self._state = _State(file, max(1, capacity), min(max(delay, 0.0), EVENT_DELAY_SECONDS))
        self._finalizer = weakref.finalize(self, self._state.close_unasked)
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


class _Local:
    """An event file of the local file system: what is written is there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def seconds_left(self) -> float:
        return 0.0

    def publish(self, urgent: bool) -> bool:
        """Shows what was written to others; whether all is shown."""
        return True

    def close(self) -> None:
        os.close(self._descriptor)


class _Remote:
    """An event file of another file system, which cannot add to a file: all of it is brought there now and then."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: Any = tempfile.NamedTemporaryFile(prefix="graphflow-")  # noqa: SIM115
        self._brought = time.monotonic()

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()

    def seconds_left(self) -> float:
        """Until it is brought there without being asked for."""
        return max(self._brought + REMOTE_EVENTS_SECONDS - time.monotonic(), 0.0)

    def publish(self, urgent: bool) -> bool:
        """Brings it there, if it is asked for or the last time is long ago; whether all is there."""
        if not urgent and self.seconds_left():
            return False
        storage.put(self._file.name, self.path)
        self._brought = time.monotonic()
        return True

    def close(self) -> None:
        self._file.close()


def _create(folder: str, suffix: str, stem: str) -> _Local | _Remote:
    """Makes an event file that sorts behind those that are there."""
    storage.make_folders(folder)
    # TensorBoard reads a folder in the order of names and does not go back, so the time in the name must grow even
    # if the clock did not: after a restart within a second, or on another host.
    remote = storage.is_remote(folder)
    there = storage.names(folder) if not remote or storage.is_folder(folder) else []
    times = [int(match[1]) for match in map(_NAME.match, there) if match]
    moment = max([int(time.time()), *(t + 1 for t in times)])
    while True:
        path = os.path.join(folder, f"{stem}.out.tfevents.{moment:010d}.{socket.gethostname()}{suffix}")
        try:
            return _Remote(path) if remote else _Local(path)
        except FileExistsError:
            moment += 1


class _State:
    """The state that the file and its thread share.

    It has no reference to the EventFile, so that this can be collected.
    """

    def __init__(self, file: _Local | _Remote, capacity: int, delay: float) -> None:
        self._path = file.path
        self._file = file
        self._capacity = capacity
        self._delay = delay
        self._process = os.getpid()
        self._changed = Condition()
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._since = 0.0
        self._added = 0
        self._written = 0
        self._shown = 0
        """So many of those written others see."""
        self._urgent = False
        self._closed = False
        self._error: OpError | None = None
        self._told = False
        """Whether a caller was told of the error."""
        self._thread = threading.Thread(target=self._run, name=f"write {file.path}", daemon=True)
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
            if self._shown < last:
                self._urgent = True
                self._changed.notify_all()
            while self._shown < last:
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

    def close_unasked(self) -> None:
        """Closes it where nobody does; an error that a caller was told of is not told again."""
        with suppress(OpError) if self._told else nullcontext():
            self.close()

    def _check_process(self) -> None:
        """Comes before the lock, which another thread may have held at the fork."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self._path} was opened before a fork. Make a FileWriter in the new process."
            )

    def _check(self) -> None:
        if self._error is not None:
            self._told = True
            raise self._error
        if self._closed:
            raise RuntimeError(f"{self._path} is closed.")

    def _run(self) -> None:
        while self._step():
            pass
        try:
            if self._shown < self._written and self._error is None:
                self._file.publish(True)
            self._file.close()
        except OSError as error:  # Some file systems tell of a full disk only here.
            self._error = self._error or failure(self._path, error)

    def _step(self) -> bool:
        """Waits until something is to be done and does it; False at the end."""
        with self._changed:
            while not self._due():
                self._changed.wait(self._left())
            urgent = self._urgent
            batch, self._waiting, self._bytes, self._urgent = self._waiting, [], 0, False
            if self._error is not None or self._closed and not batch:
                return False
            self._changed.notify_all()
        error, shown = None, False
        try:
            self._file.write(b"".join(batch))
            shown = self._file.publish(urgent)
        except OSError as problem:
            error = failure(self._path, problem)
        with self._changed:
            self._written += len(batch)
            self._shown = self._written if shown else self._shown
            self._error = error
            self._changed.notify_all()
        return True

    def _due(self) -> bool:
        """Whether the thread has something to do now."""
        if self._closed or self._error is not None or self._urgent:
            return True
        left = self._left()
        return left is not None and left <= 0.0 or 2 * self._bytes >= _SMALL

    def _left(self) -> float | None:
        """Seconds until there is something to do; None if there will not be."""
        if self._waiting:
            return max(self._since + self._delay - time.monotonic(), 0.0)
        return self._file.seconds_left() if self._shown < self._written else None


def as_bytes(message: Any) -> bytes:
    """A protobuf message or its bytes, as bytes."""
    return message if isinstance(message, bytes) else bytes(message.SerializeToString())


class SummaryFile:
    """The event file of a writer of the graph, which an operation opens. Thread-safe.

    FailedPreconditionError for what is written before it is open.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._file: EventFile | None = None

    def open(self, folder: str, capacity: int, delay: float, suffix: str) -> None:
        """Makes the file; nothing is done if it is there."""
        with self._lock:
            if self._file is None:
                self._file = EventFile(folder, capacity, delay, suffix)

    def _opened(self) -> EventFile:
        file = self._file
        if file is None:
            raise FailedPreconditionError(
                None, None,
                f"The summary writer {self._name!r} is not open: run summary_writer_initializer_op() first.",
            )  # fmt: skip
        return file

    def write(self, event: bytes) -> None:
        """Adds a serialized Event."""
        self._opened().write(event)

    def flush(self) -> None:
        """Waits until all that was added is in the file."""
        self._opened().flush()

    def close(self) -> None:
        """Writes what is left and closes the file; what comes later needs it to be opened anew."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()
