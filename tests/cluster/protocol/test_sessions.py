"""Protects the sessions of a task: who is there and for how long, which requests count, whether it is in use."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.cluster.protocol import sessions as module
from graphflow._core.cluster.protocol.sessions import (
    IN_USE_SECONDS,
    LEASE_SECONDS,
    AcceptSocket,
    AnnounceUse,
    ClientWelcomed,
    EndSession,
    EndSocket,
    ForgetSocket,
    NoteSession,
    PlanNeeds,
    RefuseHello,
    RefusePlan,
    RefuseRequest,
    RequestCame,
    SessionGreeted,
    SessionLeft,
    Sessions,
    SessionsReset,
    SocketGone,
    UseHeardOf,
    WasDeaf,
)
from graphflow._core.common.machine import BrokenInvariant, Event, Instruction, Tick

TASK = "/job:worker/replica:0/task:0"
PS = "/job:ps/replica:0/task:0"


class Told:
    """A machine that is checked after each event, and whose time goes on by `now`."""

    def __init__(self) -> None:
        self.sessions = Sessions(TASK, "a1", 0.0)
        self.now = 0.0
        self.request = 0

    def __call__(self, event: Event) -> list[Instruction]:
        found = self.sessions.handlers[type(event)](event)
        self.sessions.check()
        return found

    def hello(self, session: str = "s", socket: bytes = b"1", **more: Any) -> list[Instruction]:
        fields = {
            "observer": False, "alive": False, "incarnations": {}, "seconds": 10.0, "wanted": (PS,), "needs": None,
        }  # fmt: skip
        self.request += 1
        fields.update(more)
        return self(SessionGreeted(self.now, socket, session, request=self.request, **fields))

    def tick(self, seconds: float) -> list[Instruction]:
        self.now += seconds
        return self(Tick(self.now))


@pytest.fixture
def tell() -> Told:
    return Told()


def _accepted(request: int, socket: bytes = b"1") -> AcceptSocket:
    return AcceptSocket(socket, request, 10.0, (PS,), None)


# ---- come and go ----------------------------------------------------------------------------------------------------


def test_a_session_begins_with_its_first_socket_and_has_more(tell: Told) -> None:
    assert tell.hello() == [NoteSession("s"), _accepted(1)]
    assert tell.hello(socket=b"2") == [_accepted(2, b"2")]
    assert tell.sessions.sockets == {b"1": "s", b"2": "s"}


def test_a_socket_that_is_gone_leaves_the_session(tell: Told) -> None:
    tell.hello()
    assert tell(SocketGone(0.0, b"1")) == [EndSocket(b"1")]
    assert tell(SocketGone(0.0, b"1")) == [] and "s" in tell.sessions.sessions


def test_a_goodbye_ends_the_session_with_all_sockets_and_is_remembered(tell: Told) -> None:
    tell.hello()
    tell.hello(socket=b"2")
    assert tell(SessionLeft(0.0, b"2", True)) == [EndSession("s", False, True, (b"1", b"2"))]
    assert tell.hello(alive=True) == []  # It was on its way.
    (refused,) = tell.hello()
    assert isinstance(refused, RefuseHello) and refused.code == errors.ABORTED
    assert "said goodbye" in refused.message and not tell.sessions.sessions


def test_what_is_remembered_of_goodbyes_is_bounded(tell: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SESSIONS", 3)
    for n in range(10):
        tell.hello(f"s{n}")
        tell(SessionLeft(0.0, b"1", False))
    assert list(tell.sessions.departed) == ["s7", "s8", "s9"]


# ---- leases ---------------------------------------------------------------------------------------------------------


def test_a_session_that_is_not_heard_of_ends_and_one_that_is_alive_stays(tell: Told) -> None:
    tell.hello("silent")
    tell.hello("alive", b"2")
    for _ in range(5):
        tell.tick(LEASE_SECONDS / 5)
        tell.hello("alive", b"another socket", alive=True)
    assert EndSession("silent", False, True, (b"1",)) in tell.tick(0.1)
    assert list(tell.sessions.sessions) == ["alive"] and b"another socket" not in tell.sessions.sockets
    assert tell.hello("silent")[0] == NoteSession("silent")  # It may come again, unlike who said goodbye.


def test_the_time_in_which_nobody_could_be_heard_of_does_not_count(tell: Told) -> None:
    tell.hello()
    tell.now += 60.0
    tell(WasDeaf(tell.now, 60.0))
    assert not any(isinstance(i, EndSession) for i in tell.tick(0.0))
    assert any(isinstance(i, EndSession) for i in tell.tick(LEASE_SECONDS + 0.1))


# ---- requests -------------------------------------------------------------------------------------------------------


def test_a_request_counts_once_in_its_session_over_whatever_socket(tell: Told) -> None:
    tell.hello()
    tell.hello(socket=b"2")
    assert tell(RequestCame(0.0, b"1", 9)) == []
    assert tell(RequestCame(0.0, b"2", 9)) == [RefuseRequest(b"2", 9, False)]
    tell.hello("other", b"3")
    assert tell(RequestCame(0.0, b"3", 9)) == []


def test_a_request_that_was_never_there_and_comes_too_late_is_told_so(tell: Told) -> None:
    tell.hello()
    tell(RequestCame(0.0, b"1", 1_000_000))
    assert tell(RequestCame(0.0, b"1", 7)) == [RefuseRequest(b"1", 7, True)]


# ---- lives of tasks -------------------------------------------------------------------------------------------------


def test_a_session_of_an_earlier_life_of_the_task_is_told_so(tell: Told) -> None:
    (refused,) = tell.hello(incarnations={TASK: "b2"})
    assert isinstance(refused, RefuseHello) and "was started again" in refused.message
    assert tell.hello(incarnations={TASK: "a1"}) == [NoteSession("s"), _accepted(2)]


def test_a_plan_on_a_task_that_was_started_again_is_refused(tell: Told) -> None:
    tell.hello()
    tell(ClientWelcomed(0.0, b"1", {PS: "1"}))
    assert tell(PlanNeeds(0.0, b"1", 5, {PS: "1"})) == []
    tell(ClientWelcomed(0.0, b"1", {PS: "2"}))  # Another thread's welcome: the session knows the first life.
    (refused,) = tell(PlanNeeds(0.0, b"1", 6, {PS: "2"}))
    assert isinstance(refused, RefusePlan) and refused.number == 6 and PS in refused.message


def test_a_session_learns_of_a_task_when_a_plan_first_needs_it(tell: Told) -> None:
    tell.hello()
    tell(ClientWelcomed(0.0, b"1", {}))
    assert tell(PlanNeeds(0.0, b"1", 5, {PS: "1"})) == []
    assert tell(PlanNeeds(0.0, b"1", 6, {PS: "2"})) != []


# ---- limits and resets ----------------------------------------------------------------------------------------------


def test_the_socket_known_for_longest_makes_place(tell: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SOCKETS", 2)
    tell.hello()
    tell.hello(socket=b"2")
    assert tell.hello(socket=b"2") == [_accepted(3, b"2")]
    assert tell.hello(socket=b"3") == [ForgetSocket(b"1"), _accepted(4, b"3")]


def test_sessions_are_limited(tell: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SESSIONS", 1)
    tell.hello()
    (refused,) = tell.hello("another", b"2")
    assert isinstance(refused, RefuseHello) and refused.code == errors.RESOURCE_EXHAUSTED


def test_a_reset_ends_the_sessions_that_are_there_but_not_observers_or_those_that_come(tell: Told) -> None:
    tell.hello("before")
    tell.hello("watches", b"2", observer=True)
    tell(SessionsReset(0.0))
    tell.hello("after", b"3")
    assert [s for s in ("before", "watches", "after", "nobody") if tell.sessions.was_reset(s)] == ["before"]
    tell(SessionLeft(0.0, b"1", False))
    assert not tell.sessions.was_reset("before")


# ---- use ------------------------------------------------------------------------------------------------------------


def test_a_task_is_idle_from_when_its_last_client_left_or_another_task_had_one(tell: Told) -> None:
    tell.hello("watches", b"2", observer=True)
    assert tell.sessions.idle_seconds(7.0) == 7.0
    tell.hello()
    assert tell.sessions.idle_seconds(100.0) == 0.0
    tell(SessionLeft(10.0, b"1", False))
    assert tell.sessions.idle_seconds(12.0) == 2.0
    tell(UseHeardOf(14.0, PS))
    assert tell.sessions.idle_seconds(15.0) == 1.0


def test_the_other_tasks_hear_of_a_client_at_the_next_tick_and_every_few_seconds(tell: Told) -> None:
    assert tell.tick(100.0) == []
    tell.hello("watches", b"2", observer=True)
    assert tell.tick(0.25) == []
    tell.hello()
    assert tell.tick(0.25) == [AnnounceUse()] and tell.tick(0.25) == []
    assert tell.tick(IN_USE_SECONDS) == [AnnounceUse()]


def test_the_others_hear_of_a_client_often_enough_to_stay(
    tell: Told,
) -> None:
    """A task may be told to end when it was idle for a minute, and a word or two may be lost."""
    heard = 0
    for tick in range(240):
        if tick % 8 == 0:
            tell.hello()  # It is alive.
        heard += tell.tick(0.25).count(AnnounceUse())
    assert 4 <= heard <= 60


# ---- anything -------------------------------------------------------------------------------------------------------


def _count(found: list[Instruction], there: Counter[str]) -> None:
    """Counts the beginnings of each session, less its ends."""
    for i in found:
        if isinstance(i, NoteSession):
            there[i.session] += 1
        elif isinstance(i, EndSession):
            there[i.session] -= 1
            assert there[i.session] == 0


@pytest.mark.parametrize("seed", range(40))
def test_whatever_comes_in_whatever_order_a_session_ends_once_for_each_beginning(seed: int) -> None:
    sockets = [b"1", b"2", b"3", b"4", b"5"]
    chance, tell = random.Random(seed), Told()
    there: Counter[str] = Counter()
    for step in range(300):
        socket, what = chance.choice(sockets), chance.randrange(6)
        known, alive = socket in tell.sessions.sockets, chance.random() < 0.3
        found: list[Instruction] = []
        if what == 0:
            found = tell.hello(f"{chance.choice('abcd')}{step // 40}", socket, alive=alive)
        elif what == 1:
            found = tell.tick(chance.choice([0.1, 1.0, 8.0]))
        elif what == 2:
            found = tell(SocketGone(tell.now, socket))
        elif what == 3 and known:
            found = tell(SessionLeft(tell.now, socket, alive))
        elif what == 4 and known:
            found = tell(RequestCame(tell.now, socket, chance.randrange(1, 100)))
        elif what == 5:
            found = tell(SessionsReset(tell.now))
        _count(found, there)
    _count(tell.tick(LEASE_SECONDS + 1.0), there)
    assert not tell.sessions.sessions and not tell.sessions.sockets and not any(there.values())


def test_a_socket_without_a_session_is_found(tell: Told) -> None:
    tell.sessions.sockets[b"1"] = "nobody"
    with pytest.raises(BrokenInvariant, match="nobody"):
        tell.sessions.check()
