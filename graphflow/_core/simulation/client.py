"""A program's first worker on a simulated cluster: its sessions, and the step that it trains with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.runtime.planner import Planner
from graphflow._core.session import PLANNERS, Session
from graphflow._core.simulation.machine import SimulatedCluster
from graphflow._core.simulation.measure import MeasuringPlanner
from graphflow._core.simulation.planned import PlannedStep, job_of, planned_step
from graphflow.config import ConfigProto

_MEASURED: Final = 32
"""Runs of the step: the first of them compile, and the last say what it costs."""
_TARGET: Final = "simulated://"


class EnoughMeasured(BaseException):
    """A program has run its step often enough: it ends here. No program catches it by mistake."""


@contextmanager
def simulated_sessions(cluster: SimulatedCluster, most_runs: int = 0) -> Iterator[list[MeasuringPlanner]]:
    """Inside, sessions with a target are on a simulated cluster, as its first worker's; the planners of them.

    most_runs: after so many runs of one plan EnoughMeasured ends the program.
    """
    made: list[MeasuringPlanner] = []

    def planner(config: ConfigProto, target: str, graph: Any) -> Planner:
        compiled = "always" if config.compiled == "auto" else config.compiled
        found = MeasuringPlanner(replace(config, compiled=compiled), devices_of(cluster, config))
        found.enough = _ended_after(most_runs)
        made.append(found)
        return found

    PLANNERS.append(planner)
    try:
        yield made
    finally:
        PLANNERS.remove(planner)


def _ended_after(runs: int) -> Any:
    def look(count: int) -> None:
        if 0 < runs <= count:
            raise EnoughMeasured

    return look


def devices_of(cluster: SimulatedCluster, config: ConfigProto) -> list[str]:
    """The devices of all tasks, those of the first worker first."""
    count = max(1, config.device_count.get("CPU", 1))
    kinds = [("CPU", n) for n in range(count)] + [
        ("GPU", n) for n in range(config.device_count.get("GPU", 0))
    ]
    tasks = sorted(cluster.tasks(), key=lambda task: job_of(task) != "worker")
    return [f"{task}/device:{kind}:{n}" for task in tasks for kind, n in kinds]


def measured_step(
    graph: Graph,
    target: Any,
    config: ConfigProto,
    cluster: SimulatedCluster,
    seconds: Mapping[str, float] | None,
) -> PlannedStep:
    """The step that runs `target`, with what its stages cost: measured here, or as given for the tasks of each job."""
    with simulated_sessions(cluster) as planners, Session(_TARGET, graph, config) as session:
        (planner,) = planners
        if seconds is not None:
            plan, _ = session.plan(target, [])
            planned = planned_step(plan, planner.partition(plan), planner.task)
            return given_costs(planned, seconds, divisible=cluster.threads is not None)
        for name in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
            session.run([variable.initializer for variable in graph.get_collection(name)])
        session.run(graph.get_collection(GraphKeys.TABLE_INITIALIZERS))
        for _ in range(_MEASURED):
            session.run(target)
        found = planner.made[-1]
        return found.step()


def given_costs(planned: PlannedStep, seconds: Mapping[str, float], divisible: bool) -> PlannedStep:
    """The step with what a task of each job computes in it, divided among its stages by their operations.

    divisible: whether several cores can share what a stage computes, which nobody has measured.
    """
    for task, devices in planned.stages.items():
        stages = [s for found in devices.values() for s in found if not s.blocks]
        whole = sum(s.operations for s in stages)
        for stage in stages:
            stage.seconds = seconds.get(job_of(task), 0.0) * stage.operations / max(1, whole)
            stage.again = 0.0
            stage.divisible = float(divisible)
    return planned


def trained_step(planners: Sequence[MeasuringPlanner]) -> PlannedStep | None:
    """The step that a program has run most often, with what it cost; None if it ran nothing twice.

    Of several that were run as often it is the one that took most of the time.
    """
    found = [m for planner in planners for m in planner.made if m.runs > 1]
    return max(found, key=lambda m: (m.runs, m.seconds)).step() if found else None
