"""Protects servers: promises 3 (an explicit stop ends join), 29 (ports) and 30 (nothing is left), status, reset."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.server.server import task_name
from graphflow.cli.main import main
from tests.cluster.serving import serve, serve_all, spec_of
from tests.left_over import TURNS, nothing_stays
from tests.machine_clock import MachineClock

PROJECT = Path(__file__).resolve().parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc shows")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


# ---- promise 29: ports -----------------------------------------------------------------------------------------------


def test_promise_29_a_port_in_use_is_one_line_with_the_address(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1)
    serve(stack, spec, "ps")
    with pytest.raises(OSError) as caught:
        gf.train.Server(spec, "ps", 0)
    assert spec["ps"][0] in str(caught.value) and "in use" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_promise_29_port_0_takes_a_free_one_and_says_which(stack: ExitStack) -> None:
    server = serve(stack, {"ps": ["localhost:0"]}, "ps")
    port = int(server.target.rpartition(":")[2])
    assert port > 0
    (task,) = gf.train.cluster_status(server.target)
    assert task["address"] == f"localhost:{port}"


def test_promise_29_a_restart_takes_its_port_at_once_while_clients_are_connected(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1)
    for value in range(3):
        server = serve(stack, spec, "ps")
        session = gf.Session(server.target, graph=gf.Graph())
        stack.callback(session.close)
        with session.graph.as_default():
            assert session.run(gf.constant(value) + 1) == value + 1
        server.stop()


# ---- promise 3: stopping ---------------------------------------------------------------------------------------------


def test_promise_3_stop_cluster_ends_every_join_whichever_task_is_asked(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=2, worker=1)
    servers = serve_all(stack, spec)
    threads = [threading.Thread(target=server.join, daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    assert gf.train.stop_cluster(servers[2].target) == []
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_stop_cluster_names_the_tasks_that_do_not_answer_and_stops_the_others(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1, worker=2)
    server = serve(stack, spec, "ps")
    missing = gf.train.stop_cluster(server.target, timeout_seconds=4.0)
    assert missing == [task_name("worker", 0), task_name("worker", 1)]
    server.join()
    # What was on its way to the absent tasks is not: one that comes now goes on.
    later = serve(stack, spec, "worker", 1)
    with pytest.raises(gf.errors.UnavailableError, match="No server answers"):
        gf.train.stop_cluster(server.target, timeout_seconds=0.3)
    assert any(task["state"] == "serving" for task in gf.train.cluster_status(later.target, 4.0))


def test_a_run_on_a_cluster_that_is_stopped_ends_with_an_error(stack: ExitStack) -> None:
    server = serve(stack, spec_of(stack, ps=1), "ps")
    with gf.Graph().as_default(), gf.Session(server.target) as session:
        queue = gf.FIFOQueue(1, gf.float32)
        element = queue.dequeue()
        caught: list[Exception] = []

        def wait() -> None:
            try:
                session.run(element)
            except gf.errors.OpError as error:
                caught.append(error)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        time.sleep(0.2)
        gf.train.stop_cluster(server.target)
        thread.join(60)
        assert not thread.is_alive()
        assert isinstance(caught[0], gf.errors.UnavailableError | gf.errors.CancelledError)


def test_promise_3_join_ends_with_the_reason_when_nobody_is_heard_of(stack: ExitStack) -> None:
    config = gf.ConfigProto(server_idle_minutes=0.005)
    server = serve(stack, spec_of(stack, ps=1), "ps", config=config)
    with pytest.raises(gf.errors.DeadlineExceededError, match=r"no client .* for 0\.005 minutes"):
        server.join()


def test_promise_3_a_client_on_another_task_keeps_a_ps_from_ending(stack: ExitStack) -> None:
    config = gf.ConfigProto(server_idle_minutes=0.05)  # Within which a session has to come.
    spec = spec_of(stack, ps=1, worker=1)
    ps = serve(stack, spec, "ps", config=config)
    worker = serve(stack, spec, "worker")
    joined = threading.Thread(target=ps.join, daemon=True)
    with gf.Session(ps.target, graph=gf.Graph()), gf.Session(worker.target, graph=gf.Graph()):
        joined.start()
        joined.join(4.0)
        assert joined.is_alive()
        ps.stop()  # While they are there: without a client the ps ends by itself, with an error.
        joined.join(60)
        assert not joined.is_alive()


def test_a_task_that_has_ended_in_order_is_not_reported_as_lost(
    stack: ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    ps, worker = serve(stack, spec, "ps"), serve(stack, spec, "worker")
    with gf.Graph().as_default(), gf.Session(ps.target) as session:
        with gf.device("/job:worker/task:0"):
            far = gf.constant(1.0) + 1.0
        assert session.run(far) == 2.0
        worker.stop()
        with pytest.raises(gf.errors.UnavailableError, match="worker"):
            for _ in range(200):
                session.run(far)
                time.sleep(0.01)
        with gf.device("/job:ps/task:0"):
            near = gf.constant(3.0) + 1.0
        assert session.run(near) == 4.0
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


# ---- promise 30: nothing is left -------------------------------------------------------------------------------------


@LINUX
@pytest.mark.timeout(900)
def test_promise_30_no_thread_socket_or_file_is_left_over(everything: bool) -> None:
    def cycle() -> None:
        spec = {"ps": ["localhost:0"]}
        server = gf.train.Server(spec, "ps", 0)
        with gf.Graph().as_default(), gf.Session(server.target) as session:
            assert session.run(gf.constant(1.0)) == 1.0
        server.stop()
        gf.train.Server(spec, "ps", 0, start=False).stop()

    nothing_stays(cycle, 1000 if everything else TURNS)


PROGRAM = """
import sys, graphflow as gf
spec = eval(sys.argv[1])
servers = [gf.train.Server(spec, "worker", 0), gf.train.Server({"a": ["localhost:0"]}, "a", 0)]
with gf.device("/job:ps/task:0"):
    v = gf.Variable(1.0)
config = gf.ConfigProto(connect_timeout_in_ms=100_000)
sessions = [gf.Session(server.target, config=config) for server in servers]
sessions[0].run(v.initializer)
print("ready", flush=True)
sys.stdin.readline()
print("leaving", flush=True)
"""


def test_promise_30_a_process_with_dead_peers_exits(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-m", "graphflow.cli", "serve", "--cluster", "", "--job", "ps"]
    command[5] = ";".join(f"{job}={','.join(tasks)}" for job, tasks in spec.items())
    ps = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    stack.enter_context(ps)
    stack.callback(ps.kill)
    assert ps.stdout is not None and spec["ps"][0] in ps.stdout.readline()  # It serves.
    client = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, repr(spec)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True,
    )  # fmt: skip
    stack.enter_context(client)
    stack.callback(client.kill)
    assert client.stdout is not None and client.stdout.readline() == "ready\n"
    ps.send_signal(signal.SIGKILL)
    ps.wait()
    assert client.stdin is not None
    clock = stack.enter_context(MachineClock())
    client.stdin.write("\n")
    client.stdin.flush()
    assert client.stdout.readline() == "leaving\n"
    left = clock.seconds
    while client.poll() is None:
        assert clock.seconds - left < 2.0, "it waits for its dead peers"
        time.sleep(0.01)
    assert client.returncode == 0


# ---- what a cluster is asked -----------------------------------------------------------------------------------------


def test_status_tells_tasks_variables_steps_and_who_is_missing(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1, worker=2)
    ps, worker = serve(stack, spec, "ps"), serve(stack, spec, "worker")
    config = gf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with gf.Graph().as_default(), gf.Session(worker.target, config=config) as session:
        with gf.device("/job:ps/task:0"):
            variable = gf.Variable(gf.zeros([10, 10]), name="kernel")
            gf.Variable(1.0, name="unset")
        session.run(variable.initializer)
        for _ in range(5):
            session.run(variable.assign_add(gf.ones([10, 10])).op)
        tasks = {task["task"]: task for task in gf.train.cluster_status(ps.target, 4.0)}
    assert list(tasks) == [task_name("ps", 0), task_name("worker", 0), task_name("worker", 1)]
    held, master, absent = tasks.values()
    assert [held["state"], master["state"], absent["state"]] == ["serving", "serving", "unreachable"]
    kernel = {"name": "kernel", "dtype": "float32", "shape": [10, 10], "bytes": 400}
    assert kernel in held["variables"]
    assert not master["variables"]
    assert len(master["sessions"]) == 1 and not held["sessions"]
    assert master["steps"]["begun_as_master"] == 6 and held["steps"]["taken_part_in"] == 6
    assert held["traffic"]["messages_in"] > 6 and held["traffic"]["bytes_in"] > 0
    assert held["incarnation"] != master["incarnation"]
    json.dumps(list(tasks.values()))


def test_list_devices_has_those_of_every_task(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    serve(stack, spec, "ps", config=gf.ConfigProto(device_count={"CPU": 2}))
    worker = serve(stack, spec, "worker")
    with gf.Session(worker.target, graph=gf.Graph()) as session:
        names = [device.name for device in session.list_devices()]
    assert names == [
        "/job:worker/replica:0/task:0/device:CPU:0",
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:ps/replica:0/task:0/device:CPU:1",
    ]


def test_reset_clears_a_container_on_every_task_and_ends_the_sessions(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    serve(stack, spec, "ps")
    worker = serve(stack, spec, "worker")
    with gf.Graph().as_default():
        with gf.device("/job:ps/task:0"), gf.container("experiment"):
            cleared = gf.Variable(1.0, name="cleared")
            queue = gf.FIFOQueue(3, gf.float32, shared_name="queue")
            put, size = queue.enqueue(1.0), queue.size()
        kept = gf.Variable(2.0, name="kept")
        session = gf.Session(worker.target)
        stack.callback(session.close)
        session.run([gf.global_variables_initializer(), put])
        assert session.run(size) == 1
        gf.Session.reset(worker.target, ["experiment"])
        with pytest.raises(gf.errors.AbortedError, match="reset"):
            session.run(kept)
        with gf.Session(worker.target) as again:
            assert again.run(kept) == 2.0
            assert again.run(size) == 0
            with pytest.raises(gf.errors.FailedPreconditionError, match="cleared"):
                again.run(cleared)
        gf.Session.reset(worker.target)
        with (
            gf.Session(worker.target) as last,
            pytest.raises(gf.errors.FailedPreconditionError, match="kept"),
        ):
            last.run(kept)


def test_variables_of_one_name_in_two_containers_are_two_here_too() -> None:
    with gf.Graph().as_default() as graph:
        with graph.container("one"):
            first = gf.Variable(1.0, name="v")
        second = gf.Variable(2.0, name="w")
        assert first.op.get_attr("container") in ("one", b"one")
        assert second.op.get_attr("container") in ("", b"")
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            assert session.run([first, second]) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("", gf.errors.NotFoundError),
        ("localhost:2222", gf.errors.NotFoundError),
        ("http://localhost:2222", gf.errors.NotFoundError),
        ("zmq://localhost", ValueError),
        ("zmq://:1", ValueError),
    ],
)
def test_a_target_that_is_none_is_refused(target: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="zmq://host:port"):
        gf.train.stop_cluster(target)


def test_the_word_that_a_task_does_not_answer_brings_what_the_master_knew(stack: ExitStack) -> None:
    server = serve(stack, {"ps": ["localhost:0"], **spec_of(stack, worker=1)}, "ps")
    with pytest.raises(gf.errors.UnavailableError, match="do not answer") as caught:
        gf.Session(server.target, gf.Graph(), gf.ConfigProto(connect_timeout_in_ms=4000))
    lines = caught.value.journal
    assert 0 < len(lines) <= 32
    assert any("SessionGreeted" in line and "/job:worker/replica:0/task:0" in line for line in lines)
    assert any("AcceptSocket" in line for line in lines)


def test_an_address_where_nobody_serves_is_named(stack: ExitStack) -> None:
    (address,) = spec_of(stack, ps=1)["ps"]
    with pytest.raises(gf.errors.UnavailableError, match=address):
        gf.train.cluster_status(f"zmq://{address}", 0.2)


# ---- the environment -------------------------------------------------------------------------------------------------

CLUSTER = '"cluster": {"ps": ["a:1"], "worker": ["b:1", "b:2"]}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", r"no JSON: .* column 2"),
        ("[]", "must be an object"),
        ("{}", '"cluster" in TF_CONFIG'),
        ('{"cluster": {"ps": "a:1"}}', "job 'ps' .* must be a list"),
        ('{"cluster": {"ps": ["a"]}}', "host:port, got 'a'"),
        ('{"cluster": {"ps": ["a:99999"]}}', "host:port"),
        ("{" + CLUSTER + "}", '"task" in TF_CONFIG'),
        ("{" + CLUSTER + ', "task": {"type": "master"}}', "ps or worker, or 'evaluator', got 'master'"),
        ("{" + CLUSTER + ', "task": {"type": "worker", "index": 2}}', r"one of \[0, 1\], got 2"),
        ("{" + CLUSTER + ', "task": {"type": "worker", "index": "x"}}', "got 'x'"),
    ],
)
def test_what_is_wrong_in_the_environment_is_named(
    text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=expected):
        gf.train.task_from_environment()


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("index", [0, 3, "1"])
def test_an_evaluator_is_no_part_of_the_cluster_that_trains(
    listed: bool,
    index: Any,
    monkeypatch: pytest.MonkeyPatch,
    stack: ExitStack,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    jobs = {**spec, "evaluator": ["localhost:1"]} if listed else spec
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": jobs, "task": {"type": "evaluator", "index": index}})
    )
    assert gf.train.task_from_environment() == (gf.train.ClusterSpec({}), "evaluator", int(index))
    server = gf.train.Server.from_environment()
    stack.callback(server.stop)
    assert server.server_def.job_name == "evaluator" and server.server_def.task_index == int(index)
    cluster, job, number = gf.train.task_from_environment()
    with gf.Graph().as_default():
        place = gf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{job}/task:{number}")
        with gf.device(place):
            v = gf.Variable(2.0)
            doubled = v * 2.0
        with gf.Session(server.target) as session:
            session.run(v.initializer)
            assert session.run(doubled) == 4.0
    assert main(["serve"]) == 2
    assert "an evaluator, which serves nothing" in capsys.readouterr().err
    # The others wait for no evaluator.
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": jobs, "task": {"type": "ps", "index": 0}}))
    assert gf.train.task_from_environment() == (gf.train.ClusterSpec(spec), "ps", 0)


@pytest.mark.parametrize("index", [-1, "x", True, 1.5, None])
def test_the_index_of_an_evaluator_is_a_number(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task = {"type": "evaluator", "index": index}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"ps": ["a:1"]}, "task": task}))
    with pytest.raises(ValueError, match="evaluator in TF_CONFIG must be a number of at least 0"):
        gf.train.task_from_environment()


def test_the_environment_makes_a_server(monkeypatch: pytest.MonkeyPatch, stack: ExitStack) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match="TF_CONFIG is not set"):
        gf.train.Server.from_environment()
    spec = spec_of(stack, ps=1, worker=2)
    found = {"cluster": spec, "task": {"type": "worker", "index": 1}, "local_devices": 2}
    monkeypatch.setenv("TF_CONFIG", json.dumps(found))
    assert gf.train.task_from_environment() == (gf.train.ClusterSpec(spec), "worker", 1)
    server = gf.train.Server.from_environment()
    stack.callback(server.stop)
    assert server.target == f"zmq://{spec['worker'][1]}"
    (own,) = [t for t in gf.train.cluster_status(server.target, 4.0) if t["state"] == "serving"]
    assert len(own["devices"]) == 2


def test_a_server_that_was_never_started_may_be_forgotten() -> None:
    program = (
        "import gc, graphflow as gf\n"
        "server = gf.train.Server.create_local_server(start=False)\n"
        "del server; gc.collect(); print('forgotten', flush=True)\n"
        "kept = gf.train.Server.create_local_server(start=False)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (0, "forgotten\n"), found.stderr
