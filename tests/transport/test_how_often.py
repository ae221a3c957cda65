"""Protects how often and how long connections try, wait, and say goodbye."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from graphflow._core.transport import channel as channel_module
from graphflow._core.transport import client, names
from graphflow._core.transport.channel import Channel, Gone
from graphflow._core.transport.client import Connection, Overdue
from graphflow._core.transport.frames.message import Kind
from graphflow._core.transport.frames.pieces import Pool
from graphflow._core.transport.keys import Access
from graphflow._core.transport.sockets import Sockets
from tests.common.clock import Clock

WITHIN = 60.0
ACCESS = Access("secret", None)
NOBODY = "127.0.0.1:9"


@pytest.fixture
def made() -> Iterator[Channel]:
    found = Channel(NOBODY, ACCESS, Pool())
    yield found
    found.close()


# ---- tries --------------------------------------------------------------------------------------------------------


def test_a_client_tries_to_connect_every_moment_however_long_the_server_is_away(made: Channel) -> None:
    pauses: list[float] = []
    made._socket.disable_monitor()
    made._socket.monitor("inproc://tries", zmq.EVENT_CONNECT_RETRIED)
    with zmq.Context.instance().socket(zmq.PAIR) as tries:
        tries.connect("inproc://tries")
        assert made.connect(time.monotonic() + WITHIN)
        while sum(pauses) < 1500:
            assert tries.poll(1000 * WITHIN)
            pauses.append(recv_monitor_message(tries)["value"])
        made._socket.disable_monitor()
    assert 50 <= max(pauses) <= 300, pauses


def test_a_connection_that_ends_unheard_may_come_again_for_a_moment(
    made: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, news = Clock(), [zmq.EVENT_HANDSHAKE_SUCCEEDED, zmq.EVENT_DISCONNECTED]

    def receive(monitor: Any, flags: int) -> dict[str, int]:
        if not news:
            raise zmq.Again
        return {"event": news.pop(0)}

    monkeypatch.setattr(channel_module, "time", clock)
    monkeypatch.setattr(channel_module, "recv_monitor_message", receive)
    monkeypatch.setattr(made, "_turn", lambda: None)
    made._check()
    begun = clock.now
    with pytest.raises(Gone):
        while clock.now < begun + 100:
            clock.now += 0.01
            made._check()
    assert 0.2 <= clock.now - begun <= 10


def test_an_address_that_does_not_answer_gives_way_to_the_next_within_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[tuple[str, float]] = []

    def connect(where: tuple[str, int], timeout: float) -> Any:
        tried.append((where[0], timeout))
        if where[0] == "192.0.2.1":
            raise TimeoutError
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr(names.socket, "create_connection", connect)
    assert names._tried(("192.0.2.1", "192.0.2.2"), 1) == (("192.0.2.2", "192.0.2.1"), "")
    assert [number for number, _ in tried] == ["192.0.2.1", "192.0.2.2"]
    assert all(0.5 <= seconds <= 10 for _, seconds in tried)
    assert names._tried(("192.0.2.1",), 1)[1] == f"it does not answer a connection within {tried[0][1]:g} s"


@pytest.mark.parametrize("asked", [None, 3.0])
def test_a_client_that_was_forgotten_tries_to_be_taken_again_for_some_seconds(
    asked: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, limits = Clock(), []
    connection = Connection(NOBODY, {} if asked is None else {"seconds": asked}, ACCESS)
    try:
        monkeypatch.setattr(client, "time", clock)
        monkeypatch.setattr(connection, "_hello", lambda channel, limit: limits.append(limit - clock.now))
        nothing: Any = None
        connection._greet_again(nothing, None)
        connection._greet_again(nothing, clock.now + 1.0)
    finally:
        connection.close()
    assert 3 <= limits[0] <= 60 if asked is None else 3 <= limits[0] <= 6
    assert limits[1] == 1.0


def test_who_has_met_its_deadline_asks_why_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    connection = Connection(NOBODY, {}, ACCESS)

    class Deaf:
        """A channel over which nothing comes."""

        trouble = ""

        def receive(self, deadline: float) -> None:
            clock.now = min(deadline, clock.now + 0.01)

    try:
        monkeypatch.setattr(client, "time", clock)
        deaf: Any = Deaf()
        connection._ask_why(deaf, 1, Overdue(""))
    finally:
        connection.close()
    assert 0.05 <= clock.now - 1000.0 <= 3


# ---- goodbyes -----------------------------------------------------------------------------------------------------


class Silent:
    """A server that takes connections and says nothing; `lasted` is how long one stood after `begin`."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen()
        self._listener.settimeout(WITHIN)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._taken: socket.socket | None = None

    def take(self) -> None:
        """Takes the connection."""
        self._taken = self._listener.accept()[0]
        self._taken.settimeout(WITHIN)

    def seconds_until_it_ends(self) -> float:
        """Waits for the other end to close the connection."""
        assert self._taken is not None
        begun = time.monotonic()
        while self._taken.recv(4096):
            pass
        return time.monotonic() - begun

    def close(self) -> None:
        """Closes what there is."""
        self._listener.close()
        if self._taken is not None:
            self._taken.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    found = Silent()
    yield found
    found.close()


def lost(address: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """What connects a channel, and what leaves it as its thread ends."""
    made = Channel(address, ACCESS, Pool())
    made.greeted = True

    def connect() -> None:
        assert made.connect(time.monotonic() + WITHIN)

    return connect, made.leave


def closed(address: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """What connects a client, and what closes it."""
    connection = Connection(address, {}, ACCESS)

    def connect() -> None:
        assert connection._channel().connect(time.monotonic() + WITHIN)
        connection.tell(Kind.BYE, 0)

    return connect, connection.close


@pytest.mark.parametrize("make", [lost, closed])
def test_what_a_client_says_last_may_go_out_for_a_moment_after_it_has_gone(
    make: Callable[[str], tuple[Callable[[], None], Callable[[], None]]], silent: Silent
) -> None:
    connect, leave = make(silent.address)
    connect()
    silent.take()
    leave()
    assert 0.2 <= silent.seconds_until_it_ends() <= 15


def test_the_last_messages_of_a_server_have_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    told: Any = SimpleNamespace(tick=lambda: None, knows=lambda sender: True, lost=lambda peer: None)
    server = Sockets(told, b"server  ", "server", ACCESS)
    lingers: list[int] = []
    close = server.peers.close
    monkeypatch.setattr(server.peers, "close", lambda ms: (lingers.append(ms), close(ms)))
    server.start()
    server.stop()
    assert len(lingers) == 1 and 20 <= lingers[0] <= 5000


def test_a_listener_without_a_file_tries_again_soon_and_not_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: Any = SimpleNamespace(tick=lambda: None, knows=lambda sender: True, lost=lambda peer: None)
    server = Sockets(told, b"server  ", "server", ACCESS)
    waits: list[float] = []
    wait = server._files.wait
    monkeypatch.setattr(server._files, "wait", lambda seconds: (waits.append(seconds), wait(seconds))[1])
    tries = []
    enough = threading.Event()

    def without_a_file(identity: bytes, secret: object, until: float) -> None:
        tries.append(len(waits))
        if len(tries) < 5:
            server.channels.due[identity] = secret, until
        else:
            enough.set()

    monkeypatch.setattr(server.channels, "_try_to_accept", without_a_file)
    server.start()
    try:
        server.call(lambda: server.channels.due.update({b"1": ("secret", 0.0)}))
        assert enough.wait(WITHIN)
    finally:
        server.stop()
    between = [s for s in waits[tries[0] : tries[-1]] if s]
    assert between and all(0.001 <= seconds <= 0.1 for seconds in between)
