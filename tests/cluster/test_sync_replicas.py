"""Protects synchronous training on a cluster whose workers are killed: each gradient counts once, and the bits stay.

Two ps tasks and three workers, each a process. The workers are killed with SIGKILL, the chief too, at moments that
follow from a seed, and started again. Promise 5: who is gone for good is named within five seconds.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sync_role

import graphflow as gf

PROJECT = Path(__file__).resolve().parents[2]
STEPS = 100
KILLS = 3


class Cluster:
    """The processes of one run."""

    def __init__(self, folder: Path, steps: int, kind: str) -> None:
        ports = []
        for _ in range(5):
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                ports.append(f"localhost:{found.getsockname()[1]}")
        self.spec = {"ps": ports[:2], "worker": ports[2:]}
        self.folder, self.steps, self.kind = folder, steps, kind
        self.all: list[subprocess.Popen[str]] = []
        self.logs: list[Path] = []
        for index in range(2):
            self.start("ps", index)
        self.workers = [self.start(kind, index) for index in range(3)]

    def start(self, job: str, index: int) -> subprocess.Popen[str]:
        log = self.folder / f"log_{len(self.all)}_{job}_{index}"
        command = [sys.executable, str(PROJECT / "tests/cluster/sync_role.py"), job, str(index)]
        command += [json.dumps(self.spec), str(self.folder), str(self.steps)]
        with log.open("w") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, text=True, cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
            )  # fmt: skip
        self.all.append(process)
        self.logs.append(log)
        return process

    def kill(self, worker: int) -> None:
        self.workers[worker].send_signal(signal.SIGKILL)
        self.workers[worker].wait()

    def start_again(self, worker: int) -> None:
        self.workers[worker] = self.start(self.kind, worker)

    def acknowledged(self) -> list[int]:
        files = sorted(self.folder.glob("acknowledged_*"))
        return [int(line) for file in files for line in file.read_text().splitlines()]

    def wait_until(self, count: int, seconds: float = 60) -> None:
        """Until so many steps in all are acknowledged."""
        limit = time.monotonic() + seconds
        while len(self.acknowledged()) < count:
            assert time.monotonic() < limit, self.text()
            time.sleep(0.005)

    def finish(self, seconds: float = 60) -> dict[str, Any]:
        limit = time.monotonic() + seconds
        for worker in self.workers:
            try:
                assert worker.wait(max(0.1, limit - time.monotonic())) == 0, self.text()
            except subprocess.TimeoutExpired:
                raise AssertionError(self.text()) from None
        result: dict[str, Any] = json.loads((self.folder / "result").read_text())
        return result

    def text(self) -> str:
        return "\n".join(f"{log.name}\n{log.read_text()[-2000:]}" for log in self.logs)

    def close(self) -> None:
        for process in self.all:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    made: list[Cluster] = []

    def make(name: str, steps: int = STEPS, kind: str = "worker") -> Cluster:
        (tmp_path / name).mkdir()
        made.append(Cluster(tmp_path / name, steps, kind))
        return made[-1]

    yield make
    for each in made:
        each.close()


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


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 50))])
def test_killed_workers_change_neither_what_counts_nor_the_bits(seed: int, cluster: Any) -> None:
    run, chance = cluster("killed"), random.Random(seed)
    for number in range(KILLS):
        run.wait_until(60 * number + 30)
        time.sleep(chance.random() * 0.02)
        worker = chance.randrange(3)
        run.kill(worker)
        if chance.random() < 0.5:
            time.sleep(chance.random() * 0.3)
        run.start_again(worker)
    found = run.finish()
    first, second = ({int(tag): count for tag, count in ledger.items()} for ledger in found["ledgers"])
    assert first == second, "a round was applied to one variable and not to another"
    assert set(first.values()) == {1.0}, "a gradient was applied twice"
    assert len(first) == 3 * STEPS, "a round took other than three gradients"
    acknowledged = run.acknowledged()
    assert set(acknowledged) <= first.keys(), "an acknowledged gradient was not applied"
    assert len(acknowledged) >= 3 * STEPS - 3 * KILLS
    assert found["model"] == alone("sgd")


@pytest.mark.parametrize(
    "moments", [(45, 70), pytest.param((), marks=pytest.mark.slow)], ids=["killed", "undisturbed"]
)
def test_a_chief_killed_between_checkpoints_changes_no_bit(moments: tuple[int, ...], cluster: Any) -> None:
    run = cluster("monitored", kind="monitored")
    for step in moments:
        run.wait_until(3 * step)
        run.kill(0)
        run.start_again(0)
    found = run.finish()
    assert found["step"] == STEPS
    assert found["model"] == alone("adam")


def test_promise_5_a_worker_that_stays_away_is_named_within_five_seconds(cluster: Any) -> None:
    run = cluster("gone", steps=100_000)
    run.wait_until(30)
    run.kill(2)
    killed = time.monotonic()
    while "AGAIN UnavailableError" not in run.logs[2].read_text():
        assert time.monotonic() < killed + 5, run.text()
        time.sleep(0.05)
    (line,) = [x for x in run.logs[2].read_text().splitlines() if x.startswith("AGAIN UnavailableError")][:1]
    assert "/job:worker/replica:0/task:2" in line
    count = len(run.acknowledged())
    run.start_again(2)
    run.wait_until(count + 30)
