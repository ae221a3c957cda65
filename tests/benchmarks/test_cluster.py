"""Protects the cluster benchmark's arithmetic: its ratios, its count of messages, and that its workloads still run."""

import json
import subprocess
import sys
from pathlib import Path

import cluster
import pytest


def _results(mine: list[float], *others: list[float]) -> dict[str, cluster.Result]:
    named = dict(zip(("tf115", "tf2"), others, strict=False))
    return {"graphflow": cluster.Result(mine)} | {n: cluster.Result(t) for n, t in named.items()}


def test_ratio_is_of_times_where_little_moves_and_of_throughput_where_much_does() -> None:
    results = _results([1.0, 2.0, 1.0], [4.0, 80.0, 4.0], [8.0, 8.0, 8.0])
    assert cluster.ratio("null_step", results) == pytest.approx(0.25)
    assert cluster.ratio("pull_100mb", results) == pytest.approx(4.0)
    assert cluster.ratio("null_step", _results([1.0])) is None


def test_count_of_messages_is_that_of_one_master_and_direct_sends() -> None:
    assert cluster.messages_of_step(1, 1) == 4
    assert cluster.messages_of_step(2, 2) == 10
    assert cluster.messages_of_step(16, 100) == 2 + 2 * 115 + 16 * 99


@pytest.mark.parametrize(("ps", "workers"), [(1, 1), (2, 3)])
def test_promise_17_messages_counted_are_those_of_the_formula(ps: int, workers: int) -> None:
    code = (
        "import cluster_workloads as c\n"
        f"c.WORKLOADS['null'] = c.null_step_of({ps}, {workers}), {ps}, {workers}, 0\n"
        "c.main('graphflow', 'null')\n"
    )
    project = Path(cluster.__file__).resolve().parent.parent
    found = subprocess.run(
        [sys.executable, "-c", code],
        input="count\nmeasure\nquit\n",
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONPATH": f"{project}:{project / 'benchmarks'}", "HOME": str(Path.home())},
    )
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert lines[0] == {"ready": True}, found.stderr[-1000:]
    assert lines[1]["messages"] == cluster.messages_of_step(ps, workers)
    assert lines[2]["seconds"] > 0
