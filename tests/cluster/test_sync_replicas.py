"""Protects synchronous training on a cluster whose workers are killed: each gradient counts once, and the bits stay.

Two ps tasks and three workers, each a process. The workers are killed with SIGKILL, the chief too, at moments that
follow from a seed, and started again. Promise 5: who is gone for good is named within five seconds.
"""

from __future__ import annotations

import functools
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

import graphflow as gf
from tests.cluster import sync_role
from tests.cluster.processes import Processes
from tests.machine_clock import MachineClock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

STEPS = 100
KILLS = 3


@pytest.fixture
def train(tmp_path: Path) -> Iterator[Any]:
    with ExitStack() as stack:

        def begin(kind: str = "worker", steps: int = STEPS) -> Processes:
            run = stack.enter_context(
                Processes(tmp_path / kind, "tests.cluster.sync_role", {"ps": 2, "worker": 3})
            )
            for index in range(2):
                run.start("ps", index)
            for index in range(3):
                run.start(kind, index, steps=steps)
            return run

        yield begin


def end(run: Processes, kind: str = "worker") -> dict[str, Any]:
    """What a training ends with."""
    for index in range(3):
        assert run.ended(kind, index) == 0, run.text()
    result: dict[str, Any] = json.loads((run.folder / "result").read_text())
    return result


def seeds(short: int) -> list[Any]:
    return [*range(short), *(pytest.param(n, marks=pytest.mark.slow) for n in range(short, 50))]


@functools.cache
def alone(kind: str) -> list[list[str]]:
    """The model that one process trains with the same sums and nobody to wait for."""
    with gf.Graph().as_default(), gf.Session() as session:
        step, variables = gf.train.get_or_create_global_step(), sync_role.model()
        found = [gf.gradients(sync_role.loss(variables, step, w), variables) for w in range(3)]
        dense, rows = zip(*found, strict=True)
        values = gf.concat([g.values for g in rows], 0) / 3.0
        mean = gf.IndexedSlices(values, gf.concat([g.indices for g in rows], 0), rows[0].dense_shape)
        pairs = [(((dense[0] + dense[1]) + dense[2]) / 3.0, variables[0]), (mean, variables[1])]
        optimizer = sync_role.optimizer() if kind == "sgd" else gf.train.AdamOptimizer(0.03125)
        train_op = optimizer.apply_gradients(pairs, step)
        session.run(gf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train_op)
        return sync_role.bits(session.run(variables))


@pytest.mark.parametrize("seed", seeds(1))
def test_killed_workers_change_neither_what_counts_nor_the_bits(seed: int, train: Any) -> None:
    run, chance = train(), random.Random(seed)
    for number in range(KILLS):
        run.wait_until(60 * number + 30)
        time.sleep(chance.random() * 0.02)
        worker = chance.randrange(3)
        run.signal("worker", worker, signal.SIGKILL)
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.3)
        run.start("worker", worker, steps=STEPS)
    found = end(run)
    first, second = ({int(tag): count for tag, count in ledger.items()} for ledger in found["ledgers"])
    assert first == second, "a round was applied to one variable and not to another"
    assert set(first.values()) == {1.0}, "a gradient was applied twice"
    assert len(first) == 3 * STEPS, "a round took other than three gradients"
    acknowledged = run.acknowledged()
    assert set(acknowledged) <= first.keys(), "an acknowledged gradient was not applied"
    assert len(acknowledged) >= 3 * STEPS - 3 * KILLS
    assert found["model"] == alone("sgd")


@pytest.mark.slow
def test_undisturbed_the_bits_are_those_of_one_process(train: Any) -> None:
    assert end(train("monitored"), "monitored")["model"] == alone("adam")


@pytest.mark.slow
def test_a_chief_killed_between_checkpoints_changes_no_bit(train: Any) -> None:
    run = train("monitored")
    for step in (45, 70):
        run.wait_until(3 * step)
        run.signal("monitored", 0, signal.SIGKILL)
        run.start("monitored", 0, steps=STEPS)
    found = end(run, "monitored")
    assert found["step"] == STEPS
    assert found["model"] == alone("adam")


@pytest.mark.parametrize("seed", seeds(1))
def test_promise_7_whoever_is_killed_the_bits_are_the_same(seed: int, train: Any) -> None:
    run, chance = train("monitored"), random.Random(seed)
    for number in range(KILLS):
        run.wait_until(60 * number + 30)
        time.sleep(chance.random() * 0.02)
        role, index = chance.choice(
            [("ps", 0), ("ps", 1), ("monitored", 0), ("monitored", 1), ("monitored", 2)]
        )
        run.signal(role, index, signal.SIGKILL)
        time.sleep(chance.random() * 0.3)
        run.start(role, index, **({"steps": STEPS} if role == "monitored" else {}))
    found = end(run, "monitored")
    assert found["step"] == STEPS
    assert found["model"] == alone("adam")


def test_promise_5_a_worker_that_stays_away_is_named_within_five_seconds(train: Any) -> None:
    run = train(steps=100_000)
    run.wait_until(30)
    other = run.latest("worker", 0)
    with MachineClock() as clock:
        killed = clock.seconds
        run.signal("worker", 2, signal.SIGKILL)
        while "AGAIN UnavailableError" not in run.log(other):
            assert clock.seconds < killed + 5, run.text()
            time.sleep(0.05)
    line = next(x for x in run.log(other).splitlines() if x.startswith("AGAIN UnavailableError"))
    assert "/job:worker/replica:0/task:2" in line
    count = len(run.acknowledged())
    run.start("worker", 2, steps=100_000)
    run.wait_until(count + 30)
