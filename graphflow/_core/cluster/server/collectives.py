"""Collectives between the tasks of a cluster: who takes part is told over the links of the tasks, and so are values.

If two tasks are processes of one machine, what their members bring goes through a local channel of its own
(transport/local_channels.py). The thread that waits for it reads it, and large values lie in memory that both see.
Between machines everything goes through the sockets of the tasks.
"""

from __future__ import annotations

import math
import os
import select
import struct
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details, from_details
from graphflow._core.collectives.arithmetic import Collectives
from graphflow._core.collectives.group_events import (
    ContributionCame,
    MemberJoined,
    MemberLeft,
    MemoryRead,
    SendContribution,
    ShareReduced,
    TellJoined,
    TellLeft,
)
from graphflow._core.collectives.rounds import LARGE, Communicator, Contribution, share_of
from graphflow._core.common.timeouts import (
    COLLECTIVE_TRIM_SECONDS,
    MEMBER_BUSY_SECONDS,
    MEMBER_GOODBYE_SECONDS,
)
from graphflow._core.graph.devices import task_of
from graphflow._core.runtime.compiled.tier import usable_cores
from graphflow._core.transport.frames.collective_frames import Frame, What, Where
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.frames.tensors import BadMessage
from graphflow._core.transport.local_channels import Listener, LocalChannel, LocalChannelBroken, connect
from graphflow._core.transport.shared import PartnerMemory, SharedMemory, SharedMemoryError

_MOST_EVENTS: Final = 64
_MOST_RANK: Final = 65_535


class CollectiveLink:
    """The link of one task's collectives. But for `look` and `wake`, the lock of the collectives is held.

    tell: sends a message to a task, from any thread. local_channels: whether local channels may be opened.
    """

    def __init__(
        self,
        task: str,
        tasks: Sequence[str],
        memory: SharedMemory,
        tell: Callable[[str, Message], None],
        local_channels: bool,
    ) -> None:
        self.collectives = Collectives()
        self._task = task
        self._tasks = [t for t in tasks if t != task]
        self._memory = memory
        self._tell = tell
        self.listener = Listener(local_channels)
        self.channels: dict[str, LocalChannel] = {}
        self._partners: dict[str, PartnerMemory] = {}
        self._others: dict[Communicator, tuple[str, ...]] = {}
        self._epoll: Any = None
        self._wake = -1
        self._ready: list[int] = []
        self.broken: dict[str, tuple[float, errors.OpError]] = {}
        """The tasks whose local channels have ended: until when the goodbye may come, and the error if it does not."""
        self._suspects: set[str] = set()
        """The tasks to which nothing could be sent any more; what they have sent last is taken first."""
        self._trim_at = 0.0
        self._cores = usable_cores()
        if self.listener.name:
            self._epoll = select.epoll()
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            self._epoll.register(self._wake, select.EPOLLIN)
        self.collectives.connect(self, memory)

    # ---- what a member tells ----------------------------------------------------------------------------------------

    def tasks(self) -> Sequence[str]:
        """The tasks of the cluster."""
        return [self._task, *self._tasks]

    def announce(self, key: int, what: TellJoined | TellLeft) -> None:
        """Tells every task who has joined or left a group."""
        for task in self._tasks:
            self._announce(task, key, what)

    def _announce(self, task: str, key: int, what: TellJoined | TellLeft) -> None:
        details: dict[str, Any] = {"group": key, "member": what.member, "number": what.number}
        if isinstance(what, TellJoined):
            details |= self._memory_details() | {"lane": self.listener.name, "size": what.size}
        else:
            details["left"] = None if what.error is None else as_details(what.error)
            details["completed"] = [list(pair) for pair in what.completed.items()]
        self._tell(task, Message(Kind.COLLECTIVE, details=details))

    def _memory_details(self) -> dict[str, Any]:
        return {"memory": dict(self._memory.address)}

    def _other_tasks(self, communicator: Communicator) -> tuple[str, ...]:
        found = self._others.get(communicator)
        if found is None:
            self._others = {communicator: ()} if len(self._others) > _MOST_EVENTS else self._others
            found = self._others[communicator] = tuple(
                sorted({task_of(m) for m in communicator.members} - {self._task})
            )
        return found

    def contribute(self, key: int, what: SendContribution) -> None:
        """Gives the other tasks of a communicator what a member brought: all, or shares of what a task cannot read."""
        contribution, communicator = what.contribution, what.communicator
        whole = contribution.whole
        frame = Frame(
            What.CONTRIBUTION, key, *what.key, communicator.number, what.rank, Where.HERE,
            contribution.dtype, contribution.shape, contribution.terms, contribution.name,
            contribution.rows if contribution.fixed else ~contribution.rows, whole.nbytes,
        )  # fmt: skip
        if whole.nbytes < LARGE:
            small = frame._replace(payload=whole.tobytes()).encode()
            for task in self._other_tasks(communicator):
                self._send(task, small)
            return
        for task in self._other_tasks(communicator):
            handle = self._memory.pin(whole, task) if task in self._partners else None
            if handle is not None:
                self._send(task, frame._replace(where=Where.SHARED, payload=handle).encode())
                continue
            ranks = (
                [r for r, m in enumerate(communicator.members) if task_of(m) == task]
                if contribution.in_shares
                else []
            )
            beside = frame._replace(where=Where.BESIDE, payload=struct.pack(f"<{len(ranks)}H", *ranks))
            places = [share_of(len(whole), r, len(communicator.members)) for r in ranks]
            self._send(task, beside.encode(), [whole[place] for place in places] or [whole])

    def reduced(
        self, key: int, communicator: Communicator, rank: int, round_: tuple[int, int], share: Any
    ) -> None:
        """Tells the other tasks of a communicator that a share is reduced, and gives it to those that need it."""
        for task in self._other_tasks(communicator):
            shared = task in self._partners
            where = Where.NOWHERE if shared else Where.BESIDE
            frame = Frame(What.REDUCED, key, *round_, communicator.number, rank, where).encode()
            self._send(task, frame, () if shared else (share,))

    def taken(self, key: int, communicator: Communicator, rank: int, round_: tuple[int, int]) -> None:
        """Tells the other tasks of a communicator that memory of theirs is not read any more."""
        frame = Frame(What.TAKEN, key, *round_, communicator.number, rank).encode()
        for task in self._other_tasks(communicator):
            self._send(task, frame)

    def _send(self, task: str, frame: bytes, values: Sequence[Any] = ()) -> None:
        channel = self.channels.get(task)
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

    # ---- what comes in ----------------------------------------------------------------------------------------------

    @property
    def looks(self) -> bool:
        """Whether there are local channels to look at."""
        return bool(self.channels)

    @property
    def sending(self) -> bool:
        """Whether something could not be sent yet."""
        return any(channel.waits for channel in self.channels.values())

    def look(self, seconds: float) -> None:
        """Waits until something comes in or `wake` is called; without the lock."""
        epoll = self._epoll
        if epoll is None:
            return
        try:
            found = epoll.poll(0, _MOST_EVENTS)
            if not found and len(self.channels) < self._cores:
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
        for task, channel in [
            (t, channel) for t, channel in self.channels.items() if channel.fileno() in ready
        ]:
            self._take_from(task, channel)

    def _take_from(self, task: str, channel: LocalChannel) -> bool:
        """Hands on what came through a local channel; whether that was anything."""
        try:
            found = channel.receive()
            for frames in found:
                self._frame(task, frames[0], ())
            if channel.waits and self.channels.get(task) is channel:
                self._flush(channel)
        except (LocalChannelBroken, BadMessage, SharedMemoryError) as error:
            self._channel_broken(task, error)
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

    def _take_all(self, tasks: Collection[str] | None = None) -> None:
        """Hands on what came through all local channels: it was sent before what a task has just said over its link."""
        for task, channel in [
            (t, channel) for t, channel in self.channels.items() if tasks is None or t in tasks
        ]:
            while self.channels.get(task) is channel and self._take_from(task, channel):
                pass

    def _channel_broken(self, task: str, error: Exception) -> None:
        self.close_channel(task)
        text = f"The task {task} is gone: its connection has ended ({error})."
        self.broken[task] = (
            time.monotonic() + MEMBER_GOODBYE_SECONDS,
            errors.UnavailableError(None, None, text),
        )

    def received(self, task: str, message: Message) -> None:
        """Another task has sent a message; ValueError and the like if it is wrong."""
        details = message.details
        if "lane" in details and "group" not in details:
            channel = self.listener.accept(details["lane"])
            if channel is not None:
                self._open_memory(task, details)
                self._add_channel(task, channel)
        elif details:
            self._announced(task, details)
        else:
            frame, *values = message.tensors
            self._frame(task, frame.tobytes(), values)
        self.collectives.condition.notify_all()

    def _announced(self, task: str, details: Mapping[str, Any]) -> None:
        key, number = details["group"], details["number"]
        member = str(details["member"])
        if task_of(member) != task or not isinstance(key, int) or not isinstance(number, int):
            raise ValueError(f"{member!r:.200} is none of the sender's devices.")
        if "left" in details:
            self._take_all()
            left = details["left"]
            error = None if left is None else from_details(left, None)
            completed = {int(instance): int(count) for instance, count in details["completed"]}
            self.collectives.heard(key, MemberLeft(member, number, error, completed))
            return
        size = details["size"]
        if not isinstance(size, int) or not 0 < size <= _MOST_RANK:
            raise ValueError(f"A group has {size!r:.200} members.")
        if task in self.broken:
            if self.collectives.has_joined(key, member, number):
                return  # It was said once more before the local channel ended: what follows will tell why.
            self._take_loss(task)
        self._approach(task, details)
        self.collectives.heard(key, MemberJoined(member, number, size))

    def _take_loss(self, task: str) -> None:
        """A task whose local channel has ended is gone, and there again: frames that were under way may be lost."""
        broken = self.broken.pop(task, None)
        if broken is not None:
            self.collectives.lost(task, broken[1])

    def _approach(self, task: str, details: Mapping[str, Any]) -> None:
        """Shares memory with a task, and opens a local channel to it, if both are on one machine."""
        self._open_memory(task, details)
        if task in self.channels or not self.listener.name or self._task < task:
            return
        found = connect(details.get("lane"))
        if found is not None:
            end, secret = found
            # What comes through the local channel may be sooner than the news that a member has joined, and may lie in
            # memory.
            self._tell(task, Message(Kind.COLLECTIVE, details={"lane": secret} | self._memory_details()))
            self._add_channel(task, LocalChannel(end))

    def _open_memory(self, task: str, details: Mapping[str, Any]) -> None:
        if task not in self._partners and self._memory.usable and self.listener.name:
            with suppress(SharedMemoryError):
                self._partners[task] = PartnerMemory(details.get("memory") or {})
                self._memory.has_partners = True

    def _add_channel(self, task: str, channel: LocalChannel) -> None:
        self._take_all([task])
        self.close_channel(task)
        self._take_loss(task)
        self.channels[task] = channel
        self._epoll.register(channel.fileno(), select.EPOLLIN)
        self.wake()

    def close_channel(self, task: str) -> None:
        """Closes the local channel to a task, if there is one."""
        channel = self.channels.pop(task, None)
        if channel is not None:
            self._epoll.unregister(channel.fileno())
            channel.close()

    def _frame(self, task: str, data: Any, values: Sequence[Any]) -> None:
        frame = Frame.decode(data)
        key, communicator, rank = (frame.instance, frame.round), frame.communicator, frame.rank
        if frame.what is What.CONTRIBUTION:
            whole, parts = self._value(task, frame, values)
            fixed, rows = frame.rows >= 0, max(frame.rows, ~frame.rows)
            contribution = Contribution(
                frame.terms, frame.name, frame.dtype, frame.shape, whole, parts, rows, fixed
            )
            self.collectives.heard(frame.group, ContributionCame(communicator, rank, key, contribution))
        elif frame.what is What.REDUCED:
            share = values[0] if frame.where is Where.BESIDE else None
            self.collectives.heard(frame.group, ShareReduced(communicator, rank, key, share))
        else:
            self.collectives.heard(frame.group, MemoryRead(communicator, rank, key))

    def _value(self, task: str, frame: Frame, values: Sequence[Any]) -> tuple[Any, Mapping[int, Any] | None]:
        """The value that a frame tells of, flat, or the shares of it by rank."""
        if frame.where is Where.HERE:
            return frame.value(), None
        dtype = frame.dtype
        if frame.where is Where.SHARED:
            if frame.length != frame.bytes:
                raise BadMessage("The value of a collective has another length than its shape says.")
            if task not in self._partners:
                raise SharedMemoryError("its memory cannot be opened")
            return self._partners[task].read(bytes(frame.payload), frame.length).view(dtype), None
        ranks = struct.unpack(f"<{len(frame.payload) // 2}H", frame.payload)
        if any(v.dtype != dtype or v.ndim != 1 for v in values) or len(values) != max(1, len(ranks)):
            raise BadMessage("The values of a collective are not what their frame says.")
        if ranks:
            return None, dict(zip(ranks, values, strict=True))
        if len(values[0]) != math.prod(frame.shape):
            raise BadMessage("The value of a collective has another length than its shape says.")
        return values[0], None

    # ---- tasks that come and go -------------------------------------------------------------------------------------

    def met(self, task: str) -> None:
        """A task is there: it hears who has joined."""
        for key, joined in self.collectives.standing():
            self._announce(task, key, joined)

    def lost(self, task: str, error: errors.OpError) -> None:
        """A task is gone."""
        self._take_all()
        self.close_channel(task)
        self.broken.pop(task, None)
        partner = self._partners.pop(task, None)
        if partner is not None:
            partner.close()
        self.collectives.lost(task, error)

    def trim(self) -> None:
        """Forgets, every now and then, what has not been used; gives up tasks whose local channels have ended."""
        now = time.monotonic()
        if self._suspects:
            self._take_all(self._suspects)
            self._suspects.clear()
            self.collectives.condition.notify_all()
        for task, (deadline, _) in list(self.broken.items()):
            if now > deadline:
                self._take_loss(task)
        if now < self._trim_at:
            return
        self._trim_at = now + COLLECTIVE_TRIM_SECONDS
        self.listener.trim()
        for partner in self._partners.values():
            partner.trim()

    def close(self) -> None:
        """Closes all local channels; nobody waits any more."""
        for task in list(self.channels):
            self.close_channel(task)
        self.listener.close()
        if self._epoll is not None:
            epoll, self._epoll = self._epoll, None
            epoll.close()
            os.close(self._wake)
            self._wake = -1
