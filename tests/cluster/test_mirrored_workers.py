"""Protects training mirrored over tasks from a worker's death.

Promise 5: the others notice within 5 s, name it, and under MonitoredTrainingSession go on from the checkpoint when it
is back; all workers then have the same bits.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.processes import Processes
from tests.machine_clock import MachineClock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)


def steps(log: str) -> dict[int, str]:
    """The weights by step, as a process printed them last."""
    return {int(n): w for n, w in re.findall(r"^step (\d+) (.+)$", log, re.M)}


def until(condition: Callable[[], bool], what: Callable[[], str], seconds: float) -> float:
    """Waits, and returns how long."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds, what()
        time.sleep(0.02)
    return time.monotonic() - begin


@pytest.mark.parametrize("victim", [2, pytest.param(0, marks=pytest.mark.slow)])
def test_promise_5_a_killed_worker_is_noticed_and_all_go_on_together(tmp_path: Path, victim: int) -> None:
    with Processes(tmp_path, "tests.cluster.mirrored_role", {"worker": 4}) as run, ExitStack() as stack:
        for index in range(4):
            run.start("worker", index, steps=18)
        others = [i for i in range(4) if i != victim]
        until(lambda: len(steps(run.log(run.latest("worker", 1)))) >= 7, run.text, 60)
        clock = stack.enter_context(MachineClock())
        run.signal("worker", victim, signal.SIGKILL)
        killed = clock.seconds
        noticed = f"task:{victim}"

        def told(index: int) -> bool:
            log = run.log(run.latest("worker", index))
            return any(
                noticed in line and ("Unavailable" in line or "gone" in line) for line in log.splitlines()
            )

        until(lambda: all(told(i) for i in others), run.text, 60)
        assert clock.seconds - killed < 5
        run.start("worker", victim, steps=18)
        for index in range(4):
            assert run.ended("worker", index, 60) == 0, run.text()
        logs = [run.log(run.latest("worker", i)) for i in range(4)]
    reached = [steps(log) for log in logs]
    assert [max(found) for found in reached] == [18] * 4
    for number in range(14, 19):
        assert len({found[number] for found in reached}) == 1
