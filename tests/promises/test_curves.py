"""Protects promise 39: the curves that people look at.

They do not overlap after a recovery, are written without being asked for, and what was written before a crash can be
read. That the chief alone writes them is in tests/train/sessions/test_session_recovery.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import graphflow as gf

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def train(folder: Path, until: int, raise_at: int | None = None, is_chief: bool = True) -> None:
    """Trains to a step, with a checkpoint every 10 steps; an error ends it at `raise_at`."""
    with gf.Graph().as_default():
        step = gf.train.get_or_create_global_step()
        gf.summary.scalar("loss", gf.to_float(step) * 2.0)
        advance = step.assign_add(1)
        with gf.train.MonitoredTrainingSession(
            is_chief=is_chief,
            checkpoint_dir=str(folder),
            save_checkpoint_steps=10,
            save_summaries_steps=1,
            progress=False,
            max_wait_secs=1,
        ) as session:
            while not session.should_stop():
                if session.run(advance) == raise_at:
                    raise KeyError("crash")
                if session.run_step_fn(lambda context: context.session.run(step)) == until:
                    break


def curve(folder: Path) -> list[tuple[int, float]]:
    """The points of the loss as TensorBoard shows them."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return [(point.step, point.value) for point in events.Scalars("loss")]


def test_promise_39_curves_do_not_overlap_after_a_recovery(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        train(tmp_path, 100, raise_at=17)
    assert curve(tmp_path)[-1][0] in (16, 17)
    # As after a SIGKILL: the checkpoint that a tidy end wrote is not there.
    newest = gf.train.latest_checkpoint(str(tmp_path))
    if newest.endswith("-17"):
        (tmp_path / "model.ckpt-17.safetensors").unlink()
    train(tmp_path, 25)
    steps = [step for step, _ in curve(tmp_path)]
    assert steps == sorted(set(steps)), "steps 11 to 17 stand there twice"
    assert steps[-1] >= 24 and {5, 12, 20} <= set(steps)


CRASH = """
import os, signal, sys
import graphflow as gf
step = gf.train.get_or_create_global_step()
gf.summary.scalar("loss", gf.to_float(step) * 2.0)
advance = step.assign_add(1)
session = gf.train.MonitoredTrainingSession(checkpoint_dir=sys.argv[1], save_summaries_steps=1, progress=False)
while True:
    if session.run(advance) == 7:
        {end}
"""


@pytest.mark.parametrize(
    ("end", "last"),
    [
        ("raise SystemError('crash')", 6),
        ("sys.exit(3)", 6),
        ("os.kill(os.getpid(), signal.SIGKILL)", 0),  # nobody can write after that: what is there is whole
    ],
)
def test_promise_39_what_came_before_a_crash_can_be_read(tmp_path: Path, end: str, last: int) -> None:
    process = subprocess.run(
        [sys.executable, "-c", CRASH.format(end=end), str(tmp_path)],
        capture_output=True, text=True, cwd=PROJECT, timeout=60, env={**os.environ},
    )  # fmt: skip
    assert process.returncode != 0
    points = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    points.Reload()
    found = points.Scalars("loss") if "loss" in points.Tags()["scalars"] else []
    steps = [point.step for point in found]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= last, process.stderr
    assert [point.value for point in found] == [
        2.0 * (step - 1) for step in steps
    ]  # read before the step is counted
