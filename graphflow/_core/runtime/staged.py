"""A plan in stages: one for several devices, or one that waits in the middle.

While an instruction waits, the run must hold nothing that other runs need: neither the lock of a variable nor the
memory of a compiled plan. So a plan for several devices is cut at each value that goes from one device to another. A
plan for one device is cut before and after each instruction that waits for other runs or threads. Each stage is an
ordinary plan, which becomes compiled like any other. Values that go from stage to stage are not copied: results are
computed in memory of their own, and variables are borrowed.

On one device the cuts before and after what waits follow the plan's one order and do not change it. Between them it is
cut after the instructions that `after` names, as those whose results have sizes that are known only then
(compiler/shapes/data_sizes.py). A stage that would be too short is joined to the waiting instructions beside it.

If one wait may be for another of the same run, stages say which others they need (plan/waits/independent_waits.py).
They are computed in their order, one at a time, until one has waited for a while; then others begin beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from graphflow._core.common.waiting.stillness import patience_of
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.partition import Partition
from graphflow._core.plan.segments import Key, Segment, cut, cut_apart, numbers_with_cuts, segments
from graphflow._core.plan.waits.independent_waits import may_hold_up, numbers_in_order, waits_apart
from graphflow._core.resources.borrowing import borrowed_from
from graphflow._core.runtime.assemble import copied, operand
from graphflow._core.runtime.compiled.cores import one_core
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.gpu.held import HeldValue, host
from graphflow._core.runtime.inline_scheduler import InlineRun, InlineScheduler
from graphflow._core.runtime.progress import Parts, PartStage
from graphflow._core.runtime.scheduler import Scheduler, StageRunner
from graphflow._core.runtime.threads import ThreadPool

_SHORT: Final = 3
"""A stage with so few instructions, or fewer, is joined to the one beside it."""
_NOTHING: Final = nullcontext()


class StagedExecutable(Executable):
    """The stages of one plan. Thread-safe.

    make(part, waits, kept): returns the runner of a stage; the values `kept` go on to GPUs. uses_variables: whether any
    stage does. borrows: whether fetched values may be borrowed from variables. after: see above.
    """

    def __init__(
        self,
        plan: Plan,
        partition: Partition,
        make: Callable[[Plan, bool, frozenset[str]], StageRunner],
        pool: Callable[[], ThreadPool],
        borrows: bool,
        after: Collection[str] = (),
    ) -> None:
        self._pool = pool
        self._borrows = borrows
        self._devices = len(partition.parts)
        found = segments(partition) if self._devices > 1 else _in_order(partition, after)
        edges: dict[Key, int] = {}

        def part_stage(device: str, stage: Segment) -> PartStage:
            receives = {edges.setdefault(key, len(edges)): name for key, name in stage.receives.items()}
            sends = [(edges.setdefault(key, len(edges)), name, "") for key, name in stage.sends.items()]
            runner = make(stage.plan, stage.blocks, _kept(stage, device, found[device]))
            if self._devices > 1 and not stage.blocks:
                runner.around = one_core
            return PartStage(
                runner,
                stage.plan.feeds,
                stage.plan.fetches,
                receives,
                sends,
                stage.needs,
                stage.turn,
                patience_of(stage.blocks, stage.needs is not None, stage.calls),
            )

        fetches = list(zip(partition.fetch_devices, plan.fetches, strict=True))
        self._parts = Parts(
            {d: [part_stage(d, s) for s in each] for d, each in found.items()}, plan.feeds, fetches
        )
        self._inline = InlineScheduler(self._parts, timed=self._devices > 1)
        ends = [i for p in partition.parts.values() for i in p.instructions if i.type in ("Send", "Recv")]
        made = {(i.type, i.attrs["key"]): i for i in ends}
        self._transfers = [(made["Send", key], made["Recv", key]) for key in edges]
        fed = set(plan.feeds)
        self._shared = [name in fed or name in plan.fetches[:k] for k, name in enumerate(plan.fetches)]
        self.uses_variables = any(stage.plan.variables() for each in found.values() for stage in each)
        waits = any(stage.blocks for each in found.values() for stage in each)
        self._holds_variables = self._devices > 1 and waits and self.uses_variables

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of the first operation that fails."""
        if self._holds_variables:
            run.pausable = False  # While one device waits, another may be at work on a variable.
        alone = self._devices == 1 or self._inline.all_quick
        alone = alone and run.deadline is None and run.trace is None
        if alone and self._parts.apart and self._devices == 1:
            pool, counts = self._pool, self.uses_variables
            values = InlineRun(self._inline, run, feeds, pool, self._transfers, counts).values()
        elif alone:
            with one_core() if self._devices > 1 else _NOTHING:
                values = self._inline.run(run, feeds)
        else:
            values = self._at_once(run, feeds)
        return tuple(
            [
                copied(host(value)) if shared or self._is_borrowed(value) else value
                for value, shared in zip(values, self._shared, strict=True)
            ]
        )

    def _at_once(self, run: RunContext, feeds: Sequence[Any]) -> list[Any]:
        """The fetched values of a run in which the devices compute at the same time."""
        apart = self._devices == 1 and self._parts.apart
        scheduler = Scheduler(
            self._parts, run, feeds, self._pool, self._transfers, self.uses_variables, apart
        )
        values = scheduler.run()
        self._inline.all_quick = not any(runner.slow for each in self.runners.values() for runner in each)
        return values

    def _is_borrowed(self, value: Any) -> bool:
        if isinstance(value, HeldValue):
            return True
        return not self._borrows and isinstance(value, np.ndarray) and borrowed_from(value) is not value

    @property
    def runners(self) -> Mapping[str, Sequence[StageRunner]]:
        """The runners of each device's stages, in order."""
        return {device: [stage.run for stage in each] for device, each in self._parts.stages.items()}

    def parts(self) -> Sequence[Executable]:
        """See Executable."""
        return [part for executable in self._executables() for part in executable.parts()]

    def describe(self) -> str:
        """The compiled plans that there are, stage by stage; "" if there is none."""
        return "".join(part.describe() for part in self._executables())

    def reasons(self) -> list[StaysOnNumpy]:
        """Why stages stay on NumPy."""
        return [reason for part in self._executables() for reason in part.reasons()]

    def compiled(self) -> list[Any]:
        """The compiled plans that there are, stage by stage."""
        return [plan for part in self._executables() for plan in part.compiled()]

    def _executables(self) -> list[Executable]:
        return [runner.executable for runners in self.runners.values() for runner in runners]


def _kept(stage: Segment, device: str, stages: Sequence[Segment]) -> frozenset[str]:
    """The values of a device's stage that are taken by GPUs: by later stages of its own, or by others'."""
    kept = {name for key, name in stage.sends.items() if name is not None and _is_gpu(key[2])}
    if _is_gpu(device):
        kept.update(name for other in stages if other is not stage for name in other.plan.feeds)
    return frozenset(kept.intersection(stage.plan.fetches))


def _is_gpu(device: str) -> bool:
    return DeviceSpec.from_string(device).device_type == "GPU"


def _in_order(partition: Partition, after: Collection[str]) -> Mapping[str, Sequence[Segment]]:
    """The stages of a plan for one device."""
    ((device, plan),) = partition.parts.items()
    apart = None if after else waits_apart(partition.parts, {device: numbers_in_order(plan)}, True)
    if apart is not None:
        return cut_apart(apart, partition)
    work = [i for i in plan.instructions if not i.is_prologue]
    numbers = numbers_with_cuts(plan, after) if after else dict.fromkeys([i.name for i in work], 0)
    stretches = [(blocks, tuple(group)) for blocks, group in groupby(work, lambda i: i.blocks)]
    groups = _joined([(blocks, part) for blocks, group in stretches for part in _by_number(group, numbers)])
    makers = producers(plan)
    if any(name in makers and makers[name].is_prologue for name in plan.fetches):
        groups.append((False, ()))  # What waits holds no variable.
    return {device: cut(groups, plan)}


def _by_number(group: Sequence[Instruction], numbers: Mapping[str, int]) -> Iterator[tuple[Instruction, ...]]:
    """What has one number each, by their numbers, and of each in the plan's order."""
    for _, part in groupby(sorted(group, key=lambda i: numbers[i.name]), lambda i: numbers[i.name]):
        yield tuple(part)


def _joined(
    groups: Sequence[tuple[bool, tuple[Instruction, ...]]],
) -> list[tuple[bool, tuple[Instruction, ...]]]:
    """The groups, with the short ones run together with the waits beside them: a stage costs more than they do."""
    result: list[tuple[bool, tuple[Instruction, ...]]] = []
    for blocks, group in groups:
        joins = blocks or len(group) <= _SHORT
        if result and joins and result[-1][0]:
            result[-1] = True, (*result[-1][1], *group)
        else:
            result.append((joins, group))
    return result


class _Bodies:
    """A branch or loop whose bodies are executables, as a function of a run and the instruction's inputs.

    variables: those around it, by the names of their values. make: what makes an executable of a body's plan.
    """

    def __init__(
        self,
        instruction: Instruction,
        variables: Mapping[str, Instruction],
        make: Callable[[Plan], Executable],
    ) -> None:
        self._loops = instruction.type == kinds.WHILE
        own = instruction.bodies[1].feeds if self._loops else ()
        self._count = len(own)
        self._bodies: list[tuple[Executable, list[int], tuple[bool, ...]]] = []
        """What runs each, the places of the inputs that it takes from around, and which results there are."""
        for body in instruction.bodies:
            made = {name for i in body.instructions for name in i.outputs}.union(own)
            taken = [*(n for i in body.instructions for n in i.free_variables()), *filter(None, body.fetches)]
            free = [name for name in dict.fromkeys(taken) if name not in made]
            around = [name for name in free if name not in variables]
            plan = Plan(
                (*(variables[name] for name in free if name in variables), *body.instructions),
                (*own, *around),
                tuple(filter(None, body.fetches)),
            )
            places = [instruction.inputs.index(name) for name in around]
            self._bodies.append((make(plan), places, tuple(map(bool, body.fetches))))

    def __call__(self, run: RunContext, *values: Any) -> tuple[Any, ...]:
        """The results; `values` are the instruction's inputs, None for variables."""
        if not self._loops:
            return self._run(0 if values[0] else 1, run, (), values)
        variables = tuple(values[: self._count])
        while True:
            run.check()
            if not self._run(0, run, variables, values)[0]:
                return variables
            variables = self._run(1, run, variables, values)

    def _run(
        self, which: int, run: RunContext, own: tuple[Any, ...], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        executable, places, given = self._bodies[which]
        results = iter(executable.run(run, (*own, *(values[place] for place in places))))
        return tuple([operand(next(results)) if there else None for there in given])


def with_bodies_apart(
    plan: Plan,
    make: Callable[[Plan, str], Executable],
    around: Mapping[str, Instruction] = MappingProxyType({}),
) -> Plan:
    """The plan in which the bodies of branches and loops are executables, where a wait in one may hold up another.

    make: what makes an executable of a plan on a device. around: the variables around it, by the names of their values.
    """
    if not any(i.bodies and i.blocks for i in plan.instructions):
        return plan
    variables = {**around, **{i.outputs[0]: i for i in plan.instructions if i.is_variable}}

    def apart(i: Instruction) -> Instruction:
        if not i.bodies or not i.blocks or "compiled" in i.attrs:
            return i
        bodies = tuple(with_bodies_apart(body, make, variables) for body in i.bodies)
        changed = replace(i, bodies=bodies)
        if any(map(may_hold_up, i.bodies)):
            done = _Bodies(changed, variables, lambda plan: make(plan, i.device))
            return replace(changed, attrs={**i.attrs, "compiled": done})
        return changed

    return plan.with_instructions([apart(i) for i in plan.instructions])
