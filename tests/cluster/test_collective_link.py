"""Protects collectives between tasks against what comes by one path before what was sent earlier by another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from graphflow.cluster.collectives import CollectiveLink
from graphflow.kernels.collectives import Call
from graphflow.runtime.context import RunContext
from graphflow.runtime.resources import ResourceStore
from graphflow.transport.message import Message
from graphflow.transport.shared import SharedMemory

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

    def end(self, ticket: Any) -> Any:
        return self.link.collectives.end(self.run, self.call, ticket)

    def hears(self, other: Task, count: int) -> None:
        """Takes the next messages of the other task."""
        with self.link.collectives.condition:
            for _ in range(count):
                self.link.received(other.name, other.said.popleft())

    def looks(self) -> None:
        """Takes what came through the lane."""
        self.link.look(5.0)
        with self.link.collectives.condition:
            self.link.take()


@pytest.fixture
def pair() -> Iterator[tuple[Task, Task]]:
    with ExitStack() as stack:
        yield Task(0, stack), Task(1, stack)


def test_a_value_in_memory_is_read_though_it_comes_before_the_word_that_its_task_has_joined(
    pair: tuple[Task, Task],
) -> None:
    first, second = pair
    if not first.link._door.name:
        pytest.skip("this machine has no Unix sockets with abstract names")
    values = [np.random.default_rng(index).normal(size=LENGTH).astype(np.float32) for index in range(2)]
    tickets = [first.begin(values[0])]
    second.hears(first, 1)
    tickets.append(second.begin(values[1]))
    assert ["group" in message.details for message in second.said] == [False, True]
    first.hears(second, 1)  # The lane is there, and through it comes the value.
    first.looks()
    first.hears(second, 1)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(Task.end, pair, tickets))
    for result in found:
        assert result.tobytes() == (values[0] + values[1]).tobytes()
