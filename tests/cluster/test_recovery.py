"""Protects training from the death of a chief or a ps: promises 7 and 8, with two ps tasks and two workers that train.

Asynchronous training; each run's gradients have a tag, which two ledgers count, one on each ps task.
"""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from tests.cluster.processes import Processes
from tests.cluster.serving import serve_all, spec_of

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

Train = Callable[[int], Processes]
SAVE_STEPS = 60


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Train]:
    with ExitStack() as stack:

        def begin(save_steps: int) -> Processes:
            run = stack.enter_context(Processes(tmp_path, "tests.cluster.once_role", {"ps": 2, "worker": 2}))
            for index in range(2):
                run.start("ps", index)
            for index in range(2):
                run.start("trainer", index, save_steps=save_steps)
            return run

        yield begin


def _end(run: Processes) -> tuple[dict[int, float], dict[int, float], int]:
    """The two ledgers and the step with which a training ends."""
    (run.folder / "finish").touch()
    for index in (1, 0):
        assert run.ended("trainer", index) == 0, run.text()
    found = json.loads((run.folder / "result").read_text())
    first, second = ({int(tag): count for tag, count in ledger.items()} for ledger in found["ledgers"])
    return first, second, found["step"]


def _later(run: Processes, steps: int) -> None:
    """Waits until each trainer has made so many steps more."""
    names = ("trainer_0_0", "trainer_1_0")
    for name, there in {name: len(run.acknowledged(name)) for name in names}.items():
        run.wait_until(there + steps, name)


def _saves(run: Processes) -> int:
    """How many checkpoints the chief has said to save."""
    return run.log("trainer_0_0").count("Saving checkpoints for")


def _recoveries(run: Processes, name: str) -> list[tuple[int, int]]:
    found = re.findall(r"^RECOVERY (\d+) (\d+) ", run.log(name), re.MULTILINE)
    return [(int(before), int(after)) for before, after in found]


def test_promise_8_a_chief_killed_before_any_checkpoint_resets_nothing(train: Train) -> None:
    run = train(0)
    run.wait_until(20)
    run.signal("trainer", 0, signal.SIGKILL)
    again = run.start("trainer", 0, save_steps=0)
    run.wait_until(len(run.acknowledged()) + 20)
    first, second, step = _end(run)
    acknowledged = set(run.acknowledged())
    assert {*first.values(), *second.values()} == {1.0}
    assert acknowledged <= first.keys() & second.keys(), "an acknowledged update was lost"
    assert len((first.keys() | second.keys()) - acknowledged) <= 1  # The step that died with the chief.
    assert step >= len(acknowledged)
    ((before, after),) = _recoveries(run, again)
    assert before == after > 0
    assert "training goes on with them" in run.log(again)


@pytest.mark.parametrize("index", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_promise_7_one_ps_of_two_is_lost_and_all_is_restored_together(index: int, train: Train) -> None:
    run = train(SAVE_STEPS)
    _later(run, SAVE_STEPS)
    saves = _saves(run)
    _later(run, 1)
    while _saves(run) == saves:
        _later(run, 1)
    _later(run, 5)  # A few steps of each that the next checkpoint would have.
    run.signal("ps", index, signal.SIGKILL)
    run.start("ps", index)
    before = set(run.acknowledged())
    _later(run, 15)
    first, second, step = _end(run)
    acknowledged = set(run.acknowledged())
    assert {*first.values(), *second.values()} == {1.0}, "an update was applied twice"
    lost = acknowledged - (first.keys() & second.keys())
    ((seen, restored),) = _recoveries(run, "trainer_0_0")
    ((reached, _),) = _recoveries(run, "trainer_1_0")
    reached = max(
        seen, reached
    )  # Each knows what it has seen: the other may have trained while the chief saved.
    assert restored < reached, "nothing was lost: the test kills too late"
    log = run.log("trainer_0_0")
    assert "Training goes back from step" in log + run.log("trainer_1_0")
    assert "what is still there first" in log
    assert lost <= before, "what was acknowledged after the recovery was lost"
    # A step of each worker may have been saved in half, and one of each may have ended after the step was seen.
    assert len(lost) <= reached - restored + 4
    assert reached - restored <= SAVE_STEPS + 4, "more was lost than a save interval"
    assert len(first.keys() ^ second.keys()) <= 2
    assert abs(step - len(first)) <= 2


def _steps_of_a_chief(spec: Any, target: str, folder: str | None, count: int) -> tuple[int, int, list[Any]]:
    """The steps at which a chief begins and ends, and its recoveries; it is gone then, without a word."""
    setter = gf.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:0")
    with gf.Graph().as_default(), gf.device(setter):
        step = gf.train.get_or_create_global_step()
        value = gf.get_variable("value", initializer=1.0)
        train_op = gf.train.GradientDescentOptimizer(0.1).minimize(gf.square(value), step)
        session = gf.train.MonitoredTrainingSession(
            target, True, folder, save_checkpoint_steps=1000, save_summaries_steps=None, progress=False
        )
        first = int(session.run(step))
        for _ in range(count):
            session.run(train_op)
        last, recoveries = int(session.run(step)), list(session.recoveries)
        session._session.close()
        return first, last, recoveries


@pytest.mark.parametrize("saves", [True, False])
def test_promise_8_a_chief_that_comes_back_alone_goes_on_from_its_checkpoint_or_where_the_cluster_is(
    saves: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        spec = spec_of(stack, ps=1, worker=1)
        _, worker = serve_all(stack, spec)
        folder = str(tmp_path) if saves else None
        assert _steps_of_a_chief(spec, worker.target, folder, 5) == (0, 5, [])
        first, last, (taken,) = _steps_of_a_chief(spec, worker.target, folder, 2)
        begins = 0 if saves else 5
        assert (first, last, taken.from_step, taken.to_step) == (begins, begins + 2, 5, begins)
        told = "restored to step 0: 5 steps are lost" if saves else f"reset('{worker.target}') clears them"
        assert told in caplog.text
        gf.Session.reset(worker.target)
        assert _steps_of_a_chief(spec, worker.target, folder, 1) == (0, 1, [])


def test_promise_7_what_cannot_be_restored_ends_the_training(train: Train) -> None:
    run = train(0)
    run.wait_until(20)
    run.signal("ps", 1, signal.SIGKILL)
    run.start("ps", 1)
    assert run.ended("trainer", 0) != 0
    text = run.log("trainer_0_0")
    assert "DataLossError" in text and "give the chief a checkpoint_dir" in text
