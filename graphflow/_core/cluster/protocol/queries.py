"""Broadcast queries: a client asks its master something that every task has to answer, such as how it is.

The master passes the question on to the other tasks and gathers their answers. After a deadline it goes on without
those that have not come: a task that is gone must not keep a client from seeing, or stopping, the others. The answers
themselves may be large, and nothing here depends on them: the server keeps them, by the number of the query. Nor does
anything depend on which questions there are: one is the name of a kind of messages (transport/frames/message.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from graphflow._core.common.machine import Event, Instruction, Machine, Tick, hold, task_event
from graphflow._core.common.records import dataclass

# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class QueryAsked(Event):
    """A client asks. alone: whether this task alone is to answer. details: what goes along, such as names."""

    client: bytes
    request: int
    question: str
    seconds: float
    alone: bool
    details: Mapping[str, Any]


@task_event
class QueryReceived(Event):
    """The master of a client, another task, has passed a question on. number: its number of the query."""

    task: str
    request: int
    number: int
    question: str
    details: Mapping[str, Any]


@task_event
class QueryAnswered(Event):
    """Another task has answered a query of this one."""

    task: str
    number: int


@task_event
class NumbersBeginAnew(Event):
    """Another task was started again: it numbers its queries from 1."""

    task: str


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PassQueryOn(Instruction):
    """Send a question to another task."""

    task: str
    request: int
    number: int
    question: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AnswerQuery(Instruction):
    """Do what another task's client asks for, and send that task the answer."""

    task: str
    request: int
    number: int
    question: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class KeepAnswer(Instruction):
    """Keep the answer of another task until the query ends; it is the first one that this task gives."""

    task: str
    number: int


@dataclass(frozen=True, slots=True)
class DropUnsent(Instruction):
    """Drop what is still on its way to a task that did not answer.

    It may not reach the one that comes in its place.
    """

    task: str


@dataclass(frozen=True, slots=True)
class EndQuery(Instruction):
    """Do what is asked for here too, and send the client all answers; `silent` are the tasks that did not answer.

    This task's own answer comes last, since it may be that it stops.
    """

    number: int
    client: bytes
    request: int
    question: str
    details: Mapping[str, Any]
    silent: tuple[str, ...]


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Query:
    """A query of a client of this task that is open: the tasks that have not answered, and until when they may."""

    client: bytes
    request: int
    question: str
    details: Mapping[str, Any]
    pending: set[str]
    deadline: float


class Queries(Machine):
    """The queries of a task's clients that are open, and how far those of the other tasks have come.

    others: the names of the other tasks of the cluster.
    """

    def __init__(self, others: Collection[str]) -> None:
        self.others = tuple(others)
        self.open: dict[int, Query] = {}
        self.begun = 0
        """How many queries there were: the number of the last one."""
        self.received: dict[str, int] = {}
        """The number of the query that each other task has passed on last."""
        self.handlers = {
            QueryAsked: self._asked, QueryReceived: self._received, QueryAnswered: self._answered,
            NumbersBeginAnew: self._begins_anew, Tick: self._tick,
        }  # fmt: skip

    def _asked(self, event: QueryAsked) -> list[Instruction]:
        self.begun += 1
        number = self.begun
        tasks = () if event.alone else self.others
        self.open[number] = Query(
            event.client, event.request, event.question, event.details, set(tasks), event.now + event.seconds
        )
        found: list[Instruction] = [
            PassQueryOn(task, event.request, number, event.question, event.details) for task in tasks
        ]
        return found if tasks else self._end(number)

    def _received(self, event: QueryReceived) -> list[Instruction]:
        if event.number <= self.received.get(event.task, 0):
            return []
        self.received[event.task] = event.number
        return [AnswerQuery(event.task, event.request, event.number, event.question, event.details)]

    def _answered(self, event: QueryAnswered) -> list[Instruction]:
        query = self.open.get(event.number)
        if query is None or event.task not in query.pending:
            return []
        query.pending.remove(event.task)
        kept: list[Instruction] = [KeepAnswer(event.task, event.number)]
        return kept if query.pending else kept + self._end(event.number)

    def _begins_anew(self, event: NumbersBeginAnew) -> list[Instruction]:
        self.received.pop(event.task, None)
        return []

    def _tick(self, event: Tick) -> list[Instruction]:
        found: list[Instruction] = []
        for number in [n for n, query in self.open.items() if query.deadline < event.now]:
            found += [DropUnsent(task) for task in self.others if task in self.open[number].pending]
            found += self._end(number)
        return found

    def _end(self, number: int) -> list[Instruction]:
        query = self.open.pop(number)
        silent = tuple(task for task in self.others if task in query.pending)
        return [EndQuery(number, query.client, query.request, query.question, query.details, silent)]

    def check(self) -> None:
        """An open query waits for somebody, and all numbers are from this task's own count."""
        for number, query in self.open.items():
            hold(0 < number <= self.begun, f"The query {number} is none of the {self.begun} that were begun.")
            hold(bool(query.pending), f"The query {number} is open, and waits for nobody.")
            hold(query.pending <= set(self.others), f"The query {number} waits for {query.pending}.")
        for task, number in self.received.items():
            hold(task in self.others and number > 0, f"{task} has the query {number}.")
