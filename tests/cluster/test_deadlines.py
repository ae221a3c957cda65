"""Protects waiting: it ends as soon as what is awaited is there (promise 1), and at the deadline (promise 2).

And what an error says of where it began (promise 11).
"""

from __future__ import annotations

import logging
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
from graphflow.train.sessions import session_manager
from tests.cluster.serving import spec_of
from tests.machine_clock import MachineClock


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found, gf.Graph().as_default():
        yield found


def _monitored(target: str, stack: ExitStack) -> Any:
    return stack.enter_context(gf.train.MonitoredTrainingSession(target, progress=False, max_wait_secs=60))


def _supervised(target: str, stack: ExitStack) -> Any:
    return stack.enter_context(gf.train.Supervisor(logdir=None).managed_session(target))


@pytest.mark.parametrize("begin", [_monitored, _supervised])
def test_promise_1_it_goes_on_within_a_second_of_the_last_arrival(
    stack: ExitStack, caplog: pytest.LogCaptureFixture, begin: Any
) -> None:
    cluster = spec_of(stack, ps=2, worker=1)
    worker = gf.train.Server(cluster, "worker", 0)
    stack.callback(worker.stop)
    with gf.device("/job:ps/task:1"):
        step = gf.train.get_or_create_global_step()
    clock = stack.enter_context(MachineClock())
    arrivals: list[float] = []

    def waits() -> list[str]:
        texts = [record.getMessage() for record in caplog.records]
        return [text for text in texts if "waiting for the cluster" in text]

    def come() -> None:
        limit = time.monotonic() + 60
        while not waits() and time.monotonic() < limit:
            time.sleep(0.01)
        for index in (0, 1):
            time.sleep(0.75)
            server = gf.train.Server(cluster, "ps", index)
            stack.callback(server.stop)
            arrivals.append(clock.seconds)

    comes = threading.Thread(target=come)
    with caplog.at_level(logging.INFO, "graphflow"):
        comes.start()
        session = begin(worker.target, stack)
        assert session.run(step) == 0
        there = clock.seconds
    comes.join()
    assert f"/job:ps/replica:0/task:1 at {cluster['ps'][1]}" in waits()[-1]
    assert there - arrivals[-1] < 1.0  # The promise is a time.


_SERVE = """
import sys
import graphflow as gf
server = gf.train.Server(eval(sys.argv[1]), "ps", 0)
print("serves", flush=True)
server.join()
"""


def _stop(pid: int) -> None:
    """Stops a process; on a busy machine its threads go on until one of them has taken the signal."""
    os.kill(pid, signal.SIGSTOP)
    limit = time.monotonic() + 30
    while any(_state(task) != "T" for task in Path(f"/proc/{pid}/task").iterdir()):
        assert time.monotonic() < limit
        time.sleep(0.005)


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="stops a process, and looks there whether it has stopped"
)
def test_promise_2_one_deadline_covers_connecting_running_fetching_and_closing(stack: ExitStack) -> None:
    cluster = spec_of(stack, ps=1, worker=1)
    ps = subprocess.Popen(
        [sys.executable, "-c", _SERVE, repr(cluster)], stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, text=True,
    )  # fmt: skip
    stack.enter_context(ps)
    stack.callback(ps.kill)
    assert ps.stdout is not None and ps.stdout.readline() == "serves\n"
    target = f"zmq://{cluster['ps'][0]}"
    alone = gf.ConfigProto(device_filters=["/job:ps"], connect_timeout_in_ms=500)
    value = gf.get_variable("value", initializer=[1.0, 2.0])
    session = gf.Session(target, config=gf.ConfigProto(device_filters=["/job:ps"]))
    session.run(value.initializer)
    clock = stack.enter_context(MachineClock())

    def deadline_holds(what: Any) -> None:
        begun = clock.seconds
        with pytest.raises((gf.errors.DeadlineExceededError, gf.errors.UnavailableError)) as caught:
            what()
        assert cluster["ps"][0] in str(caught.value) or "/job:ps" in str(caught.value)
        assert clock.seconds - begun < 2.0  # Half a second, and what work there is.

    _stop(ps.pid)
    soon = gf.RunOptions(timeout_in_ms=500)
    deadline_holds(lambda: session.run(value, options=soon))  # It is registered.
    deadline_holds(lambda: session.run(value + 1.0, options=soon))  # It has to be registered.
    deadline_holds(lambda: gf.Session(target, config=alone))
    os.kill(ps.pid, signal.SIGCONT)
    with gf.Session(target, config=gf.ConfigProto(device_filters=["/job:ps"])) as again:
        assert again.run(value + 1.0).tolist() == [2.0, 3.0]
        _stop(ps.pid)
        begun = clock.seconds
        again.close()
        session.close()
        assert clock.seconds - begun < 1.0
    os.kill(ps.pid, signal.SIGCONT)


_WAIT = """
import sys
import graphflow as gf
with gf.device("/job:ps/task:0"):
    queue = gf.FIFOQueue(1, gf.float32, [[]], name="queue")
    taken = queue.dequeue()
    value = gf.get_variable("large", initializer=gf.zeros([1000]))
session = gf.Session(sys.argv[1], config=gf.ConfigProto(device_filters=["/job:ps"]))
session.run(value.initializer)
print("waits", flush=True)
try:
    session.run(taken)
except (gf.errors.UnavailableError, gf.errors.AbortedError) as error:
    print(type(error).__name__, flush=True)
with gf.Session(sys.argv[1], config=gf.ConfigProto(device_filters=["/job:ps"])) as again:
    print(again.run(value).shape, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="stops a process")
def test_promise_2_a_client_that_was_stopped_beyond_its_lease_is_told(stack: ExitStack) -> None:
    server = gf.train.Server(spec_of(stack, ps=1, worker=1), "ps", 0)
    stack.callback(server.stop)
    client = subprocess.Popen(
        [sys.executable, "-c", _WAIT, server.target], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    stack.enter_context(client)
    stack.callback(client.kill)
    assert client.stdout is not None and client.stdout.readline() == "waits\n"

    def held() -> tuple[int, int]:
        (own,) = [t for t in gf.train.cluster_status(server.target, 2.0) if t["state"] == "serving"]
        return len(own["sessions"]), own["steps"]["in_flight_as_master"]

    limit = time.monotonic() + 60
    while held() != (1, 1) and time.monotonic() < limit:
        time.sleep(0.05)
    assert held() == (1, 1)
    os.kill(client.pid, signal.SIGSTOP)
    time.sleep(19)  # The lease is 15 s.
    assert held() == (0, 0)
    os.kill(client.pid, signal.SIGCONT)
    assert client.stdout.readline() in ("UnavailableError\n", "AbortedError\n")
    assert client.stdout.readline() == "(1000,)\n"
    assert client.wait(60) == 0


def test_promise_11_the_traceback_of_a_function_reaches_the_client(stack: ExitStack) -> None:
    cluster = spec_of(stack, ps=1, worker=1)
    servers = [gf.train.Server(cluster, job, 0) for job in cluster]
    for server in servers:
        stack.callback(server.stop)

    def deep(x: Any) -> Any:
        return {}["missing"]

    with gf.device("/job:ps/task:0"):
        result = gf.py_func(lambda x: deep(x), [gf.constant(1.0)], gf.float32, name="user")
    with (
        gf.Session(servers[1].target) as session,
        pytest.raises(gf.errors.UnknownError, match="PyFunc 'user': KeyError: 'missing'") as caught,
    ):
        session.run(result)
    told = str(caught.value.__cause__)
    assert "in deep" in told and Path(__file__).name in told and told.rstrip().endswith("KeyError: 'missing'")


def test_a_function_that_leaves_its_program_ends_the_step_and_not_the_task(stack: ExitStack) -> None:
    server = gf.train.Server.create_local_server()
    stack.callback(server.stop)
    left = gf.py_func(lambda: sys.exit(3), [], gf.float32)
    with gf.Session(server.target) as session:
        for _ in range(2):
            with pytest.raises(gf.errors.UnknownError, match="SystemExit: 3"):
                session.run(left)


# ---- a cluster that has ended ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ps_is_there", [True, False])
def test_a_worker_that_comes_after_the_others_have_ended_is_told_soon(
    ps_is_there: bool, stack: ExitStack, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_manager, "STATUS_LOG_SECONDS", 0.0)
    cluster = spec_of(stack, ps=1, worker=2)
    ps = gf.train.Server(cluster, "ps", 0)
    stack.callback(ps.stop)
    with gf.device("/job:ps/task:0"):
        step = gf.train.get_or_create_global_step()
        made = step.assign_add(1)
        ready = gf.report_uninitialized_variables()
    config = gf.ConfigProto(device_filters=["/job:ps", "/job:worker"])

    def worker(index: int) -> gf.train.Server:
        return gf.train.Server(cluster, "worker", index, config=config)

    chief = worker(0)
    stack.callback(chief.stop)
    filters = gf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    hooks = [gf.train.StopAtStepHook(last_step=3)]
    with gf.train.MonitoredTrainingSession(chief.target, True, hooks=hooks, config=filters) as session:
        while not session.should_stop():
            session.run(made)
    chief.stop()
    if not ps_is_there:
        ps.stop()

    late = worker(1)
    stack.callback(late.stop)
    filters = gf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:1"])
    manager = gf.train.SessionManager(ready_op=ready)
    if ps_is_there:  # What was trained is there.
        with manager.wait_for_session(late.target, filters, max_wait_secs=7200) as found:
            assert found.run(step) >= 3
        return
    ended: list[BaseException] = []

    def waits() -> None:
        try:
            manager.wait_for_session(late.target, filters, max_wait_secs=7200)
        except gf.errors.CancelledError as error:
            ended.append(error)

    thread = threading.Thread(target=waits)
    thread.start()
    stack.callback(thread.join)
    stack.callback(manager.abandoned.set)

    def told() -> list[str]:
        return [r.getMessage() for r in caplog.records if "if it has ended" in r.getMessage()]

    limit = time.monotonic() + 100
    while not told():
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert f"/job:ps/replica:0/task:0 at {cluster['ps'][0]}" in told()[0] and "7200 s" in told()[0]
    manager.abandoned.set()
    thread.join()
    assert len(ended) == 1 and len(told()) == 1
