"""Condition: a threading.Condition that Ctrl-C leaves free, whenever it comes.

Python raises KeyboardInterrupt between two instructions of the main thread. `with` enters and leaves a
threading.Condition through functions written in Python. What is raised in these, after they have taken the lock, leaves
it taken, and whoever enters it later hangs. No signal divides code in C: so here `with` calls the lock's own methods,
and nothing lies between giving the lock up for a wait and noting that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import starmap
from typing import Any, Final, TypeVar

Result = TypeVar("Result")

_ONCE: Final[list[tuple[()]]] = [()]
"""The arguments of one call without any."""


class Condition(threading.Condition):
    """A condition with a lock of its own, which one thread may enter more than once."""

    __slots__ = ("__enter__", "__exit__", "_give_up_lock", "_lock_again")

    def __init__(self) -> None:
        lock: Any = threading.RLock()
        super().__init__(lock)
        self.__enter__: Any = lock.__enter__
        self.__exit__: Any = lock.__exit__
        self._give_up_lock: Callable[[], Any] = lock._release_save
        self._lock_again: Callable[[Any], None] = lock._acquire_restore

    def without_lock(self, function: Callable[[], Result]) -> Result:
        """What a function returns that is called while others may enter; the lock is held before and after."""
        held: list[Any] = []
        try:
            held.extend(starmap(self._give_up_lock, _ONCE))
            return function()
        finally:
            if held:
                self._lock_again(held[0])

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is notified, or for so many seconds; whether it was notified. The lock is held."""
        waiter = threading.Lock()
        waiter.acquire()
        waiters: Any = self._waiters  # type: ignore[attr-defined]
        notified = False
        try:
            waiters.append(waiter)
            seconds = -1.0 if timeout is None else max(0.0, timeout)
            notified = self.without_lock(partial(waiter.acquire, True, seconds))
            return notified
        finally:
            if not notified and waiter in waiters:
                waiters.remove(waiter)
