"""Run: what resources ask of the run that uses them; the runtime's RunContext is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Run(Protocol):
    """A run that may have to wait for a resource.

    pausable: whether it counts as active in the store, and may leave the count while it waits, holding no variable's
    memory then.
    """

    pausable: bool

    def remaining(self) -> float | None:
        """The seconds to its deadline; None if it has none."""

    def check(self, awaited: Callable[[], str] | None = None) -> None:
        """Raises CancelledError or DeadlineExceededError if the run should end; `awaited` says what it waits for."""

    def failed(self, error: BaseException) -> None:
        """Calls the cleanups of the calling thread, and tells other processes that wait for the run."""
