"""From a plan to what is simulated: for each task its stages, what each costs, and what it sends where.

The plan, its partition and its stages are the real ones. What a client of its own runs for each worker is planned once,
for the first worker: in the plans of the others that worker has another number, and nothing else is different.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph.devices import DeviceSpec, task_of
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, walk
from graphflow._core.plan.partition import Partition
from graphflow._core.plan.passes.collectives import members
from graphflow._core.plan.segments import Key, Segment, segments

CLAIM: Final = "SyncRoundClaim"
"""The type of what makes the changes of a round once."""
_WHOLE, _SLICES = "SyncRoundMean", "SyncRoundMeanSlices"
"""The types of what takes the mean of a round's gradients."""


@dataclass(frozen=True)
class Round:
    """A round of synchronous training that a stage begins, or waits for: which, of how many, and who may be missing."""

    name: str
    needed: int
    total: int


@dataclass(frozen=True)
class Contribution:
    """An operation of all members of a group: its name, the bytes of what one brings, and how many take part.

    gathers: whether each gets what all bring, and not their sum.
    """

    name: str
    size: int
    members: int
    gathers: bool = False


@dataclass(eq=False)
class Stage:
    """A stage of one device, which waits for nobody once it has begun.

    name: of the instruction that it is known by. seconds: core-seconds of it. again: core-seconds of it if another run
    has made the changes of the round already. receives: the edges that it waits for. sends: task, edges, bytes.
    operations: how many instructions it has. divisible: what part of its core-seconds several cores can share.
    crowded: core-seconds that it takes more where tasks of a host outnumber its cores.
    """

    name: str
    device: str
    seconds: float = 0.0
    crowded: float = 0.0
    divisible: float = 0.0
    again: float = 0.0
    blocks: bool = False
    receives: tuple[int, ...] = ()
    sends: tuple[tuple[str, tuple[int, ...], int], ...] = ()
    begins: Round | None = None
    arrives: Round | None = None
    claims: bool = False
    """Whether of the runs of a round one makes the changes, and the others wait for it."""
    advances: bool = False
    brings: tuple[str, ...] = ()
    """The names of the contributions to groups that begin here."""
    awaits: tuple[Contribution, ...] = ()
    operations: int = 0
    gathered: int = 0
    """Bytes of the gradients of one worker that the changes of a round take the mean of."""
    rows_of: int = 0
    """The rows of how many gradients it was measured with, if there are rows among these; 0 if there are none."""
    largest: int = 0
    """Bytes of the largest value that it sends."""


@dataclass(eq=False)
class PlannedStep:
    """A run of a client: for each task its devices, and for each device its stages in order.

    own: the task of the client. fed, fetched: bytes by task. alone: whether the process of the client runs all of it.
    """

    own: str
    stages: Mapping[str, Mapping[str, Sequence[Stage]]]
    alone: bool = False
    fed: Mapping[str, int] = field(default_factory=dict)
    fetched: Mapping[str, int] = field(default_factory=dict)

    def all_stages(self) -> list[Stage]:
        """The stages of all tasks."""
        return [s for devices in self.stages.values() for found in devices.values() for s in found]

    @property
    def together(self) -> bool:
        """Whether clients take each step together, in rounds or in an allreduce."""
        return any(stage.awaits or stage.arrives is not None for stage in self.all_stages())

    def largest_share(self, task: str) -> float:
        """What part of the bytes that a task sends is one value, which no other task can take a part of."""
        stages = [s for found in self.stages.get(task, {}).values() for s in found]
        whole = sum(size for s in stages for _, _, size in s.sends)
        return max((s.largest for s in stages), default=0) / whole if whole else 0.0

    def for_workers(self, count: int) -> PlannedStep:
        """The same step in a cluster with another number of workers, each with a client of its own.

        As many of them may be missing in a round as before.
        """

        def changed(stage: Stage) -> Stage:
            return replace(
                stage,
                begins=_for_workers(stage.begins, count),
                arrives=_for_workers(stage.arrives, count),
                awaits=tuple(replace(c, members=count) for c in stage.awaits),
            )

        stages = {
            task: {device: [changed(s) for s in found] for device, found in devices.items()}
            for task, devices in self.stages.items()
        }
        return PlannedStep(self.own, stages, self.alone, self.fed, self.fetched)


def _for_workers(round_: Round | None, count: int) -> Round | None:
    if round_ is None:
        return None
    return replace(round_, needed=max(1, count - (round_.total - round_.needed)), total=count)


Sizes = Callable[[str], int | None]
"""The bytes of a value, if they are known otherwise than by its shape."""


def planned_step(plan: Plan, cut: Partition, own: str, sizes: Sizes = lambda name: None) -> PlannedStep:
    """What is simulated of a plan. `sizes`: what was measured, which counts more than shapes that are not known."""
    edges: dict[Key, int] = {}
    found: dict[str, dict[str, list[Stage]]] = {}
    static = {
        n: s for i in walk(plan) for n, s in zip(i.outputs, map(_size, i.dtypes, i.shapes), strict=True)
    }

    def size(name: str | None) -> int:
        if name is None:
            return 0
        measured = sizes(name)
        plain = name.partition("->")[0].removesuffix("/send/read:0")
        return measured if measured is not None else static.get(name, static.get(plain)) or 0

    gradients = members_of_rounds(plan)
    for device, stages in segments(cut).items():
        task = task_of(device)
        found.setdefault(task, {})[device] = [_stage(s, device, edges, size, gradients) for s in stages]
    fed = dict.fromkeys(found, 0)
    for name, (dtype, shape) in zip(plan.feeds, plan.feed_types, strict=False):
        for task, devices in found.items():
            if any(_feeds(cut, device, name) for device in devices):
                fed[task] += _size(dtype, shape) or size(name)
    fetched = dict.fromkeys(found, 0)
    for name, device in zip(plan.fetches, cut.fetch_devices, strict=True):
        fetched[task_of(device)] = fetched.get(task_of(device), 0) + size(name)
    alone = set(found) == {own} and bool(members(plan))
    return PlannedStep(own, found, alone, fed, fetched)


def _feeds(cut: Partition, device: str, name: str) -> bool:
    return any(name in i.free_variables() for i in cut.parts[device].instructions)


def _stage(
    stage: Segment, device: str, edges: dict[Key, int], size: Callable[[str | None], int], gradients: int
) -> Stage:
    work = [i for i in walk(stage.plan) if not i.is_prologue]
    to: dict[str, tuple[list[int], int]] = {}
    for key, name in stage.sends.items():
        numbers, bytes_ = to.get(task_of(key[2]), ([], 0))
        numbers.append(edges.setdefault(key, len(edges)))
        to[task_of(key[2])] = numbers, bytes_ + size(name)
    by_type = {i.type: i for i in work}
    return Stage(
        name=_label(stage, work),
        device=device,
        blocks=stage.blocks,
        receives=tuple(edges.setdefault(key, len(edges)) for key in stage.receives),
        sends=tuple((task, tuple(numbers), bytes_) for task, (numbers, bytes_) in to.items()),
        begins=_round(by_type.get("SyncRoundBegin")),
        arrives=_round(by_type.get("SyncRoundArrive")),
        claims=CLAIM in by_type,
        advances="SyncRoundAdvance" in by_type,
        brings=tuple(_key(i) for i in work if i.type == kinds.COLLECTIVE_START),
        awaits=tuple(_contribution(i, size(i.outputs[0])) for i in work if i.type == kinds.COLLECTIVE_DONE),
        operations=len(work),
        largest=max(map(size, stage.sends.values()), default=0),
        gathered=sum(_size(i.dtypes[0], i.shapes[0]) or 0 for i in work if i.type == _WHOLE),
        rows_of=gradients if _SLICES in by_type else 0,
    )


def _label(stage: Segment, work: Sequence[Instruction]) -> str:
    """What a stage is called in a trace: the instruction that it waits with, its last one, or what it sends."""
    waits = [i for i in work if i.blocks]
    named = waits or [i for i in work if i.type != kinds.NO_OP]
    if named:
        return named[-1].name
    return f"send {next(iter(stage.sends))[0]}" if stage.sends else "wait"


def _round(i: Instruction | None) -> Round | None:
    return None if i is None else Round(i.attrs["shared_name"], i.attrs["needed"], i.attrs["total"])


def _key(i: Instruction) -> str:
    return f"{i.attrs['group_key']}/{i.attrs['instance_key']}"


def _contribution(i: Instruction, size: int) -> Contribution:
    return Contribution(_key(i), size, i.attrs["group_size"], i.attrs["kind"] == "CollectiveGather")


def _size(dtype: Any, shape: Any) -> int | None:
    """The bytes of a value of a shape that is known; None if it is not."""
    if shape is None or None in tuple(shape):
        return None
    elements: int = math.prod(tuple(shape))
    return elements * max(1, int(dtype.size))


def members_of_rounds(plan: Plan) -> int:
    """How many gradients of each variable a round of a plan has; 1 if it has no rounds."""
    rounds = (_round(i) for i in walk(plan) if "needed" in i.attrs and "total" in i.attrs)
    return max((found.needed for found in rounds if found is not None), default=1)


def one_member(plan: Plan, gradients: int) -> Plan:
    """The plan of a worker that trains alone: rounds and groups in which no other takes part.

    So each of its stages can be run once, and measured, where the others are not. gradients: how many times the rows
    that it brings to a round are taken.
    """
    return plan.with_instructions([_alone(i, gradients) for i in plan.instructions])


def _alone(i: Instruction, gradients: int) -> Instruction:
    attrs = dict(i.attrs)
    if i.type == _SLICES:
        attrs["stands_for"] = gradients
    if i.type.startswith("SyncRound") and "needed" in attrs:
        attrs |= {"needed": 1, "total": 1}
    elif "group_size" in attrs:
        attrs["group_size"] = 1
    bodies = tuple(one_member(body, gradients) for body in i.bodies)
    if attrs == i.attrs and not bodies:
        return i
    return replace(i, attrs=attrs, bodies=bodies)


def job_of(task: str) -> str:
    """The job of a task."""
    return DeviceSpec.from_string(task).job or ""
