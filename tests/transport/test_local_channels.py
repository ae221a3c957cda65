"""Protects the Unix sockets between processes of one machine: messages come whole and in order however they are cut up,
what is no message ends the local channel alone, and who may not open one does not."""

from __future__ import annotations

import os
import random
import resource
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from graphflow._core.transport import local_channels, token
from graphflow._core.transport.frames.tensors import BadMessage
from graphflow._core.transport.local_channels import (
    BlockingLocalChannel,
    Listener,
    LocalChannel,
    LocalChannelBroken,
    NoFiles,
    Parser,
    connect,
    packed,
)
from tests.left_over import nothing_stays, open_files

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="local channels are Linux's")

NUMBERS = (0, 1, 2, 255, 65_536, 65_537, 2**31, 2**34, 2**34 + 1, 2**63, 2**64 - 1)


def _messages(chance: random.Random) -> list[list[bytes]]:
    sizes = (0, 1, 39, 40, 200, 5000, 70_000)
    return [
        [chance.randbytes(chance.choice(sizes)) for _ in range(chance.choice((1, 1, 1, 2, 3, 9)))]
        for _ in range(chance.randrange(1, 12))
    ]


def _stream(messages: list[list[bytes]]) -> bytes:
    return b"".join(bytes(part) for frames in messages for part in packed(frames))


def _cut(chance: random.Random, data: bytes) -> Iterator[bytes]:
    while data:
        size = chance.choice((1, 7, 8, 15, 16, 17, 100, 4096, 1 << 16))
        yield data[:size]
        data = data[size:]


def test_messages_come_whole_and_in_order_however_they_are_cut_up(everything: bool) -> None:
    chance = random.Random(1)
    for _ in range(2000 if everything else 100):
        sent = _messages(chance)
        parser = Parser()
        found = [frames for data in _cut(chance, _stream(sent)) for frames in parser.messages(data)]
        assert [[bytes(f) for f in frames] for frames in found] == sent


def test_garbage_is_messages_or_refused(everything: bool) -> None:
    chance = random.Random(2)
    refused = taken = 0
    for _ in range(1_000_000 if everything else 20_000):
        data = bytearray(_stream([[b"x" * chance.randrange(60)] * chance.choice((1, 1, 2, 3))] * 3))
        for _ in range(chance.choice((0, 1, 3))):
            place = 8 * chance.randrange(len(data) // 8)
            number = chance.choice((*NUMBERS, chance.randrange(1 << 64)))
            data[place : place + 8] = struct.pack("<Q", number)
        parser = Parser()
        try:
            found = [m for part in _cut(chance, bytes(data)) for m in parser.messages(part)]
        except BadMessage:
            refused += 1
        else:
            taken += len(found)
            assert all(m and sum(map(len, m)) <= len(data) for m in found)
    assert refused > 1000 and taken > 1000


def _pair() -> tuple[LocalChannel, BlockingLocalChannel]:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return LocalChannel(one), BlockingLocalChannel(other)


def test_what_there_is_no_room_for_is_written_later() -> None:
    channel, waiting = _pair()
    chance = random.Random(3)
    sent = [[chance.randbytes(300_000), b"", chance.randbytes(10)], [b"last"]]
    for frames in sent:
        channel.send(frames)
    assert channel.waits
    found: list[list[bytes]] = []

    def read() -> None:
        while len(found) < 2:
            frames = waiting.receive(1.0)
            assert frames is not None
            found.append([bytes(f) for f in frames])

    thread = threading.Thread(target=read)
    thread.start()
    while channel.waits:
        channel.flush()
        time.sleep(0.001)
    thread.join()
    assert found == sent
    assert waiting.receive(0.01) is None
    channel.close()
    with pytest.raises(LocalChannelBroken):
        waiting.receive()
    waiting.close()


def test_a_client_that_waits_is_woken_and_one_that_cannot_write_may_give_up() -> None:
    channel, waiting = _pair()
    tries = []

    def blocked() -> None:
        tries.append(1)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        waiting.send([bytes(4 << 20)], blocked)
    assert tries
    threading.Timer(0.05, waiting.wake).start()
    with pytest.raises(LocalChannelBroken):
        while True:
            waiting.receive()
    waiting.close()
    channel.close()


def test_a_local_channel_is_claimed_by_its_secret_alone() -> None:
    listener = Listener()
    found = [connect(listener.name) for _ in range(3)]
    assert all(found)
    ends = [f for f in found if f is not None]
    for wrong in (None, 7, "", "0" * 63, "0" * 64, "é" * 64, ends[0][1].upper() + "0"):
        assert listener.accept(wrong) is None
    channel = listener.accept(ends[1][1])
    assert channel is not None and listener.accept(ends[1][1]) is None
    ends[1][0].sendall(_stream([[b"hello"]]))
    assert channel.receive() == [[b"hello"]]
    channel.close()
    listener.close()
    assert connect(listener.name) is None and listener.accept(ends[0][1]) is None
    for end, _ in ends:
        end.close()


@pytest.mark.parametrize(
    "name", [None, 7, "", "graphflow-", "/tmp/x", "graphflow-" + "0" * 31 + "g", "graphflow-" + "0" * 32]
)
def test_what_is_no_listener_is_not_connected_to(name: Any) -> None:
    assert connect(name) is None


def test_another_user_opens_no_local_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener()
    mine = connect(listener.name)
    assert mine is not None
    monkeypatch.setattr(local_channels.os, "geteuid", lambda: 1 << 20)
    assert connect(listener.name) is None
    assert listener.accept(mine[1]) is None
    monkeypatch.undo()
    mine[0].close()
    listener.close()


def test_other_users_cannot_even_knock(tmp_path: Path) -> None:
    """A socket that all may connect to they could keep full, so that its owner's processes find no place."""
    listener = Listener()
    path = token.path().parent / "doors" / listener.name
    assert (
        stat.S_ISSOCK(path.lstat().st_mode)
        and (path.stat().st_mode | path.parent.stat().st_mode) & 0o077 == 0
    )
    assert listener.name not in Path("/proc/net/unix").read_text().replace(f"/{listener.name}", "")
    if os.geteuid() == 0:
        program = (
            "import socket, sys\n"
            "end = socket.socket(socket.AF_UNIX)\n"
            "for name in (sys.argv[1], '\\0' + sys.argv[1].rpartition('/')[2]):\n"
            "    try: end.connect(name)\n"
            "    except OSError as error: print(type(error).__name__)\n"
        )
        told = subprocess.run(
            ["/usr/bin/env", "-i", getattr(sys, "_base_executable", sys.executable), "-I", "-c", program, str(path)],
            user=65534, group=65534, extra_groups=[], capture_output=True, text=True, timeout=60, cwd="/",
        )  # fmt: skip
        if told.returncode != 126 and "Permission denied" not in told.stderr:  # They may not even run Python.
            assert told.stdout.split() == ["PermissionError", "ConnectionRefusedError"], told.stderr
    listener.close()
    assert not path.exists()


def test_listeners_of_killed_processes_are_removed_and_those_that_are_used_are_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(token, "folders", lambda: [tmp_path / "own"])
    used, killed = Listener(), Listener()
    assert killed._socket is not None
    killed._socket.close()
    before = sorted(os.listdir(tmp_path / "own" / "doors"))
    assert before == sorted([used.name, killed.name])
    Listener().close()
    assert sorted(os.listdir(tmp_path / "own" / "doors")) == before  # They may be just being made.
    monkeypatch.setattr(local_channels, "LISTENER_MAKING_SECONDS", -1.0)
    Listener().close()
    assert os.listdir(tmp_path / "own" / "doors") == [used.name]
    found = connect(used.name)
    assert found is not None
    found[0].close()
    used.close()


@contextmanager
def _no_files() -> Iterator[None]:
    """This process can open none meanwhile."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_who_only_looked_whether_a_listener_is_there_holds_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every server that starts does so at the listener of every other one."""
    monkeypatch.setattr(
        local_channels, "LOCAL_CHANNEL_ACCEPT_SECONDS", 1000.0
    )  # The many looks may take a while.
    listener = Listener()
    folder = os.open(token.path().parent / "doors", os.O_RDONLY)
    path = f"/proc/self/fd/{folder}/{listener.name}"
    stays = connect(listener.name)
    assert stays is not None

    def look() -> None:
        with socket.socket(socket.AF_UNIX) as looks:
            looks.connect(path)

    def held() -> dict[str, int]:
        listener.trim()
        return {"files": open_files()}

    nothing_stays(look, held=held)
    channel = listener.accept(stays[1])
    assert channel is not None
    channel.close()
    stays[0].close()
    os.close(folder)
    listener.close()


def test_a_local_channel_that_no_file_is_left_for_is_there_when_one_is() -> None:
    """Strangers may hold all files for a moment, which must not cost a client its connection."""
    listener = Listener()
    found = connect(listener.name)
    assert found is not None
    found[0].sendall(_stream([[b"said at once"]]))
    with _no_files():
        for _ in range(3):
            with pytest.raises(NoFiles):
                listener.accept(found[1])
            listener.trim()
    channel = listener.accept(found[1])
    assert channel is not None and channel.receive() == [[b"said at once"]]
    channel.close()
    found[0].close()
    listener.close()


def test_a_listener_that_had_to_be_shut_opens_again() -> None:
    listener = Listener()
    first, found = listener.name, connect(listener.name)
    assert found is not None
    listener.shut()
    assert listener.name == "" and listener.accept(found[1]) is None
    with suppress(ConnectionResetError):
        assert found[0].recv(1) == b""
    found[0].close()
    with _no_files():
        listener.trim()
        assert listener.name == ""
    listener.trim()
    assert listener.name not in ("", first)
    found = connect(listener.name)
    assert found is not None
    channel = listener.accept(found[1])
    assert channel is not None
    channel.close()
    found[0].close()
    listener.close()
