"""Protects graphflow serve and status: where a task listens, how it ends (promises 3 and 29), what is shown."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.protocol.replay import replay_data
from graphflow.cli import status
from graphflow.cli.main import main
from tests.cluster.serving import spec_of

PROJECT = Path(__file__).resolve().parents[2]


class Served:
    """A process that runs `graphflow serve`."""

    def __init__(self, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "graphflow.cli", "serve", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(PROJECT), **environment},
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        self.target = self.first_line.rpartition(" ")[2].strip()

    def end(self) -> tuple[int, str]:
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


@pytest.fixture
def serve() -> Iterator[Any]:
    started: list[Served] = []

    def begin(*options: str, **environment: str) -> Served:
        started.append(Served(*options, **environment))
        return started[-1]

    yield begin
    for served in started:
        served.process.kill()
        served.process.communicate()


def test_promise_3_stopping_the_cluster_ends_every_task_with_status_0(
    serve: Any, stack: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_of(stack, ps=1, worker=1)
    (ps,), (worker,) = spec.values()
    cluster = f"ps={ps};worker={worker}"
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(spec))
    first = serve("--cluster", cluster, "--job", "ps", "--task", "0")
    second = serve("--cluster", str(file), "--job", "worker")
    assert first.first_line == f"ps 0 listens at zmq://{ps}\n"
    assert main(["status", second.target]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[:4] for line in shown.splitlines()[1:3]] == [
        ["ps", "0", ps, "serving"],
        ["worker", "0", worker, "serving"],
    ]
    assert gf.train.stop_cluster(first.target) == []
    assert first.end()[0] == 0 and second.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_promise_29_port_0_is_printed_and_a_signal_ends_it_cleanly(
    serve: Any, number: signal.Signals
) -> None:
    config = {"cluster": {"ps": ["localhost:0"]}, "task": {"type": "ps", "index": 0}}
    served = serve(TF_CONFIG=json.dumps(config))
    assert not served.target.endswith(":0")
    served.process.send_signal(number)
    code, err = served.end()
    assert code == 0
    assert "Traceback" not in err


def test_promise_3_alone_for_too_long_it_ends_with_the_reason(serve: Any) -> None:
    served = serve("--cluster", "ps=localhost:0", "--idle-minutes", "0.005")
    code, err = served.end()
    assert code == 1
    assert "heard of no client" in err.splitlines()[-1] and "Traceback" not in err


def test_promise_29_a_port_in_use_is_one_line_with_the_address(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", "--cluster", f"ps=localhost:{port}"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"localhost:{port}" in err and "in use" in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["serve", "--cluster", "ps"], "No such file"),
        (["serve", "--cluster", "ps=a"], "host:port"),
        (["serve", "--cluster", "ps=localhost:1;worker=localhost:2"], "--job must be one of ps, worker"),
        (["serve", "--cluster", "ps=localhost:1", "--job", "x"], "No such job"),
        (["serve", "--cluster", "ps=localhost:1", "--task", "1"], "No task with index 1"),
        (["serve"], "TF_CONFIG is not set"),
        (["status", "localhost:1"], "zmq://host:port"),
        (["status", "zmq://localhost:1", "--seconds", "0.1"], "No server answers at localhost:1"),
        (["launch", "--workers", "0", "x.py"], "must be a worker"),
        (["launch", "absent.py"], "no file absent.py"),
        (["launch", "no-such-command"], "no command no-such-command"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert expected in err and err.count("\n") == 1


def test_a_watch_goes_on_if_the_task_that_was_asked_is_gone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with the task that was asked, when there was something to see."""
    with ExitStack() as ports:
        spec = spec_of(ports, ps=1, worker=1)
    ps = gf.train.Server(spec, "ps", 0)
    worker = gf.train.Server(spec, "worker", 0)
    told: list[str] = []
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        told.append(capsys.readouterr().out)
        if len(told) == 1:
            ps.stop()
        elif len(told) == 2:
            worker.stop()
        elif len(told) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("graphflow.cli.status.time.sleep", pause)
    try:
        assert main(["status", ps.target, "--watch", "--seconds", "3"]) == 130
    finally:
        ps.stop()
        worker.stop()
    assert told[0].count("serving") == 2
    assert told[1].count("serving") == 1 and "unreachable" in told[1]
    assert all(f"No server answers at {spec[job][0]}" in told[2] for job in spec)
    assert all(1 <= seconds <= 10 for seconds in pauses)


def test_status_shows_an_unreachable_task_and_as_json(
    stack: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {"ps": ["localhost:0"], **spec_of(stack, worker=1)}
    server = gf.train.Server(spec, "ps", 0)
    try:
        assert main(["status", server.target, "--seconds", "2"]) == 1
        assert "unreachable" in capsys.readouterr().out
        assert main(["status", server.target, "--seconds", "2", "--json"]) == 1
        tasks = json.loads(capsys.readouterr().out)["tasks"]
        assert [task["state"] for task in tasks] == ["serving", "unreachable"]
    finally:
        server.stop()


ITSELF = gf.ConfigProto(device_filters=["/job:ps"])


def test_the_journals_of_the_tasks_are_shown_and_can_be_replayed(
    stack: ExitStack, capsys: pytest.CaptureFixture[str]
) -> None:
    server = gf.train.Server({"ps": ["localhost:0"], **spec_of(stack, worker=1)}, "ps", 0)
    try:
        with gf.Graph().as_default(), gf.Session(server.target, config=ITSELF) as session:
            (name,) = [s["session"] for s in gf.train.cluster_status(server.target, 2.0)[0]["sessions"]]
            assert main(["status", server.target, "--seconds", "2", "--journal"]) == 1
            lines = capsys.readouterr().out.splitlines()
            assert main(["status", server.target, "--seconds", "2", "--journal", "--json"]) == 1
            data = json.loads(capsys.readouterr().out)["tasks"][0]["journal"]
            assert session is not None
    finally:
        server.stop()
    first = ("SessionGreeted", "observer=False", "alive=False")  # It says now and then that it is there.
    (greeted,) = [n for n, line in enumerate(lines) if all(word in line for word in first)]
    assert name in lines[greeted] and lines[greeted + 1].startswith("      -> NoteSession")
    assert lines[0].startswith("ps 0 at ") and lines[-1].startswith("worker 0 at ")
    assert lines[-1].endswith("unreachable, no journal")
    assert next(iter(replay_data(data).sessions.sessions)) == name


def test_variables_are_listed_by_size_with_their_sum() -> None:
    task = {
        "task": "/job:ps/replica:0/task:3", "address": "a:1", "state": "serving", "pid": 4711,
        "resources": {"queue/rows": "FifoQueue", "random/x": "Philox"},
        "uptime_seconds": 3700.0,
        "sessions": [{"session": "abc", "threads": 2, "heard_seconds_ago": 1.25}],
        "variables": [
            {"name": f"v{i}", "dtype": "float32", "shape": [i], "bytes": 4 * i} for i in range(30)
        ] + [{"name": "unset", "dtype": "int64", "shape": None, "bytes": 0}],
        "traffic": {"messages_in": 1, "bytes_in": 2000, "messages_out": 3, "bytes_out": 4},
        "steps": {"taken_part_in": 5, "per_second": 0.25},
    }  # fmt: skip
    text = status.shown([task])
    assert (
        "ps 3" in text
        and "1 h 1 min" in text
        and "  4711  " in text
        and "abc      ps 3          2  1.2 s ago" in text
    )
    assert "ps 3 holds 31 variables, 1.74 KB" in text
    assert (
        "v29  float32  [29]  116 bytes" in text
        and "beside them: queue rows" in text
        and "x" not in text.split("rows")[1]
    )
    assert "and 11 more" in text and "v0" not in text and "times the mean" not in text
    other = {**task, "task": "/job:ps/replica:0/task:4", "variables": task["variables"][:10]}
    assert "ps: 1.92 KB of variables on 2 tasks, the most on one is 1.81 times the mean" in status.shown(
        [task, other]
    )


def test_a_file_in_place_of_the_folder_of_keys_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keygen", str(tmp_path / "keys")]) == 0
    key = tmp_path / "keys" / "cluster.key"
    assert main(["serve", "--cluster", "w=localhost:0", "--keys", str(key)]) == 2
    assert f"{key}" in capsys.readouterr().err
