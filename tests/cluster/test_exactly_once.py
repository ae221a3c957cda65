"""Protects what a training relies on: a run that returned has changed each variable once, whatever died meanwhile.

Two ps tasks, two worker tasks that only serve, and two clients with MonitoredTrainingSession, each with a worker as its
master. Masters are killed with SIGKILL at moments that follow from a seed, or a ps is stopped for longer than others
wait for a sign of life. So answers are lost, and steps are cut off between the two ps tasks; the sessions repeat them.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import once_role
from tests.cluster.processes import Processes

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

STEPS = 60
KILLS = 3
STOPPED_SECONDS = 6.0


TRAININGS = 4
"""How many are made at most until one was disturbed: a busy machine may stop the test until the training is over."""


def _disturbed(
    folder: Path, replicas: int, disturb: Callable[[Processes], None]
) -> tuple[dict[str, Any], list[int]]:
    """What a training ends with in which a session had to be made anew, and what was acknowledged."""
    for number in range(TRAININGS):
        found, acknowledged, recoveries = _train(folder / str(number), replicas, disturb)
        _check(found, acknowledged)
        if recoveries:
            return found, acknowledged
    raise AssertionError(f"no session was made anew in {TRAININGS} trainings")


def _train(
    folder: Path, replicas: int, disturb: Callable[[Processes], None]
) -> tuple[dict[str, Any], list[int], int]:
    """What a training ends with, what was acknowledged, and how often a session was made anew."""
    clients = range(once_role.CLIENTS)
    with Processes(folder, "tests.cluster.once_role", {"ps": 2, "worker": once_role.CLIENTS}) as run:
        for role, count in (("ps", 2), ("worker", once_role.CLIENTS)):
            for index in range(count):
                run.start(role, index)
        for index in clients:
            run.start("client", index, steps=STEPS, replicas=replicas)
        disturb(run)
        for index in clients:
            assert run.ended("client", index) == 0, run.text()
        recoveries = sum(int((folder / f"recoveries_{index}").read_text()) for index in clients)
        return json.loads((folder / "result").read_text()), run.acknowledged(), recoveries


def _kills(seed: int) -> Callable[[Processes], None]:
    def disturb(run: Processes) -> None:
        chance = random.Random(seed)
        for number in range(KILLS):
            run.wait_until(10 + number * 2 * STEPS // (KILLS + 1))
            time.sleep(chance.random() * 0.01)
            index = chance.randrange(once_role.CLIENTS)
            run.signal("worker", index, signal.SIGKILL)
            time.sleep(chance.random() * 0.1)
            run.start("worker", index)

    return disturb


def _stop(run: Processes) -> None:
    run.wait_until(20)
    run.signal("ps", 1, signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    run.signal("ps", 1, signal.SIGCONT)


def _check(found: dict[str, Any], acknowledged: list[int]) -> None:
    first, second = ({int(tag): count for tag, count in ledger.items()} for ledger in found["ledgers"])
    assert {n for ledger in (first, second) for n in ledger.values()} == {1.0}, "a gradient was applied twice"
    assert first.keys() == second.keys() == set(acknowledged), "not all that was acknowledged was applied"
    assert len(acknowledged) == len(set(acknowledged)) == once_role.CLIENTS * STEPS


def _seeds(short: int) -> list[Any]:
    return [*range(short), *(pytest.param(n, marks=pytest.mark.slow) for n in range(short, 50))]


@pytest.mark.parametrize("seed", _seeds(2))
def test_promise_8_each_gradient_counts_once_where_masters_are_killed(seed: int, tmp_path: Path) -> None:
    found, acknowledged = _disturbed(tmp_path, 0, _kills(seed))
    assert found["step"] == len(acknowledged)


@pytest.mark.parametrize("seed", _seeds(1))
def test_promise_8_each_gradient_counts_once_in_rounds_where_masters_are_killed(
    seed: int, tmp_path: Path
) -> None:
    found, _ = _disturbed(tmp_path, once_role.CLIENTS, _kills(seed))
    assert found["step"] == STEPS


@pytest.mark.parametrize("replicas", [0, pytest.param(once_role.CLIENTS, marks=pytest.mark.slow)])
def test_promise_8_each_gradient_counts_once_where_a_ps_was_stopped(replicas: int, tmp_path: Path) -> None:
    found, acknowledged = _disturbed(tmp_path, replicas, _stop)
    assert found["step"] == (STEPS if replicas else len(acknowledged))
