"""Protects graphflow simulate: a program for a cluster runs as its first worker, and the cluster is simulated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphflow.cli.main import main

_PROGRAM = """
import sys
import numpy as np
import tensorflow as tf

job, index, ps_hosts = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
assert (job, index, len(ps_hosts)) == ("worker", 0, 2)
server = tf.train.Server.from_environment()
with tf.device(tf.train.replica_device_setter(2, worker_device="/job:worker/task:0")):
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", [3, 5])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 8)
    step = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
config = tf.ConfigProto(compiled="never")
with tf.train.MonitoredTrainingSession(server.target, True, config=config) as session:
    while not session.should_stop():
        print("loss", session.run([step, loss], {x: np.ones((4, 3))})[1])
"""


def test_a_program_is_simulated(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(_PROGRAM)
    options = ["--ps", "2", "--workers", "8", "--link", "1Gbit", "--latency", "50us", "--measure", "6"]
    files = ["--over", "1,4,8", "--trace", "trace.json", "--html", "page.html"]
    words = [*options, str(program), *files, "--", "{job_name}", "{task_index}", "{ps_hosts}"]
    command = [sys.executable, "-m", "graphflow", "simulate", *words]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    printed = found.stdout.splitlines()
    assert sum(line.startswith("loss") for line in printed) == 5, "the sixth run ends it"
    assert "2 ps, 8 workers, links of 1Gbit, latency 50 us" in printed
    (rate,) = [line for line in printed if line.startswith("steps per second: ")]
    assert float(rate.rpartition(" ")[2]) > 0
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert any("update_w" in event["name"] for event in trace), "it is the training step that is simulated"
    assert [line.split()[0] for line in printed[printed.index("workers  steps/s") + 1 :][:3]] == [
        "1",
        "4",
        "8",
    ]
    assert "<svg" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--link", "fast"], "link is 'fast'"),
        (["--workers", "0"], "needs a worker"),
        (["--steps", "1"], "--steps and --measure must be at least 2"),
        (["--trace", "none/trace.json"], "There is no folder"),
        ([], "There is no file train.py"),
    ],
)
def test_what_cannot_be_is_said(
    words: list[str],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", *words, "train.py"]) == 2
    assert text in capsys.readouterr().err


def test_a_program_without_sessions_of_the_cluster_is_told_so(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import graphflow as gf\ngf.Session().run(gf.constant(1))\n")
    command = [sys.executable, "-m", "graphflow", "simulate", str(program)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 2 and "must open its sessions with the target" in found.stderr
