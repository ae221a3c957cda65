"""Protects the journal of a task: what it keeps, that it goes through JSON, and that a replay does the same again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from graphflow._core.cluster.protocol.journal import MOST_REQUESTS, Journal, from_data, read, to_data
from graphflow._core.cluster.protocol.queries import QueryAnswered, QueryAsked
from graphflow._core.cluster.protocol.replay import Differs, Incomplete, replay, replay_data
from graphflow._core.cluster.protocol.sessions import (
    EndSession,
    RequestCame,
    SessionGreeted,
    SessionLeft,
    WasDeaf,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.common.machine import Event, Tick

TASK, PS = "/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"


def _hello(now: float, socket: bytes = b"\x001", session: str = "s", request: int = 1) -> Event:
    return SessionGreeted(now, socket, session, False, request, False, {PS: "7"}, 10.0, (PS,), None)


DAY: list[Event] = [
    Tick(0.5), _hello(1.0), Tick(1.25), RequestCame(2.0, b"\x001", 2), RequestCame(2.0, b"\x001", 2),
    QueryAsked(3.0, b"\x001", 3, "RESET", 2.0, False, {"containers": ["a", None], "seconds": 2}),
    QueryAnswered(3.5, PS, 1), WasDeaf(9.0, 5.5), Tick(9.0), _hello(10.0, b"2", "t"),
    SessionLeft(11.0, b"2", False), Tick(40.0), Tick(41.0),
]  # fmt: skip


def _protocol(journal: Journal | None = None) -> TaskProtocol:
    return TaskProtocol(TASK, "a1", {PS: "ps:1"}, 0.0, journal)


def _lived(journal: Journal | None = None) -> TaskProtocol:
    found = _protocol(journal)
    for event in DAY:
        found.handle(event)
        found.check()
    return found


def test_a_journal_has_each_event_with_what_came_of_it_but_no_tick_at_which_nothing_happened() -> None:
    protocol = _lived()
    kept = [entry.event for entry in protocol.journal.entries]
    assert [e for e in kept if type(e) is not Tick] == [e for e in DAY if type(e) is not Tick]
    assert Tick(0.5) not in kept and Tick(41.0) not in kept and Tick(40.0) in kept
    (end,) = [e for e in protocol.journal.entries if e.event == Tick(40.0)]
    assert end.instructions == (EndSession("s", False, True, (b"\x001",)),)


def test_a_journal_through_json_is_the_same_and_a_replay_of_it_comes_to_the_same_state() -> None:
    protocol = _lived()
    data: dict[str, Any] = json.loads(json.dumps(protocol.journal_data(50.0)))
    assert read(data).entries == protocol.journal.entries
    again = replay_data(data)
    assert again.journal.entries == protocol.journal.entries
    assert again.sessions.departed == {"t": None} and again.queries.begun == 1


def test_a_replay_says_at_which_event_something_else_happens() -> None:
    protocol = _lived()
    data = protocol.journal.data()
    place = next(n for n, e in enumerate(protocol.journal.entries) if isinstance(e.event, RequestCame))
    del data["entries"][place]  # The repetition is now the first of its number.
    journal = read(data)
    with pytest.raises(Differs, match=rf"^Event {place}, RequestCame.*expected RefuseRequest.*got nothing"):
        replay(journal, _protocol())


def test_a_journal_that_has_forgotten_its_beginning_says_so_and_is_not_replayed() -> None:
    protocol = _lived(Journal(1))
    assert 0 < protocol.journal.forgotten == protocol.journal.handled - len(protocol.journal.entries)
    with pytest.raises(Incomplete, match="first"):
        replay_data(protocol.journal_data(50.0))


def test_a_busy_session_does_not_push_out_what_came_before() -> None:
    protocol = _lived()
    protocol.handle(_hello(50.0, b"3", "busy"))
    for n in range(2, 20_000):
        protocol.handle(RequestCame(50.0 + n, b"3", n))
        if n % 10 == 0:
            alive = SessionGreeted(50.0 + n, b"3", "busy", False, n, True, {}, 10.0, (PS,), None)
            protocol.handle(alive)
    kept = [entry.event for entry in protocol.journal.entries]
    assert [e for e in DAY if type(e) in (QueryAsked, QueryAnswered, SessionLeft)] == [
        e for e in kept if type(e) in (QueryAsked, QueryAnswered, SessionLeft)
    ]
    assert _hello(1.0) in kept and _hello(50.0, b"3", "busy") in kept
    assert sum(type(e) is RequestCame for e in kept) == MOST_REQUESTS and len(kept) < 3 * MOST_REQUESTS
    assert [e.number for e in protocol.journal.entries] == sorted(e.number for e in protocol.journal.entries)
    assert kept[-1] == RequestCame(20_049.0, b"3", 19_999)


def test_lines_have_the_time_before_now_and_are_not_too_long() -> None:
    protocol = _protocol()
    protocol.handle(_hello(1.0, session="s" * 5000))
    lines = protocol.journal.lines(3.5)
    assert lines[0].startswith("-2.500 s: SessionGreeted(socket=0031, session='sss")
    assert lines[1].startswith("    -> NoteSession") and all(len(line) < 350 for line in lines)


def test_the_last_lines_are_those_of_the_end() -> None:
    journal = _lived().journal
    lines = journal.lines(50.0)
    for most in (1, 2, 3, 7, len(lines), 100):
        assert journal.lines(50.0, most) == lines[-most:]


@pytest.mark.parametrize(
    "value", [None, 1, 1.5, "x", b"\xff", (1, (b"2",)), [1, ["a"]], {"a": (1,), b"b": {}}]
)
def test_values_go_through_json(value: Any) -> None:
    assert from_data(json.loads(json.dumps(to_data(value)))) == value
