"""Protects what a server is told of its connections: a peer is lost when one that stood is gone, not before."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from queue import Empty, Queue
from typing import Any

import pytest

from graphflow.cluster.ports import ReservedPorts
from graphflow.transport.message import Kind, Message
from graphflow.transport.sockets import Sockets

WITHIN = 20.0


class Told:
    """A handler that writes down what it is told."""

    def __init__(self) -> None:
        self.came: Queue[bytes] = Queue()
        self.lost_peers: Queue[str] = Queue()

    def knows(self, sender: bytes) -> bool:
        return True

    def received(self, sender: bytes, frames: Sequence[Any]) -> None:
        self.came.put(sender)

    def lost(self, peer: str) -> None:
        self.lost_peers.put(peer)

    def tick(self) -> None:
        pass


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def sockets(stack: ExitStack, name: str) -> tuple[Told, Sockets]:
    told = Told()
    found = Sockets(told, name.encode().ljust(8), name)
    stack.callback(found.stop)
    return told, found


def test_a_try_that_meets_a_dying_listener_is_no_loss_and_the_message_comes_to_the_next(
    stack: ExitStack,
) -> None:
    port = stack.enter_context(ReservedPorts(1)).ports[0]
    address = f"127.0.0.1:{port}"
    dying = socket.socket()
    stack.callback(dying.close)
    dying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    dying.bind(("127.0.0.1", port))
    dying.listen()
    told, sender = sockets(stack, "sender")
    sender.start()
    hello = Message(Kind.HELLO, details={}).frames()
    sender.call(lambda: sender.send_to_peer(address, hello))
    dying.settimeout(WITHIN)
    dying.accept()[0].close()
    dying.close()
    taker, receiver = sockets(stack, "receiver")
    receiver.bind(f"tcp://{address}")
    receiver.start()
    assert taker.came.get(timeout=WITHIN) == b"sender  "
    with pytest.raises(Empty):  # The thread looks several times in that time.
        told.lost_peers.get(timeout=0.5)
    receiver.stop()
    assert told.lost_peers.get(timeout=WITHIN) == address
