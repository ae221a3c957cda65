"""Protects what of clusters on Ray needs no Ray: who may be which life of a task, and what is told of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zmq

import graphflow as gf
from graphflow._core.cluster.on_ray import handout as handout_module
from graphflow._core.cluster.on_ray import registry as registry_module
from graphflow._core.cluster.on_ray.handout import KeyHandout, fetch_key, new_pair
from graphflow._core.cluster.on_ray.registry import Registry
from graphflow._core.cluster.on_ray.resolver import RayClusterResolver
from graphflow._core.cluster.on_ray.task import begun_at
from graphflow._core.cluster.resolvers.found import find_resolver
from graphflow.cli.main import main
from tests.common.clock import Clock

_CONNECT = zmq.Socket.connect

VARIABLES = {
    "GRAPHFLOW_RAY_CLUSTER": "run", "GRAPHFLOW_JOBS": "ps=1,worker=2", "GRAPHFLOW_JOB": "worker", "GRAPHFLOW_TASK": "1",
    "GRAPHFLOW_INCARNATION": "3", "GRAPHFLOW_HOST": "10.0.0.7", "GRAPHFLOW_LEASE_SECONDS": "8.0",
}  # fmt: skip


def test_ray_is_imported_where_it_is_used_alone() -> None:
    text = (
        "import sys, graphflow as gf; gf.cluster.RayCluster, gf.distribute.cluster_resolver.ClusterResolver; "
        "gf.train.Server.create_local_server().stop(); print('ray' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRAPHFLOW_RAY")}
    found = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=300, env=environment
    )
    assert found.stdout == "False\n", found.stderr


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"graphflow-engine\[ray\]"):
        gf.cluster.RayCluster()


def test_the_environment_of_an_actor_says_which_task_it_is() -> None:
    resolver = find_resolver(VARIABLES)
    assert isinstance(resolver, RayClusterResolver)
    spec, job, index = resolver.task()
    assert (job, index, resolver.life, resolver.host, resolver.lease_seconds) == (
        "worker",
        1,
        3,
        "10.0.0.7",
        8.0,
    )
    assert spec.num_tasks("ps") == 1 and spec.task_address("worker", 1).startswith("worker-1.run:")
    assert resolver.own_name == "worker-1" and resolver.incarnation() == "3"


@pytest.mark.parametrize("whole", [True, False])
def test_a_program_on_ray_serves_where_the_others_find_it(
    whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it asks for the server of its environment, or makes one of the cluster that it was told."""
    registry = Registry(100.0)
    monkeypatch.setattr(
        RayClusterResolver,
        "ask",
        lambda self, question, *values, seconds=0: getattr(registry, question)(*values),
    )
    told = {"GRAPHFLOW_JOB": "ps", "GRAPHFLOW_TASK": "0", "GRAPHFLOW_HOST": "127.0.0.1"}
    for name, value in {**VARIABLES, **told, "GRAPHFLOW_INCARNATION": "1"}.items():
        monkeypatch.setenv(name, value)
    assert registry.begin("ps-0", "a", "node", "127.0.0.1", 1, "t") == (1, 0.0)
    task = gf.train.task_from_environment()
    server = gf.train.Server.from_environment() if whole else gf.train.Server(*task)
    try:
        place = registry.place("ps-0")
        assert place is not None and place["address"].startswith("127.0.0.1:")
        with gf.Session(server.target, config=gf.ConfigProto(device_filters=["/job:ps"])) as session:
            assert session.run(gf.constant(1.0) + 1.0) == 2.0
    finally:
        server.stop()


def test_the_registry_tells_what_happens_to_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(registry_module, "time", clock)
    registry = Registry(10.0)
    assert registry.process("ps-0") is None and registry.host("ps-0") == ""
    assert registry.begin("ps-0", "a", "node1", "h1", 7, "t1") == (1, 0.0)
    assert registry.process("ps-0") == (1, "node1", 7, "t1")
    place = {"address": "h1:1", "life": 1, "incarnation": "ab"}
    assert registry.publish("ps-0", place) and registry.place("ps-0") == place
    assert registry.renew("ps-0", 1) and registry.lapsed() == []
    clock.now += 20.0
    assert registry.lapsed() == [("ps-0", 1)] == registry.lapsed()
    assert registry.begin("ps-0", "b", "node1", "h1", 8, "t2") == (2, 0.0)
    number, wait = registry.begin("ps-0", "c", "node2", "h2", 9, "t3")
    assert number == 0 and wait > 0 and not registry.renew("ps-0", 2)
    registry.release("ps-0", 2)
    assert registry.begin("ps-0", "c", "node2", "h2", 9, "t3") == (3, 0.0)
    told = [(event["kind"], event["life"], event["host"]) for event in registry.events()]
    assert told == [
        ("started", 1, "h1"), ("lost", 1, "h1"), ("restarted", 2, "h1"), ("lost", 2, "h1"), ("moved", 3, "h2"),
    ]  # fmt: skip
    assert registry.host("ps-0") == "h2"


def _connect_and_wait(socket: Any, at: str) -> None:
    """Connects, and returns when who asks was refused."""
    if socket.type != zmq.DEALER:  # The monitor's own.
        _CONNECT(socket, at)
        return
    monitor = socket.get_monitor_socket(
        zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    )
    _CONNECT(socket, at)
    assert monitor.poll(30_000)
    socket.disable_monitor()
    monitor.close()


def test_the_key_goes_to_who_has_told_its_public_key_once_and_to_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handout, own, other = KeyHandout("127.0.0.1"), new_pair(), new_pair()
    try:
        at, server = handout.expect(own.public)
        assert fetch_key(at, server, own) == handout.text and "server " in handout.text
        monkeypatch.setattr(handout_module, "REGISTRY_ANSWER_SECONDS", 0.5)
        for refused in (own, other):
            with pytest.raises(ConnectionError, match="did not come from"):
                fetch_key(at, server, refused)
        handout.expect(other.public)
        with pytest.raises(ConnectionError, match="did not come from"):
            fetch_key(at, new_pair().public, other)  # Somebody else at that address has another key.
        monkeypatch.setattr(zmq.Socket, "connect", _connect_and_wait)
        with pytest.raises(ConnectionError, match="did not come from"):
            fetch_key(at, server, own)  # It was refused before it has asked.
    finally:
        handout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_a_process_is_there_or_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        first = begun_at(process.pid)
        assert first and begun_at(process.pid) == first
        process.kill()
        while begun_at(process.pid):
            pass
    assert begun_at(process.pid) == ""


@pytest.mark.parametrize(
    "options, told",
    [
        (["--print"], "--print has nothing to write"),
        (["--chief"], "worker 0 is the chief"),
        (["--cpus", "ps"], "it must be like ps=1,worker=4"),
    ],
)
def test_what_cannot_be_on_ray_is_refused(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "train.py"
    program.write_text("")
    try:
        assert main(["launch", "--on", "ray", *options, str(program)]) != 0
    except SystemExit as error:
        assert error.code
    assert told in capsys.readouterr().err
