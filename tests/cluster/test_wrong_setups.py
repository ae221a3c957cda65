"""Protects who sets a cluster up wrongly: whoever waits is told the cause, in a time that is bounded."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq

import graphflow as gf
from graphflow import errors
from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.common.modules import exhausted, import_all
from graphflow._core.transport import keys, zeromq
from graphflow._core.transport.frames.message import Kind, Message
from graphflow.cli.main import main
from tests.cluster.serving import serve, spec_of

_PROJECT = Path(__file__).parents[2]
SECONDS = 3.0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def _config(folder: str = "") -> gf.ConfigProto:
    return gf.ConfigProto(connect_timeout_in_ms=int(1000 * SECONDS), cluster_keys=folder)


def _said(target: str, folder: str = "") -> str:
    """What a session on a cluster that is set up wrongly raises, within its time."""
    begun = time.monotonic()
    with pytest.raises(errors.OpError) as failure:
        gf.Session(target, gf.Graph(), config=_config(folder))
    assert time.monotonic() - begun < SECONDS + 60
    return failure.value.message


def test_nothing_listens_at_the_target(stack: ExitStack) -> None:
    port = stack.enter_context(ReservedPorts(1)).ports[0]
    assert "the connection is refused: no process listens there" in _said(f"zmq://localhost:{port}")
    with pytest.raises(errors.UnavailableError, match="the connection is refused"):
        gf.train.cluster_status(f"zmq://127.0.0.1:{port}", SECONDS)


def test_a_task_was_not_started(stack: ExitStack) -> None:
    worker = serve(stack, spec_of(stack, ps=1, worker=1), "worker")
    text = _said(worker.target)
    assert "/job:ps/replica:0/task:0 at localhost:" in text and "the connection is refused" in text


def test_something_else_listens_at_the_port(stack: ExitStack) -> None:
    other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    address = f"127.0.0.1:{other.getsockname()[1]}"
    text = _said(f"zmq://{address}")
    assert "another program" in text or "no task" in text
    worker = serve(stack, {"ps": [address], **spec_of(stack, worker=1)}, "worker")
    assert "another program" in _said(worker.target)


def test_what_listens_closes_every_connection(stack: ExitStack) -> None:
    other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    other.settimeout(0.2)
    ended = threading.Event()

    def close() -> None:
        while not ended.is_set():
            try:
                found, _ = other.accept()
            except TimeoutError:
                continue
            found.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            found.close()

    thread = threading.Thread(target=close)
    thread.start()
    stack.callback(thread.join)
    stack.callback(ended.set)
    address = f"127.0.0.1:{other.getsockname()[1]}"
    worker = serve(stack, {"ps": [address], **spec_of(stack, worker=1)}, "worker")
    text = _said(worker.target)
    assert f"/job:ps/replica:0/task:0 at {address} (" in text


def test_the_port_is_taken_or_not_this_machines(stack: ExitStack) -> None:
    other = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    address = f"127.0.0.1:{other.getsockname()[1]}"
    with pytest.raises(OSError, match=f"cannot listen at {address}: the address is in use"):
        gf.train.Server({"ps": [address]})


def test_an_address_of_another_machine_cannot_be_listened_at(tmp_path: Path) -> None:
    keys.make(tmp_path / "keys")
    with pytest.raises(
        OSError, match=r"cannot listen at 192\.0\.2\.1:2222: it is no address of this machine"
    ):
        gf.train.Server({"ps": ["192.0.2.1:2222"]}, config=_config(str(tmp_path / "keys")))


def test_tasks_have_other_keys(stack: ExitStack, tmp_path: Path) -> None:
    folders = [str(tmp_path / name) for name in ("first", "second")]
    for folder in folders:
        keys.make(Path(folder))
    spec = spec_of(stack, ps=1, worker=1)
    ps = serve(stack, spec, "ps", config=_config(folders[0]))
    worker = serve(stack, spec, "worker", config=_config(folders[1]))
    assert "keys" in _said(ps.target, folders[1])
    assert "keys" in _said(worker.target, folders[1])
    assert "keys" in _said(ps.target)


def test_the_clusters_of_the_tasks_differ(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=2, worker=2)
    exchanged = {"ps": spec["ps"][::-1], "worker": spec["worker"]}
    serve(stack, spec, "ps", 0)
    worker = serve(stack, exchanged, "worker", 0)
    text = _said(worker.target)
    assert "is /job:ps/replica:0/task:0, and not /job:ps/replica:0/task:1" in text and "ClusterSpecs" in text


def test_a_task_has_another_address_for_who_asks_it(stack: ExitStack) -> None:
    spec = spec_of(stack, ps=1, worker=2)
    serve(stack, {"ps": spec["ps"], "worker": spec["worker"][1:]}, "ps", 0)
    worker = serve(stack, {"ps": spec["ps"], "worker": spec["worker"][:1]}, "worker", 0)
    text = _said(worker.target)
    assert f"has /job:worker/replica:0/task:0 at {spec['worker'][1]}, while it says that it is at" in text


def test_another_version_is_installed_there(stack: ExitStack) -> None:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as other:
        zeromq.options(other)
        port = other.bind_to_random_port("tcp://127.0.0.1")
        ended = threading.Event()

        def answer() -> None:
            while not ended.is_set():
                if other.poll(100):
                    sender, *_ = other.recv_multipart()
                    frame = bytearray(Message(Kind.FAILED, 0, details={"message": "no"}).frames()[0])
                    frame[2] = 9
                    other.send_multipart([sender, bytes(frame)])

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            text = _said(f"zmq://127.0.0.1:{port}")
            assert "version 9 of the protocol" in text or "no task" in text or "keys" in text
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize(
    ("job", "index", "said"),
    [
        ("pss", 0, "'ps', 'worker'"),
        ("ps", 7, r"No task with index 7 in job 'ps'"),
        (None, None, "job_name must be"),
    ],
)
def test_a_task_that_the_cluster_has_not(job: str | None, index: int | None, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        gf.train.Server({"ps": ["localhost:0"], "worker": ["localhost:0"]}, job, index)


def test_the_command_line_says_what_is_wrong_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = "ps=localhost:0;worker=localhost:0"
    for arguments in (["--job", "pss", "--task", "0"], ["--job", "ps", "--task", "3"], []):
        assert main(["serve", "--cluster", cluster, *arguments]) == 2
        text = capsys.readouterr().err
        assert "Traceback" not in text and len(text.strip().splitlines()) <= 2
    for broken in ("{", "[]", json.dumps({"cluster": {"ps": ["x"]}, "task": {}}), json.dumps({"task": {}})):
        monkeypatch.setenv("TF_CONFIG", broken)
        assert main(["serve"]) == 2
        assert "TF_CONFIG" in capsys.readouterr().err


# ---- what runs out --------------------------------------------------------------------------------------------------

_TOO_FEW = """
import os, resource, sys
import graphflow as gf
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
x = gf.placeholder(gf.bool, [])
y = gf.logical_not(x)
held = []
try:
    while True:
        held.append(os.dup(0))
except OSError:
    pass
for _ in range(int(sys.argv[1])):
    os.close(held.pop())
try:
    with gf.Session() as session:
        session.run(y, {x: True})
    print("ran")
except BaseException as error:
    print(type(error).__name__, error)
for each in held:
    os.close(each)
with gf.Session() as session:
    print("then", session.run(y, {x: True}))
"""


@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_too_few_files_are_the_cause_and_not_a_missing_kernel(left: int) -> None:
    found = subprocess.run(
        [sys.executable, "-c", _TOO_FEW, str(left)], capture_output=True, text=True, timeout=100, check=False,
        env={**os.environ, "PYTHONPATH": str(_PROJECT)},
    )  # fmt: skip
    first, *rest = found.stdout.splitlines() or [found.stderr]
    assert "no kernel" not in found.stdout
    assert first == "ran" or "Too many open files" in first, found.stderr
    assert rest == ["then False"], found.stdout + found.stderr


def test_a_package_whose_folder_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        import_all("nobody", [str(tmp_path / "none")])
    with pytest.raises(ImportError, match="has no modules"):
        import_all("nobody", [str(tmp_path)])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.ENFILE, "Too many open files in system"), "this machine has too many files open"),
        (OSError(errno.ENOSPC, "No space left on device"), "is full"),
        (MemoryError(), "not enough memory"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (ImportError("libx.so: cannot open shared object file: Too many open files"), "ulimit -n"),
    ],
)
def test_what_has_run_out_on_a_task_is_said_to_the_client(error: Exception, said: str) -> None:
    details = as_details(error)
    assert details["code"] == errors.RESOURCE_EXHAUSTED and said in details["message"]
    assert said in exhausted(error) and exhausted(ValueError("x")) == ""
