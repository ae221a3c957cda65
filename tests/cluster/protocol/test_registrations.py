"""Protects registrations: a plan is admitted once every task has its part, or is refused once, whoever goes first."""

from __future__ import annotations

import random

import pytest

from graphflow import errors
from graphflow._core.cluster.protocol.registrations import (
    AdmitPlan,
    EndDroppedPlan,
    PartnerLost,
    RefuseRegistration,
    RegistrantGone,
    RegistrationAsked,
    RegistrationFailed,
    Registrations,
    SubgraphRefused,
    SubgraphRegistered,
)
from graphflow._core.cluster.protocol.sessions import SessionsReset
from graphflow._core.common.machine import BrokenInvariant, Event, Instruction

OWN, PS = TASKS = ("/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0")
ERROR = {"code": errors.UNAVAILABLE, "message": "gone", "op": None}


class Told:
    """A machine that is checked after each event."""

    def __init__(self) -> None:
        self.registrations = Registrations()

    def __call__(self, event: Event) -> list[Instruction]:
        found = self.registrations.handlers[type(event)](event)
        self.registrations.check()
        return found

    def ask(self, number: int, client: bytes = b"1", request: int = 7) -> list[Instruction]:
        return self(RegistrationAsked(0.0, client, request, number, TASKS))


@pytest.fixture
def tell() -> Told:
    return Told()


def _refused(number: int, client: bytes = b"1", request: int = 7) -> RefuseRegistration:
    return RefuseRegistration(number, client, request, ERROR)


def test_a_plan_is_admitted_when_its_last_task_has_its_part_and_only_then(tell: Told) -> None:
    assert tell.ask(1) == [] and tell(SubgraphRegistered(0.0, PS, 1)) == []
    assert tell(SubgraphRegistered(0.0, PS, 1)) == []
    assert tell(SubgraphRegistered(0.0, OWN, 1)) == [AdmitPlan(1, b"1", 7)]
    assert tell(SubgraphRegistered(0.0, OWN, 1)) == [] and not tell.registrations.open


def test_one_refusal_ends_a_registration_though_that_task_had_its_part_before(tell: Told) -> None:
    tell.ask(1)
    tell(SubgraphRegistered(0.0, PS, 1))
    assert tell(SubgraphRefused(0.0, PS, 1, ERROR)) == [_refused(1)]
    assert tell(SubgraphRegistered(0.0, OWN, 1)) == []
    assert tell(SubgraphRefused(0.0, PS, 1, ERROR)) == [EndDroppedPlan(PS, 1, ERROR)]


def test_a_task_that_is_not_of_the_plan_cannot_refuse_it(tell: Told) -> None:
    tell.ask(1)
    other = "/job:worker/replica:0/task:1"
    assert tell(SubgraphRefused(0.0, other, 1, ERROR)) == [EndDroppedPlan(other, 1, ERROR)]
    assert tell(SubgraphRegistered(0.0, other, 1)) == [] and 1 in tell.registrations.open


def test_a_task_that_is_lost_ends_what_waits_for_it_alone(tell: Told) -> None:
    tell.ask(1)
    tell.ask(2, request=8)
    tell(SubgraphRegistered(0.0, PS, 1))
    assert tell(PartnerLost(0.0, PS, ERROR)) == [_refused(2, request=8)]
    assert tell(SubgraphRegistered(0.0, OWN, 1)) == [AdmitPlan(1, b"1", 7)]


def test_who_is_gone_or_wants_one_request_no_more_ends_that_and_no_other(tell: Told) -> None:
    for number, (client, request) in enumerate([(b"1", 7), (b"1", 8), (b"2", 7), (b"1", 9)], 1):
        tell.ask(number, client, request)
    assert tell(RegistrantGone(0.0, b"1", 8, ERROR)) == [_refused(2, request=8)]
    assert tell(RegistrantGone(0.0, b"1", None, ERROR)) == [_refused(1), _refused(4, request=9)]
    assert list(tell.registrations.open) == [3]


def test_a_failure_here_and_a_reset_end_registrations_once(tell: Told) -> None:
    tell.ask(1)
    tell.ask(2, request=8)
    assert tell(RegistrationFailed(0.0, 1, ERROR)) == [_refused(1)]
    assert tell(RegistrationFailed(0.0, 1, ERROR)) == []
    (refused,) = tell(SessionsReset(0.0))
    assert isinstance(refused, RefuseRegistration) and refused.number == 2
    assert "Session.reset()" in refused.error["message"] and tell(SessionsReset(0.0)) == []


@pytest.mark.parametrize("seed", range(40))
def test_whatever_comes_in_whatever_order_each_registration_ends_once(seed: int) -> None:
    chance, tell, ended = random.Random(seed), Told(), [0] * 31
    found: list[Instruction] = []
    for step in range(300):
        if step % 10 == 0:
            found += tell.ask(step // 10 + 1, chance.choice([b"1", b"2"]), step)
        number, task = chance.randrange(32), chance.choice(TASKS)
        found += tell(
            chance.choice([
                SubgraphRegistered(0.0, task, number), SubgraphRegistered(0.0, task, step // 10 + 1),
                SubgraphRefused(0.0, task, number, ERROR), RegistrationFailed(0.0, number, ERROR),
                RegistrantGone(0.0, b"1", chance.choice([None, step]), ERROR), PartnerLost(0.0, task, ERROR),
            ])
        )  # fmt: skip
    for i in found + tell(SessionsReset(0.0)):
        if isinstance(i, AdmitPlan | RefuseRegistration):
            ended[i.number] += 1
    assert ended == [0] + [1] * 30


def test_a_registration_that_waits_for_nobody_is_found(tell: Told) -> None:
    tell.ask(1)
    tell.registrations.open[1].pending.clear()
    with pytest.raises(BrokenInvariant, match="waits for nobody"):
        tell.registrations.check()
