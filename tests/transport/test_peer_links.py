"""Protects the connections that a server makes to others: a refusal is no error of who sends."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest
import zmq

from graphflow._core.transport import peer_links
from graphflow._core.transport.frames.tensors import Buffer
from graphflow._core.transport.keys import Access
from graphflow._core.transport.peer_links import PeerLinks


def test_who_is_refused_while_it_sends_goes_on_and_sends_all_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """ZeroMQ takes a refused socket its connection in a thread of its own, perhaps between two messages."""
    sent: list[Sequence[Buffer]] = []
    refuses = True

    def send(socket: Any, frames: Sequence[Buffer]) -> bool:
        if refuses and sent:
            return False
        sent.append(frames)
        return True

    monkeypatch.setattr(peer_links, "send", send)
    context: zmq.Context[Any] = zmq.Context()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        links = PeerLinks(
            context, b"task", Access("secret", None), lambda function: None, lambda address: None
        )
        try:
            links.send(address, [b"first"])
            links.send(address, [b"second"])
            assert sent == [[b"first"]] and address in links
            sent, refuses = [], False
            links._links[address].refused = True  # As the event says that has been read meanwhile.
            links.look()
            assert sent == [[b"first"], [b"second"]]
        finally:
            links.close(0)
            context.term()
