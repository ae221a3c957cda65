"""Tasks that hold a group of collectives, without sockets: what they say to each other is delivered by the test."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from graphflow import errors
from graphflow._core.collectives.group_events import (
    ContributionCame,
    GiveHandle,
    GroupEvent,
    MemberJoined,
    MemberLeaves,
    MemberLeft,
    OperationBegun,
    OperationEnded,
    RefuseOperation,
    ResultAwaited,
    SendContribution,
    TaskLost,
    TellJoined,
    TellLeft,
)
from graphflow._core.collectives.group_journal import described
from graphflow._core.collectives.groups import Group
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


class Told:
    """A group at one task, which is checked after each event; what it was told can be told to another one."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.group = Group(7)
        self.numbers = numbers
        self.record: list[tuple[GroupEvent, list[tuple[Any, ...]]]] = []

    def __call__(self, event: GroupEvent) -> list[Any]:
        found = self.group.handle(event)
        self.record.append((event, [described(what) for what in found]))
        self.group.check()
        return found

    def replay(self) -> Group:
        """Another group that hears the same does the same."""
        again = Group(7)
        for event, expected in self.record:
            assert [described(what) for what in again.handle(event)] == expected
            again.check()
        return again

    def begin(self, member: str, size: int, instance: int, contribution: Contribution) -> Any:
        *found, last = self(OperationBegun(member, size, instance, contribution, next(self.numbers)))
        if isinstance(last, RefuseOperation):
            raise last.error
        assert isinstance(last, GiveHandle)
        return last.handle, found

    def round_of(self, member: str, handle: Any) -> Any:
        (found,) = self(ResultAwaited(member, handle)) or (None,)
        if isinstance(found, RefuseOperation):
            raise found.error
        return None if found is None else (found.communicator, found.round)

    def end(self, member: str, handle: Any) -> None:
        assert self(OperationEnded(member, handle)) == []

    def joined(self, member: str, number: int, size: int) -> list[Any]:
        return self(MemberJoined(member, number, size))


class World:
    """Tasks whose messages to each other stay in order on each way, and are delivered at random otherwise."""

    def __init__(self, tasks: int, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.numbers = itertools.count(1)
        self.told = [Told(self.numbers) for _ in range(tasks)]
        self.groups = [told.group for told in self.told]
        self.links: dict[tuple[int, int], deque[Any]] = {
            (a, b): deque() for a in range(tasks) for b in range(tasks) if a != b
        }

    def tell(self, task: int, found: Any) -> None:
        for what in found:
            for (a, b), link in self.links.items():
                if isinstance(what, SendContribution) and what.contribution.whole is None:
                    continue
                if a == task and (
                    not isinstance(what, SendContribution) or member(b) in what.communicator.ranks
                ):
                    link.append(what)

    def begin(
        self, task: int, instance: int = 1, value: float = 1.0, terms: str = "all_reduce, add, id"
    ) -> Any:
        handle, found = self.told[task].begin(
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

    def take(self, task: int, what: Any) -> None:
        told = self.told[task]
        if isinstance(what, TellJoined):
            self.tell(task, told.joined(what.member, what.number, what.size))
        elif isinstance(what, TellLeft):
            self.tell(task, told(MemberLeft(what.member, what.number, what.error, what.completed)))
        else:
            told(ContributionCame(what.communicator.number, what.rank, what.key, what.contribution))

    def replay(self) -> None:
        """What each task has heard leads another one to the same state."""
        for told in self.told:
            again = told.replay()
            assert again.size == told.group.size and again.last_seen == told.group.last_seen
            numbers = [None if g.communicator is None else g.communicator.number for g in (again, told.group)]
            assert numbers[0] == numbers[1]

    def settle(self) -> None:
        while self.deliver():
            pass

    def meet(self, one: int, other: int) -> None:
        """Two tasks say hello: each says who has joined, as it does every now and then."""
        for a, b in ((one, other), (other, one)):
            for name, state in self.groups[a].members.items():
                if state.number:
                    self.links[a, b].append(TellJoined(name, state.number, self.groups[a].size))

    def cut(self, one: int, other: int) -> None:
        """The connection of two tasks ends, with what was on its way; then they meet again."""
        for a, b in ((one, other), (other, one)):
            gone = errors.UnavailableError(None, None, f"{task_name(b)} is gone")
            self.tell(a, self.told[a](TaskLost(task_name(b), gone)))
        self.links[one, other].clear()
        self.links[other, one].clear()
        self.meet(one, other)

    def lose(self, task: int, name: str, error: errors.OpError) -> list[Any]:
        """One task loses another, and nobody hears of what it says about that."""
        return self.told[task](TaskLost(name, error))

    def leave(self, task: int, error: errors.OpError | None) -> None:
        self.tell(task, self.told[task](MemberLeaves(member(task), error)))

    def complete(self, task: int, handle: Any) -> bool:
        """Whether the round is there; raises its error."""
        found = self.told[task].round_of(member(task), handle)
        if found is not None and found[1].error is not None:
            raise found[1].error
        return found is not None and len(found[1].contributions) == len(self.groups)

    def end_of_sender(self, task: int, handle: Any) -> None:
        """Who sends needs nothing of the others, once the group is formed."""
        assert self.told[task].round_of(member(task), handle) is not None
        self.told[task].end(member(task), handle)

    def end(self, task: int, handle: Any) -> list[float]:
        found = self.told[task].round_of(member(task), handle)
        assert found is not None
        values = [float(found[1].contributions[rank].whole[0]) for rank in range(len(self.groups))]
        self.told[task].end(member(task), handle)
        return values
