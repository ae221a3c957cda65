"""Protects the digits under every strategy: the same model function, by `graphflow launch` where there are tasks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = str(PROJECT / "examples" / "digits" / "strategies.py")


def output(tmp_path: Path, *command: str) -> str:
    process = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout + process.stderr


@pytest.mark.parametrize("strategy", [pytest.param("one_device", marks=pytest.mark.slow), "mirrored"])
def test_digits_are_learnt_in_one_process(tmp_path: Path, strategy: str) -> None:
    assert f"{strategy}: held-out accuracy 9" in output(tmp_path, PROGRAM, strategy, "--steps", "150")


@pytest.mark.parametrize(
    ("strategy", "ps"),
    [
        ("all_reduce", 0),
        pytest.param("in_graph", 1, marks=pytest.mark.slow),
        pytest.param("parameter_server", 1, marks=pytest.mark.slow),
        pytest.param("parameter_server_sync", 1, marks=pytest.mark.slow),
    ],
)
def test_digits_are_learnt_by_two_workers(tmp_path: Path, strategy: str, ps: int) -> None:
    launch = ("-m", "graphflow.cli", "launch", "--ps", str(ps), "--workers", "2", PROGRAM)
    assert f"{strategy}: held-out accuracy 9" in output(tmp_path, *launch, strategy, "--steps", "200")
