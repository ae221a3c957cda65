"""Protects a server from what a socket brings: garbage, damaged, truncated, oversized, replayed and reordered frames.

Real frames are recorded from a session on two tasks, and mutated: as bytes, as frames, as fields of the header, as
fields of the details. They come from strangers, from an authenticated client and from an authenticated task. Afterwards
the same server serves a session, its tables are as small as before, and nothing that strangers sent was run.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq

import graphflow as gf
from graphflow._core.plan.encode import BadPlan, PlanReader
from graphflow._core.transport import keys, local_channels
from graphflow._core.transport.frames.message import Kind, Message, peek
from graphflow._core.transport.frames.tensors import BadMessage
from tests.cluster.serving import serve_all, spec_of

HEADER = struct.Struct("<2sBBIQQQQ")
NUMBERS = (0, 1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**32, 2**63, 2**64 - 1)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**64, 10**30, 0.5, 1e308, float("nan"), float("inf"), "", "x", "x" * 300,
    "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0", [], [[]], [0], ["x"], [[0, "x"]], {}, {"x": 0},
    {"array": 0, "scalar": False}, {"tuple": [1]}, {"python": 0}, {"dict": [[[], 1]]}, [None] * 14,
)  # fmt: skip
SHARE = {"strangers": 0.3, "client": 0.4, "task": 0.3}

Frames = list[bytes]


class Touch:
    """What a stranger would like to have opened: it makes a folder."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self._path,)


# ---- recording ------------------------------------------------------------------------------------------------------


def _train(target: str) -> float:
    """A session in which both tasks compute, and values go both ways."""
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [2])
        with gf.device("/job:ps/task:0"):
            v = gf.get_variable("fuzzed", initializer=[1.0, 2.0])
        with gf.device("/job:worker/task:0"):
            gradient = v * 0.5 + x
        with gf.device("/job:ps/task:0"):
            update = gf.assign_add(v, gradient)
        with gf.Session(target) as session:
            session.run(v.initializer)
            for _ in range(3):
                session.run(update, {x: [1.0, 1.0]})
            return float(session.run(v)[0])


EXPECTED = 8.125  # v <- 1.5 v + 1 three times, from 1.


@pytest.fixture(scope="module")
def recorded() -> tuple[list[Frames], list[Frames]]:
    """What a task gets in a real session: from clients, and from the other task."""
    seen: list[list[Frames]] = [[], []]
    with ExitStack() as stack:
        servers = serve_all(stack, spec_of(stack, ps=1, worker=1))
        for server in servers:
            service = server._service
            original = service.received

            def received(sender: bytes, frames: Sequence[Any], original: Any = original) -> None:
                found = peek(frames)
                assert found is not None
                of_task = len(sender) == 8
                seen[of_task].append([bytes(f) for f in frames])
                original(sender, frames)

            service.received = received  # type: ignore[method-assign]
        assert _train(servers[0].target) == EXPECTED
        gf.train.cluster_status(servers[1].target)
    kinds = [{Kind(f[0][3]) for f in messages} for messages in seen]
    assert kinds[0] >= {Kind.HELLO, Kind.REGISTER, Kind.RUN, Kind.BYE, Kind.STATUS}
    assert kinds[1] >= {Kind.HELLO, Kind.REGISTER, Kind.REGISTERED, Kind.STEP, Kind.DONE, Kind.STATUS_IS}
    return seen[0], seen[1]


# ---- generating -----------------------------------------------------------------------------------------------------


def _mutated(chance: random.Random, corpus: Sequence[Frames]) -> Frames:
    frames = list(chance.choice(corpus))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        way = chance.randrange(10)
        place = chance.randrange(len(frames)) if frames else 0
        if not frames or way == 0:
            frames.insert(place, chance.randbytes(chance.choice((0, 1, 39, 40, 41, 200))))
        elif way == 1:
            frames[place] = frames[place][: chance.randrange(len(frames[place]) + 1)]
        elif way == 2:
            data = bytearray(frames[place] or b"\0")
            for _ in range(chance.choice((1, 2, 8))):
                data[chance.randrange(len(data))] = chance.randrange(256)
            frames[place] = bytes(data)
        elif way == 3:
            del frames[place]
        elif way == 4:
            frames.append(chance.choice(chance.choice(corpus)))
        elif way == 5:
            chance.shuffle(frames)
        elif len(frames[0]) >= HEADER.size and frames[0][:2] == b"GF":
            frames[0] = (
                _with_another_field(chance, frames[0]) if way < 8 else _with_other_details(chance, frames[0])
            )
    return frames


def _with_another_field(chance: random.Random, frame: bytes) -> bytes:
    fields = list(HEADER.unpack_from(frame))
    place = chance.choice((1, 2, 2, 2, 3, 4, 5, 6, 7))
    if place == 2:
        fields[2] = chance.randrange(24)
    elif place == 1:
        fields[1] = chance.randrange(4)
    else:
        fields[place] = chance.choice((*NUMBERS, fields[place] + 1)) % (1 << (32 if place == 3 else 64))
    return HEADER.pack(*fields) + frame[HEADER.size :]


def _with_other_details(chance: random.Random, frame: bytes) -> bytes:
    *fields, length, a, b, c = HEADER.unpack_from(frame)
    end = HEADER.size + length
    try:
        details = json.loads(frame[HEADER.size : end] or b"{}")
    except ValueError:
        details = {}
    text = json.dumps(_other(chance, details)).encode()
    return HEADER.pack(*fields, len(text), a, b, c) + text + frame[end:]


def _other(chance: random.Random, tree: Any) -> Any:
    """The tree with one node changed, left out or put twice."""
    if not isinstance(tree, dict | list) or not tree or chance.random() < 0.1:
        return chance.choice(VALUES)
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    key = chance.choice(keys)
    changed = tree.copy()
    way = chance.random()
    if way < 0.1:
        del changed[key]
    elif way < 0.15 and isinstance(changed, list):
        changed.append(changed[key])
    else:
        changed[key] = _other(chance, changed[key])
    return changed


def _with_token(frames: Frames, shown: str = "0" * 64) -> Frames:
    """Frames in which another token is shown; by default a wrong one."""
    return [re.sub(rb'("token": ?)"\w{64}"', rb'\1"%s"' % shown.encode(), frame) for frame in frames]


def _attack(path: Path) -> list[Frames]:
    """What a stranger sends who wants a function opened."""
    import cloudpickle

    payload = np.frombuffer(cloudpickle.dumps(Touch(str(path))), np.uint8)
    instruction = [
        "f",
        "PyFunc",
        [],
        ["f:0"],
        ["float32"],
        [None],
        [["token", {"python": 0}]],
        [],
        "",
        0,
        True,
        None,
    ]
    plan = [[[*instruction, [], []]], [], ["f:0"], []]
    task = "/job:ps/replica:0/task:0"
    part = {
        "stages": {"cpu": [{"plan": plan, "receives": [], "sends": [], "blocks": False}]},
        "feeds": [], "positions": [], "fetches": [["cpu", "f:0"]], "arrays": [0, 1], "seeded": False,
        "compiled": "auto",
    }  # fmt: skip
    request = {"tasks": {task: part}, "fetches": [[task, 0]]}
    return [
        [bytes(f) for f in Message(Kind.REGISTER, 1, details=request, tensors=[payload]).frames()],
        [bytes(f) for f in Message(Kind.REGISTER, 1, 1, details=part, tensors=[payload]).frames()],
        [bytes(f) for f in Message(Kind.HELLO, details={"token": "", "x": payload.tobytes().hex()}).frames()],
        [cloudpickle.dumps(Touch(str(path)))],
    ]


# ---- without sockets ------------------------------------------------------------------------------------------------


def test_frames_are_messages_or_refused(
    recorded: tuple[list[Frames], list[Frames]], everything: bool
) -> None:
    chance = random.Random(1)
    corpus = recorded[0] + recorded[1]
    read = 0
    for _ in range(200_000 if everything else 10_000):
        frames = _mutated(chance, corpus)
        try:
            message = Message.of(frames)
        except BadMessage:
            continue
        read += 1
        assert isinstance(message.kind, Kind) and isinstance(message.details, dict)
    assert read > 1000


def test_trees_are_plans_or_refused(recorded: tuple[list[Frames], list[Frames]], everything: bool) -> None:
    chance = random.Random(2)
    trees = []
    for frames in recorded[0]:
        message = Message.of(frames)
        if message.kind is Kind.REGISTER:
            for part in message.details["tasks"].values():
                trees += [(s["plan"], message.tensors) for stages in part["stages"].values() for s in stages]
    read = 0
    for _ in range(100_000 if everything else 5_000):
        tree, arrays = chance.choice(trees)
        for _ in range(chance.choice((1, 1, 2))):
            tree = _other(chance, tree)
        try:
            PlanReader(arrays).plan(tree)
        except BadPlan:
            continue
        read += 1
    assert read > 100


def _tables(service: Any) -> dict[str, int]:
    return {
        name: len(found)
        for owner in (
            service,
            service.protocol.master,
            service.protocol.worker,
            service.admin,
            service.links,
            service.handshake,
            service.steps,
            service.subgraphs,
            service.registrar,
            service.reports,
            service.protocol.queries,
            service.protocol.sessions,
            service.protocol.registrations,
            service.protocol.membership,
            service.protocol.welcomes,
        )
        for name, found in vars(owner).items()
        if isinstance(found, dict | list | set)
    }


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_promise_9_a_task_goes_on_whatever_comes(
    recorded: tuple[list[Frames], list[Frames]],
    everything: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread's functions are called here, so that an exception that leaves one of them fails the test."""
    chance = random.Random(3)
    touched = tmp_path / "touched"
    corpora = {
        "strangers": [_with_token(f) for f in recorded[0] + recorded[1]] + _attack(touched) * 3,
    }
    with ExitStack() as stack:
        server = gf.train.Server(spec_of(stack, ps=1, worker=1), "ps", 0, start=False)
    service = server._service
    monkeypatch.setattr(service, "_stop", lambda: None)
    monkeypatch.setattr(service.sockets, "send_to_peer", lambda *_: None)
    monkeypatch.setattr(service.sockets, "call", lambda function: function())
    monkeypatch.setattr(service._pool, "submit", lambda function, *arguments: function(*arguments))
    shown = keys.access("").shown_at(server.target)
    corpora |= {
        who: [_with_token(f, shown) for f in frames]
        for who, frames in zip(("client", "task"), recorded, strict=True)
    }
    hello = [
        [bytes(f) for f in Message(Kind.HELLO, details=details | {"token": shown}).frames()]
        for details in (
            {"session": "fuzz"},
            {"task": "/job:worker/replica:0/task:0", "incarnation": "abc", "devices": []},
        )
    ]
    client, task = b"client", (0xABC).to_bytes(8, "little")
    senders = {"client": client, "task": task}
    total = 1_000_000 if everything else 20_000
    taken = 0
    resident = 0
    try:
        for n in range(total):
            if n % 100 == 0:
                service.received(client, hello[0])
                service.received(task, hello[1])
                service.tick()
            if n == total // 4:
                resident = _resident()
            who = chance.choices(list(SHARE), list(SHARE.values()))[0]
            frames = chance.choice(corpora[who]) if chance.random() < 0.1 else _mutated(chance, corpora[who])
            sender = senders.get(who) or chance.randbytes(5)
            before = service.sockets.dropped.count
            if who != "strangers" or len(frames) == 1 and len(frames[0]) <= 64 << 10:
                service.received(sender, frames)
            taken += service.sockets.dropped.count == before
            assert not service.knows(sender) or who != "strangers"
        assert taken > total // 20 and service.sockets.dropped.count > total // 10
        assert not touched.exists()
        assert _resident() - resident < 100 << 20
        tables = _tables(service)
        assert max(tables.values()) < 20_000, tables
        service.received(client, [bytes(f) for f in Message(Kind.BYE).frames()])
        monkeypatch.undo()
        server.start()
        with gf.Graph().as_default():
            v = gf.get_variable("after", initializer=2.0)
            with gf.Session(server.target, config=gf.ConfigProto(device_filters=["/job:ps"])) as session:
                session.run(v.initializer)
                assert session.run(v * 3.0) == 6.0
    finally:
        server.stop()


# ---- over TCP -------------------------------------------------------------------------------------------------------


@pytest.fixture
def pair() -> Iterator[list[Any]]:
    with ExitStack() as stack:
        yield serve_all(stack, spec_of(stack, ps=1, worker=1))


def test_promise_9_servers_serve_while_strangers_send_rubbish(
    recorded: tuple[list[Frames], list[Frames]], everything: bool, pair: list[Any], tmp_path: Path
) -> None:
    chance = random.Random(4)
    touched = tmp_path / "touched"
    corpus = [_with_token(f) for f in recorded[0] + recorded[1]] + _attack(touched) * 3
    corpus.append([b"GF" + bytes(200_000)])
    corpus.append([b"x"] * 1000)
    address = pair[0].target.partition("://")[2]
    host, _, port = address.rpartition(":")
    dropped = pair[0]._service.sockets.dropped
    for round_ in range(200 if everything else 6):
        with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
            stranger.sndhwm = 0
            stranger.linger = 1000
            if round_ % 2:  # Who has the token, and says no hello.
                keys.access("").prepare(stranger, address)
            stranger.connect(f"tcp://{address}")
            for _ in range(1000):
                frames = chance.choice(corpus) if chance.random() < 0.2 else _mutated(chance, corpus)
                with suppress(zmq.Again):  # It was refused, which ends its connection.
                    stranger.send_multipart(frames or [b""], zmq.NOBLOCK)
        with socket.create_connection((host, int(port)), 5) as raw:
            greeting = b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL" + bytes(48)
            raw.sendall(greeting[: chance.randrange(65)] + chance.randbytes(chance.choice((0, 10, 2000))))
        strangers = [local_channels.connect(pair[0]._service.sockets.channels.name) for _ in range(20)]
        for stranger_channel, _ in filter(None, strangers):
            with suppress(OSError):
                stranger_channel.sendall(
                    b"".join(b"".join(_mutated(chance, corpus)) for _ in range(9))[:4096]
                )
            stranger_channel.close()
        if round_ % 3 == 0:
            assert _train(pair[round_ % 2].target) == EXPECTED
    assert _train(pair[0].target) == EXPECTED
    assert dropped.count > 1000 and not touched.exists()
    assert gf.train.cluster_status(pair[1].target)[0]["state"] == "serving"


def test_promise_9_before_a_hello_the_details_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even as JSON: the header alone decides."""
    server = gf.train.Server({"local": ["localhost:0"]}, start=False)
    try:

        def read(*_: Any) -> Any:
            raise AssertionError("a stranger's message was read")

        monkeypatch.setattr("graphflow._core.transport.frames.message._details", read)
        monkeypatch.setattr("graphflow._core.transport.frames.tensors.decode", read)
        for kind in set(Kind) - {Kind.HELLO}:
            frames = Message(kind, 1, details={"x": 1}, tensors=[np.zeros(3)]).frames()
            server._service.received(b"stranger", frames)
        assert server._service.sockets.dropped.count == len(Kind) - 1
    finally:
        server.stop()
