"""Protects the lease of a task and its lives: who may serve, and when the next life may begin."""

from __future__ import annotations

import json
import random

import pytest

from graphflow._core.cluster.protocol.lease import (
    FallSilent,
    LeaseRenewed,
    LeaseState,
    LeaseTaken,
    ServeAgain,
    ServeUntil,
)
from graphflow._core.cluster.protocol.membership import (
    EndTask,
    Hello,
    MemberState,
    RefuseTask,
    SayHello,
    TaskGreeted,
    TaskServes,
    TaskSilent,
    TaskWanted,
)
from graphflow._core.cluster.protocol.replay import replay_data
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.resolvers.lives import MARGIN, Lives
from graphflow._core.cluster.resolvers.moving import Place
from graphflow._core.common.machine import Event, Instruction, Tick

TASK, PS = "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"


class Told:
    """The protocol of a task, which is checked after each event."""

    def __init__(self) -> None:
        self.protocol = TaskProtocol(TASK, "a1", {PS: "ps:1"}, 0.0)

    def __call__(self, event: Event) -> list[Instruction]:
        found = self.protocol.handle(event)
        self.protocol.check()
        return found

    def hello(self, now: float, incarnation: str, life: int, answers: int = 0) -> list[Instruction]:
        socket = bytes.fromhex(incarnation)
        said = Hello(0 if answers else 7, answers, False, (), ())
        return self(TaskGreeted(now, socket, PS, TASK, "", incarnation, ("CPU:0",), said, life))

    @property
    def state(self) -> LeaseState:
        return self.protocol.lease.state


def test_a_task_without_an_engine_serves_for_ever() -> None:
    told = Told()
    assert told(Tick(1e9)) == [] and told.state is LeaseState.UNLIMITED


def test_a_lease_that_is_not_renewed_lapses_and_one_that_is_renewed_late_goes_on() -> None:
    told = Told()
    assert told(LeaseRenewed(0.0, 10.0)) == [ServeUntil(10.0)]
    assert told(LeaseRenewed(4.0, 14.0)) == [ServeUntil(14.0)]
    assert told(LeaseRenewed(4.5, 12.0)) == [ServeUntil(14.0)], (
        "an answer that was overtaken shortens nothing"
    )
    assert told(Tick(13.9)) == []
    (silent,) = told(Tick(14.0))
    assert isinstance(silent, FallSilent) and not silent.for_good and "has lapsed" in silent.why
    assert told(Tick(20.0)) == [] and told.protocol.lease.silent
    assert told(LeaseRenewed(21.0, 20.5)) == [], "the answer came when its time was over"
    assert told(LeaseRenewed(22.0, 30.0)) == [ServeUntil(30.0), ServeAgain()]
    assert told.state is LeaseState.HELD


def test_an_answer_that_comes_after_the_lease_has_lapsed_ends_it_before_it_goes_on() -> None:
    """As after the process stood still: the tick has not come yet."""
    told = Told()
    told(LeaseRenewed(0.0, 10.0))
    (silent,) = told(LeaseRenewed(50.0, 11.0))
    assert isinstance(silent, FallSilent)


def test_a_task_whose_first_question_is_not_answered_in_time_does_not_serve_until_one_is() -> None:
    told = Told()
    (silent,) = told(LeaseRenewed(5.0, 5.0))
    assert isinstance(silent, FallSilent) and not silent.for_good and told.state is LeaseState.LAPSED
    assert told(LeaseRenewed(7.0, 16.0)) == [ServeUntil(16.0), ServeAgain()]


def test_a_life_that_was_taken_never_serves_again() -> None:
    told = Told()
    told(LeaseRenewed(0.0, 10.0))
    (silent,) = told(LeaseTaken(1.0))
    assert isinstance(silent, FallSilent) and silent.for_good and "started again" in silent.why
    assert told(LeaseRenewed(2.0, 12.0)) == [] and told(LeaseTaken(3.0)) == [] and told(Tick(99.0)) == []
    assert told.state is LeaseState.TAKEN


def test_a_silent_task_is_connected_to_nobody_and_says_hello_when_it_serves_again() -> None:
    told = Told()
    told.hello(1.0, "b1", 1)
    assert told.protocol.membership.members[PS].state is MemberState.CONNECTED
    (ended,) = told(TaskSilent(2.0))
    assert isinstance(ended, EndTask) and ended.sockets
    assert told(TaskWanted(3.0, PS)) == [], "it said hello"
    (hello,) = told(TaskServes(4.0))
    assert isinstance(hello, SayHello) and hello.hello.asks
    told.hello(5.0, "b1", 1, answers=hello.hello.asks)
    assert told.protocol.membership.members[PS].state is MemberState.CONNECTED


def test_an_earlier_life_that_lives_on_is_refused_and_disturbs_nobody() -> None:
    told = Told()
    told.hello(1.0, "b1", 1)
    ended, *rest = told.hello(2.0, "b2", 2)
    assert isinstance(ended, EndTask) and ended.incarnation == "b1"
    assert not any(isinstance(i, SayHello) and i.hello.asks for i in rest), "the new life had to prove itself"
    member = told.protocol.membership.members[PS]
    for _ in range(3):
        (refused,) = told.hello(3.0, "b1", 1)
        assert isinstance(refused, RefuseTask) and "life 1" in refused.message and "life 2" in refused.message
        assert (member.state, member.incarnation) == (MemberState.CONNECTED, "b2")
    assert not isinstance(told.hello(4.0, "b3", 0)[0], RefuseTask), "engines that do not count refuse nobody"


def test_the_journal_of_a_lease_can_be_played_again() -> None:
    told = Told()
    for event in (
        LeaseRenewed(0.0, 10.0), Tick(10.0), TaskSilent(10.0),
        LeaseRenewed(12.0, 22.0), TaskServes(12.0), LeaseTaken(13.0),
    ):  # fmt: skip
        told(event)
    told.hello(14.0, "b1", 1)
    again = replay_data(json.loads(json.dumps(told.protocol.journal_data(20.0))))
    assert again.lease.state is LeaseState.TAKEN and again.membership.members[PS].life == 1


def test_a_life_begins_when_the_one_before_is_silent_for_certain() -> None:
    lives = Lives(10.0)
    assert lives.begin("ps", "a", 0.0) == (1, 0.0)
    place = Place("here:1", 1, "ab")
    assert lives.publish("ps", place) and lives.place("ps") == place
    assert lives.renew("ps", 1, 5.0)
    silent = 5.0 + 10.0 * (1 + MARGIN)
    number, wait = lives.begin("ps", "b", 6.0)
    assert number == 0 and wait == pytest.approx(silent - 6.0)
    assert not lives.renew("ps", 1, 7.0), "somebody waits for its end"
    assert lives.begin("ps", "b", silent - 0.01)[0] == 0
    assert lives.lapsed(silent) == ["ps"]
    assert lives.begin("ps", "b", silent) == (2, 0.0)
    assert lives.place("ps") is None and not lives.publish("ps", place) and not lives.renew("ps", 1, silent)
    lives.release("ps", 1)
    assert lives.begin("ps", "c", silent + 1.0)[0] == 0, "an earlier life has ended another one"
    lives.release("ps", 2)
    assert lives.begin("ps", "c", silent + 1.0) == (3, 0.0)


def test_a_question_on_its_way_does_not_renew_what_was_released() -> None:
    lives = Lives(10.0)
    assert not lives.renew("ps", 0, 0.0), "no life has begun"
    lives.begin("ps", "a", 0.0)
    lives.release("ps", 1)
    assert not lives.renew("ps", 1, 1.0) and lives.lapsed(99.0) == []
    assert lives.begin("ps", "b", 1.0) == (2, 0.0)


def test_of_two_that_want_to_be_the_next_life_the_later_one_is() -> None:
    lives = Lives(10.0)
    lives.begin("ps", "a", 0.0)
    assert lives.begin("ps", "b", 1.0)[0] == 0 and lives.begin("ps", "c", 2.0)[0] == 0
    with pytest.raises(ValueError, match="Another process"):
        lives.begin("ps", "b", 3.0)
    assert lives.begin("ps", "c", 20.0) == (2, 0.0)


@pytest.mark.parametrize("seed", range(8))
def test_two_lives_never_serve_at_once(seed: int) -> None:
    """Answers of the engine take their time, and the clocks of tasks go by up to 5 percent faster or slower."""
    random_ = random.Random(seed)
    lease, lives, now = 5.0, Lives(5.0), 0.0
    protocols: dict[int, tuple[TaskProtocol, float]] = {}
    waiting: list[tuple[int, float, bool]] = []
    who = 0
    for _ in range(1000):
        now += random_.choice([0.05, 0.3, 1.0])
        if random_.random() < 0.02:
            who += 1
        if not protocols or random_.random() < 0.2:
            number, _wait = lives.begin("ps", str(who), now) if who or not protocols else (0, 0.0)
            if number:
                rate = random_.uniform(0.95, 1.05)
                protocol = TaskProtocol(TASK, "a1", {}, 0.0)
                protocol.handle(LeaseRenewed(now * rate, now * rate + lease))
                protocols[number] = protocol, rate
                protocols.pop(number - 4, None)
                who += 1
        for number, (_protocol, rate) in protocols.items():
            if random_.random() < 0.3:
                asked = now * rate
                waiting.append((number, asked, lives.renew("ps", number, now + random_.choice([0.0, 0.04]))))
        random_.shuffle(waiting)
        while waiting and random_.random() < 0.7:
            number, asked, granted = waiting.pop()
            if number not in protocols:
                continue
            protocol, rate = protocols[number]
            event = LeaseRenewed(now * rate, asked + lease) if granted else LeaseTaken(now * rate)
            protocol.handle(event)
        serving = []
        for number, (protocol, rate) in protocols.items():
            protocol.handle(Tick(now * rate))  # As before any message.
            protocol.lease.check()
            if not protocol.lease.silent:
                serving.append(number)
        assert len(serving) <= 1, f"lives {serving} serve at {now}"
    assert max(protocols) > 5
