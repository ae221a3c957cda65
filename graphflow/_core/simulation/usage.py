"""How busy each resource of a simulated cluster was, which of them holds the others up, and which would be the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.simulation.cluster_run import ClusterRun
from graphflow._core.simulation.machine import SimulatedCluster
from graphflow._core.simulation.planned import PlannedStep

FULL: Final = 0.85
"""The share of the time from which on a resource counts as full: what uses it waits for it."""
_EVEN: Final = 0.6
"""The share of the busiest parameter server's load that the others have on average if variables are spread evenly."""
_FAR: Final = 100.0
"""What is so many times less busy than what is full is not worth a word."""


@dataclass(frozen=True)
class Usage:
    """How much of the time a resource was busy.

    Args:
        owner: The task, such as "ps 3", or the host that several tasks share.
        kind: "processors", "outgoing link", "incoming link", "GPU"; "messages" and "network" are the threads that
            handle messages, and bring their bytes to the network.
        share: From 0 to 1.
        job: The job whose resource it is; "" for a host of several.
    """

    owner: str
    kind: str
    share: float
    job: str

    @property
    def name(self) -> str:
        """What it is called in a sentence."""
        kind = {"messages": "thread of messages", "network": "thread of the network"}.get(
            self.kind, self.kind
        )
        return f"{self.owner}'s {kind}" if not self.owner.endswith("s") else f"{self.owner}' {kind}"


def short(task: str) -> str:
    """The name of a task in a sentence: "ps 3"."""
    spec = DeviceSpec.from_string(task)
    return f"{spec.job} {spec.task}"


def busy(run: ClusterRun, cluster: SimulatedCluster) -> dict[tuple[str, str, str], float]:
    """Busy seconds of each resource so far, by owner, kind and job."""
    found: dict[tuple[str, str, str], float] = {}
    tasks = run.network.tasks.values()
    beside: dict[int, int] = {}
    for task in tasks:
        beside[task.host.number] = beside.get(task.host.number, 0) + 1
    for task in tasks:
        shared = beside[task.host.number] > 1
        owner, job = (f"host {task.host.number}", "") if shared else (short(task.name), task.job)
        found[owner, "processors", job] = task.host.cores.reckoned() / cluster.cores
        links = (short(task.name), task.job) if not (shared and cluster.shares_memory) else (owner, job)
        if cluster.link is not None:
            found[links[0], "outgoing link", links[1]] = task.link.out.reckoned()
            found[links[0], "incoming link", links[1]] = task.link.into.reckoned()
        found[short(task.name), "messages", task.job] = task.sockets.seconds / task.speed
        found[short(task.name), "network", task.job] = task.network.reckoned()
        for cores in task.gpus.values():
            found[short(task.name), "GPU", task.job] = cores.reckoned()
    return found


def usages(
    before: Mapping[tuple[str, str, str], float], after: Mapping[tuple[str, str, str], float], seconds: float
) -> list[Usage]:
    """How busy each resource was between two moments, the busiest first."""
    found = [
        Usage(owner, kind, min(1.0, max(0.0, (spent - before.get((owner, kind, job), 0.0)) / seconds)), job)
        for (owner, kind, job), spent in after.items()
    ]
    return sorted(found, key=lambda u: (-u.share, u.owner, u.kind))


def bottleneck(
    found: Sequence[Usage],
    cluster: SimulatedCluster,
    step: PlannedStep,
    alone: float,
    seconds: float,
    average: float,
    waits: float,
) -> str:
    """What holds the cluster up, and what would be next, in a sentence or two.

    alone: seconds of a step of a worker that is alone. seconds: of a step as it is, the median. average: of a round.
    waits: for how many of these it waits for stragglers.
    """
    top = found[0]
    if top.share < FULL:
        text = (
            f"Nothing is full: a step takes {of_seconds(seconds)}, and {of_seconds(alone)} for a worker alone"
        )
        if waits > 0.1 * average:
            text += f". A round takes {of_seconds(average)} on average, for about {of_seconds(waits)} of which it waits"
            text += " for the slowest worker that it needs"
        text += f". The most used is {top.name}, {top.share:.0%} of the time"
        if top.job == "ps" and top.share * 2 > FULL:
            text += f"; it would be full with about {math.ceil(cluster.workers * FULL / top.share)} workers"
        return f"{text}."
    verb = "are" if top.kind == "processors" else "is"
    text = f"{top.name[0].upper()}{top.name[1:]} {verb} full {top.share:.0%} of the time"
    following = {"ps": _after_more_ps, "worker": _after_faster_workers}.get(top.job)
    more = following(found, top, cluster, step, alone / seconds) if following is not None else _ON_ONE_HOST
    return f"{text}; {more}." if more else f"{text}."


_ON_ONE_HOST: Final = "tasks that share a host share them: with hosts of their own it would be something else"


def _after_more_ps(
    found: Sequence[Usage], top: Usage, cluster: SimulatedCluster, step: PlannedStep, own: float
) -> str:
    """How many parameter servers it takes until something else is full, and what that is.

    own: the share of a step that a worker would need if it were alone.
    """
    workers = max((u for u in found if u.job != "ps"), key=lambda u: u.share, default=None)
    limit, what = own, "the chain of what a worker computes and waits for in a step"
    if workers is not None and workers.share > own:
        limit, what = workers.share, f"the workers' {workers.kind}"
    one = max((step.largest_share(task) for task in step.stages if short(task) == top.owner), default=0.0)
    if top.share * one > limit:
        text = "more ps would change little: one variable"
        if one < FULL:
            text = (
                f"with {cluster.ps * math.ceil(1 / one)} ps it would be that of the largest variable, which"
            )
        return f"{text} is {one:.0%} of what {top.owner} sends, and may be partitioned"
    wanted = max(cluster.ps + 1, math.ceil(cluster.ps * top.share / max(limit, 1e-6)))
    text = f"with {wanted} ps it would be {what}"
    same = [u.share for u in found if (u.job, u.kind) == (top.job, top.kind)]
    if len(same) > 1 and sum(same) / len(same) < _EVEN * top.share:
        text += ", if the variables were spread evenly, as they are not: partition the largest"
    return text


def _after_faster_workers(
    found: Sequence[Usage], top: Usage, cluster: SimulatedCluster, step: PlannedStep, own: float
) -> str:
    """With how many workers a parameter server would be full, or what else of a worker would be next."""
    served = max((u for u in found if u.job == "ps"), key=lambda u: u.share, default=None)
    if served is not None and served.share > 0:
        return (
            f"with {math.ceil(cluster.workers * top.share / served.share)} workers it would be {served.name}"
        )
    other = next((u for u in found if u.kind != top.kind and u.share > 0), None)
    if other is None or other.share * _FAR < top.share:
        return ""
    return f"if they were {top.share / other.share:.1f} times as fast it would be the workers' {other.kind}"


def of_seconds(seconds: float) -> str:
    """A time for people: "1.23 ms"."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return (
                f"{seconds / size:.3g} {unit}" if seconds / size < 1000 else f"{seconds / size:,.0f} {unit}"
            )
    return f"{seconds * 1e6:.3g} us"
