"""Protects what a client is told whose connection ZeroMQ has given up, as it does where a key is refused, or that was
closed by another thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from graphflow import errors
from graphflow.transport import client
from graphflow.transport.channel import Channel, Closed, Gone
from graphflow.transport.client import Connection
from graphflow.transport.keys import Access
from graphflow.transport.message import Kind, Message
from graphflow.transport.pieces import Pool


def test_what_cannot_be_sent_any_more_says_that_the_server_is_gone() -> None:
    address = "127.0.0.1:9"
    channel = Channel(address, Access("secret", None), Pool())
    try:
        channel.send(Message(Kind.BYE).frames())  # It waits for the connection.
        channel._socket.disconnect(f"tcp://{address}")
        with pytest.raises(Gone):
            channel.send(Message(Kind.BYE).frames())
    finally:
        channel.close()


def test_what_another_thread_has_closed_says_so() -> None:
    channel = Channel("127.0.0.1:9", Access("secret", None), Pool())
    channel.close()
    with pytest.raises(Closed):
        channel.send(Message(Kind.BYE).frames())
    with pytest.raises(Closed):
        channel.receive(None)


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
    monkeypatch.setattr(client, "_ALIVE_SECONDS", 0.01)
    connection = Connection("127.0.0.1:9", {}, Access("", None))
    assert ended.wait(20.0)
    connection.close()
    assert len({id(channel) for channel in said}) > 1 and said[0].closed
