"""Protects that connections to machines that are near are not paced, and that nothing else is changed for it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from types import SimpleNamespace

import pytest

from graphflow._core.transport import congestion, peer_links, strangers
from graphflow._core.transport.congestion import unpace
from tests.transport.test_sockets import WITHIN, sockets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a program choose")
ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")


def _way(connection: socket.socket) -> bytes:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as found,
        listener.accept()[0],
    ):
        yield found


@pytest.fixture
def other(connection: socket.socket, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A way that the connection is to change to, if its own counts as the paced one."""
    ways = [way.encode() for way in ALLOWED.read_text().split()] if ALLOWED.exists() else []
    found = next((way for way in ways if way != _way(connection)), b"")
    if not found:
        pytest.skip("this machine allows one way alone")
    monkeypatch.setattr(congestion, "_PACED", _way(connection))
    monkeypatch.setattr(congestion, "_WAYS", (b"no such way", found))
    monkeypatch.setattr(congestion, "_NEAR", 1 << 32)  # However busy the machine is.
    return found


def test_a_near_connection_is_not_paced(connection: socket.socket, other: bytes) -> None:
    unpace(connection.fileno(), connection.getpeername()[1])
    assert _way(connection) == other


def test_a_far_connection_stays_as_it_is(
    connection: socket.socket, other: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(congestion, "_NEAR", 0)
    unpace(connection.fileno(), connection.getpeername()[1])
    assert _way(connection) != other


def test_another_way_that_the_machine_was_told_is_kept(
    connection: socket.socket, other: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(congestion, "_PACED", other)
    unpace(connection.fileno(), connection.getpeername()[1])
    assert _way(connection) != other


def test_a_file_that_is_not_the_connection_any_more_is_left_alone(
    connection: socket.socket, other: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[int] = []
    monkeypatch.setattr(
        congestion, "os", SimpleNamespace(dup=os.dup, close=lambda n: (closed.append(n), os.close(n)))
    )
    unpace(connection.fileno(), 1)
    with (tmp_path / "a file").open("w") as file, socket.socket() as unconnected:
        for number in (unconnected.fileno(), 1 << 20, -1):
            unpace(number, connection.getpeername()[1])
        assert not closed
        unpace(file.fileno(), connection.getpeername()[1])
    assert _way(connection) != other and len(closed) == 1


def test_both_ends_of_a_link_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Queue[tuple[str, int]] = Queue()

    def at(end: str, file: int, port: int) -> None:
        with socket.socket(fileno=os.dup(file)) as found:
            asked.put((end, found.getpeername()[1] if end == "sender" else found.getsockname()[1]))

    monkeypatch.setattr(peer_links, "unpace", lambda *given: at("sender", *given))
    monkeypatch.setattr(strangers, "unpace", lambda *given: at("receiver", *given))
    with ExitStack() as stack:
        (_, sender), (_, receiver) = sockets(stack, "a"), sockets(stack, "b")
        port = int(receiver.bind("tcp://127.0.0.1:0").rpartition(":")[2])
        sender.start()
        receiver.start()
        sender.call(lambda: sender.send_to_peer(f"127.0.0.1:{port}", [b"x" * 50]))
        assert {asked.get(timeout=WITHIN), asked.get(timeout=WITHIN)} == {
            ("sender", port),
            ("receiver", port),
        }
