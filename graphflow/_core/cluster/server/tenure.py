"""Tenure: who keeps the lease of a task, where its engine has it serve for some seconds at a time.

The engine is asked in a thread of its own, several times within a lease. What is counted begins before the question and
ends, at the engine, after a later moment: so this task is silent before the engine takes it to be.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import graphflow.errors as errors
from graphflow._core.cluster.protocol.lease import LeaseRenewed, LeaseTaken
from graphflow._core.cluster.resolvers.moving import MovingClusterResolver
from graphflow._core.common.machine import Event

_LOG: Final = logging.getLogger("graphflow")
RENEWALS: Final = 5
"""How often a lease is renewed within its length."""


class Tenure:
    """Keeps the lease of one task from `begin` to `end`.

    task: its name. tell: gives an event to the task's protocol, whose time is when it is called; from any thread.
    """

    def __init__(
        self, task: str, resolver: MovingClusterResolver, tell: Callable[[Callable[[float], Event]], None]
    ) -> None:
        self._task = task
        self._resolver = resolver
        self._tell = tell
        self._ended = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._keep, name=f"graphflow lease {task}", daemon=True)

    def begin(self) -> None:
        """Asks for the lease, and renews it from then on. AbortedError if another life of the task has it.

        If the engine does not answer, the task is silent until it does: another life may have begun by then.
        """
        if not self._resolver.lease_seconds:
            return
        granted = self._ask()
        if granted is False:
            raise errors.AbortedError(None, None, f"{self._task} was started again elsewhere.")
        if granted is None:
            self._tell(lambda now: LeaseRenewed(now, now))
        self._thread.start()

    def end(self) -> None:
        """Renews it no more."""
        self._ended.set()

    def _keep(self) -> None:
        while not self._ended.wait(self._resolver.lease_seconds / RENEWALS):
            if self._ask() is False and not self._ended.is_set():
                self._ended.set()
                self._resolver.taken()

    def _ask(self) -> bool | None:
        """Asks the engine once: whether the task may serve, None if it did not answer."""
        asked = time.monotonic()
        try:
            granted = self._resolver.renew()
        except Exception as error:  # The engine's own; whatever it is, the lease lapses if it goes on.
            if not self._failing:
                _LOG.warning("%s: its lease cannot be renewed now: %s", self._task, error)
            self._failing = True
            return None
        self._failing = False
        if self._ended.is_set():
            return granted  # Meanwhile the task has ended, and may have released its lease.
        until = asked + self._resolver.lease_seconds
        if granted:
            self._tell(lambda now: LeaseRenewed(now, until))
        else:
            self._tell(LeaseTaken)
        return granted
