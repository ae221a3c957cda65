"""Protects training by allreduce when workers are killed: the others say who is gone, and all go on where they were.

Four workers, each a process, one of which is killed with SIGKILL in the middle of a step and started again. Promise 10.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import graphflow as gf
from tests.cluster import collective_role
from tests.cluster.processes import Processes
from tests.machine_clock import MachineClock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

STEPS = 96


def alone() -> list[str]:
    """The model that one process trains with the same sums."""
    with gf.Graph().as_default(), gf.Session(config=collective_role.CONFIG) as session:
        counter = gf.train.get_or_create_global_step()
        model = gf.get_variable("model", initializer=collective_role.initial())
        found = [collective_role.gradients(model, counter, w) for w in range(collective_role.WORKERS)]
        total = (((found[0] + found[1]) + found[2]) + found[3]) / 4.0
        train_op = gf.train.AdamOptimizer(0.03125).apply_gradients([(total, model)], counter)
        session.run(gf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train_op)
        return [number.hex() for number in session.run(model).tolist()[::1000]]


@pytest.mark.parametrize("victim", [2, pytest.param(0, marks=pytest.mark.slow)])
def test_promise_10_a_worker_killed_in_a_step_is_named_and_all_go_on_from_the_checkpoint(
    victim: int, tmp_path: Path
) -> None:
    workers = range(collective_role.WORKERS)
    with (
        Processes(tmp_path / "run", "tests.cluster.collective_role", {"worker": len(workers)}) as run,
        ExitStack() as stack,
    ):
        for index in workers:
            run.start("worker", index, steps=STEPS)
        run.wait_until(4 * 12)
        clock = stack.enter_context(MachineClock())
        run.signal("worker", victim, signal.SIGKILL)
        killed = clock.seconds
        others = [index for index in workers if index != victim]
        name = f"/job:worker/replica:0/task:{victim}"
        waiting = set(others)
        while waiting:
            assert clock.seconds < killed + 5.0, f"not all have named it\n{run.text()}"
            time.sleep(0.02)
            logs = {index: run.log(run.latest("worker", index)) for index in waiting}
            waiting = {
                i for i in waiting if f"The task {name} at" not in logs[i] or logs[i].count("begins") < 2
            }
        run.start("worker", victim, steps=STEPS)
        for index in workers:
            assert run.ended("worker", index) == 0, run.text()
        results = [json.loads((run.folder / f"result_{index}").read_text()) for index in workers]
        expected = alone()
        differing = {
            index: sum(a != b for a, b in zip(result["model"], expected, strict=True))
            for index, result in enumerate(results)
        }
        assert not any(differing.values()), (
            f"numbers by worker that differ from one process's: {differing}\n{run.text()}"
        )
        for index in others:
            (reason,) = results[index]["reasons"]
            assert reason.startswith("UnavailableError") and f"The task {name}" in reason
