"""Tasks that hold a group of collectives, without sockets: what they say to each other is delivered by the test."""

from __future__ import annotations

import itertools
import random
from collections import deque
from typing import Any

import numpy as np

from graphflow import errors
from graphflow._core.collectives.groups import Brought, Group, Instruction, Joined, Left
from graphflow._core.collectives.rounds import RECEIVE, Contribution


def task_name(task: int) -> str:
    return f"/job:worker/replica:0/task:{task}"


def member(task: int, device: int = 0) -> str:
    return f"{task_name(task)}/device:CPU:{device}"


def contribution(value: Any = 1.0, terms: str = "all_reduce, add, id") -> Contribution:
    array = np.asarray(value, np.float32)
    return Contribution(terms, "sum", array.dtype, array.shape, array.reshape(-1))


def receiver() -> Contribution:
    return Contribution(RECEIVE, "receive", np.dtype(np.float32), (), None)


class World:
    """Tasks whose messages to each other stay in order on each way, and are delivered at random otherwise."""

    def __init__(self, tasks: int, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.numbers = itertools.count(1)
        self.groups = [Group(7, lambda: next(self.numbers)) for _ in range(tasks)]
        self.links: dict[tuple[int, int], deque[Any]] = {
            (a, b): deque() for a in range(tasks) for b in range(tasks) if a != b
        }

    def tell(self, task: int, found: Any) -> None:
        for what in found:
            for (a, b), link in self.links.items():
                if isinstance(what, Brought) and what.contribution.whole is None:
                    continue
                if a == task and (not isinstance(what, Brought) or member(b) in what.communicator.ranks):
                    link.append(what)

    def begin(
        self, task: int, instance: int = 1, value: float = 1.0, terms: str = "all_reduce, add, id"
    ) -> Any:
        handle, found = self.groups[task].begin(
            member(task), len(self.groups), instance, contribution(value, terms)
        )
        self.tell(task, found)
        return handle

    def deliver(self) -> bool:
        ways = [way for way, link in self.links.items() if link]
        if not ways:
            return False
        way = self.random.choice(ways)
        self.take(way[1], self.links[way].popleft())
        return True

    def take(self, task: int, what: Instruction) -> None:
        group = self.groups[task]
        if isinstance(what, Joined):
            self.tell(task, group.joined(what.member, what.number, what.size))
        elif isinstance(what, Left):
            self.tell(task, group.left(what.member, what.number, what.error, what.completed))
        else:
            group.brought(what.communicator.number, what.rank, what.key, what.contribution)

    def settle(self) -> None:
        while self.deliver():
            pass

    def meet(self, one: int, other: int) -> None:
        """Two tasks say hello: each says who has joined, as it does every now and then."""
        for a, b in ((one, other), (other, one)):
            for name, state in self.groups[a].members.items():
                if state.number:
                    self.links[a, b].append(Joined(name, state.number, self.groups[a].size))

    def cut(self, one: int, other: int) -> None:
        """The connection of two tasks ends, with what was on its way; then they meet again."""
        for a, b in ((one, other), (other, one)):
            gone = errors.UnavailableError(None, None, f"{task_name(b)} is gone")
            self.tell(a, self.groups[a].lost(task_name(b), gone))
        self.links[one, other].clear()
        self.links[other, one].clear()
        self.meet(one, other)

    def leave(self, task: int, error: errors.OpError | None) -> None:
        self.tell(task, self.groups[task].leave(member(task), error))

    def complete(self, task: int, handle: Any) -> bool:
        """Whether the round is there; raises its error."""
        found = self.groups[task].round_of(member(task), handle)
        if found is not None and found[1].error is not None:
            raise found[1].error
        return found is not None and len(found[1].contributions) == len(self.groups)

    def end_of_sender(self, task: int, handle: Any) -> None:
        """Who sends needs nothing of the others, once the group is formed."""
        assert self.groups[task].round_of(member(task), handle) is not None
        self.groups[task].end(member(task), handle)

    def end(self, task: int, handle: Any) -> list[float]:
        found = self.groups[task].round_of(member(task), handle)
        assert found is not None
        values = [float(found[1].contributions[rank].whole[0]) for rank in range(len(self.groups))]
        self.groups[task].end(member(task), handle)
        return values
