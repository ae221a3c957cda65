"""Protects servers that listen elsewhere than where the cluster reaches them, as containers do, and their own names."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.transport import keys
from graphflow._core.transport import names as names_module
from graphflow._core.transport.addresses import split_bind
from graphflow.cli.main import main
from tests.cluster.serving import serve

OWN = "pod-0.example"
"""A name of the tests' own; RFC 2606 keeps it from being anybody's."""
_REAL = socket.getaddrinfo
_PROJECT = Path(__file__).parents[2]


class NameService:
    """What the tests' name means now; it can be waited for that somebody asked for it."""

    def __init__(self) -> None:
        self.number = ""
        self.asked = threading.Event()

    def getaddrinfo(self, host: Any, *arguments: Any, **options: Any) -> Any:
        if host != OWN:
            return _REAL(host, *arguments, **options)
        number = self.number
        self.asked.set()
        if not number:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, 0))]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameService]:
    found = NameService()
    monkeypatch.setattr(socket, "getaddrinfo", found.getaddrinfo)
    monkeypatch.setattr(names_module, "FRESH_NAME_SECONDS", 0.2)
    names_module.NAMES.forget()
    yield found
    names_module.NAMES.forget()


@pytest.fixture(autouse=True)
def nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (keys.VARIABLE, "GRAPHFLOW_BIND"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> str:
    keys.make(tmp_path / "keys")
    return str(tmp_path / "keys")


def _six(target: str, folder: str = "") -> Any:
    config = gf.ConfigProto(cluster_keys=folder, connect_timeout_in_ms=60_000, tcp_only=True)
    with gf.Graph().as_default():
        product = gf.constant(2.0) * gf.Variable(3.0, name="v").initialized_value()
        with gf.Session(target, config=config) as session:
            return session.run(product)


@pytest.mark.parametrize("by", ["config", "environment"])
def test_a_server_listens_where_it_is_told_and_is_reached_by_its_name(
    by: str, service: NameService, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = stack.enter_context(ReservedPorts(1)).ports[0]
    if by == "environment":
        monkeypatch.setenv("GRAPHFLOW_BIND", "127.0.0.2")
    config = gf.ConfigProto(server_bind="127.0.0.2" if by == "config" else "")
    server = serve(stack, {"ps": [f"{OWN}:{port}"]}, "ps", config=config)
    assert server.target == f"zmq://{OWN}:{port}" and not service.asked.is_set()
    service.number = "127.0.0.2"
    assert _six(server.target) == 6.0
    assert gf.train.cluster_status(server.target)[0]["address"] == f"{OWN}:{port}"


class Forwarder:
    """What comes to one port goes to another one, as a container's ports are published."""

    def __init__(self, port: int, to: int) -> None:
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", port))
        self._open: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, function: Any, *arguments: Any) -> None:
        self._threads.append(threading.Thread(target=function, args=arguments))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                one, _ = self._listener.accept()
                other = socket.create_connection(("127.0.0.1", self._to))
                self._open += [one, other]
                self._begin(self._copy, one, other)
                self._begin(self._copy, other, one)

    def _copy(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in self._open:
            each.close()


@pytest.mark.parametrize("with_keys", [False, True])
def test_the_port_may_be_another_one_than_the_others_see(
    with_keys: bool, folder: str, stack: ExitStack
) -> None:
    seen, own = stack.enter_context(ReservedPorts(2)).ports
    config = gf.ConfigProto(server_bind=f"127.0.0.1:{own}", cluster_keys=folder if with_keys else "")
    server = serve(stack, {"ps": [f"127.0.0.1:{seen}"]}, "ps", config=config)
    stack.callback(Forwarder(seen, own).close)
    assert server.target == f"zmq://127.0.0.1:{seen}"
    assert _six(server.target, folder if with_keys else "") == 6.0


def test_all_addresses_need_keys_and_two_tasks_share_a_step(folder: str, stack: ExitStack) -> None:
    first, second = stack.enter_context(ReservedPorts(2)).ports
    spec = {"ps": [f"127.0.0.1:{first}"], "worker": [f"127.0.0.1:{second}"]}
    with pytest.raises(PermissionError, match=r"0\.0\.0\.0 is beyond this machine.*graphflow keygen"):
        gf.train.Server(spec, "ps", 0, config=gf.ConfigProto(server_bind="0.0.0.0"))
    config = gf.ConfigProto(server_bind="0.0.0.0", cluster_keys=folder)
    serve(stack, spec, "ps", config=config)
    worker = serve(stack, spec, "worker", config=config)
    with gf.Graph().as_default():
        with gf.device("/job:ps/task:0"):
            v = gf.Variable([1.0, 2.0])
        with gf.device("/job:worker/task:0"):
            doubled = v * 2.0
        with gf.Session(worker.target, config=config) as session:
            session.run(v.initializer)
            assert session.run(doubled).tolist() == [2.0, 4.0]


def test_a_server_of_its_own_stays_on_this_machine(
    folder: str, monkeypatch: pytest.MonkeyPatch, stack: ExitStack
) -> None:
    monkeypatch.setenv("GRAPHFLOW_BIND", "192.0.2.1:1")
    server = gf.train.Server.create_local_server()
    stack.callback(server.stop)
    assert _six(server.target) == 6.0


@pytest.mark.parametrize(
    ("bind", "expected"),
    [
        ("0.0.0.0", ("0.0.0.0", 7)), ("host", ("host", 7)), ("host:9", ("host", 9)), ("::", ("::", 7)),
        ("[::]", ("::", 7)), ("[::1]:9", ("::1", 9)), ("::1", ("::1", 7)), ("host:0", ("host", 0)),
    ],
)  # fmt: skip
def test_where_to_listen_is_a_host_or_one_with_a_port(bind: str, expected: tuple[str, int]) -> None:
    assert split_bind(bind, 7) == expected


@pytest.mark.parametrize("bind", ["host:65536", "host:x", ":9", "a b", "[::1", "tcp://host:1", "1:2:3"])
def test_what_is_no_place_to_listen_is_refused(bind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="address"):
        gf.train.Server({"ps": ["localhost:0"]}, config=gf.ConfigProto(server_bind=bind))
    assert main(["serve", "--cluster", "ps=localhost:0", "--bind", bind]) == 2
    assert main(["launch", "--bind", bind, sys.executable]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_place_that_is_none_of_this_machine_is_named(folder: str) -> None:
    config = gf.ConfigProto(server_bind="192.0.2.1", cluster_keys=folder)
    with pytest.raises(
        OSError, match=r"192\.0\.2\.1 \(for localhost:\d+\): it is no address of this machine"
    ):
        gf.train.Server({"ps": ["localhost:2222"]}, config=config)


# ---- the command line -----------------------------------------------------------------------------------------------


def test_serve_takes_where_to_listen(stack: ExitStack, folder: str) -> None:
    port = stack.enter_context(ReservedPorts(1)).ports[0]
    process = subprocess.Popen(
        [sys.executable, "-m", "graphflow.cli", "serve", "--cluster", f"ps={OWN}:{port}", "--bind", "0.0.0.0"]
        + ["--keys", folder],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(_PROJECT)},
    )  # fmt: skip
    assert process.stdout is not None
    stack.callback(process.communicate)
    stack.callback(process.kill)
    assert process.stdout.readline() == f"ps 0 listens at zmq://{OWN}:{port}\n"
    assert _six(f"zmq://127.0.0.3:{port}", folder) == 6.0


_PROGRAM = """
import graphflow as gf
server = gf.train.Server.from_environment()
port = server.target.rpartition(":")[2]
with gf.Session(f"zmq://127.0.0.5:{port}") as session:
    print("devices", len(session.list_devices()))
"""


def test_a_launched_cluster_is_reached_where_it_listens(
    tmp_path: Path, folder: str, stack: ExitStack
) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    for bind in ("0.0.0.0", "127.0.0.5"):
        found = subprocess.run(
            [sys.executable, "-m", "graphflow.cli", "launch", "--workers", "1", "--bind", bind, "--keys", folder]
            + [str(program)],
            capture_output=True, text=True, check=False, timeout=100,
            env={**os.environ, "PYTHONPATH": str(_PROJECT)},
        )  # fmt: skip
        assert found.returncode == 0 and "devices 2" in found.stdout, found.stdout + found.stderr


def test_a_launch_beyond_this_machine_needs_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("")
    assert main(["launch", "--bind", "0.0.0.0", str(program)]) == 2
    said = capsys.readouterr().err
    assert "--bind 0.0.0.0: 0.0.0.0 is beyond this machine" in said and "graphflow keygen" in said


# ---- its own name ---------------------------------------------------------------------------------------------------


def test_a_server_waits_until_its_own_name_is_known(
    service: NameService, stack: ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    def known() -> None:
        service.asked.wait()
        service.number = "127.0.0.2"

    thread = threading.Thread(target=known)
    thread.start()
    stack.callback(thread.join)
    stack.callback(service.asked.set)
    config = gf.ConfigProto(connect_timeout_in_ms=100_000)
    server = serve(stack, {"ps": [f"{OWN}:0"]}, "ps", config=config)
    assert _six(server.target) == 6.0
    (line,) = [r.getMessage() for r in caplog.records if "looked up again" in r.getMessage()]
    assert f"{OWN!r} cannot be resolved" in line and "100 s" in line


def test_a_name_that_stays_unknown_is_named(service: NameService) -> None:
    with pytest.raises(OSError, match=f"cannot listen at {OWN}:0: the name '{OWN}' cannot be resolved"):
        gf.train.Server({"ps": [f"{OWN}:0"]}, config=gf.ConfigProto(connect_timeout_in_ms=600))
