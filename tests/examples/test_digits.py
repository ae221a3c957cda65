"""Protects the demos: they learn, say how it goes without a terminal, and leave a picture."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import graphflow as gf

PROJECT = Path(__file__).resolve().parents[2]
DEMO = PROJECT / "examples" / "digits" / "digits.py"


def test_demo_trains_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    process = subprocess.run(
        [sys.executable, str(DEMO), "--steps", "600", "--out", str(picture)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert process.returncode == 0, process.stdout + process.stderr  # 1 where the accuracy is below 96 %
    lines = process.stdout.splitlines()
    assert sum(line.startswith("step ") and "/600 " in line for line in lines) == 10
    assert "\r" not in process.stdout
    placed = {tuple(line.split()[:2]) for line in lines}
    assert {("first", "device:CPU:0"), ("logits", "device:CPU:0"), ("loss", "device:CPU:1")} <= placed
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_demo_trains_on_a_cluster_and_says_which_task_did_what(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    options = ["--ps", "1", "--workers", "2", "--local-devices", "2"]
    program = [str(DEMO.with_name("cluster.py")), "--steps", "800", "--out", str(picture)]
    process = subprocess.run(
        [sys.executable, "-m", "graphflow.cli", "launch", *options, *program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert process.returncode == 0, process.stdout + process.stderr  # 1 where the accuracy is below 96 %
    chief = [
        line.removeprefix("[worker 0] ")
        for line in process.stdout.splitlines()
        if line.startswith("[worker 0]")
    ]
    placed = {" ".join(line.split()[:5]) for line in chief}
    assert {"first ps 0 cpu 0", "logits worker 0 cpu 0", "loss worker 0 cpu 1"} <= placed
    held = {" ".join(line.split()[:4]) for line in chief}
    assert {"ps 0 21 variables,"} <= held
    made = [int(line.split()[3]) for line in process.stdout.splitlines() if " made " in line]
    assert len(made) == 2 and 800 <= sum(made) <= 802 and min(made) > 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_data_are_the_real_images() -> None:
    images, labels = gf.examples.digits()
    assert images.shape == (1797, 8, 8)
    assert images.max() == 16
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
