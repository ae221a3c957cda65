"""Promise 9: nothing that a socket brings is unpickled before who sent it has shown a secret; loopback unless keyed.

(Fuzzed frames: tests/cluster/test_fuzz.py. Keys: tests/cluster/test_keys.py.)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq

import graphflow as gf
from graphflow._core.transport import keys, token
from graphflow._core.transport.frames.message import Kind, Message

TASK = "/job:local/replica:0/task:0"


class Touch:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self._path,)


def _registration(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    """The details and tensors of a plan with a Python function that makes a folder when it is opened."""
    import cloudpickle

    payload = np.frombuffer(cloudpickle.dumps(Touch(path)), np.uint8)
    attrs = [["function", {"python": 0}]]
    instruction = ["f", "NoOp", [], [], [], [], attrs, [], "", 0, True, None, [], []]
    part = {
        "stages": {"cpu": [{"plan": [[instruction], [], [], []], "receives": [], "sends": [], "blocks": False}]},
        "feeds": [], "positions": [], "fetches": [], "arrays": [0, 1], "seeded": False, "compiled": "auto",
    }  # fmt: skip
    return {"tasks": {TASK: part}, "fetches": []}, [payload]


@pytest.fixture(params=["token", "keys"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv(keys.VARIABLE, raising=False)
    if request.param == "token":
        return ""
    keys.make(tmp_path / "keys")
    return str(tmp_path / "keys")


@pytest.fixture
def server(folder: str) -> Iterator[Any]:
    made = gf.train.Server.create_local_server(gf.ConfigProto(cluster_keys=folder))
    yield made
    made.stop()


def _exchange(
    server: Any, prepare: Callable[[Any], None], messages: list[Message], answers: int
) -> list[Message]:
    """Sends messages from a socket of its own; waits for so many answers, or half a second where there is none."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        prepare(stranger)
        stranger.connect(server.target.replace("zmq", "tcp"))
        for message in messages:
            stranger.send_multipart([bytes(f) for f in message.frames()])
        found: list[Message] = []
        deadline = time.monotonic() + (60 if answers else 0.5)
        while time.monotonic() < deadline and (not answers or len(found) < answers):
            if stranger.poll(100):
                found.append(Message.of(stranger.recv_multipart()))
        return found


def test_promise_9_what_a_stranger_sends_is_not_unpickled(folder: str, server: Any, tmp_path: Path) -> None:
    path = tmp_path / "made by the payload"
    details, tensors = _registration(path)
    attack = Message(Kind.REGISTER, 2, details=details, tensors=tensors)
    hello = {"session": "attack", "token": "0" * 64}
    access = keys.access(folder)
    for first in (
        [],
        [Message(Kind.HELLO, 1, details=hello)],
        [Message(Kind.HELLO, 1, details=hello | {"task": TASK})],
    ):
        # Without the keys or the token no message gets through; with the token each is refused that is no hello.
        assert not _exchange(server, lambda _: None, [*first, attack], 0)
        prove = partial(access.prepare, address=server.target)
        answers = _exchange(server, prove, [*first, attack], 1 + len(first))
        assert [answer.kind for answer in answers] == [Kind.FAILED] * (1 + len(first))
    assert not path.exists()
    # That the payload is live: who has the secret may bring functions.
    hello["token"] = access.shown_at(server.target)
    welcome, registered = _exchange(server, prove, [Message(Kind.HELLO, 1, details=hello), attack], 2)
    assert (welcome.kind, registered.kind) == (Kind.WELCOME, Kind.REGISTERED)
    assert path.exists()


def test_promise_9_the_secret_of_a_machine_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token, "folders", lambda: [tmp_path / "graphflow"])
    found = token.user_token()
    path = tmp_path / "graphflow" / "token"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert token.user_token() == found
    path.chmod(0o644)
    with pytest.raises(PermissionError, match="not yours alone"):
        gf.train.Server.create_local_server()


def test_promise_9_beyond_loopback_there_are_keys_or_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(keys.VARIABLE, raising=False)
    with pytest.raises(PermissionError, match="graphflow keygen"):
        gf.train.Server({"local": ["0.0.0.0:0"]})
