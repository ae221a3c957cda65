"""Simulation: what gf.distribute.simulate found, as figures, as text, as a trace and as a page."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from statistics import mean, median
from typing import Any, Final, NamedTuple

from graphflow._core.common.records import dataclass
from graphflow._core.simulation.cluster_run import ClusterRun
from graphflow._core.simulation.machine import SimulatedCluster, stragglers
from graphflow._core.simulation.network import Task
from graphflow._core.simulation.pictures import page, text_plot
from graphflow._core.simulation.planned import PlannedStep
from graphflow._core.simulation.usage import Usage, bottleneck, busy, of_seconds, short, usages

_WARM: Final = 3
"""Steps of each client before any time is taken: then the workers are no longer all at the same place."""
_USUAL, _FEWEST, _ALL = 20, 4, 4000
"""Steps of each client, if nobody says how many: about so many of all, but no fewer than these of each."""
_ROUNDS: Final = 40
"""Rounds for which stragglers are drawn, to know how long one waits for them."""
_SHOWN: Final = 8
"""Resources that the text shows."""
_TRACED: Final = 24
"""Tasks that a trace shows: the first of each job."""


@dataclass(frozen=True)
class Point:
    """One number of workers, and how fast they train.

    Args:
        workers: How many there are.
        steps_per_second: Steps of all workers together; rounds, if they train synchronously.
        step_seconds: Seconds of a step of one worker, the median.
    """

    workers: int
    steps_per_second: float
    step_seconds: float


@dataclass(frozen=True, eq=False)
class Simulation:
    """How a cluster would train (what gf.distribute.simulate returns).

    Args:
        cluster: What was simulated.
        steps_per_second: Steps of all workers together; rounds, if they train synchronously.
        step_seconds: Seconds of a step of one worker, the median.
        slowest_seconds: Of the slowest of 100 steps.
        usage: How busy each resource was, the busiest first.
        bottleneck: What holds the cluster up, in a sentence.
        late: The share of gradients that came too late for their round.
        simulated_seconds: The time that was simulated.
        took_seconds: How long that took here.
        steps: How many steps of each worker were simulated.
        alone_seconds: Of a step of a worker for which nobody else asks for anything.
        planned: What was simulated: stages, their costs and messages.
        replicated: Whether each worker has a client of its own.
        seed: Of stragglers, and of when the workers begin.
    """

    cluster: SimulatedCluster
    steps_per_second: float
    step_seconds: float
    slowest_seconds: float
    usage: Sequence[Usage]
    bottleneck: str
    late: float
    simulated_seconds: float
    took_seconds: float
    steps: int
    alone_seconds: float
    planned: PlannedStep
    replicated: bool
    seed: int

    def over_workers(self, workers: Sequence[int]) -> list[Point]:
        """How fast other numbers of workers would train, with the same parameter servers and hosts.

        Args:
            workers: The numbers of workers.

        Returns:
            A point for each.

        Raises:
            ValueError: One client has built the model for all workers: simulate each number of them by itself.
        """
        if workers and not self.replicated:
            raise ValueError(
                "One client builds the model for all workers, so its graph depends on their number: call "
                "gf.distribute.simulate for each."
            )
        found = []
        for count in workers:
            again = simulated(
                self.planned.for_workers(count),
                replace(self.cluster, workers=count),
                True,
                self.steps,
                self.seed,
            )
            found.append(Point(count, again.steps_per_second, again.step_seconds))
        return found

    def text(self) -> str:
        """The figures, for people."""
        cluster = self.cluster
        link = "links without a limit" if cluster.link is None else f"links of {cluster.link}"
        lines = [
            f"{cluster.ps} ps, {cluster.workers} workers, {link}, latency {of_seconds(cluster.latency_seconds)}",
            f"steps per second: {self.steps_per_second:.4g}",
            f"a step takes {of_seconds(self.step_seconds)}, the slowest of 100 {of_seconds(self.slowest_seconds)}",
        ]
        if self.late:
            lines.append(f"gradients that came too late for their round: {self.late:.0%}")
        lines.append(self.bottleneck)
        width = max(len(u.name) for u in self.usage[:_SHOWN])
        lines += [
            f"  {u.name:<{width}}  {u.share:>4.0%} {'#' * round(20 * u.share)}" for u in self.usage[:_SHOWN]
        ]
        if len(self.usage) > _SHOWN:
            lines.append(f"  and {len(self.usage) - _SHOWN} others, which are less busy")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def chrome_trace(self, steps: int = 4) -> str:
        """Some steps as JSON for chrome://tracing or Perfetto: stages, steps of workers, and what is on the links.

        Args:
            steps: How many steps of each worker; those before have warmed the cluster up.

        Returns:
            The text of the file.
        """
        events: list[dict[str, Any]] = []
        shown = _shown_tasks(self.cluster.tasks())

        def add(task: str, row: str, name: str, begun: float, ended: float) -> None:
            if task in shown:
                event = {"name": name, "ph": "X", "pid": shown[task], "tid": row, "cat": row}
                events.append(event | {"ts": begun * 1e6, "dur": (ended - begun) * 1e6})

        run = ClusterRun(self.planned, self.cluster, self.replicated, self.seed, watch=add)

        def carried(sender: Task, receiver: Task, size: int, begun: float, ended: float) -> None:
            to, of = (
                short(other.name) if sender is not receiver else "all others" for other in (receiver, sender)
            )
            add(sender.name, "link out", f"{size:,} bytes to {to}", begun, ended)
            add(receiver.name, "link in", f"{size:,} bytes from {of}", begun, ended)

        run.network.watch = carried
        run.run(steps)
        names = [
            {"name": "process_name", "ph": "M", "pid": number, "args": {"name": short(task)}}
            for task, number in shown.items()
        ]
        return json.dumps({"traceEvents": [*names, *_numbered(events)], "displayTimeUnit": "ms"})

    def html(self, points: Sequence[Point] = ()) -> str:
        """A page that needs no network and no scripts: the figures, and a plot of other numbers of workers.

        Args:
            points: What `over_workers` gives.

        Returns:
            The text of the page.
        """
        return page(self.text(), [(p.workers, p.steps_per_second) for p in points])

    @staticmethod
    def plot(points: Sequence[Point]) -> str:
        """A plot over numbers of workers, as text.

        Args:
            points: What `over_workers` gives.

        Returns:
            A line for each.
        """
        return text_plot([(p.workers, p.steps_per_second) for p in points])


def _shown_tasks(names: Sequence[str]) -> dict[str, int]:
    """The tasks that a trace shows, with the numbers of their rows."""
    if len(names) > _TRACED:
        half = _TRACED // 2
        parameter_servers = [n for n in names if "/job:ps/" in n]
        workers = [n for n in names if "/job:ps/" not in n]
        names = [*parameter_servers[:half], *workers[:half]]
    return {name: number for number, name in enumerate(names, 1)}


def _numbered(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with numbers for the names of their rows, of which several may be at one time."""
    rows: dict[tuple[int, str], list[float]] = {}
    numbers: dict[tuple[int, str, int], int] = {}
    found = []
    for event in sorted(events, key=lambda e: e["ts"]):
        free = rows.setdefault((event["pid"], event["tid"]), [])
        at = next((k for k, until in enumerate(free) if until <= event["ts"] + 1e-6), len(free))
        free[at : at + 1] = [event["ts"] + event["dur"]]
        number = numbers.setdefault((event["pid"], event["tid"], at), len(numbers) + 1)
        found.append({**event, "tid": number})
    names = [
        {"name": "thread_name", "ph": "M", "pid": pid, "tid": number, "args": {"name": row}}
        for (pid, row, _), number in numbers.items()
    ]
    return [*names, *found]


def simulated(
    planned: PlannedStep, cluster: SimulatedCluster, replicated: bool, steps: int | None = None, seed: int = 0
) -> Simulation:
    """Simulates so many steps of each client, after some that warm the cluster up; fewer if there are many clients."""
    began = time.perf_counter()
    if steps is None:
        steps = max(_FEWEST, min(_USUAL, _ALL // cluster.workers)) if replicated else _USUAL
    alone, taken_of_others = _alone(planned, cluster, seed) if replicated else (0.0, 0.0)
    # The workers are at different places of their steps, whatever these were at the beginning: none waits for another.
    spread = 0.0 if planned.together else max(alone, cluster.workers * taken_of_others)
    run = ClusterRun(planned, cluster, replicated, seed, spread)
    run.run(_WARM)
    begun, before, first = run.clock.now, busy(run, cluster), _counts(run)
    run.run(steps)
    seconds, last = run.clock.now - begun, _counts(run)
    taken = sorted(t for client in run.clients for t in client.durations(begun))
    usual = median(taken)
    ended = last.steps - first.steps
    if run.rounds:
        count = float(last.rounds - first.rounds)
    else:
        count = ended / len(run.clients) if planned.together else float(ended)
    found = usages(before, busy(run, cluster), seconds)
    return Simulation(
        cluster=cluster,
        steps_per_second=count / seconds,
        step_seconds=usual,
        slowest_seconds=taken[min(len(taken) - 1, int(len(taken) * 0.99))],
        usage=found,
        bottleneck=bottleneck(
            found,
            cluster,
            planned,
            alone or usual,
            usual,
            seconds / max(1.0, count),
            _waits_for_stragglers(planned, cluster, seed),
        ),
        late=(last.late - first.late) / ended,
        simulated_seconds=seconds,
        took_seconds=time.perf_counter() - began,
        steps=steps,
        alone_seconds=alone or usual,
        planned=planned,
        replicated=replicated,
        seed=seed,
    )


def _waits_for_stragglers(planned: PlannedStep, cluster: SimulatedCluster, seed: int) -> float:
    """Seconds for which an average round waits for the last worker that it needs, by what that one computes."""
    if cluster.stragglers is None or not planned.together:
        return 0.0
    needed = [s.arrives.needed for s in planned.all_stages() if s.arrives is not None]
    last = min(needed[0] if needed else cluster.workers, cluster.workers) - 1
    factor, random = stragglers(cluster.stragglers), Random(f"{seed}/rounds")
    drawn = [sorted(factor(random) for _ in range(cluster.workers)) for _ in range(_ROUNDS)]
    computes = sum(s.seconds for found in planned.stages[planned.own].values() for s in found)
    return (mean(each[last] for each in drawn) - 1.0) * computes / cluster.speed_of("worker")


class _Counts(NamedTuple):
    """Steps of all clients, rounds that are over, and gradients that came too late for theirs."""

    steps: int
    rounds: int
    late: int


def _counts(run: ClusterRun) -> _Counts:
    return _Counts(
        sum(len(client.ended) for client in run.clients),
        max((r.steps for r in run.rounds.values()), default=0),
        sum(r.late for r in run.rounds.values()),
    )


def _alone(planned: PlannedStep, cluster: SimulatedCluster, seed: int) -> tuple[float, float]:
    """Seconds of a step of one worker for which nobody else asks for anything, and of what it takes of others most.

    So many times the second is the least that a step takes if there are so many workers.
    """
    run = ClusterRun(planned.for_workers(1), replace(cluster, workers=1), True, seed)
    run.run(_WARM + 2)
    steps = len(run.clients[0].ended)
    taken = [spent / steps for (_, _, job), spent in busy(run, cluster).items() if job != "worker"]
    return median(run.clients[0].durations(0.0)[_WARM:]), max(taken, default=0.0)
