"""Protects promise 27 on a cluster: two workers, two ps tasks, and a limit to how stale their updates are."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of

WORKERS = 3
STEPS = 20


@pytest.fixture
def cluster() -> Iterator[tuple[dict[str, list[str]], list[gf.train.Server]]]:
    with ExitStack() as stack:
        spec = spec_of(stack, ps=2, worker=WORKERS)
        yield spec, serve_all(stack, spec)[2:]


def _train(spec: Any, target: str, index: int, limit: int, mode: str) -> tuple[list[int], list[Any]]:
    """The staleness of the updates that were applied, and what the training ended with."""
    setter = gf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{index}")
    with gf.Graph().as_default(), gf.device(setter):
        step = gf.train.get_or_create_global_step()
        weights = [gf.get_variable(f"w{i}", initializer=np.zeros(3, np.float32)) for i in range(2)]
        loss = gf.add_n([gf.reduce_sum(w) for w in weights])
        optimizer = gf.train.BoundedStalenessOptimizer(gf.train.GradientDescentOptimizer(1.0), limit, mode)
        train_op = optimizer.minimize(loss, step)
        init, ready = gf.global_variables_initializer(), gf.report_uninitialized_variables()
        with gf.Session(target) as session:
            if index == 0:
                session.run(init)
            while session.run(ready).size:
                pass
            found = []
            for _ in range(STEPS):
                _, staleness, admitted = session.run([train_op, optimizer.staleness, optimizer.admitted])
                if admitted:
                    found.append(int(staleness))
            return found, [step, weights, optimizer.histogram, optimizer.dropped, target]


@pytest.mark.parametrize(("limit", "mode"), [(0, "wait"), (1, "wait"), (0, "drop")])
def test_promise_27_the_bound_holds_on_a_cluster(limit: int, mode: str, cluster: Any) -> None:
    spec, workers = cluster
    with ThreadPoolExecutor(WORKERS) as pool:
        runs = [pool.submit(_train, spec, w.target, i, limit, mode) for i, w in enumerate(workers)]
        results = [run.result(60) for run in runs]
    applied = [staleness for found, _ in results for staleness in found]
    assert max(applied) <= limit
    assert mode == "drop" or len(applied) == WORKERS * STEPS
    step, weights, histogram, dropped, target = results[0][1]
    with gf.Session(target, graph=step.graph) as session:
        values = session.run([step, weights, histogram, dropped])
    assert values[0] == len(applied) and sum(values[2]) == len(applied)
    assert values[3] == WORKERS * STEPS - len(applied)
    for value in values[1]:
        np.testing.assert_array_equal(value, -len(applied))
