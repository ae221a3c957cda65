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

import pytest
from processes import Processes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

Train = Callable[[int], Processes]


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Train]:
    with ExitStack() as stack:

        def begin(save_steps: int) -> Processes:
            run = stack.enter_context(Processes(tmp_path, "once_role", {"ps": 2, "worker": 2}))
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
    run = train(25)
    run.wait_until(70)
    run.signal("ps", index, signal.SIGKILL)
    run.start("ps", index)
    before = set(run.acknowledged())
    run.wait_until(len(before) + 30)
    first, second, step = _end(run)
    acknowledged = set(run.acknowledged())
    assert {*first.values(), *second.values()} == {1.0}, "an update was applied twice"
    lost = acknowledged - (first.keys() & second.keys())
    ((reached, restored),) = _recoveries(run, "trainer_0_0")
    assert restored < reached, "nothing was lost: the test kills too late"
    assert f"Training goes back from step {reached} to step {restored}" in run.log("trainer_0_0")
    assert lost <= before, "what was acknowledged after the recovery was lost"
    # A step of each worker may have been saved in half, and one of each may have ended after the step was seen.
    assert len(lost) <= reached - restored + 4
    assert reached - restored <= 25 + 4, "more was lost than a save interval"
    assert len(first.keys() ^ second.keys()) <= 2
    assert abs(step - len(first)) <= 2
    assert len(_recoveries(run, "trainer_1_0")) == 1


def test_promise_7_what_cannot_be_restored_ends_the_training(train: Train) -> None:
    run = train(0)
    run.wait_until(20)
    run.signal("ps", 1, signal.SIGKILL)
    run.start("ps", 1)
    assert run.ended("trainer", 0) != 0
    text = run.log("trainer_0_0")
    assert "DataLossError" in text and "give the chief a checkpoint_dir" in text
