"""Protects a task from strangers: they are answered why they are not known, at a bounded rate."""

from __future__ import annotations

import pytest

import graphflow.errors as errors
from graphflow._core.cluster.protocol.strangers import (
    ANSWERS_A_SECOND,
    MOST_UNANSWERED,
    AnswerStranger,
    HelloRefused,
    StrangerAsked,
    Strangers,
    VersionDiffers,
)
from graphflow._core.common.machine import Event, Instruction, Tick

TASK = "/job:worker/replica:0/task:0"


@pytest.fixture
def strangers() -> Strangers:
    return Strangers(TASK, 0.0)


def _tell(strangers: Strangers, event: Event) -> list[Instruction]:
    found = strangers.handlers[type(event)](event)
    strangers.check()
    return found


def test_a_stranger_is_told_what_is_wrong(strangers: Strangers) -> None:
    (asked,) = _tell(strangers, StrangerAsked(0.0, b"1", 7))
    (version,) = _tell(strangers, VersionDiffers(0.0, b"2", 3, 9, 3))
    (refused,) = _tell(strangers, HelloRefused(0.0, b"3", errors.UNAUTHENTICATED, "No."))
    assert isinstance(asked, AnswerStranger) and isinstance(version, AnswerStranger)
    assert (asked.socket, asked.request, asked.code) == (b"1", 7, errors.ABORTED)
    assert "does not know this client" in asked.message
    assert version.message == f"{TASK} speaks version 3 of the protocol, not 9."
    assert refused == AnswerStranger(b"3", 0, errors.UNAUTHENTICATED, "No.")


def test_answers_go_out_at_a_rate_in_their_order(strangers: Strangers) -> None:
    answered: list[int] = []

    def take(found: list[Instruction]) -> None:
        answered.extend(i.request for i in found if isinstance(i, AnswerStranger))

    for n in range(200):
        take(_tell(strangers, StrangerAsked(0.0, b"1", n)))
    assert len(answered) == ANSWERS_A_SECOND
    for quarter in range(1, 13):
        take(_tell(strangers, Tick(quarter / 4)))
        assert len(answered) <= ANSWERS_A_SECOND * (1 + quarter / 4)
    assert answered == list(range(200)) and _tell(strangers, Tick(9.0)) == []


def test_a_tick_at_which_none_may_go_out_changes_nothing(strangers: Strangers) -> None:
    for n in range(60):
        _tell(strangers, StrangerAsked(0.0, b"1", n))
    before = strangers.allowed, strangers.then
    assert _tell(strangers, Tick(0.001)) == [] and (strangers.allowed, strangers.then) == before


def test_those_that_wait_are_bounded_and_the_oldest_are_dropped(strangers: Strangers) -> None:
    for n in range(2 * MOST_UNANSWERED):
        _tell(strangers, StrangerAsked(0.0, b"1", n))
    assert len(strangers.unanswered) == MOST_UNANSWERED
    assert strangers.unanswered[-1].request == 2 * MOST_UNANSWERED - 1
