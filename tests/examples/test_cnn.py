"""Protects the long training: killed at any moment and started again, it ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf

pytest.importorskip("tensorboard")

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = PROJECT / "examples" / "digits" / "cnn.py"
STEPS, SAVE_STEPS, KILLS = 210, 10, 20


def _start(folder: Path) -> subprocess.Popen[str]:
    flags = ["--folder", str(folder), "--steps", str(STEPS), "--save_steps", str(SAVE_STEPS)]
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


def _saved_step(folder: Path) -> int:
    steps = [int(path.stem.rpartition("-")[2]) for path in folder.glob("model.ckpt-*.safetensors")]
    return max(steps, default=-1)


def _values(folder: Path) -> dict[str, np.ndarray]:
    reader = gf.train.load_checkpoint(str(folder))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.mark.timeout(600)
def test_killed_at_twenty_random_moments_it_ends_with_the_same_weights_bit_for_bit(tmp_path: Path) -> None:
    undisturbed = _start(tmp_path / "undisturbed")
    output, _ = undisturbed.communicate(timeout=200)
    assert undisturbed.returncode == 0, output

    chance, folder = random.Random(20), tmp_path / "killed"
    killed = 0
    for kill in range(KILLS):
        process = _start(folder)
        # Past the point where the one before was killed, then at any moment: in a step, a save or a summary.
        reached = min(SAVE_STEPS * kill, STEPS - 2 * SAVE_STEPS)
        deadline = time.monotonic() + 100
        while process.poll() is None and _saved_step(folder) < reached:
            assert time.monotonic() < deadline, "no checkpoint"
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate(timeout=100)
        if process.returncode == 0:  # On a busy machine it may be through its last steps first.
            break
        assert process.returncode == -signal.SIGKILL, output
        killed += 1
    assert killed > KILLS // 2
    last = _start(folder)
    output, _ = last.communicate(timeout=200)
    assert last.returncode == 0, output

    expected, found = _values(tmp_path / "undisturbed"), _values(folder)
    assert found["global_step"] == STEPS
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name].tobytes() != expected[name].tobytes()] == []
