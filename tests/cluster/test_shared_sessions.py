"""Protects programs whose threads share one monitored session, and those whose step functions have many runs.

Two ps tasks, a master and a program, each a process. While the program trains, a ps or the master stands still for
longer than its peers wait for a sign of life, or is killed and started again. However many threads there are, the
session is made anew once; each acknowledged run counts once on both ps tasks; and no thread sees an error.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.processes import Processes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

THREADS = 24
STOPPED_SECONDS = 2.5


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Processes]:
    with ExitStack() as stack:
        found = stack.enter_context(
            Processes(tmp_path / "run", "tests.cluster.threads_role", {"ps": 2, "worker": 1})
        )
        for index in range(2):
            found.start("ps", index)
        found.start("worker", 0)
        yield found


def later(run: Processes, count: int) -> None:
    """Waits until so much more is acknowledged."""
    run.wait_until(len(run.acknowledged()) + count)


def stop(run: Processes, role: str, index: int, seconds: float = STOPPED_SECONDS) -> None:
    run.signal(role, index, signal.SIGSTOP)
    time.sleep(seconds)
    run.signal(role, index, signal.SIGCONT)


def kill(run: Processes, role: str, index: int) -> None:
    run.signal(role, index, signal.SIGKILL)
    time.sleep(0.3)
    run.start(role, index)


def line(run: Processes, word: str) -> str:
    (found,) = [x for x in run.log("program_0_0").splitlines() if x.startswith(word)]
    return found.removeprefix(word).strip()


def end(run: Processes, most_recoveries: int, lost: bool = False) -> dict[str, Any]:
    """The program ends well; each acknowledged run was counted once, by both ledgers, unless a ps was `lost`."""
    (run.folder / "finish").touch()
    assert run.ended("program", 0) == 0, run.text()
    assert json.loads(line(run, "FAILED")) == [], run.text()
    found: dict[str, Any] = json.loads((run.folder / "result").read_text())
    first, second = found["ledgers"]
    assert {*first.values(), *second.values()} == {1.0}, "a run was counted twice"
    acknowledged = {str(tag) for tag in run.acknowledged()}
    if not lost:
        assert first.keys() == second.keys() == acknowledged, "what was acknowledged was not counted"
        assert found["step"] == len(acknowledged)
    # On a machine that is busy a task may seem to be gone when it is not, which the tasks say.
    losses = sum(run.log(f"{task}_0").count(" is gone.") for task in ("worker_0", "ps_0", "ps_1"))
    assert 1 <= int(line(run, "RECOVERIES")) <= max(most_recoveries, losses), run.text()
    return found


@pytest.mark.parametrize(
    "runs_a_call", [pytest.param(0, marks=pytest.mark.slow, id="runs"), pytest.param(3, id="step-functions")]
)
def test_threads_that_share_a_session_recover_together_when_a_ps_stands_still(
    runs_a_call: int, run: Processes
) -> None:
    run.start("program", 0, threads=THREADS, runs_a_call=runs_a_call)
    later(run, 200)
    stop(run, "ps", 1)
    later(run, 200)
    end(run, 1)


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_threads_that_share_a_session_recover_together_when_the_master_is_killed(
    times: int, run: Processes
) -> None:
    run.start("program", 0, threads=THREADS)
    for _ in range(times):
        later(run, 200)
        kill(run, "worker", 0)
    later(run, 200)
    end(run, times)


@pytest.mark.slow
def test_threads_go_on_from_the_checkpoint_when_a_ps_is_killed(run: Processes) -> None:
    run.start("program", 0, threads=THREADS, save_steps=50)
    later(run, 300)
    kill(run, "ps", 1)
    later(run, 200)
    end(run, 1, lost=True)


@pytest.mark.slow
def test_queue_runners_go_on_after_a_recovery(run: Processes) -> None:
    run.start("program", 0, threads=4, with_queue=True)
    for _ in range(2):
        later(run, 200)
        stop(run, "ps", 1)
    later(run, 200)
    end(run, 2)
    assert line(run, "THREADS") == "[]"


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_step_function_of_many_runs_counts_each_once(count: int, run: Processes) -> None:
    run.start("program", 0, threads=1, runs_a_call=count)
    chance = random.Random(count)
    for _ in range(3):
        later(run, count)
        time.sleep(chance.random() * 0.2)
        kill(run, "worker", 0)
    later(run, count)
    end(run, 3)


@pytest.mark.parametrize("during", ["runs", "a recovery"])
def test_a_session_that_is_closed_while_threads_run_ends_them(during: str, run: Processes) -> None:
    run.start("program", 0, threads=THREADS, ends_by="close")
    later(run, 200)
    if during == "a recovery":
        run.signal("ps", 1, signal.SIGSTOP)
        while "Still waiting" not in run.log("program_0_0"):
            time.sleep(0.02)
    (run.folder / "close").touch()
    if during == "a recovery":
        time.sleep(0.5)
        assert "CLOSED" not in run.log("program_0_0")  # It ends in order, and for that needs the ps.
        run.signal("ps", 1, signal.SIGCONT)
    assert run.ended("program", 0) == 0, run.text()
    failed = json.loads(line(run, "FAILED"))
    ends = ("RuntimeError: Session is already closed", "CancelledError: ", "ClosedSessionError: ")
    assert all(text.startswith(ends) for text in failed), failed
