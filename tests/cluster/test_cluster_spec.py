"""Protects ClusterSpec: its forms, sparse tasks, equality, and the errors for what is no cluster."""

from __future__ import annotations

from typing import Any

import pytest

from graphflow._core.cluster.cluster_spec import ClusterDef, ClusterSpec, JobDef

DENSE = {"worker": ["w0:1", "w1:1"], "ps": ["p0:1"]}


def test_a_cluster_says_its_tasks() -> None:
    cluster = ClusterSpec(DENSE)
    assert cluster.jobs == ["worker", "ps"] and cluster.as_dict() == DENSE
    assert cluster.num_tasks("worker") == 2 and cluster.task_indices("worker") == [0, 1]
    assert cluster.task_address("ps", 0) == "p0:1" and cluster.job_tasks("worker") == ["w0:1", "w1:1"]
    assert str(cluster) == "ClusterSpec({'ps': ['p0:1'], 'worker': ['w0:1', 'w1:1']})"


def test_tasks_may_be_sparse_and_in_any_order() -> None:
    cluster = ClusterSpec({"worker": {3: "w3:1", 1: b"w1:1"}, "idle": []})
    assert cluster.task_indices("worker") == [1, 3]
    assert cluster.job_tasks("worker") == [None, "w1:1", None, "w3:1"]
    assert cluster.as_dict() == {"worker": {1: "w1:1", 3: "w3:1"}, "idle": {}}
    assert cluster.job_tasks("idle") == []
    assert ClusterSpec({"worker": {1: "b", 0: "a"}}).as_dict() == {"worker": ["a", "b"]}


def test_every_form_makes_an_equal_cluster() -> None:
    cluster = ClusterSpec(DENSE)
    message = cluster.as_cluster_def()
    assert message == ClusterDef([JobDef("ps", {0: "p0:1"}), JobDef("worker", {0: "w0:1", 1: "w1:1"})])
    for other in (
        ClusterSpec(cluster),
        ClusterSpec(message),
        ClusterSpec({b"ps": ("p0:1",), "worker": DENSE["worker"]}),
    ):
        assert other == cluster and hash(other) == hash(cluster)
    assert cluster == DENSE and cluster != {"ps": ["p0:1"]} and cluster != 3
    assert not ClusterSpec({}) and cluster


def test_a_cluster_does_not_change_with_what_it_was_made_of() -> None:
    tasks = ["w0:1"]
    cluster = ClusterSpec({"worker": tasks})
    tasks.append("w1:1")
    cluster.as_dict()["worker"].append("w1:1")
    cluster.as_cluster_def().job[0].tasks[1] = "w1:1"
    assert cluster.num_tasks("worker") == 1


@pytest.mark.parametrize("query", ["num_tasks", "task_indices", "job_tasks"])
def test_an_unknown_job_is_named_with_the_known(query: str) -> None:
    with pytest.raises(ValueError, match=r"No such job in cluster: 'nobody'.*'worker', 'ps'"):
        getattr(ClusterSpec(DENSE), query)("nobody")


def test_an_unknown_task_is_named() -> None:
    with pytest.raises(ValueError, match="No task with index 2 in job 'worker'"):
        ClusterSpec(DENSE).task_address("worker", 2)


@pytest.mark.parametrize(
    "cluster",
    [3, None, "ps:1", ["a:1"], {"worker": 5}, {"worker": "w0:1"}, {"worker": [5]}, {5: ["w:1"]}]
    + [{"worker": {index: "w:1"}} for index in ("0", -1, True, 1.5)],
)
def test_what_is_no_cluster_is_a_type_error(cluster: Any) -> None:
    with pytest.raises(TypeError):
        ClusterSpec(cluster)
