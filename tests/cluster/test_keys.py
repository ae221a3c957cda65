"""Protects the keys of a cluster: what they are needed for, who gets in with them and who does not, and their files."""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zmq

import graphflow as gf
from graphflow._core.transport import keys
from graphflow.cli.main import main
from tests.cluster.serving import serve_all, spec_of
from tests.left_over import nothing_stays

ADDRESS = "0.0.0.0"
"""An address beyond loopback that every machine has: whoever can reach the machine reaches it."""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    assert main(["keygen", str(tmp_path / "keys")]) == 0
    return str(tmp_path / "keys")


@pytest.fixture(autouse=True)
def no_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(keys.VARIABLE, raising=False)


def _server(folder: str = "", host: str = "127.0.0.1") -> Any:
    return gf.train.Server({"local": [f"{host}:0"]}, config=gf.ConfigProto(cluster_keys=folder))


def _six(target: str, folder: str) -> Any:
    with gf.Graph().as_default():
        v = gf.Variable(2.0)
        product = v * 3.0
        with gf.Session(target, config=gf.ConfigProto(cluster_keys=folder)) as session:
            session.run(v.initializer)
            return session.run(product)


# ---- files ----------------------------------------------------------------------------------------------------------


def test_keygen_writes_a_file_of_the_users_own(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(folder) / "cluster.key"
    assert path.stat().st_mode & 0o777 == 0o600 and Path(folder).stat().st_mode & 0o777 == 0o700
    assert os.listdir(folder) == ["cluster.key"]
    found = keys.read(Path(folder))
    assert zmq.curve_public(found.server_secret) == found.server_public != found.client_public
    before = path.read_bytes()
    assert main(["keygen", folder]) == 2
    assert "is there already" in capsys.readouterr().err
    assert path.read_bytes() == before and os.listdir(folder) == ["cluster.key"]


def test_secrets_are_not_printed(folder: str) -> None:
    found = keys.access(folder)
    text = f"{found!r} {found.keys!r}"
    assert found.keys is not None and found.secret not in text
    assert found.keys.client_secret.decode() not in text and found.keys.server_secret.decode() not in text


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_key_that_others_can_read_or_write_is_refused(folder: str, mode: int) -> None:
    path = Path(folder) / "cluster.key"
    path.chmod(mode)
    with pytest.raises(PermissionError, match=f"not yours alone .*{mode:o}.*chmod 600"):
        _server(folder)
    path.chmod(0o600)
    assert keys.read(Path(folder)).server_public


@pytest.mark.parametrize(
    ("mode", "read_only", "owner", "taken"),
    [
        (0o644, True, 0, True),
        (0o440, True, 0, True),
        (0o644, False, 0, False),
        (0o644, True, 1234, False),
        (0o664, True, 0, False),
        (0o646, True, 0, False),
    ],
)
def test_a_secret_that_is_mounted_into_a_container(
    folder: str, mode: int, read_only: bool, owner: int, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (Path(folder) / "cluster.key").chmod(mode)
    status, system = os.fstat, os.fstatvfs

    def owned(descriptor: int) -> os.stat_result:
        found = list(status(descriptor))
        found[stat.ST_UID] = owner
        return os.stat_result(found)

    def mounted(descriptor: int) -> Any:
        flags = system(descriptor).f_flag & ~os.ST_RDONLY
        return SimpleNamespace(f_flag=flags | os.ST_RDONLY if read_only else flags)

    monkeypatch.setattr(keys, "os", SimpleNamespace(**{**vars(os), "fstat": owned, "fstatvfs": mounted}))
    if taken:
        assert keys.read(Path(folder)).server_public
    else:
        with pytest.raises(PermissionError, match=f"owner {owner}, mode {mode:o}.*read-only"):
            keys.read(Path(folder))


def test_a_missing_or_damaged_key_is_said(folder: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="graphflow keygen"):
        _server(str(tmp_path / "none"))
    path = Path(folder) / "cluster.key"
    text = path.read_text()
    server = keys.read(Path(folder)).server_secret.decode()
    for damaged in (
        "",
        text.replace("client", "clint"),
        text.replace(server, server[:-1]),
        text.replace(server, "é" * 40),
    ):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"holds no (server|client) key"):
            keys.read(Path(folder))


# ---- beyond this machine --------------------------------------------------------------------------------------------


def test_beyond_loopback_a_server_needs_keys(folder: str) -> None:
    with pytest.raises(PermissionError, match=r"0\.0\.0\.0 is beyond this machine.*graphflow keygen"):
        _server(host=ADDRESS)
    server = _server(folder, ADDRESS)
    try:
        port = server.target.rpartition(":")[2]
        assert _six(f"zmq://localhost:{port}", folder) == 6.0
    finally:
        server.stop()


def test_the_users_token_is_not_sent_to_another_machine() -> None:
    with pytest.raises(PermissionError, match=r"192\.0\.2\.1 is beyond this machine.*graphflow keygen"):
        gf.Session("zmq://192.0.2.1:2222")
    cluster = {"here": ["localhost:0"], "there": ["192.0.2.1:2222"]}
    server = gf.train.Server(cluster, "here", 0)
    try:
        for _ in range(2):
            with gf.Graph().as_default(), pytest.raises(gf.errors.OpError, match="beyond this machine"):
                gf.Session(server.target)
        assert not server._service.protocol.welcomes.waiting
    finally:
        server.stop()


# ---- who gets in ----------------------------------------------------------------------------------------------------


def test_two_tasks_with_keys_share_a_step(folder: str) -> None:
    config = gf.ConfigProto(cluster_keys=folder)
    with ExitStack() as stack:
        ps, worker = serve_all(stack, spec_of(stack, ps=1, worker=1), config=config)
        with gf.Graph().as_default():
            with gf.device("/job:ps/task:0"):
                v = gf.Variable([1.0, 2.0])
            with gf.device("/job:worker/task:0"):
                doubled = v * 2.0
            with gf.Session(worker.target, config=config) as session:
                session.run(v.initializer)
                assert session.run(doubled).tolist() == [2.0, 4.0]
        states = gf.train.cluster_status(ps.target, cluster_keys=folder)
        assert [task["state"] for task in states] == ["serving", "serving"]


@pytest.mark.parametrize("case", ["other keys", "client without", "server without"])
def test_without_the_key_nobody_gets_in_and_is_told(folder: str, tmp_path: Path, case: str) -> None:
    keys.make(tmp_path / "other")
    server = _server("" if case == "server without" else folder)
    theirs = {"other keys": str(tmp_path / "other"), "client without": "", "server without": folder}[case]
    try:
        with (
            gf.Graph().as_default(),
            pytest.raises((gf.errors.UnauthenticatedError, gf.errors.UnavailableError), match="key"),
        ):
            gf.Session(server.target, config=gf.ConfigProto(cluster_keys=theirs))
        assert _six(server.target, "" if case == "server without" else folder) == 6.0
    finally:
        server.stop()


def test_the_right_server_key_does_not_do_without_the_clients(folder: str) -> None:
    server = _server(folder)
    found = keys.read(Path(folder))
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.linger = 0
        socket.curve_serverkey = found.server_public
        socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
        monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
        socket.connect(server.target.replace("zmq", "tcp"))
        assert monitor.poll(5000), "the connection was not refused"
        socket.disable_monitor()
        monitor.close()
    try:
        assert _six(server.target, folder) == 6.0
    finally:
        server.stop()


def test_the_environment_names_the_keys(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, folder)
    server = _server()
    try:
        assert _six(server.target, "") == 6.0
        monkeypatch.delenv(keys.VARIABLE)
        with gf.Graph().as_default(), pytest.raises(gf.errors.OpError, match="key"):
            gf.Session(server.target)
    finally:
        server.stop()


def test_a_server_with_keys_leaves_no_thread_and_no_file(folder: str) -> None:
    nothing_stays(lambda: _server(folder).stop())
