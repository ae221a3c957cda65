"""The threads that run the parts of a plan.

A part may hold its thread for as long as a Python function in it sleeps, so the number of threads has no limit that
could make another run wait, and all are daemons, so that none keeps the process from ending.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

_IDLE_SECONDS: Final = 10.0


class ThreadPool:
    """Calls functions on threads of its own: an idle one where there is one, a new one otherwise. Thread-safe."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._tasks: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._idle = 0
        self._closed = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls function(*arguments), which must not raise, soon; nothing waits for its end."""
        with self._condition:
            self._tasks.append((function, arguments))
            if self._idle >= len(self._tasks):
                self._condition.notify()
                return
        threading.Thread(target=self._work, name="graphflow", daemon=True).start()

    def close(self) -> None:
        """Ends the idle threads; those at work end after it."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            function, arguments = task
            function(*arguments)
            del task, function, arguments

    def _next(self) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
        with self._condition:
            if not self._tasks and not self._closed:
                self._idle += 1
                self._condition.wait_for(lambda: self._tasks or self._closed, _IDLE_SECONDS)
                self._idle -= 1
            return self._tasks.popleft() if self._tasks else None
