"""Protects a task from too much and from twice: replayed requests, forgotten clients, floods, wrong hellos."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import zmq

import graphflow as gf
from graphflow._core.cluster.protocol import sessions
from graphflow._core.cluster.protocol.strangers import ANSWERS_A_SECOND
from graphflow._core.common.machine import Tick
from graphflow._core.transport import client as client_side
from graphflow._core.transport import keys
from graphflow._core.transport.dropped import Dropped
from graphflow._core.transport.frames.message import Kind, Message, peek


@pytest.fixture
def server() -> Iterator[Any]:
    made = gf.train.Server.create_local_server()
    yield made
    made.stop()


def _hello(server: Any, **details: Any) -> Message:
    shown = keys.access("").shown_at(server.target)
    return Message(Kind.HELLO, 1, details={"token": shown, "session": "s"} | details)


@pytest.fixture
def client(server: Any) -> Iterator[Any]:
    """A socket of a client's own that has not said hello."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        keys.access("").prepare(socket, server.target)
        socket.connect(server.target.replace("zmq", "tcp"))
        yield socket


def _ask(client: Any, *messages: Message) -> Message:
    """Sends messages, and returns the next answer."""
    for message in messages:
        client.send_multipart([bytes(f) for f in message.frames()])
    assert client.poll(60_000), "no answer"
    return Message.of(client.recv_multipart())


# ---- twice ----------------------------------------------------------------------------------------------------------


def test_an_update_that_comes_twice_is_applied_once(server: Any) -> None:
    service = server._service
    seen: list[tuple[bytes, list[bytes]]] = []
    original = service.received

    def received(sender: bytes, frames: Any) -> None:
        seen.append((sender, [bytes(f) for f in frames]))
        original(sender, frames)

    service.received = received
    with gf.Graph().as_default():
        v = gf.get_variable("v", initializer=0.0)
        more = gf.assign_add(v, 1.0)
        with gf.Session(server.target) as session:
            session.run(v.initializer)
            for _ in range(3):
                session.run(more)
            again = [m for m in seen if peek(m[1])[1] in (Kind.RUN, Kind.REGISTER)]  # type: ignore[index]
            assert len(again) >= 6
            before = service.sockets.dropped.count
            for sender, frames in again * 2:
                service.sockets.call(lambda s=sender, f=frames: original(s, f))
            assert session.run(v) == 3.0
            assert service.sockets.dropped.count == before + 2 * len(again)
            assert (
                len(service.protocol.master.of_session(service.protocol.sessions.sockets[again[0][0]])) == 3
            )


# ---- forgotten ------------------------------------------------------------------------------------------------------


def test_a_client_that_was_forgotten_says_hello_again(server: Any) -> None:
    with gf.Graph().as_default():
        v = gf.get_variable("v", initializer=5.0)
        with gf.Session(server.target) as session:
            session.run(v.initializer)
            service = server._service
            done: list[bool] = []
            later = time.monotonic() + 2 * sessions.LEASE_SECONDS
            service.sockets.call(lambda: service.tell(Tick(later)))
            service.sockets.call(lambda: done.append(not service.protocol.sessions.sessions))
            while not done:
                time.sleep(0.01)
            assert done == [True]
            assert session.run(v) == 5.0 and session.run(v + 1.0) == 6.0


def test_promise_2_who_waits_although_its_session_lapsed_is_told(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when one thread of a program keeps Python's lock for longer than the lease, and another waits for a queue."""
    monkeypatch.setattr(client_side, "ALIVE_SECONDS", 100.0)
    monkeypatch.setattr(sessions, "LEASE_SECONDS", 0.5)
    with gf.Graph().as_default():
        queue = gf.FIFOQueue(1, gf.float32, [[]])
        taken, put = queue.dequeue(), queue.enqueue(2.0)
        with gf.Session(server.target) as session:
            with pytest.raises(gf.errors.AbortedError, match="silent for too long"):
                session.run(taken)
            monkeypatch.setattr(sessions, "LEASE_SECONDS", 15.0)
            session.run(put)
            assert session.run(taken) == 2.0
        assert not server._service.protocol.master.in_flight


def test_a_request_before_a_hello_is_answered_that_it_was_not_taken(client: Any) -> None:
    answer = _ask(client, Message(Kind.RUN, 7, 1))
    assert answer.kind is Kind.FAILED and answer.a == 7 and answer.details["stranger"] is True
    assert answer.details["code"] == gf.errors.ABORTED


def test_another_version_is_told(client: Any) -> None:
    frame = bytearray(bytes(Message(Kind.HELLO, 3).frames()[0]))
    frame[2] = 9
    client.send(bytes(frame))
    assert client.poll(60_000)
    answer = Message.of(client.recv_multipart())
    assert answer.kind is Kind.FAILED and "version 3 of the protocol, not 9" in answer.details["message"]


# ---- too much -------------------------------------------------------------------------------------------------------


def test_what_is_dropped_is_counted_and_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    dropped = Dropped("/job:ps/task:0")
    with caplog.at_level(logging.WARNING, "graphflow"):
        for n in range(10_000):
            dropped.add(f"reason {n} " + "x" * 10_000)
    assert dropped.count == 10_000 and len(caplog.records) == 1 and len(caplog.text) < 600


def test_answers_to_strangers_are_few(server: Any, client: Any) -> None:
    service = server._service
    begun = time.monotonic()
    for n in range(1, 2000):
        client.send_multipart([bytes(f) for f in Message(Kind.RUN, n).frames()])
    while service.sockets.dropped.count < 1999 and time.monotonic() < begun + 60:
        time.sleep(0.01)
    assert service.sockets.dropped.count == 1999
    answers = 0
    while answers < 60:
        assert client.poll(60_000)
        client.recv_multipart()
        answers += 1
    while client.poll(0):
        client.recv_multipart()
        answers += 1
    assert answers <= ANSWERS_A_SECOND * (time.monotonic() - begun + 1)


def test_a_strangers_large_or_many_frames_are_not_kept(server: Any, client: Any) -> None:
    client.send_multipart([bytes(f) for f in _hello(server, x="x" * 70_000).frames()])
    client.send_multipart([bytes(Message(Kind.HELLO, 1).frames()[0])] + [b""] * 100_000)
    assert _ask(client, _hello(server)).kind is Kind.WELCOME
    assert server._service.sockets.dropped.count == 2


def test_sockets_of_clients_are_limited_and_the_oldest_says_hello_again(
    server: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_SOCKETS", 2)
    assert _ask(client, _hello(server)).kind is Kind.WELCOME
    for _ in range(3):
        with zmq.Context() as context, context.socket(zmq.DEALER) as other:
            other.linger = 0
            keys.access("").prepare(other, server.target)
            other.connect(server.target.replace("zmq", "tcp"))
            assert _ask(other, _hello(server)).kind is Kind.WELCOME
    assert len(server._service.protocol.sessions.sockets) == 2
    assert _ask(client, Message(Kind.STATUS, 2)).details["stranger"] is True
    assert _ask(client, _hello(server)).kind is Kind.WELCOME
    assert _ask(client, Message(Kind.STATUS, 3)).kind is Kind.STATUS_IS


def test_sessions_are_limited(server: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    assert _ask(client, _hello(server)).kind is Kind.WELCOME
    answer = _ask(client, _hello(server, session="another"))
    assert answer.kind is Kind.FAILED and answer.details["code"] == gf.errors.RESOURCE_EXHAUSTED


# ---- wrong ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "details",
    [
        {"session": None}, {"session": ""}, {"session": 7}, {"session": "x" * 300}, {"session": ["s"]},
        {"seconds": "soon"}, {"seconds": float("nan")}, {"seconds": True}, {"seconds": []},
        {"filters": 7}, {"filters": [7]}, {"filters": ["x" * 300]},
        {"incarnations": 7}, {"incarnations": {"x": 7}},
    ],
)  # fmt: skip
def test_a_hello_with_wrong_fields_is_answered(server: Any, client: Any, details: dict[str, Any]) -> None:
    assert _ask(client, _hello(server, **details)).kind is Kind.FAILED
    assert _ask(client, _hello(server)).kind is Kind.WELCOME


@pytest.mark.parametrize("kind", [Kind.RUN, Kind.REGISTER, Kind.STATUS, Kind.RESET, Kind.STOP])
@pytest.mark.parametrize(
    "details",
    [{"tasks": 7}, {"tasks": {"/job:local/replica:0/task:0": {}}}, {"seconds": "x", "containers": 7}],
)
def test_every_request_is_answered(server: Any, client: Any, kind: Kind, details: dict[str, Any]) -> None:
    assert _ask(client, _hello(server)).kind is Kind.WELCOME
    request = Message(kind, 2, 99, details=details, tensors=[np.zeros(3)])
    answer = _ask(client, request)
    assert answer.a == 2 and answer.kind in (Kind.FAILED, Kind.STATUS_IS)
