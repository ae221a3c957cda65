"""How the collectives of a process reach those of others, and how their threads wait for what comes.

A thread that waits reads what comes in itself if that is possible; of several threads, one does it for all. Handing
it over from a thread of its own would take as long as the message itself.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

from graphflow._core.collectives.group_events import SendContribution, TellJoined, TellLeft
from graphflow._core.collectives.rounds import Communicator
from graphflow._core.common.timeouts import PROGRESS_SLICE_SECONDS


class Channels(Protocol):
    """What a task's collectives hear other tasks by without their sockets: it is read by the thread that waits.

    open: those that are; without any, what comes in is handed on by another thread.
    """

    open: dict[str, Any]

    def look(self, seconds: float) -> None:
        """Waits until something comes in or `wake` is called."""
        ...

    def take(self) -> None:
        """Hands on what came in."""
        ...

    def wake(self) -> None:
        """Ends the wait of `look`, in another thread."""
        ...

    @property
    def sending(self) -> bool:
        """Whether something could not be sent yet."""
        ...


class Link(Protocol):
    """How a task's collectives reach those of other tasks. What it sends it sends without waiting."""

    @property
    def channels(self) -> Channels:
        """The ways by which it hears them at once."""
        ...

    def tasks(self) -> Sequence[str]:
        """The tasks of the cluster."""
        ...

    def announce(self, key: int, what: TellJoined | TellLeft) -> None:
        """Tells every task who has joined or left a group."""
        ...

    def contribute(self, key: int, what: SendContribution) -> None:
        """Gives the other tasks of a communicator what a member brought: all, or shares of what a task cannot read."""
        ...

    def reduced(
        self, key: int, communicator: Communicator, rank: int, round_: tuple[int, int], share: Any
    ) -> None:
        """Tells the other tasks of a communicator that a share is reduced, and gives it to those that need it."""
        ...

    def taken(self, key: int, communicator: Communicator, rank: int, round_: tuple[int, int]) -> None:
        """Tells the other tasks of a communicator that memory of theirs is not read any more."""
        ...


class ProgressEngine:
    """The condition on which the members of a process wait; one of those that wait reads for all of them."""

    def __init__(self) -> None:
        self.link: Link | None = None
        self._lock = threading.Lock()
        self._others = threading.Condition(self._lock)
        self._led = False

    def __enter__(self) -> ProgressEngine:
        self._lock.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for something to come, for a short time at most; the lock is held, but not meanwhile."""
        seconds = PROGRESS_SLICE_SECONDS if timeout is None else min(timeout, PROGRESS_SLICE_SECONDS)
        channels = None if self.link is None else self.link.channels
        if channels is None or self._led or not channels.open:
            return self._others.wait(seconds)
        self._led = True
        self._lock.release()
        try:
            channels.look(seconds)
        finally:
            self._lock.acquire()
            self._led = False
        channels.take()
        self._others.notify_all()
        return True

    def notify_all(self) -> None:
        """Lets all that wait look again; the lock is held."""
        self._others.notify_all()
        if self._led and self.link is not None:
            self.link.channels.wake()
