"""The threads that run the parts of a plan, and the one that looks whether an operation of a run waits for another.

A part may hold its thread for as long as a Python function in it sleeps. So the number of threads has no limit, since a
limit could make another run wait. All threads are daemons, so that none keeps the process from ending.

The next task goes to the thread that became idle last. The others stay idle and end after a while, even if there is
always work for some. If threads took turns, as many would stay as one burst of work had needed.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from time import sleep
from typing import Any, Final, Protocol

from graphflow._core.common.timeouts import IDLE_THREAD_SECONDS
from graphflow._core.common.waiting.wait_timeouts import WATCH_IDLE_SECONDS, WATCH_LOOK_SECONDS

_LOG: Final = logging.getLogger("graphflow")
Task = tuple[Callable[..., Any], tuple[Any, ...]]


class _Worker:
    """A thread of a pool; `called` is released when `task` holds work for it, or when the pool is closed."""

    __slots__ = ("called", "task")

    def __init__(self, task: Task) -> None:
        self.task: Task | None = task
        self.called = threading.Lock()
        self.called.acquire()


class ThreadPool:
    """Calls functions on threads of its own: an idle one if there is one, a new one otherwise. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        """The idle threads, in the order in which they became so."""
        self._closed = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Has a thread call function(*arguments), which must not raise, and returns without waiting."""
        task = function, arguments
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is None:
            threading.Thread(target=self._work, args=(_Worker(task),), name="graphflow", daemon=True).start()
        else:
            worker.task = task
            worker.called.release()

    def close(self) -> None:
        """Ends the idle threads; those at work end after their task."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.called.release()

    def _work(self, worker: _Worker) -> None:
        while worker.task is not None:
            function, arguments = worker.task
            worker.task = None
            function(*arguments)
            del function, arguments
            self._wait(worker)

    def _wait(self, worker: _Worker) -> None:
        """Returns when there is a task for the thread, or none will come."""
        with self._lock:
            if self._closed:
                return
            self._idle.append(worker)
        if worker.called.acquire(timeout=IDLE_THREAD_SECONDS):
            return
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                return
        worker.called.acquire()  # It was called a moment after it had waited for long enough.


class Watched(Protocol):
    """A run that is to be looked at."""

    def look(self) -> None:
        """Called every `WATCH_LOOK_SECONDS`; must not raise."""


class Watchman:
    """Looks at runs, every moment as long as there are some. Thread-safe.

    Most runs end before the first look: to begin and to end one must cost nothing. So its thread sleeps and looks, and
    nobody wakes it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[Watched, None] = {}
        self._came = False
        """Whether a run has begun since the last look."""
        self._looks = False
        """Whether there is a thread."""

    def begin(self, run: Watched) -> None:
        """A run begins that is to be looked at until its `end`."""
        self._watched[run] = None
        self._came = True
        if not self._looks:
            self._start()

    def end(self, run: Watched) -> None:
        """A run is not to be looked at any more; it may be looked at once more still."""
        self._watched.pop(run, None)

    def _start(self) -> None:
        with self._lock:
            if not self._looks:
                self._looks = True
                threading.Thread(target=self._look, name="graphflow watch", daemon=True).start()

    def _look(self) -> None:
        idle = 0.0
        while True:
            sleep(WATCH_LOOK_SECONDS)  # By its own name: a program may put something else into `time`.
            for run in list(self._watched):
                try:
                    run.look()
                except Exception:  # Such as that no thread can be started: the next look tries it again.
                    _LOG.exception("A run that waits could not be looked at.")
            idle = 0.0 if self._came or self._watched else idle + WATCH_LOOK_SECONDS
            self._came = False
            if idle > WATCH_IDLE_SECONDS:
                self._looks = False
                if not self._watched:
                    return
                with self._lock:  # One has come meanwhile, and may have started another thread.
                    if self._looks:
                        return
                    self._looks = True

    def renew(self) -> None:
        """Forgets all runs, in a process that was forked: no thread of the other one is in it."""
        self.__init__()  # type: ignore[misc]


WATCHMAN: Final = Watchman()
"""The one of this process."""
os.register_at_fork(after_in_child=WATCHMAN.renew)
