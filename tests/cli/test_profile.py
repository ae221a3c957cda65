"""Protects graphflow profile: the program runs as it is, and what it spent its time on is printed and on a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graphflow.cli.main import main

_PROGRAM = """
import sys
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.Variable(tf.ones([3]), name="w")
step = w.assign_sub(tf.reduce_sum(tf.tanh(x * w), 0) * 0.01, name="step")
config = tf.ConfigProto(compiled="always")
with tf.Session(config=config) as session:
    session.run(w.initializer)
    for _ in range(int(sys.argv[1])):
        value = session.run(step, {x: np.ones((4, 3))})
print("ended with", value.tobytes().hex())
sys.exit(3)
"""


def test_a_program_is_profiled_as_it_is(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(_PROGRAM)
    command = [sys.executable, "-m", "graphflow"]
    runs = [
        subprocess.run([*command, *way, str(program), "18"], cwd=tmp_path, capture_output=True, text=True)
        for way in (["run"], ["profile"])
    ]
    assert [run.returncode for run in runs] == [3, 3], runs[1].stderr
    (bits,) = runs[0].stdout.splitlines()
    printed = runs[1].stdout.splitlines()
    assert printed[0] == bits and bits.startswith("ended with")
    (first,) = [number for number, line in enumerate(printed) if line.startswith("step:")]
    assert ": compiled: " in printed[first] and printed[first + 1].startswith("runs: 18 in ")
    assert any("Tanh" in line and "fused" in line for line in printed[first:])
    assert printed[-1] == f"The page is {tmp_path / 'profile.html'}."
    assert "Timeline of a step" in (tmp_path / "profile.html").read_text("utf-8")


def test_what_cannot_be_written_is_said_before_the_program_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["profile", "--html", str(tmp_path / "none" / "page.html"), "train.py"]) == 2
    assert "There is no folder" in capsys.readouterr().err
    assert main(["profile", "--plans", "0", "train.py"]) == 2
    assert "--plans is 0" in capsys.readouterr().err
