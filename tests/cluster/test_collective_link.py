"""Protects collectives between tasks against what comes by one path before what was sent earlier by another."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from graphflow import errors
from graphflow._core.cluster.server.collectives import link as collective_link
from graphflow._core.cluster.server.collectives.link import CollectiveLink
from graphflow._core.collectives.arithmetic import Call
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from graphflow._core.transport.frames.message import Message
from graphflow._core.transport.shared import SharedMemory

TASKS = [f"/job:worker/replica:0/task:{index}" for index in range(2)]
LENGTH = 300_000
"""Elements of a value that goes through shared memory."""


class Task:
    """A task's end, whose messages to the other one wait until they are handed over."""

    def __init__(self, index: int, stack: ExitStack) -> None:
        self.name = TASKS[index]
        self.said: deque[Message] = deque()
        self.run = RunContext(ResourceStore())
        self.call = Call("CollectiveReduce", "sum", f"{self.name}/device:CPU:0", 2, 1, 1, 20.0)
        self.link = CollectiveLink(
            self.name, TASKS, SharedMemory(), lambda task, message: self.said.append(message), True
        )
        stack.callback(self.link.close)

    def begin(self, value: Any) -> Any:
        return self.link.collectives.begin(self.run, self.call, value)

    def end(self, handle: Any) -> Any:
        return self.link.collectives.end(self.run, self.call, handle)

    def hears(self, other: Task, count: int) -> None:
        """Takes the next messages of the other task."""
        with self.link.collectives.condition:
            for _ in range(count):
                self.link.received(other.name, other.said.popleft())

    def looks(self) -> None:
        """Takes what came through the local channel."""
        self.link.channels.look(5.0)
        with self.link.collectives.condition:
            self.link.channels.take()


def _meet(pair: tuple[Task, Task]) -> None:
    """Both have joined, opened a local channel, and done a first sum."""
    first, second = pair
    if not first.link.channels.listener.name:
        pytest.skip("this machine has no Unix sockets with abstract names")
    handles = [first.begin(np.float32(1))]
    second.hears(first, 1)
    handles.append(second.begin(np.float32(2)))
    first.hears(second, 2)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(Task.end, pair, handles)) == [3.0, 3.0]
    assert first.link.channels.open and second.link.channels.open


@pytest.fixture
def pair() -> Iterator[tuple[Task, Task]]:
    with ExitStack() as stack:
        yield Task(0, stack), Task(1, stack)


def test_a_value_in_memory_is_read_though_it_comes_before_the_word_that_its_task_has_joined(
    pair: tuple[Task, Task],
) -> None:
    first, second = pair
    if not first.link.channels.listener.name:
        pytest.skip("this machine has no Unix sockets with abstract names")
    values = [np.random.default_rng(index).normal(size=LENGTH).astype(np.float32) for index in range(2)]
    handles = [first.begin(values[0])]
    second.hears(first, 1)
    handles.append(second.begin(values[1]))
    assert ["group" in message.details for message in second.said] == [False, True]
    first.hears(second, 1)  # The local channel is there, and through it comes the value.
    first.looks()
    first.hears(second, 1)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(Task.end, pair, handles))
    for result in found:
        assert result.tobytes() == (values[0] + values[1]).tobytes()


def test_who_only_sends_learns_that_nobody_receives(
    pair: tuple[Task, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    _meet(pair)
    first, second = pair
    monkeypatch.setattr(collective_link, "MEMBER_GOODBYE_SECONDS", -1.0)
    first.call = Call("CollectiveBcastSend", "send", f"{first.name}/device:CPU:0", 2, 1, 2, 20.0)
    with second.link.collectives.condition:
        second.link.channels.close(first.name)
    assert first.end(first.begin(np.float32(5))) == 5.0
    with first.link.collectives.condition:
        first.link.trim()
    with pytest.raises(errors.UnavailableError, match=r"task:1 is gone"):
        first.begin(np.float32(6))


def test_what_was_sent_last_is_taken_though_nothing_can_be_sent_any_more(pair: tuple[Task, Task]) -> None:
    _meet(pair)
    first, second = pair
    handle = first.begin(np.float32(1))
    channel = first.link.channels.open[second.name]
    while channel.send([bytes(1 << 20)]):
        pass
    second.begin(np.float32(2))
    with second.link.collectives.condition:
        second.link.channels.close(first.name)
    assert first.end(handle) == 3.0


def test_who_was_cancelled_does_not_join_again(pair: tuple[Task, Task]) -> None:
    _meet(pair)
    first, _ = pair
    first.run.cancel()
    first.link.collectives.quit([(1, f"{first.name}/device:CPU:0")])
    first.said.clear()
    with pytest.raises(errors.CancelledError):
        first.begin(np.float32(1))
    assert not first.said


def test_who_looks_while_its_task_ends_sees_nothing(pair: tuple[Task, Task]) -> None:
    _meet(pair)
    link = pair[0].link
    channels = link.channels
    kept, channels._epoll = channels._epoll, select.epoll()
    channels._epoll.close()
    channels.look(0.1)
    channels._epoll = kept
    link.close()
    channels.look(0.1)
    assert not channels.open


@pytest.mark.parametrize("again", [True, False], ids=["said once more", "joined anew"])
def test_a_local_channel_that_has_ended_is_a_loss_once_its_task_joins_anew(
    pair: tuple[Task, Task], again: bool
) -> None:
    _meet(pair)
    first, second = pair
    with second.link.collectives.condition:
        second.link.channels.close(first.name)
        first_member, second_member = (f"{task.name}/device:CPU:0" for task in pair)
        if again:
            second.link.met(first.name)
        else:
            second.link.lost(first.name, errors.UnavailableError(None, None, "It is gone."))
    if not again:
        second.said.clear()
        with pytest.raises(errors.UnavailableError):
            second.begin(np.float32(1))
        second.begin(np.float32(1))
    first.looks()
    assert second.name in first.link.broken
    handle = first.begin(np.float32(1))
    first.hears(second, len(second.said))
    group = first.link.collectives.group(1)
    assert (group.communicator is not None) is again
    assert (second.name in first.link.broken) is again and second_member in group.joined
    if not again:
        with pytest.raises(errors.UnavailableError):
            first.end(handle)
        assert first_member not in group.joined
