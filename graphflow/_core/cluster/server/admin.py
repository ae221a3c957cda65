"""Admin requests, carried out: what clients ask of all tasks, to tell how they are, to reset what they hold, to stop.

Which question goes to whom, and who has answered it, is in graphflow/_core/cluster/protocol/queries.py; here are the
messages, and the answers while others are awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.protocol.queries import (
    AnswerQuery,
    EndQuery,
    KeepAnswer,
    PassQueryOn,
    QueryAnswered,
    QueryAsked,
    QueryReceived,
)
from graphflow._core.cluster.server.fields import seconds_of
from graphflow._core.common.machine import Event, Instruction
from graphflow._core.common.timeouts import MOST_QUERY_SECONDS, QUERY_SECONDS
from graphflow._core.transport.frames.message import Kind, Message

CarryOut = Mapping[type[Instruction], Callable[[Any, Message | None], None]]
"""How instructions are carried out, by their class; the message is the one of the event from which they came."""


class Tell(Protocol):
    """Gives an event to the task's protocol, and carries out what comes of it; whether that was anything.

    message: what the event came from.
    """

    def __call__(self, event: Event, message: Message | None = None) -> bool: ...


class Admin:
    """The admin requests of clients to all tasks, at one task. For the thread of the sockets.

    tell: gives an event to the task's protocol, and carries out what comes of it. to_peer, reply: send to a task, and
    to a client. fail: answers a client by an error. answers: what this task answers to each question, given its
    details. clock: seconds that never go back.
    """

    def __init__(
        self,
        task: str,
        addresses: Mapping[str, str],
        tell: Tell,
        to_peer: Callable[[str, Message], None],
        reply: Callable[[bytes, Message], None],
        fail: Callable[[bytes, int, Mapping[str, Any]], None],
        answers: Mapping[Kind, Callable[[Mapping[str, Any]], Mapping[str, Any]]],
        clock: Callable[[], float],
    ) -> None:
        self._task = task
        self._addresses = addresses
        self._tell = tell
        self._to_peer = to_peer
        self._reply = reply
        self._fail = fail
        self._answers = answers
        self._clock = clock
        self.gathered: dict[int, dict[str, Mapping[str, Any]]] = {}
        """The answers of other tasks to queries that are open, by the number of the query."""
        self.carry_out: CarryOut = {
            PassQueryOn: self._pass_on, AnswerQuery: self._answer, KeepAnswer: self._keep, EndQuery: self._end,
        }  # fmt: skip

    def asked(self, client: bytes, message: Message) -> None:
        """A client asks all tasks, or this one alone. ValueError if it does not say so rightly."""
        seconds = seconds_of(message.details, QUERY_SECONDS, MOST_QUERY_SECONDS)
        alone, question = bool(message.details.get("alone")), message.kind.name
        self._tell(
            QueryAsked(self._clock(), client, message.a, question, seconds, alone, message.details),
            message,
        )

    def received(self, task: str, message: Message) -> None:
        """The master of a client asks, or has answered."""
        now = self._clock()
        if message.kind is Kind.STATUS_IS:
            self._tell(QueryAnswered(now, task, message.b), message)
        else:
            question = message.kind.name
            self._tell(QueryReceived(now, task, message.a, message.b, question, message.details), message)

    def _pass_on(self, i: PassQueryOn, message: Message | None) -> None:
        self._to_peer(i.task, Message(Kind[i.question], i.request, i.number, details=i.details))

    def _answer(self, i: AnswerQuery, message: Message | None) -> None:
        answer = self._answers[Kind[i.question]](i.details)
        self._to_peer(i.task, Message(Kind.STATUS_IS, i.request, i.number, details=answer))

    def _keep(self, i: KeepAnswer, message: Message | None) -> None:
        assert message is not None
        self.gathered.setdefault(i.number, {})[i.task] = message.details

    def _end(self, i: EndQuery, message: Message | None) -> None:
        tasks = {task: {"state": "unreachable"} for task in i.silent} | self.gathered.pop(i.number, {})
        try:
            own = {"task": self._task, **self._answers[Kind[i.question]](i.details)}
        except (
            Exception
        ) as error:  # What the client said is wrong. A tick may bring more than this to be done.
            self._fail(i.client, i.request, as_details(error))
            return
        listed = [
            {"task": task, "address": self._addresses[task], **answer} for task, answer in tasks.items()
        ]
        ordered = sorted([own, *listed], key=lambda answer: _order(str(answer["task"])))
        self._reply(i.client, Message(Kind.STATUS_IS, i.request, details={"tasks": ordered}))


def _order(task: str) -> tuple[str, int]:
    job, _, index = task.rpartition(":")
    return job, int(index)
