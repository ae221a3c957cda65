"""Collectives between the tasks of a cluster: who takes part is told over the links of the tasks, and so are values.

If two tasks are processes of one machine, what their members bring goes through a local channel of its own
(transport/local_channels.py). The thread that waits for it reads it, and large values lie in memory that both see.
Between machines everything goes through the sockets of the tasks.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details, from_details
from graphflow._core.cluster.server.collectives.channels import CollectiveChannels
from graphflow._core.cluster.server.collectives.partners import Partners
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
from graphflow._core.collectives.rounds import LARGE, Communicator, Contribution
from graphflow._core.common.timeouts import COLLECTIVE_TRIM_SECONDS, MEMBER_GOODBYE_SECONDS
from graphflow._core.graph.devices import task_of
from graphflow._core.transport.frames.collective_frames import Frame, What, Where
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.local_channels import LocalChannel, connect
from graphflow._core.transport.shared import SharedMemory

_MOST_COMMUNICATORS: Final = 64
_MOST_RANK: Final = 65_535


class CollectiveLink:
    """The link of one task's collectives, whose lock is held by who calls it.

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
        self._tell = tell
        self._partners = Partners(memory)
        self.channels = CollectiveChannels(local_channels, tell, self._frame, self._channel_broken)
        self._others: dict[Communicator, tuple[str, ...]] = {}
        self.broken: dict[str, tuple[float, errors.OpError]] = {}
        """The tasks whose local channels have ended: until when the goodbye may come, and the error if it does not."""
        self._trim_at = 0.0
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
            details |= self._partners.details() | {"lane": self.channels.listener.name, "size": what.size}
        else:
            details["left"] = None if what.error is None else as_details(what.error)
            details["completed"] = [list(pair) for pair in what.completed.items()]
        self._tell(task, Message(Kind.COLLECTIVE, details=details))

    def _other_tasks(self, communicator: Communicator) -> tuple[str, ...]:
        found = self._others.get(communicator)
        if found is None:
            self._others = {communicator: ()} if len(self._others) > _MOST_COMMUNICATORS else self._others
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
                self.channels.send(task, small)
            return
        for task in self._other_tasks(communicator):
            handle = self._partners.memory.pin(whole, task) if task in self._partners.open else None
            if handle is not None:
                self.channels.send(task, frame._replace(where=Where.SHARED, payload=handle).encode())
                continue
            ranks = (
                [r for r, m in enumerate(communicator.members) if task_of(m) == task]
                if contribution.in_shares
                else []
            )
            beside = frame._replace(where=Where.BESIDE, payload=struct.pack(f"<{len(ranks)}H", *ranks))
            places = [contribution.place(r, len(communicator.members)) for r in ranks]
            self.channels.send(task, beside.encode(), [whole[place] for place in places] or [whole])

    def reduced(
        self, key: int, communicator: Communicator, rank: int, round_: tuple[int, int], share: Any
    ) -> None:
        """Tells the other tasks of a communicator that a share is reduced, and gives it to those that need it."""
        for task in self._other_tasks(communicator):
            shared = task in self._partners.open
            where = Where.NOWHERE if shared else Where.BESIDE
            frame = Frame(What.REDUCED, key, *round_, communicator.number, rank, where).encode()
            self.channels.send(task, frame, () if shared else (share,))

    def taken(self, key: int, communicator: Communicator, rank: int, round_: tuple[int, int]) -> None:
        """Tells the other tasks of a communicator that memory of theirs is not read any more."""
        frame = Frame(What.TAKEN, key, *round_, communicator.number, rank).encode()
        for task in self._other_tasks(communicator):
            self.channels.send(task, frame)

    # ---- what comes in ----------------------------------------------------------------------------------------------

    def _channel_broken(self, task: str, error: Exception) -> None:
        text = f"The task {task} is gone: its connection has ended ({error})."
        self.broken[task] = (
            time.monotonic() + MEMBER_GOODBYE_SECONDS,
            errors.UnavailableError(None, None, text),
        )

    def received(self, task: str, message: Message) -> None:
        """Another task has sent a message; ValueError and the like if it is wrong."""
        details = message.details
        if "lane" in details and "group" not in details:
            channel = self.channels.listener.accept(details["lane"])
            if channel is not None:
                self._partners.meet(task, details)
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
            self.channels.take_all()
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
        if not self.channels.listener.name:
            return
        self._partners.meet(task, details)
        if task in self.channels.open or self._task < task:
            return
        found = connect(details.get("lane"))
        if found is not None:
            end, secret = found
            # What comes through the local channel may be sooner than the news that a member has joined, and may lie in
            # memory.
            self._tell(task, Message(Kind.COLLECTIVE, details={"lane": secret} | self._partners.details()))
            self._add_channel(task, LocalChannel(end))

    def _add_channel(self, task: str, channel: LocalChannel) -> None:
        self.channels.take_all([task])
        self.channels.close(task)
        self._take_loss(task)
        self.channels.add(task, channel)

    def _frame(self, task: str, data: Any, values: Sequence[Any]) -> None:
        frame = Frame.decode(data)
        key, communicator, rank = (frame.instance, frame.round), frame.communicator, frame.rank
        if frame.what is What.CONTRIBUTION:
            whole, parts = self._partners.value(task, frame, values)
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

    # ---- tasks that come and go -------------------------------------------------------------------------------------

    def met(self, task: str) -> None:
        """A task is there: it hears who has joined."""
        for key, joined in self.collectives.standing():
            self._announce(task, key, joined)

    def lost(self, task: str, error: errors.OpError) -> None:
        """A task is gone."""
        self.channels.take_all()
        self.channels.close(task)
        self.broken.pop(task, None)
        self._partners.close(task)
        self.collectives.lost(task, error)

    def trim(self) -> None:
        """Forgets, every now and then, what has not been used; gives up tasks whose local channels have ended."""
        now = time.monotonic()
        if self.channels.take_last():
            self.collectives.condition.notify_all()
        for task, (deadline, _) in list(self.broken.items()):
            if now > deadline:
                self._take_loss(task)
        if now < self._trim_at:
            return
        self._trim_at = now + COLLECTIVE_TRIM_SECONDS
        self.channels.listener.trim()
        self._partners.trim()

    def close(self) -> None:
        """Closes all local channels; nobody waits any more."""
        self.channels.shut()
