"""The ways from a task's collectives to those of other tasks: local channels to those on its machine, else its sockets.

The thread that waits for a value reads the local channels itself.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from graphflow._core.common.timeouts import MEMBER_BUSY_SECONDS
from graphflow._core.runtime.compiled.cores import usable_cores
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.frames.tensors import BadMessage
from graphflow._core.transport.local_channels import Listener, LocalChannel, LocalChannelBroken
from graphflow._core.transport.shared import SharedMemoryError

_MOST_EVENTS: Final = 64


class CollectiveChannels:
    """The local channels of one task's collectives. But for `look` and `wake`, the lock of the collectives is held.

    wanted: whether there may be any. tell: sends a message to a task by its sockets. came: called with what a task has
    sent, a frame and values beside it. broke: called with a task whose local channel has ended, and why.
    """

    def __init__(
        self,
        wanted: bool,
        tell: Callable[[str, Message], None],
        came: Callable[[str, Any, Sequence[Any]], None],
        broke: Callable[[str, Exception], None],
    ) -> None:
        self._tell = tell
        self._came = came
        self._broke = broke
        self.listener = Listener(wanted)
        self.open: dict[str, LocalChannel] = {}
        """The local channels by task."""
        self._epoll: Any = None
        self._wake = -1
        self._ready: list[int] = []
        self._suspects: set[str] = set()
        """The tasks to which nothing could be sent any more; what they have sent last is taken first."""
        self._cores = usable_cores()
        if self.listener.name:
            self._epoll = select.epoll()
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self._epoll.register(self._wake, select.EPOLLIN)

    @property
    def sending(self) -> bool:
        """Whether something could not be sent yet."""
        return any(channel.waits for channel in self.open.values())

    def send(self, task: str, frame: bytes, values: Sequence[Any] = ()) -> None:
        """Sends a frame, without waiting: by the local channel unless values go beside it."""
        channel = self.open.get(task)
        if channel is not None and not values:
            try:
                channel.send([frame])
            except LocalChannelBroken:  # Maybe nobody looks: who sends a broadcast waits for no one.
                channel.discard()
                self._suspects.add(task)
            if channel.waits:
                self._epoll.modify(channel.fileno(), select.EPOLLIN | select.EPOLLOUT)
            return
        self._tell(task, Message(Kind.COLLECTIVE, tensors=[np.frombuffer(frame, np.uint8), *values]))

    def look(self, seconds: float) -> None:
        """Waits until something comes in or `wake` is called; without the lock."""
        epoll = self._epoll
        if epoll is None:
            return
        try:
            found = epoll.poll(0, _MOST_EVENTS)
            if not found and len(self.open) < self._cores:
                until = time.perf_counter() + MEMBER_BUSY_SECONDS
                while not found and time.perf_counter() < until:
                    found = epoll.poll(0, _MOST_EVENTS)
            self._ready = [file for file, _ in found or epoll.poll(seconds, _MOST_EVENTS)]
        except (ValueError, OSError):
            if not epoll.closed:  # Else the task has ended meanwhile.
                raise

    def wake(self) -> None:
        """Ends the wait of `look`."""
        if self._wake >= 0:
            os.eventfd_write(self._wake, 1)

    def take(self) -> None:
        """Hands on what came in."""
        ready, self._ready = self._ready, []
        if self._wake in ready:
            with suppress(BlockingIOError):
                os.eventfd_read(self._wake)
        for task, channel in [(t, channel) for t, channel in self.open.items() if channel.fileno() in ready]:
            self._take_from(task, channel)

    def take_all(self, tasks: Collection[str] | None = None) -> None:
        """Hands on what came through all, or those of some tasks: it is older than what these say by their sockets."""
        for task, channel in [(t, c) for t, c in self.open.items() if tasks is None or t in tasks]:
            while self.open.get(task) is channel and self._take_from(task, channel):
                pass

    def take_last(self) -> bool:
        """Hands on what those have sent last to whom nothing could be sent; whether there were any."""
        if not self._suspects:
            return False
        self.take_all(self._suspects)
        self._suspects.clear()
        return True

    def add(self, task: str, channel: LocalChannel) -> None:
        """Sends to a task through a local channel from now on, and looks at it."""
        self.open[task] = channel
        self._epoll.register(channel.fileno(), select.EPOLLIN)
        self.wake()

    def close(self, task: str) -> None:
        """Closes the local channel to a task, if there is one."""
        channel = self.open.pop(task, None)
        if channel is not None:
            self._epoll.unregister(channel.fileno())
            channel.close()

    def shut(self) -> None:
        """Closes all and the listener; nobody waits any more."""
        for task in list(self.open):
            self.close(task)
        self.listener.close()
        if self._epoll is not None:
            epoll, self._epoll = self._epoll, None
            epoll.close()
            os.close(self._wake)
            self._wake = -1

    def _take_from(self, task: str, channel: LocalChannel) -> bool:
        """Hands on what came through a local channel; whether that was anything."""
        try:
            found = channel.receive()
            for frames in found:
                self._came(task, frames[0], ())
            if channel.waits and self.open.get(task) is channel:
                self._flush(channel)
        except (LocalChannelBroken, BadMessage, SharedMemoryError) as error:
            self.close(task)
            self._broke(task, error)
            return False
        return bool(found)

    def _flush(self, channel: LocalChannel) -> None:
        try:
            channel.flush()
        except (
            LocalChannelBroken
        ):  # What the other end has sent last is to be taken before that is looked at.
            channel.discard()
        if not channel.waits:
            self._epoll.modify(channel.fileno(), select.EPOLLIN)
