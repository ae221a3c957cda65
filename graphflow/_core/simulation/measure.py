"""Runs the stages of a plan one after the other in this process, and notes what each costs and what it sends.

The devices of all tasks are this process's, so a program trains here as in its cluster, alone: a round or a group of
which it is part has no other member. What is noted are seconds of the thread that computes, on one core, so that other
programs of the machine do not count. Some runs are as on a host that is crowded, and some divide long stages
among all cores, which says how much of them can be divided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

import numpy as np

from graphflow._core.graph.devices import DeviceSpec, task_of
from graphflow._core.plan.ir import Plan, walk
from graphflow._core.plan.segments import Key, segments
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.compiled.cores import one_core, usable_cores
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.planner import ExecutionOptions, Planner
from graphflow._core.runtime.progress import Parts, PartStage, Progress
from graphflow._core.simulation.caches import OtherWork
from graphflow._core.simulation.planned import CLAIM, PlannedStep, members_of_rounds, one_member, planned_step
from graphflow.config import ConfigProto

_KEPT: Final = 64
"""The last runs of a stage whose times are kept."""
_QUIET, _CROWDED, _DIVIDED = range(3)
"""What a run of a stage is for."""
_IN_TURN: Final = (_QUIET, _DIVIDED, _CROWDED, _DIVIDED)
"""What runs are for. A stage is divided after some runs only, when it is known that it gains."""
_COLD: Final = 3
"""The first runs, which compile: what they take says nothing."""
_LONG: Final = 200e-6
"""Core-seconds from which on it is measured how much of a stage can be divided among cores."""
_UNDIVIDED: Final = 0.02
"""What part of a stage is so little that it is none: as exact is no measurement."""

Make = Callable[[Plan, int | None], Executable]
"""What runs a part of a plan, with so many threads; None for those that a session has."""


class Noted:
    """A stage that was run: what runs it, whether it makes changes once, and how long it took each time.

    Args:
        plan: Of the stage.
        make: Gives what runs it.
        on_gpu: Whether a GPU computes it, which no thread of this process does.
    """

    def __init__(self, plan: Plan, make: Make, on_gpu: bool) -> None:
        self.run = make(plan, 1)
        self.claims = any(i.type == CLAIM for i in walk(plan))
        self._make: Callable[[], Executable] = lambda: make(plan, None)
        self._divided: Executable | None = None
        self._on_gpu = on_gpu
        self.clock: Callable[[], float] = time.perf_counter if on_gpu else time.thread_time
        self.seconds: list[float] = []
        self.crowded: list[float] = []
        self.again: list[float] = []
        self.together: list[float] = []
        """Seconds by the clock of runs on all cores."""

    def divided(self) -> Executable | None:
        """What runs it on all cores; None if it is too short, or makes changes once, or there are no cores for it."""
        if self._on_gpu or self.claims or usable_cores() < 2 or _usual(self.seconds) < _LONG:
            return None
        if self._divided is None:
            self._divided = self._make()
        return self._divided

    @property
    def divisible(self) -> float:
        """What part of its core-seconds several cores can share, by what all of this machine's made of them."""
        if not self.together:
            return 0.0
        alone, together = min(_later(self.seconds)), min(self.together[len(self.together) * 2 // 3 :])
        cores = usable_cores()
        part = (1 - together / alone) / (1 - 1 / cores)
        return min(1.0, part) if part > _UNDIVIDED else 0.0


class MeasuredExecutable(Executable):
    """A plan for the devices of a cluster, which this process runs stage by stage.

    runs: how often it was run.
    """

    uses_variables = False
    """Each stage counts by itself."""

    def __init__(self, planner: MeasuringPlanner, plan: Plan, make: Make) -> None:
        self._planner = planner
        self.plan = plan
        self.cut = planner.partition(plan)
        self.runs = 0
        self._sizes: dict[str, int] = {}
        gradients = members_of_rounds(plan)
        edges: dict[Key, int] = {}
        self._noted: dict[str, list[Noted]] = {}
        stages: dict[str, list[PartStage]] = {}
        for device, found in segments(self.cut).items():
            self._noted[device], stages[device] = [], []
            for stage in found:
                on_gpu = DeviceSpec.from_string(device).device_type == "GPU"
                noted = Noted(one_member(stage.plan, gradients), make, on_gpu)
                self._noted[device].append(noted)
                receives = {edges.setdefault(key, len(edges)): name for key, name in stage.receives.items()}
                sends = [(edges.setdefault(key, len(edges)), name, "") for key, name in stage.sends.items()]
                stages[device].append(PartStage(noted, stage.plan.feeds, stage.plan.fetches, receives, sends))
        fetches = list(zip(self.cut.fetch_devices, plan.fetches, strict=True))
        self._parts = Parts(stages, plan.feeds, fetches)

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order; they belong to the caller."""
        for name, value in zip(self.plan.feeds, feeds, strict=True):
            self._sizes[name] = _bytes_of(value)
        run.request_id = None  # No run here is another attempt of one that was lost.
        progress = Progress(self._parts, feeds)
        while not progress.ended:
            ready = progress.ready()
            if not ready:
                raise RuntimeError(f"The run waits for {progress.awaited_values()}.")
            for work in ready:
                results = self._noted_run(work.stage.run, run, list(work.values))
                self._sizes.update(zip(work.stage.fetches, map(_bytes_of, results), strict=True))
                progress.done(work, results)
        self.runs += 1
        self._planner.enough(self.runs)
        return tuple([np.array(v) if isinstance(v, np.ndarray) else v for v in progress.fetched()])

    def _noted_run(self, noted: Noted, run: RunContext, values: list[Any]) -> Sequence[Any]:
        """The results of a stage; how long it took is noted, each time of another kind."""
        kind = _IN_TURN[self.runs % len(_IN_TURN)] if self.runs >= _COLD else _QUIET
        if self.runs >= _COLD:
            self._planner.others.passes(kind == _CROWDED)
        if kind == _DIVIDED and (divided := noted.divided()) is not None:
            begun = time.perf_counter()
            results: Sequence[Any] = run.store.running(run, divided.run, values)
            noted.together.append(time.perf_counter() - begun)
            return results
        with one_core():
            return self._on_one_core(noted, noted.crowded if kind == _CROWDED else noted.seconds, run, values)

    @staticmethod
    def _on_one_core(noted: Noted, first: list[float], run: RunContext, values: list[Any]) -> Sequence[Any]:
        """The results of a stage; its times are noted, also of what a run costs that finds the changes made."""
        for times in (first, noted.again):
            begun = noted.clock()
            results = run.store.running(run, noted.run.run, values)
            times.append(noted.clock() - begun)
            del times[:-_KEPT]
            if times is first:
                kept = results
            if not noted.claims:
                break
        return kept

    @property
    def seconds(self) -> float:
        """Core-seconds of all its runs, about."""
        return self.runs * sum(_usual(n.seconds) for found in self._noted.values() for n in found)

    def step(self) -> PlannedStep:
        """What was measured, as it is simulated."""
        planned = planned_step(self.plan, self.cut, self._planner.task, self._sizes.get)
        for devices in planned.stages.values():
            for device, found in devices.items():
                for stage, noted in zip(found, self._noted[device], strict=True):
                    stage.seconds = _usual(noted.seconds)
                    stage.crowded = max(0.0, _usual(noted.crowded) - stage.seconds)
                    stage.again = _usual(noted.again)
                    stage.divisible = noted.divisible
        return planned


def _usual(times: Sequence[float]) -> float:
    """The median of the later half: the first runs compile, and touch memory that is new."""
    return median(_later(times)) if times else 0.0


def _later(times: Sequence[float]) -> Sequence[float]:
    return times[len(times) // 2 :]


def _bytes_of(value: Any) -> int:
    """The bytes that a value takes in a message."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return sum(len(item) if isinstance(item, bytes | str) else 8 for item in value.ravel())
        return int(value.nbytes)
    return len(value) if isinstance(value, bytes) else int(getattr(value, "nbytes", 8))


class MeasuringPlanner(Planner):
    """A planner for the devices of a simulated cluster, whose executables run here; `devices`: the client's first."""

    def __init__(self, config: ConfigProto, devices: Sequence[str]) -> None:
        super().__init__(config, devices, task_of(devices[0]))
        self.task = task_of(devices[0])
        self.made: list[MeasuredExecutable] = []
        self.others = OtherWork()
        self.enough: Callable[[int], None] = lambda runs: None
        """Is told after each run of a plan how many there were, and may end the program."""

    def executable(
        self,
        plan: Plan,
        store: ResourceStore,
        options: ExecutionOptions,
        borrows: bool = False,
        threads: int | None = None,
    ) -> Executable:
        """What runs a plan here, and measures it."""
        if threads is not None:  # Of a dataset's function, which runs inside of a stage.
            return super().executable(plan, store, options, borrows, threads)

        def make(part: Plan, threads: int | None) -> Executable:
            return super(MeasuringPlanner, self).executable(part, store, options, True, threads)

        made = MeasuredExecutable(self, plan, make)
        self.made.append(made)
        return made
