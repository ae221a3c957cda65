"""Protects the questions that go to all tasks: each is answered once, and ends without those that are gone."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from graphflow._core.cluster.protocol.queries import (
    AnswerQuery,
    DropUnsent,
    EndQuery,
    KeepAnswer,
    NumbersBeginAnew,
    PassQueryOn,
    Queries,
    QueryAnswered,
    QueryAsked,
    QueryReceived,
)
from graphflow._core.common.machine import BrokenInvariant, Event, Instruction, Tick

OTHERS = ("/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1")
PS, WORKER = OTHERS
NOTHING: Mapping[str, Any] = {}


class Asked:
    """A machine that is checked after each event."""

    def __init__(self) -> None:
        self.queries = Queries(OTHERS)

    def __call__(self, event: Event) -> list[Instruction]:
        found = self.queries.handlers[type(event)](event)
        self.queries.check()
        return found

    def ask(
        self, now: float, request: int = 1, alone: bool = False, seconds: float = 2.0
    ) -> list[Instruction]:
        return self(QueryAsked(now, b"client", request, "STATUS", seconds, alone, NOTHING))


@pytest.fixture
def tell() -> Asked:
    return Asked()


def _end(request: int = 1, number: int = 1, silent: tuple[str, ...] = ()) -> EndQuery:
    return EndQuery(number, b"client", request, "STATUS", NOTHING, silent)


def test_a_query_ends_when_all_have_answered(tell: Asked) -> None:
    assert tell.ask(0.0) == [PassQueryOn(task, 1, 1, "STATUS", NOTHING) for task in OTHERS]
    assert tell(QueryAnswered(0.1, PS, 1)) == [KeepAnswer(PS, 1)]
    assert tell(QueryAnswered(0.2, WORKER, 1)) == [KeepAnswer(WORKER, 1), _end()]
    assert not tell.queries.open


def test_an_answer_counts_once_and_only_for_a_query_that_is_open(tell: Asked) -> None:
    tell.ask(0.0)
    tell(QueryAnswered(0.1, PS, 1))
    assert tell(QueryAnswered(0.1, PS, 1)) == []
    assert tell(QueryAnswered(0.1, PS, 7)) == []
    assert tell(QueryAnswered(0.1, "/job:stranger/replica:0/task:0", 1)) == []
    tell(QueryAnswered(0.2, WORKER, 1))
    assert tell(QueryAnswered(0.3, WORKER, 1)) == []


def test_who_does_not_answer_in_time_is_named_and_what_was_on_its_way_is_dropped(tell: Asked) -> None:
    tell.ask(0.0)
    tell(QueryAnswered(0.1, WORKER, 1))
    assert tell(Tick(2.0)) == []
    assert tell(Tick(2.1)) == [DropUnsent(PS), _end(silent=(PS,))]
    assert tell(Tick(2.2)) == [] and tell(QueryAnswered(2.2, PS, 1)) == []


def test_a_task_that_is_asked_alone_answers_at_once(tell: Asked) -> None:
    assert tell.ask(0.0, alone=True) == [_end()]


def test_the_queries_of_another_task_are_answered_once_each_until_it_begins_anew(tell: Asked) -> None:
    def received(number: int) -> list[Instruction]:
        return tell(QueryReceived(0.0, PS, 9, number, "RESET", NOTHING))

    assert received(1) == [AnswerQuery(PS, 9, 1, "RESET", NOTHING)]
    assert received(1) == [] and received(3) and received(2) == []
    assert tell(NumbersBeginAnew(1.0, PS)) == [] and received(1)


def test_every_query_ends_exactly_once_whatever_comes_in_whatever_order() -> None:
    for seed in range(50):
        chance, tell, now, ended = random.Random(seed), Asked(), 0.0, [0] * 41
        for step in range(400):
            now += chance.random()
            events: list[Event] = [
                QueryAnswered(now, chance.choice(OTHERS), chance.randrange(45)), Tick(now),
            ]  # fmt: skip
            found = tell.ask(now, step // 10 + 1) if step % 10 == 0 else tell(chance.choice(events))
            for instruction in found:
                if isinstance(instruction, EndQuery):
                    ended[instruction.number] += 1
        for instruction in tell(Tick(now + 3.0)):
            if isinstance(instruction, EndQuery):
                ended[instruction.number] += 1
        assert ended == [0] + [1] * 40, seed


def test_a_query_that_waits_for_nobody_is_found(tell: Asked) -> None:
    tell.ask(0.0)
    tell.queries.open[1].pending.clear()
    with pytest.raises(BrokenInvariant, match="waits for nobody"):
        tell.queries.check()
