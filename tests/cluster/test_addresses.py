"""Protects addresses: whoever reads one takes the same ports, 1 to 65535, or 0 where a server may choose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import graphflow as gf
from graphflow._core.transport.addresses import is_loopback, port_of, split
from graphflow.cli.main import main

WRONG = ["99999", "65536", "-1", "", "x", "2222x", " 2222", "２２２２", "²", "1" * 5000, "0x10", "1_0", "+80"]


@pytest.mark.parametrize("port", WRONG)
def test_a_port_that_is_none_is_refused_wherever_an_address_is_read(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    address = f"localhost:{port}"
    with pytest.raises(ValueError, match="host:port"):
        gf.train.ClusterSpec({"ps": [address]})
    for spec in ({"ps": [address]}, {"ps": ["localhost:0"], "worker": [address]}):
        with pytest.raises(ValueError, match="host:port"):
            gf.train.Server(spec, "ps", 0)
    with pytest.raises(ValueError, match="host:port"):
        gf.Session(f"zmq://{address}", gf.Graph())
    for function in (gf.train.cluster_status, gf.train.stop_cluster, gf.Session.reset):
        with pytest.raises(ValueError, match="host:port"):
            function(f"zmq://{address}")
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": {"ps": [address]}, "task": {"type": "ps", "index": 0}})
    )
    with pytest.raises(ValueError, match="TF_CONFIG must be host:port"):
        gf.train.Server.from_environment()
    assert main(["status", f"zmq://{address}"]) == 2
    (tmp_path / "spec.json").write_text(json.dumps({"ps": [address]}))
    assert main(["serve", "--cluster", str(tmp_path / "spec.json"), "--job", "ps", "--task", "0"]) == 2
    said = capsys.readouterr().err
    assert said.count("host:port") == 2 and "Traceback" not in said


@pytest.mark.parametrize(
    "address", ["localhost", ":2222", "local host:2222", "a/b:2222", "[::1:2222", "a:b:2222", "1:2:3"]
)
def test_what_is_no_address_is_refused_by_a_server_and_a_session(address: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        gf.train.Server({"ps": [address]})
    with pytest.raises(ValueError, match="host:port"):
        gf.Session(f"zmq://{address}", gf.Graph())


def test_port_0_is_for_a_server_alone() -> None:
    server = gf.train.Server({"ps": ["localhost:0"]})
    try:
        assert 0 < int(server.target.rpartition(":")[2]) <= 65535
    finally:
        server.stop()
    with pytest.raises(ValueError, match="from 1 to 65535"):
        gf.Session("zmq://localhost:0", gf.Graph())


def test_a_task_whose_port_nobody_knows_is_named_with_that_as_the_cause() -> None:
    server = gf.train.Server({"ps": ["localhost:0"], "worker": ["localhost:0"]}, "ps", 0)
    try:
        with pytest.raises(gf.errors.UnavailableError, match=r"worker.*at localhost:0 \(its port is 0"):
            gf.Session(server.target, gf.Graph(), config=gf.ConfigProto(connect_timeout_in_ms=4000))
    finally:
        server.stop()


def test_the_parts_of_an_address() -> None:
    assert split("a.b-c_d:1") == ("a.b-c_d", 1) and split("[::1]:65535") == split("::1:65535") == (
        "::1",
        65535,
    )
    assert split("h:0", any_port=True) == ("h", 0) and split("h:00080") == ("h", 80)
    assert [port_of(p) for p in WRONG] == [None] * len(WRONG)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("127.0.0.1", True), ("127.255.0.9", True), ("::1", True), ("::ffff:127.0.0.1", True),
        ("::ffff:10.0.0.1", False), ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("localhost", False),
        ("fe80::1%eth0", False), ("128.0.0.1", False),
    ],
)  # fmt: skip
def test_loopback(number: str, expected: bool) -> None:
    assert is_loopback(number) is expected
