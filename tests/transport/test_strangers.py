"""Protects clients from being taken for strangers, whatever is before them in the queue of what happened."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
import zmq

from graphflow._core.transport.keys import Access
from graphflow._core.transport.strangers import Gate

ACCESS = Access("secret", None, "here")


@pytest.fixture
def router() -> Iterator[zmq.Socket[bytes]]:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as found:
        yield found


def _there(socket: zmq.Socket[bytes]) -> None:
    assert socket.poll(20_000)


@pytest.mark.parametrize("strangers", [0, 10, 400])
def test_who_has_shown_its_secret_is_no_stranger_however_many_came_before(
    router: zmq.Socket[bytes], strangers: int
) -> None:
    gate = Gate(router.context, router, ACCESS, "task")
    endpoint = f"tcp://127.0.0.1:{router.bind_to_random_port('tcp://127.0.0.1')}"
    gate.bound(endpoint)
    questions, _ = gate.sockets
    try:
        for _ in range(strangers):
            socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2])), 5).close()
        with router.context.socket(zmq.DEALER) as client:
            client.linger = 0
            ACCESS.prepare(client, endpoint.removeprefix("tcp://"))
            client.connect(endpoint)
            client.send(b"hello")
            _there(questions)
            gate.answer()
            gate.look()
            _there(router)
            first = router.recv(copy=False)
            gate.came(int(first.get(zmq.SRCFD)))
            assert router.recv() == b"hello"
            limit = time.monotonic() + 60
            while gate.look() or gate.count:
                assert time.monotonic() < limit, "the client is held for a stranger"
                time.sleep(0.01)
    finally:
        gate.close()
