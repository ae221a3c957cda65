"""Protects what a client is told whose connection ZeroMQ has given up, as it does where a key is refused, or that was
closed by another thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.transport import channel, client
from graphflow._core.transport.channel import Channel, Closed, Gone
from graphflow._core.transport.client import Connection
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.frames.pieces import Pool
from graphflow._core.transport.keys import Access


def test_what_cannot_be_sent_any_more_says_that_the_server_is_gone() -> None:
    address = "127.0.0.1:9"
    made = Channel(address, Access("secret", None), Pool())
    try:
        made.send(Message(Kind.BYE).frames())  # It waits for the connection.
        made._socket.disconnect(f"tcp://{address}")
        with pytest.raises(Gone):
            made.send(Message(Kind.BYE).frames())
    finally:
        made.close()


def test_what_another_thread_has_closed_says_so() -> None:
    made = Channel("127.0.0.1:9", Access("secret", None), Pool())
    made.close()
    with pytest.raises(Closed):
        made.send(Message(Kind.BYE).frames())
    with pytest.raises(Closed):
        made.receive(None)


@pytest.mark.parametrize("call", ["send", "receive", "open_local_channel"])
def test_a_socket_is_not_closed_under_the_thread_that_uses_it(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Channel("127.0.0.1:9", Access("", None), Pool())
    made._stands = True
    ends = socket.socketpair()
    inside, go_on = threading.Event(), threading.Event()
    found: list[Any] = []

    def held(*arguments: Any) -> list[bytes]:
        inside.set()
        assert go_on.wait(30)
        found.append(made._socket.closed or made._monitor.closed)
        return [b"x"]

    monkeypatch.setattr(channel, "send", held)
    monkeypatch.setattr(channel, "connect", lambda listener: (ends[0], "secret"))
    monkeypatch.setattr(channel, "receive", held)
    calls: dict[str, Callable[[], Any]] = {
        "send": lambda: made.send(Message(Kind.BYE).frames()),
        "receive": lambda: made.receive(None),
        "open_local_channel": lambda: made.open_local_channel({}),
    }

    def use() -> None:
        with suppress(Closed):
            calls[call]()

    thread = threading.Thread(target=use)
    thread.start()
    assert inside.wait(30)
    made.close()
    assert made.closed
    go_on.set()
    thread.join(30)
    assert found == [False] and made._socket.closed and made._monitor.closed
    ends[1].close()
    if call == "open_local_channel":
        assert ends[0].fileno() < 0
    ends[0].close()
    with pytest.raises(Closed):
        made.send(Message(Kind.BYE).frames())


def test_a_connection_that_is_closed_while_a_thread_begins_to_use_it_opens_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = Connection("127.0.0.1:9", {}, Access("", None))
    made: list[Channel] = []

    def closed_meanwhile(*arguments: Any) -> Channel:
        made.append(Channel(*arguments))
        connection.close()
        return made[-1]

    monkeypatch.setattr(client, "Channel", closed_meanwhile)
    with pytest.raises(errors.CancelledError, match="session is closed"):
        connection.ask(Kind.STATUS)
    assert len(made) == 1 and made[0].closed


def test_who_says_that_it_is_alive_says_it_over_a_new_connection_where_the_old_one_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[Channel] = []

    class GivenUp(Channel):
        def send(self, frames: Any) -> None:
            said.append(self)
            if len(said) == 3:
                ended.set()
            raise Gone(0)

    ended = threading.Event()
    monkeypatch.setattr(client, "Channel", GivenUp)
    monkeypatch.setattr(client, "ALIVE_SECONDS", 0.01)
    connection = Connection("127.0.0.1:9", {}, Access("", None))
    assert ended.wait(20.0)
    connection.close()
    assert len({id(channel) for channel in said}) > 1 and said[0].closed
