"""How the collectives of a process reach those of others, and how their threads wait for what comes.

A thread that waits reads what comes in itself if that is possible; of several threads, one does it for all. Handing
it over from a thread of its own would take as long as the message itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from graphflow._core.collectives.group_events import SendContribution, TellJoined, TellLeft
from graphflow._core.collectives.rounds import Communicator
from graphflow._core.common.timeouts import PROGRESS_SLICE_SECONDS
from graphflow._core.common.waiting.conditions import Condition


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


class ProgressEngine(Condition):
    """The condition on which the members of a process wait; one of those that wait reads for all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.link: Link | None = None
        self._led = False

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for something to come, for a short time at most; the lock is held, but not meanwhile."""
        seconds = PROGRESS_SLICE_SECONDS if timeout is None else min(timeout, PROGRESS_SLICE_SECONDS)
        channels = None if self.link is None else self.link.channels
        if channels is None or self._led or not channels.open:
            return super().wait(seconds)
        self._led = True
        try:
            self.without_lock(partial(channels.look, seconds))
        finally:
            self._led = False
        channels.take()
        super().notify_all()
        return True

    def notify_all(self) -> None:
        """Lets all that wait look again; the lock is held."""
        super().notify_all()
        if self._led and self.link is not None:
            self.link.channels.wake()
