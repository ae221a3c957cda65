"""Protects what a client is told whose connection ZeroMQ has given up, as it does where a key is refused."""

from __future__ import annotations

import pytest

from graphflow.transport.channel import Channel, Gone
from graphflow.transport.message import Kind, Message
from graphflow.transport.pieces import Pool


def test_what_cannot_be_sent_any_more_says_that_the_server_is_gone() -> None:
    address = "127.0.0.1:9"
    channel = Channel(address, None, Pool())
    try:
        channel.send(Message(Kind.BYE).frames())  # It waits for the connection.
        channel._socket.disconnect(f"tcp://{address}")
        with pytest.raises(Gone):
            channel.send(Message(Kind.BYE).frames())
    finally:
        channel.close()
