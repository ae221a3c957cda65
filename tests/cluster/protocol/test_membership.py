"""Protects the membership of a task: who is there, which hellos count, and what ends when somebody is gone."""

from __future__ import annotations

import random
from typing import Any

import pytest

import graphflow.errors as errors
from graphflow._core.cluster.protocol.membership import (
    AcceptTask,
    AnswerOverdue,
    ConnectionLost,
    Disconnect,
    EndTask,
    Hello,
    HelloFailed,
    Listening,
    MemberState,
    OpenChannel,
    RefuseTask,
    SayHello,
    SeparateTask,
    TaskGreeted,
    TaskLeft,
    TaskUnreadable,
    TaskWanted,
    UseAnnounced,
    WarnTask,
)
from graphflow._core.cluster.protocol.sessions import SessionGreeted
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.common.machine import BrokenInvariant, Event, Instruction, Tick
from graphflow._core.common.timeouts import GREET_GONE_SECONDS

TASK, PS, OTHER = (f"/job:{job}/replica:0/task:{i}" for job, i in (("worker", 0), ("ps", 0), ("worker", 1)))


class Told:
    """The protocol of a task, which is checked after each event, and whose time goes on by `now`."""

    def __init__(self) -> None:
        self.protocol = TaskProtocol(TASK, "a1", {PS: "ps:1", OTHER: "other:1"}, 0.0)
        self.now = 0.0

    def __call__(self, event: Event) -> list[Instruction]:
        found = self.protocol.handle(event)
        self.protocol.check()
        return found

    def hello(self, task: str = PS, incarnation: str = "b1", **more: Any) -> list[Instruction]:
        fields = {"socket": bytes.fromhex(incarnation), "to": TASK, "at": "", "devices": ("CPU:0",)}
        said = {"asks": 0, "answers": 0, "in_use": False, "absent": (), "users": ()}
        for name, value in more.items():
            (said if name in said else fields)[name] = value
        return self(TaskGreeted(self.now, task=task, incarnation=incarnation, hello=Hello(**said), **fields))

    def connect(self, task: str = PS, incarnation: str = "b1") -> None:
        """A task is wanted, and answers."""
        (hello,) = self(TaskWanted(self.now, task))
        assert isinstance(hello, SayHello)
        self.hello(task, incarnation, answers=hello.hello.asks)
        assert self.state(task) is MemberState.CONNECTED

    def tick(self, seconds: float) -> list[Instruction]:
        self.now += seconds
        return self(Tick(self.now))

    def state(self, task: str = PS) -> MemberState:
        return self.protocol.membership.members[task].state


@pytest.fixture
def tell() -> Told:
    return Told()


def _kinds(found: list[Instruction]) -> list[type]:
    return [type(i) for i in found]


# ---- hellos ---------------------------------------------------------------------------------------------------------


def test_who_is_wanted_is_asked_once_and_connected_by_the_answer(tell: Told) -> None:
    assert tell(TaskWanted(0.0, PS)) == [SayHello(PS, Hello(1, 0, False, (), ()))]
    assert tell(TaskWanted(0.0, PS)) == []
    assert tell.hello(answers=1) == [AcceptTask(PS, True, False), OpenChannel(PS)]
    assert tell.state() is MemberState.CONNECTED and tell.state(OTHER) is MemberState.UNKNOWN


def test_a_hello_that_asks_is_answered_with_its_number(tell: Told) -> None:
    assert tell.hello(asks=7) == [AcceptTask(PS, True, False), SayHello(PS, Hello(0, 7, False, (), ()))]
    assert tell(TaskWanted(0.0, PS)) == []


def test_what_was_said_before_an_end_was_heard_of_does_not_connect(tell: Told) -> None:
    tell.connect()
    ended = tell(ConnectionLost(1.0, PS))
    assert _kinds(ended) == [Disconnect, EndTask, SayHello]
    assert tell.hello() == [] and tell.hello(answers=1) == []  # They are from before.
    assert tell.state() is MemberState.SUSPECTED
    assert tell.hello(answers=2)[0] == AcceptTask(PS, False, False)


def test_a_task_that_asks_anew_had_lost_its_connection(tell: Told) -> None:
    tell.connect()
    ended, accepted, answer = tell.hello(asks=3)
    assert isinstance(ended, EndTask) and ended.why == "had lost its connection to this task"
    assert accepted == AcceptTask(PS, False, False) and answer == SayHello(PS, Hello(0, 3, False, (), ()))


def test_another_life_ends_the_first_and_is_asked_which_of_the_two_is_there(tell: Told) -> None:
    tell.connect()
    ended, hello = tell.hello(incarnation="b2", asks=1)
    assert isinstance(ended, EndTask) and ended.why == "was started again" and ended.incarnation == "b1"
    assert ended.sockets == (b"\xb1",) and isinstance(hello, SayHello) and hello.hello.asks == 2
    assert tell.state() is MemberState.SUSPECTED
    assert tell.hello(incarnation="b2", answers=2)[0] == AcceptTask(PS, True, False)


def test_a_hello_tells_who_is_absent_and_who_has_clients(tell: Told) -> None:
    tell.connect()
    tell.hello(OTHER, "c1", in_use=True)
    tell(TaskLeft(0.0, PS))
    hello = SayHello(OTHER, Hello(0, 0, False, (PS,), (OTHER,)))
    assert tell(TaskWanted(0.0, OTHER)) == [hello]
    tell(SessionGreeted(0.0, b"s", "s", False, 1, False, {}, 1.0, (), None))
    (announced,) = tell(UseAnnounced(0.0))
    assert isinstance(announced, SayHello) and announced.hello.in_use and announced.task == OTHER


@pytest.mark.parametrize(
    ("more", "code", "text"),
    [
        ({"task": TASK}, errors.FAILED_PRECONDITION, "is at here:1 already: two processes were started"),
        ({"to": OTHER}, errors.FAILED_PRECONDITION, "At here:1 is /job:worker/replica:0/task:0, and not"),
        ({"task": "/job:x/replica:0/task:0"}, errors.FAILED_PRECONDITION, "is not in the cluster of"),
        ({"incarnation": "a1"}, errors.INTERNAL, "cannot have the incarnation a1"),
        ({"incarnation": "c1"}, errors.INTERNAL, "cannot have the incarnation c1"),
        ({"socket": b"client"}, errors.INTERNAL, "A client calls itself"),
    ],
)
def test_a_hello_that_is_none_of_a_task_of_the_cluster_is_refused(
    tell: Told, more: dict[str, Any], code: int, text: str
) -> None:
    tell(Listening(0.0, "here:1"))
    tell.connect(OTHER, "c1")
    tell(SessionGreeted(0.0, b"client", "s", False, 1, False, {}, 1.0, (), None))
    (refused,) = tell.hello(**more)
    assert isinstance(refused, RefuseTask) and refused.code == code and text in refused.message
    assert tell.state() is MemberState.UNKNOWN


def test_who_asks_from_another_address_is_told_why_it_may_hear_no_answer(tell: Told) -> None:
    warned, accepted, _ = tell.hello(asks=1, at="elsewhere:9")
    assert (
        isinstance(warned, WarnTask) and "at ps:1, while it says that it is at elsewhere:9" in warned.message
    )
    assert isinstance(accepted, AcceptTask)


# ---- ends -----------------------------------------------------------------------------------------------------------


def test_who_says_goodbye_has_departed_and_is_asked_only_if_it_is_wanted(tell: Told) -> None:
    tell.connect()
    assert tell(TaskLeft(0.0, PS)) == [EndTask(PS, "b1", "has ended", True, (b"\xb1",))]
    assert tell.state() is MemberState.DEPARTED
    assert tell(ConnectionLost(0.0, PS))[1:] == [SayHello(PS, Hello(2, 0, False, (PS,), ()))]
    assert tell.state() is MemberState.SUSPECTED


def test_who_does_not_answer_for_long_has_failed_and_is_left_alone(tell: Told) -> None:
    tell.connect()
    tell(ConnectionLost(0.0, PS))
    assert tell.tick(GREET_GONE_SECONDS) == []
    assert tell.tick(0.1) == [Disconnect(PS), SeparateTask(PS)]
    assert tell.state() is MemberState.FAILED and tell.tick(100.0) == []
    assert _kinds(tell(TaskWanted(tell.now, PS))) == [SayHello] and tell.state() is MemberState.SUSPECTED


def test_what_cannot_be_read_ends_what_a_task_takes_part_in(tell: Told) -> None:
    tell.connect()
    ended, hello = tell(TaskUnreadable(0.0, PS, "no more files"))
    assert isinstance(ended, EndTask) and ended.why == "sent what cannot be read (no more files)"
    assert isinstance(hello, SayHello) and hello.hello.asks


def test_a_connection_to_who_was_never_there_is_closed_and_begins_anew_when_it_is_wanted(tell: Told) -> None:
    tell(TaskWanted(0.0, PS))
    assert tell(ConnectionLost(0.0, PS)) == [Disconnect(PS)]
    assert tell.state() is MemberState.UNKNOWN and _kinds(tell(TaskWanted(0.0, PS))) == [SayHello]


def test_who_leaves_a_query_unanswered_is_disconnected_unless_it_is_there(tell: Told) -> None:
    tell.connect()
    assert tell(AnswerOverdue(0.0, PS)) == []
    tell(TaskWanted(0.0, OTHER))
    assert tell(AnswerOverdue(0.0, OTHER)) == [Disconnect(OTHER)]


def test_whoever_comes_and_goes_the_state_is_sound(tell: Told) -> None:
    """The invariants are checked after each event; in the end all are connected."""
    for seed in range(30):
        chance, told = random.Random(seed), Told()
        lives = dict.fromkeys((PS, OTHER), 1)
        for _ in range(300):
            task = chance.choice((PS, OTHER))
            lives[task] += chance.random() < 0.05
            asked = told.protocol.membership.members[task].asked
            match chance.randrange(8):
                case 0 | 1:
                    number = chance.choice((asked, asked, 0, 1))
                    incarnation = f"{'bc'[task == OTHER]}{lives[task]:03x}"
                    told.hello(task, incarnation, asks=chance.choice((0, 0, 5)), answers=number)
                case 2:
                    told(TaskWanted(told.now, task))
                case 3:
                    told(ConnectionLost(told.now, task))
                case 4:
                    told(TaskLeft(told.now, task))
                case 5:
                    told(chance.choice((AnswerOverdue(told.now, task), TaskUnreadable(told.now, task, "x"))))
                case 6:
                    told(chance.choice((UseAnnounced(told.now), HelloFailed(told.now, task, {}))))
                case 7:
                    told.tick(chance.choice((0.25, 20.0)))
        for task in (PS, OTHER):
            told.hello(task, f"{'bc'[task == OTHER]}{lives[task]:03x}", asks=1)
            told(TaskWanted(told.now, task))
            asked = told.protocol.membership.members[task].asked
            told.hello(task, f"{'bc'[task == OTHER]}{lives[task]:03x}", answers=asked)
            assert told.state(task) is MemberState.CONNECTED


def test_the_check_finds_what_contradicts_itself(tell: Told) -> None:
    tell.connect()
    tell.protocol.membership.members[PS].state = MemberState.FAILED
    with pytest.raises(BrokenInvariant):
        tell.protocol.check()
