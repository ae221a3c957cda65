"""Protects clusters on Kubernetes, with a real one: what is killed, deleted, cut off or lost comes back, as it says."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engines.conftest import missing
from tests.engines.kubernetes_here import Kubernetes, lack
from tests.engines.kubernetes_job import FILES, FORCED, SAVE_STEPS, TASKS, Job

if why := lack():
    missing(why)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Kubernetes]:
    with tempfile.TemporaryDirectory(prefix="gf-k8s-") as folder, Kubernetes(Path(folder), FILES) as found:
        yield found


def check(job: Job, found: dict[str, Any], unheard: int = 0) -> None:
    """No update counts twice, and no more are lost than the training said that it goes back.

    unheard: how many steps that nobody else saw a worker may have made which was lost, and does not say so.
    """
    first, second = ({int(tag) for tag in ledger} for ledger in found["ledgers"])
    assert {count for ledger in found["ledgers"] for count in ledger.values()} == {1.0}, (
        "an update was applied twice"
    )
    lost, back = set(job.acknowledged()) - (first & second), job.gone_back()
    # Each time one step of each worker may have ended after the step was seen, and one may have been saved in half.
    most = sum(max(before - after, unheard) + 4 for after, before in back.items())
    assert len(lost) <= most, f"{len(lost)} updates are lost, {most} at most were told of: {back}"


def test_what_is_killed_or_deleted_comes_back_with_its_name_and_each_update_counts_once(
    cluster: Kubernetes, tmp_path: Path
) -> None:
    with Job(cluster, tmp_path) as job:
        job.begun()
        job.later()
        before = {task: job.place(task) for task in TASKS}
        assert len({address for _, address, _, _ in before.values()}) == 4

        for task in ("worker-1", "ps-1"):  # The container is begun anew in its pod.
            job.kill(task)
            job.until(lambda task=task: job.place(task)[3] == before[task][3] + 1, f"a restart of {task}")
            assert job.place(task)[:3] == before[task][:3]
            job.later()
        for task in ("ps-0", "worker-1"):  # The pod is made anew: another one, at another address.
            job.delete(task)
            job.until(lambda task=task: job.place(task)[0] not in ("", before[task][0]), f"another {task}")
            job.later()
            assert job.place(task)[1] != before[task][1]
        lives = [path.name for path in tmp_path.glob("printed_1_*")]
        assert len(lives) == 3, "each life of a task has an incarnation of its own"
        check(job, job.finish())


def test_a_node_that_is_lost_takes_its_pods_along_until_a_user_says_so(
    cluster: Kubernetes, tmp_path: Path
) -> None:
    with Job(cluster, tmp_path) as job:
        job.begun()
        job.later()
        before = {task: job.place(task) for task in TASKS}
        node = before["ps-1"][2]
        there = [task for task in TASKS if before[task][2] == node]
        cluster.end(node)
        try:
            job.until(lambda: not cluster.ready(node), "the node to count as lost")
            assert {task: job.place(task)[0] for task in there} == {task: before[task][0] for task in there}
            for task in there:
                job.delete(task, *FORCED)
            for task in there:
                job.until(
                    lambda task=task: job.place(task)[2] not in ("", node), f"{task} to be on the other node"
                )
            job.later()
        finally:
            cluster.begin(node)
            job.until(lambda: cluster.ready(node), "the node")
        job.later()
        check(job, job.finish(), 2 * SAVE_STEPS)


def test_a_ps_behind_a_cut_cable_is_followed_by_another_and_counts_no_more_when_it_is_heard_again(
    cluster: Kubernetes, tmp_path: Path
) -> None:
    with Job(cluster, tmp_path) as job:
        job.begun()
        job.later()
        before = {task: job.place(task) for task in TASKS}
        node = before["ps-1"][2]
        there = [task for task in TASKS if before[task][2] == node]
        old = {task: set(job.processes(task)) for task in there}
        cluster.plug(node, False)
        try:
            job.until(lambda: not cluster.ready(node), "the node to count as lost")
            for task in there:
                job.delete(task, *FORCED)
            for task in there:
                job.until(
                    lambda task=task: job.place(task)[2] not in ("", node), f"{task} to be on the other node"
                )
            job.later()
            assert all(old[task] <= set(job.processes(task)) for task in there), "the old ones live on"
        finally:
            cluster.plug(node, True)
        healed, recoveries = time.monotonic(), job.text().count("Training goes back")
        job.later()
        job.until(
            lambda: not any(old[task] & set(job.processes(task)) for task in there), "the end of the old ones"
        )
        print("the old ones ended after", time.monotonic() - healed, "s")
        job.later()
        assert job.text().count("Training goes back") == recoveries, "the old ps disturbs the training"
        check(job, job.finish(), 2 * SAVE_STEPS)
