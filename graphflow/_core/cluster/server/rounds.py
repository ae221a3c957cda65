"""Rounds: a client asks its master something that every task has to answer, such as how it is or that it should stop.

The master passes the question on, gathers the answers, and after a deadline goes on without those that do not come: a
task that is gone must not keep a client from seeing, or stopping, the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from graphflow._core.cluster.peers import Peer
from graphflow._core.transport.message import Kind, Message

SECONDS: Final = 2.0
"""How long the tasks have to answer, where the client does not say."""
_MOST_SECONDS: Final = 60.0


@dataclass
class _Round:
    client: bytes
    request: int
    kind: Kind
    details: Mapping[str, Any]
    pending: set[str]
    deadline: float
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)


class Rounds:
    """The rounds of one task's master, and its answers in those of others. For the thread of the sockets.

    answers: what a task answers to each kind of question, given its details. retry: called with a peer that did not
    answer, to drop what is still on its way to it.
    """

    def __init__(
        self,
        task: str,
        peers: Mapping[str, Peer],
        to_peer: Callable[[str, Message], None],
        reply: Callable[[bytes, Message], None],
        drop: Callable[[Peer], None],
        answers: Mapping[Kind, Callable[[Mapping[str, Any]], Mapping[str, Any]]],
    ) -> None:
        self._task = task
        self._peers = peers
        self._to_peer = to_peer
        self._reply = reply
        self._drop = drop
        self._answers = answers
        self._numbers = count(1)
        self._rounds: dict[int, _Round] = {}

    def begin(self, client: bytes, message: Message) -> None:
        """A client asks all tasks, or this one alone."""
        seconds = seconds_of(message.details, SECONDS, _MOST_SECONDS)
        number = next(self._numbers)
        tasks = set() if message.details.get("alone") else set(self._peers)
        self._rounds[number] = _Round(
            client, message.a, message.kind, message.details, tasks, time.monotonic() + seconds
        )
        for task in tasks:
            self._to_peer(task, Message(message.kind, message.a, number, details=message.details))
        self._look(number)

    def answer(self, message: Message) -> Message:
        """This task's answer to the question that another task's master has passed on."""
        return Message(
            Kind.STATUS_IS, message.a, message.b, details=self._answers[message.kind](message.details)
        )

    def answered(self, task: str, message: Message) -> None:
        """Another task has answered."""
        found = self._rounds.get(message.b)
        if found is not None and task in found.pending:
            found.pending.remove(task)
            found.answers[task] = message.details
            self._look(message.b)

    def tick(self, now: float) -> None:
        """Ends the rounds whose time is over."""
        for number in [n for n, r in self._rounds.items() if r.deadline < now]:
            for task in self._rounds[number].pending:
                self._drop(self._peers[task])
            self._end(number)

    def _look(self, number: int) -> None:
        if not self._rounds[number].pending:
            self._end(number)

    def _end(self, number: int) -> None:
        """Answers the client; this task's own answer comes last, for it may be that it stops."""
        found = self._rounds.pop(number)
        tasks = {task: {"state": "unreachable"} for task in found.pending} | found.answers
        tasks[self._task] = self._answers[found.kind](found.details)
        listed = [
            {"task": task, "address": peer.address, **tasks[task]}
            for task, peer in self._peers.items()
            if task in tasks
        ]
        own = {"task": self._task, **tasks[self._task]}
        ordered = sorted([own, *listed], key=lambda answer: _order(str(answer["task"])))
        self._reply(found.client, Message(Kind.STATUS_IS, found.request, details={"tasks": ordered}))


def seconds_of(details: Mapping[str, Any], default: float, most: float) -> float:
    """The field "seconds", from 0 to `most`. ValueError where it is no number."""
    value = details.get("seconds", default)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ValueError(f"seconds is {value!r:.100}.")
    return max(0.0, min(value, most))


def _order(task: str) -> tuple[str, int]:
    job, _, index = task.rpartition(":")
    return job, int(index)
