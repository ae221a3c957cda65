"""TF_CONFIG, the variable that names a cluster and the task of a process, as TensorFlow's estimators have it.

    TF_CONFIG={"cluster": {"ps": ["host:port"], "worker": ["host:port", "host:port"]},
               "task": {"type": "worker", "index": 0}}

One program then runs unchanged in every role; who starts it, such as `graphflow launch` or a cluster's scheduler,
sets the variable.

A task of the type "evaluator" is no part of the cluster that trains, as in TensorFlow: it evaluates the checkpoints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from graphflow._core.cluster.cluster_spec import ClusterSpec
from graphflow._core.transport.addresses import split

VARIABLE: Final = "TF_CONFIG"
EVALUATOR: Final = "evaluator"
"""The type of a task that evaluates checkpoints, and is no part of the cluster that trains."""
BIND_VARIABLE: Final = "GRAPHFLOW_BIND"
"""Names where servers listen, if that is not at their addresses in the cluster."""
EXAMPLE: Final = (
    '{"cluster": {"ps": ["host:port"], "worker": ["host:port"]}, "task": {"type": "ps", "index": 0}}'
)
"""What it may be, for messages."""


def parsed(text: str) -> dict[str, Any]:
    """What TF_CONFIG says, an object; ValueError if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" in column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        what = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise ValueError(
            f"{VARIABLE} is no JSON: {what}{where} of {text[:200]!r}. It should be like {EXAMPLE}."
        ) from None
    if not isinstance(found, dict):
        raise ValueError(f"{VARIABLE} must be an object like {EXAMPLE}, got {text[:200]!r}.")
    return found


def cluster_in(found: Mapping[str, Any], what: str = VARIABLE) -> ClusterSpec:
    """The cluster under "cluster"; ValueError if it is none, `what` being where it was found."""
    jobs = found.get("cluster")
    if not isinstance(jobs, dict) or not jobs:
        raise ValueError(
            f'"cluster" in {what} must be an object from jobs to lists of addresses, got {jobs!r:.200}.'
        )
    return cluster_of(jobs, what)


def cluster_of(jobs: Mapping[str, Any], what: str) -> ClusterSpec:
    """The cluster of jobs, whose tasks are a list of host:port, or by index; ValueError for anything else."""
    spec = {}
    for job, tasks in jobs.items():
        where = f"the job {job!r:.100} of the cluster in {what}"
        if isinstance(tasks, dict):
            if not all(str(index).isascii() and str(index).isdigit() for index in tasks):
                raise ValueError(
                    f"The tasks of {where} must have indices 0, 1, ..., got {list(tasks)!r:.200}."
                )
            tasks = {int(index): address for index, address in tasks.items()}
        elif not isinstance(tasks, list | tuple) or not tasks:
            raise ValueError(f"The tasks of {where} must be a list of host:port, got {tasks!r:.200}.")
        for address in tasks.values() if isinstance(tasks, dict) else tasks:
            if not isinstance(address, str):
                raise ValueError(f"An address of {where} must be host:port, got {address!r:.200}.")
            try:
                split(address, any_port=True)
            except ValueError as error:
                raise ValueError(
                    f"An address of {where} must be host:port, got {address!r:.200}: {error}"
                ) from None
        spec[str(job)] = tasks
    return ClusterSpec(spec)


def task_in(found: Mapping[str, Any]) -> tuple[ClusterSpec, str, int]:
    """The cluster that trains and the task of this process, as TF_CONFIG has them; ValueError saying what is wrong."""
    jobs = cluster_in(found).as_dict()
    jobs.pop(EVALUATOR, None)
    spec = ClusterSpec(jobs)
    task = found.get("task")
    if not isinstance(task, dict):
        raise ValueError(
            f'"task" in {VARIABLE} must be an object like {{"type": "worker", "index": 0}}, got {task!r:.200}.'
        )
    job, index = task.get("type"), task.get("index", 0)
    if job not in (*spec.jobs, EVALUATOR):
        raise ValueError(
            f'"type" of the task in {VARIABLE} must be a job of its cluster, {" or ".join(spec.jobs):.200}, or '
            f"{EVALUATOR!r}, got {job!r:.200}."
        )
    if isinstance(index, str) and index.isascii() and index.isdigit():
        index = int(index)
    whole = isinstance(index, int) and not isinstance(index, bool)
    if job == EVALUATOR:
        if not whole or index < 0:
            raise ValueError(
                f'"index" of the {EVALUATOR} in {VARIABLE} must be a number of at least 0, got {index!r:.200}.'
            )
        return ClusterSpec({}), job, index
    if not whole or index not in spec.task_indices(job):
        raise ValueError(
            f'"index" of the task in {VARIABLE} must be that of a task of the job {job!r:.100}, one of '
            f"{spec.task_indices(job)!r:.200}, got {index!r:.200}."
        )
    return spec, job, index
