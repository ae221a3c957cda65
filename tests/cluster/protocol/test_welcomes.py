"""Protects clients that wait for their welcome: for whom, for how long, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow.errors as errors
from graphflow._core.cluster.protocol import welcomes as module
from graphflow._core.cluster.protocol.membership import (
    ConnectionLost,
    Disconnect,
    HelloFailed,
    SayHello,
    TaskLeft,
)
from graphflow._core.cluster.protocol.registrations import RegistrantGone
from graphflow._core.cluster.protocol.sessions import AcceptSocket, RefuseHello
from graphflow._core.cluster.protocol.welcomes import RefuseWelcome, Welcome, WelcomeAwaited
from graphflow._core.common.timeouts import GREET_GONE_SECONDS
from tests.cluster.protocol.test_membership import OTHER, PS, Told


@pytest.fixture
def tell() -> Told:
    return Told()


def _wait(tell: Told, socket: bytes = b"1", wanted: Any = (PS, OTHER), needs: Any = None) -> Any:
    return tell(WelcomeAwaited(tell.now, AcceptSocket(socket, 3, 10.0, wanted, needs)))


def test_a_client_is_welcomed_when_all_tasks_that_it_wants_are_there(tell: Told) -> None:
    assert [i.task for i in _wait(tell) if isinstance(i, SayHello)] == [PS, OTHER]
    assert not any(isinstance(i, Welcome) for i in tell.hello(PS, "b1", answers=1))
    (welcome,) = (i for i in tell.hello(OTHER, "c1", answers=2, in_use=True) if isinstance(i, Welcome))
    assert welcome == Welcome(b"1", 3, {PS: "b1", OTHER: "c1"}, ("CPU:0", "CPU:0"), True)
    assert not tell.protocol.welcomes.waiting


def test_a_client_that_wants_no_other_task_is_welcomed_at_once(tell: Told) -> None:
    assert _wait(tell, wanted=()) == [Welcome(b"1", 3, {}, (), False)]


def test_who_was_there_and_is_not_need_not_be_awaited_by_who_can_do_without(tell: Told) -> None:
    tell.connect(PS, "b1")
    tell.connect(OTHER, "c1")
    tell(TaskLeft(0.0, OTHER))
    assert _wait(tell, needs=(PS,)) == [Welcome(b"1", 3, {PS: "b1"}, ("CPU:0",), False)]
    assert [type(i) for i in _wait(tell, needs=(PS, OTHER))] == [SayHello]
    assert [type(i) for i in _wait(tell, b"2")] == []


def test_another_task_may_know_who_is_absent(tell: Told) -> None:
    assert _wait(tell, needs=(PS,))
    found = tell.hello(PS, "b1", answers=1, absent=(OTHER,))
    assert Welcome(b"1", 3, {PS: "b1"}, ("CPU:0",), False) in found


def test_who_has_waited_long_enough_is_told_who_is_missing(tell: Told) -> None:
    _wait(tell)
    tell.hello(PS, "b1", answers=1)
    assert not tell.tick(10.0)
    assert tell.tick(0.1) == [RefuseWelcome(b"1", 3, (OTHER,), None)]
    assert not tell.tick(0.1)


def test_who_is_gone_does_not_wait_any_more(tell: Told) -> None:
    _wait(tell)
    tell(RegistrantGone(0.0, b"1", 3, {}))
    assert tell.protocol.welcomes.waiting
    tell(RegistrantGone(0.0, b"1", None, {}))
    assert not tell.protocol.welcomes.waiting


def test_a_task_that_no_hello_can_be_sent_to_is_told_to_who_waits_for_it(tell: Told) -> None:
    _wait(tell)
    _wait(tell, b"2", (PS,))
    error = {"code": errors.INTERNAL, "message": "no keys"}
    assert tell(HelloFailed(0.0, OTHER, error)) == [RefuseWelcome(b"1", 3, (), error)]
    assert list(tell.protocol.welcomes.waiting) == [b"2"]


def test_a_task_that_is_awaited_is_asked_again_and_not_given_up(tell: Told) -> None:
    tell.connect(PS, "b1")
    _wait(tell)
    (*_, hello) = tell(ConnectionLost(tell.now, PS))
    assert isinstance(hello, SayHello) and hello.hello.asks
    tell.protocol.welcomes.waiting[b"1"].deadline = 1000.0
    assert not tell.tick(GREET_GONE_SECONDS + 1)
    tell(RegistrantGone(tell.now, b"1", None, {}))
    assert Disconnect(PS) in tell.tick(0.1)


def test_those_who_wait_are_limited(tell: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 1)
    _wait(tell)
    (refused,) = _wait(tell, b"2")
    assert isinstance(refused, RefuseHello) and refused.code == errors.RESOURCE_EXHAUSTED
    assert not _wait(tell)  # The same one, once more.
