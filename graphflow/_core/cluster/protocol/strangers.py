"""Strangers: senders that have not said hello with the secret, or whose hello is wrong, and what they are answered.

A stranger may be a client that this task has forgotten, one of many at once, and has to be told. Nobody fetches answers
for sure, and what is not fetched is kept for the stranger, so answers go out at a bounded rate; those that cannot go
out at once wait, up to a number.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import graphflow.errors as errors
from graphflow._core.common.machine import Event, Instruction, Machine, Tick, hold, task_event
from graphflow._core.common.records import dataclass

ANSWERS_A_SECOND: Final = 50
"""Answers to strangers, and how many go out at once."""
MOST_UNANSWERED: Final = 4096
"""Answers that wait; those that were to come before them are dropped."""


# ---- events ---------------------------------------------------------------------------------------------------------


@task_event
class StrangerAsked(Event):
    """A socket that is not known has sent a request; the client was silent for too long, or means an earlier life."""

    socket: bytes
    request: int


@task_event
class VersionDiffers(Event):
    """A socket that is not known has sent a message of another version of the protocol. own: that of this task."""

    socket: bytes
    request: int
    version: int
    own: int


@task_event
class HelloRefused(Event):
    """A hello has not the secret, or comes of no task of this cluster; code is one of graphflow.errors."""

    socket: bytes
    code: int
    message: str


@task_event
class StrangerTurnedAway(Event):
    """A socket that is not known asks a task that may not serve. why: a sentence."""

    socket: bytes
    request: int
    why: str


# ---- instructions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerStranger(Instruction):
    """Answer a stranger with an error; code is one of graphflow.errors."""

    socket: bytes
    request: int
    code: int
    message: str


# ---- the machine ----------------------------------------------------------------------------------------------------


class Strangers(Machine):
    """Who is to be answered by one task without having said hello. now: when it begins, as in events."""

    def __init__(self, task: str, now: float) -> None:
        self.task = task
        self.allowed = float(ANSWERS_A_SECOND)
        """How many answers may go out at `then`."""
        self.then = now
        self.unanswered: deque[AnswerStranger] = deque(maxlen=MOST_UNANSWERED)
        """In order, the oldest first."""
        self.handlers = {
            StrangerAsked: self._asked, VersionDiffers: self._differs, HelloRefused: self._refused,
            StrangerTurnedAway: self._turned_away, Tick: self._tick,
        }  # fmt: skip

    def _asked(self, event: StrangerAsked) -> list[Instruction]:
        text = f"{self.task} does not know this client: it was silent for too long, or the task is a new one."
        return self._answer(event.now, AnswerStranger(event.socket, event.request, errors.ABORTED, text))

    def _differs(self, event: VersionDiffers) -> list[Instruction]:
        text = f"{self.task} speaks version {event.own} of the protocol, not {event.version}."
        answer = AnswerStranger(event.socket, event.request, errors.FAILED_PRECONDITION, text)
        return self._answer(event.now, answer)

    def _refused(self, event: HelloRefused) -> list[Instruction]:
        return self._answer(event.now, AnswerStranger(event.socket, 0, event.code, event.message))

    def _turned_away(self, event: StrangerTurnedAway) -> list[Instruction]:
        return self._answer(
            event.now, AnswerStranger(event.socket, event.request, errors.UNAVAILABLE, event.why)
        )

    def _answer(self, now: float, answer: AnswerStranger) -> list[Instruction]:
        self.unanswered.append(answer)
        return self._go_on(now)

    def _tick(self, event: Tick) -> list[Instruction]:
        return self._go_on(event.now) if self.unanswered else []

    def _go_on(self, now: float) -> list[Instruction]:
        """The answers that may go out now. If it is none, nothing changes."""
        allowed = min(ANSWERS_A_SECOND, self.allowed + (now - self.then) * ANSWERS_A_SECOND)
        found: list[Instruction] = []
        while self.unanswered and allowed >= 1:
            allowed -= 1
            found.append(self.unanswered.popleft())
        if found:
            self.allowed, self.then = allowed, now
        return found

    def check(self) -> None:
        """The rate and the number of those that wait are bounded."""
        hold(0 <= self.allowed <= ANSWERS_A_SECOND, f"{self.allowed} answers may go out.")
        hold(len(self.unanswered) <= MOST_UNANSWERED, "Too many answers wait.")
