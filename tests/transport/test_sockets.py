"""Protects what a server is told of its connections: a peer is lost when one that stood is gone, not before."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from queue import Empty, Queue
from typing import Any

import pytest
import zmq

from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.transport import socket_channels as channels_module
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.keys import Access
from graphflow._core.transport.local_channels import Listener, NoFiles, connect, packed
from graphflow._core.transport.sockets import Sockets

WITHIN = 60.0
ACCESS = Access("secret", None)


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

    def left(self, sender: bytes) -> None:
        pass

    def tick(self) -> None:
        pass


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def sockets(stack: ExitStack, name: str) -> tuple[Told, Sockets]:
    told = Told()
    found = Sockets(told, name.encode().ljust(8), name, ACCESS)
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


class Greeter(Told):
    """Takes local channels, and keeps what was said."""

    def __init__(self) -> None:
        super().__init__()
        self.said: Queue[tuple[Kind, bytes]] = Queue()
        self.sockets: Any = None

    def received(self, sender: bytes, frames: Sequence[Any]) -> None:
        message = Message.of(frames)
        if message.kind is Kind.LOCAL_CHANNEL:
            self.sockets.channels.accept(sender, message.details["secret"])
        self.said.put((message.kind, sender))


@pytest.mark.skipif(sys.platform != "linux", reason="needs local channels")
def test_what_a_client_says_last_is_heard_though_an_answer_does_not_reach_it_any_more(
    stack: ExitStack,
) -> None:
    port = stack.enter_context(ReservedPorts(1)).ports[0]
    greeter = Greeter()
    server = greeter.sockets = Sockets(greeter, b"server  ", "server", ACCESS)
    stack.callback(server.stop)
    server.bind(f"tcp://127.0.0.1:{port}")
    server.start()
    with zmq.Context() as context, context.socket(zmq.DEALER) as client:
        client.linger = 0
        ACCESS.prepare(client, f"127.0.0.1:{port}")
        client.connect(f"tcp://127.0.0.1:{port}")
        found = connect(server.channels.name)
        assert found is not None
        end, secret = found
        client.send(Message(Kind.LOCAL_CHANNEL, details={"secret": secret}).frames()[0])
        kind, sender = greeter.said.get(timeout=WITHIN)
        assert kind is Kind.LOCAL_CHANNEL

        def leave_before_the_answer() -> None:
            for part in packed([*Message(Kind.ABORT, 7).frames()]) + packed([*Message(Kind.BYE).frames()]):
                end.sendall(part)
            end.close()
            assert not server.reply(sender, Message(Kind.FAILED, 7).frames())

        server.call(leave_before_the_answer)
        assert [greeter.said.get(timeout=WITHIN)[0] for _ in range(2)] == [Kind.ABORT, Kind.BYE]


@pytest.mark.skipif(sys.platform != "linux", reason="needs local channels")
@pytest.mark.parametrize("comes", [True, False])
def test_a_local_channel_waits_for_a_file_and_who_is_in_it_notices_that_none_comes(
    comes: bool, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers may hold all files of a task until they are closed."""
    tries: list[object] = []
    accept = Listener.accept

    def without_files(listener: Listener, secret: object) -> Any:
        tries.append(secret)
        if not comes or len(tries) < 5:
            raise NoFiles
        return accept(listener, secret)

    monkeypatch.setattr(Listener, "accept", without_files)
    monkeypatch.setattr(channels_module, "LOCAL_CHANNEL_ACCEPT_SECONDS", WITHIN if comes else 0.2)
    port = stack.enter_context(ReservedPorts(1)).ports[0]
    greeter = Greeter()
    server = greeter.sockets = Sockets(greeter, b"server  ", "server", ACCESS)
    stack.callback(server.stop)
    server.bind(f"tcp://127.0.0.1:{port}")
    server.start()
    with zmq.Context() as context, context.socket(zmq.DEALER) as client:
        client.linger = 0
        ACCESS.prepare(client, f"127.0.0.1:{port}")
        client.connect(f"tcp://127.0.0.1:{port}")
        found = connect(server.channels.name)
        assert found is not None
        end, secret = found
        stack.callback(end.close)
        client.send(Message(Kind.LOCAL_CHANNEL, details={"secret": secret}).frames()[0])
        for part in packed([*Message(Kind.ABORT, 7).frames()]):
            end.sendall(part)
        assert greeter.said.get(timeout=WITHIN)[0] is Kind.LOCAL_CHANNEL
        if comes:
            assert greeter.said.get(timeout=WITHIN)[0] is Kind.ABORT
        else:
            end.settimeout(WITHIN)
            with suppress(ConnectionResetError):
                assert end.recv(1) == b""
            assert greeter.said.empty()
