"""Protects what is kept in an object store, a server of S3's protocol on loopback (moto).

A training comes back, and a checkpoint is there whole or not at all, even if the process is killed as it goes out.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import graphflow as gf
from graphflow.cli.main import main

STORE = "s3://models"
gf.gfile.MakeDirs(f"{STORE}/data")
with gf.python_io.TFRecordWriter(f"{STORE}/data/a.tfrecord") as writer:
    for number in range(4):
        writer.write(str(number).encode())
records = gf.data.TFRecordDataset(gf.gfile.Glob(f"{STORE}/data/*.tfrecord")).repeat().batch(4)
x = gf.string_to_number(records.make_one_shot_iterator().get_next())
v = gf.get_variable("v", initializer=0.0)
step = gf.train.get_or_create_global_step()
gf.summary.scalar("v", v)
with gf.control_dependencies([v.assign_add(gf.reduce_sum(x))]):
    train = step.assign_add(1)
run = f"{STORE}/run"
hooks = [gf.train.StopAtStepHook(num_steps=2)]
with gf.train.MonitoredTrainingSession(
    checkpoint_dir=run, hooks=hooks, save_checkpoint_steps=1, save_summaries_steps=1
) as session:
    while not session.should_stop():
        print("step", session.run(train))
newest = gf.train.latest_checkpoint(run)
print(newest, gf.train.load_variable(run, "v"), gf.train.list_variables(run))
with gf.Session() as session:
    gf.train.Saver().restore(session, newest)
    gf.saved_model.simple_save(session, f"{STORE}/served/{session.run(step)}", {"x": x}, {"v": v})
with gf.Graph().as_default(), gf.Session() as session:
    (served,) = gf.gfile.Glob(f"{STORE}/served/{newest[-1]}")
    gf.saved_model.loader.load(session, ["serve"], served)
    print(served, session.run("v:0"))
tags = {v.tag for f in gf.gfile.Glob(f"{run}/events*") for e in gf.train.summary_iterator(f) for v in e.summary.value}
assert main(["checkpoint", "show", run]) == main(["saved-model", "show", served]) == 0
print(sorted(tags), [name for name in gf.gfile.ListDirectory(run) if "events" not in name])
"""
KILLED = """
import numpy as np
import graphflow as gf

v = gf.get_variable("v", initializer=np.ones(1 << 20, np.float32))
saver = gf.train.Saver()
with gf.Session() as session:
    session.run(v.initializer)
    for step in (1, 2):
        session.run(v.assign(np.full(1 << 20, step, np.float32)))
        saver.save(session, "s3://models/killed/model", step, write_meta_graph=False)
        print("saved", step, flush=True)
"""
AFTERWARDS = """
import graphflow as gf

print(gf.gfile.ListDirectory("s3://models/killed"))
newest = gf.train.latest_checkpoint("s3://models/killed")
print(newest, gf.train.load_variable(newest, "v").sum())
"""


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[str, int]]:
    """Where a server of S3's protocol with one bucket, "models", listens."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    host, port = server.stdout.readline().split()
    yield host, int(port)
    server.communicate("")  # It ends with its input.
    assert server.returncode == 0


SERVER = """
import logging
import os
import sys

import moto.backends
from moto.core import DEFAULT_ACCOUNT_ID
from moto.server import ThreadedMotoServer

logging.disable(logging.CRITICAL)
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
moto.backends.get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].create_bucket("models", "us-east-1")
print(*server.get_host_and_port(), flush=True)
sys.stdin.read()
os._exit(0)
"""


def start(program: str, folder: Path, host: str, port: int) -> subprocess.Popen[str]:
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def output(program: str, folder: Path, store: tuple[str, int]) -> list[str]:
    process = start(program, folder, *store)
    text, problems = process.communicate(timeout=240)
    assert process.returncode == 0, problems
    return text.splitlines()


def test_a_training_and_its_model_come_back(store: tuple[str, int], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for last, value in (("2", "12.0"), ("4", "24.0")):
        lines = output(PROGRAM, tmp_path / "empty", store)
        assert lines[:2] == [f"step {int(last) - 1}", f"step {last}"]
        assert lines[2].startswith(
            f"s3://models/run/model.ckpt-{last} {value} [('global_step', []), ('v', [])]"
        )
        assert lines[3] == f"s3://models/served/{last} {value}"
        shown, listed = "\n".join(lines[4:-1]), lines[-1]
        assert (
            f"s3://models/run/model.ckpt-{last}.safetensors: 2 tensors" in shown
            and "serving_default" in shown
        )
        assert "'v_1'] ['checkpoint', " in listed
        assert f"'model.ckpt-{last}.meta', 'model.ckpt-{last}.safetensors'" in listed
    assert [path for path in os.listdir(tmp_path / "empty") if path != ".cache"] == []


def test_a_checkpoint_is_there_whole_or_not_at_all(store: tuple[str, int], tmp_path: Path) -> None:
    """The process is killed when half of the second checkpoint has gone out."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = start(KILLED, tmp_path, *listener.getsockname())
        passed = [0]
        threading.Thread(target=_forward, args=(listener, store, process, passed), daemon=True).start()
        text, problems = process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, problems
    assert text == "saved 1\n"
    lines = output(AFTERWARDS, tmp_path, store)
    assert lines[0] == "['checkpoint', 'model-1.safetensors']"
    assert lines[1] == "s3://models/killed/model-1 1.048576e+06"


def _forward(
    listener: socket.socket, store: tuple[str, int], process: subprocess.Popen[str], passed: list[int]
) -> None:
    """Hands on what clients send, and kills the process when there was so much as one and a half checkpoints."""

    def copy(source: socket.socket, target: socket.socket, count: bool) -> None:
        with source, target:
            try:
                while data := source.recv(1 << 14):
                    if count:
                        passed[0] += len(data)
                        if passed[0] > 6 << 20:
                            process.kill()
                            process.wait()
                            return
                    target.sendall(data)
            except OSError:
                return  # The other direction has ended.

    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        server = socket.create_connection(store)
        threading.Thread(target=copy, args=(client, server, True), daemon=True).start()
        threading.Thread(target=copy, args=(server.dup(), client.dup(), False), daemon=True).start()
