"""Cuts a plan with branches, loops and lists of tensors into device regions: a GPU runs one without a decision inside.

The host decides. It keeps the counters of loops, the stacks that a loop leaves for its gradient, the lists of
TensorArrays, and what is not for the GPU. A device region is an instruction with an ordinary plan inside, whose values
stay on the device. The rest of the plan stays around the regions as it is, bodies of branches and loops included.

Instructions are moved past each other as far as their values, their effects and their variables allow. So there are few
regions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.op_def import lookup
from graphflow._core.plan import build, kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan, walk

DEVICE_REGION: Final = "DeviceRegion"
"""The type of a device region; its attribute `plan` is what it runs."""
STACKS: Final = frozenset({"StackPushV2", "StackPopV2"})
LISTS: Final = frozenset(
    f"TensorArray{name}V3"
    for name in ("", "Grad", "Write", "Read", "Gather", "Scatter", "Concat", "Split", "Size", "Close")
)
"""Types that take and give values wherever these lie."""
ROWS: Final = frozenset({"StridedSlice", "StridedSliceGrad"})
"""Types that take or fill rows of a value on the device, of which the host may know the place."""
_DECIDING: Final = frozenset({dtypes.bool_, dtypes.int32, dtypes.int64})
"""What the host computes of few elements: counters, indices, truth values."""
_FEW: Final = 16


def has_decisions(plan: Plan) -> bool:
    """Whether the host has to decide anything while a plan runs."""
    return any(i.bodies or i.type in LISTS or i.type in STACKS for i in plan.instructions)


def cut_device_regions(plan: Plan, scalars: frozenset[str]) -> Plan:
    """The plan with device regions; `scalars` are the feeds that are scalars on the host."""
    constants = {
        o for i in walk(plan) if i.is_constant and (i.shapes == ((),) or _is_deciding(i)) for o in i.outputs
    }
    host = _HostValues(plan, scalars | constants).found
    return _Cut(host, frozenset(plan.feeds)).level(_reading(plan, plan.variables(), outermost=True), {})


class _HostValues:
    """Which values the host has without asking the device: counters, what follows from them, flows of lists.

    A scalar from outside of a loop is fetched once for the whole loop, so that there it counts as the host's.
    """

    def __init__(self, plan: Plan, given: frozenset[str]) -> None:
        self._pushed: dict[str, bool] = {}
        self._scalars = {o for i in walk(plan) if not i.is_prologue and _is_deciding(i) for o in i.outputs}
        self.found = self._level(plan, given)

    def _level(self, plan: Plan, given: frozenset[str]) -> frozenset[str]:
        found = set(given)
        for i in plan.instructions:
            if i.type == kinds.WHILE:
                found |= self._loop(i, frozenset(found))
            elif i.bodies:
                for body in i.bodies:
                    found |= self._level(body, frozenset(found))
            elif self._is_host(i, found):
                found.update(i.outputs)
        return frozenset(found)

    def _is_host(self, i: Instruction, found: set[str]) -> bool:
        if i.type in LISTS:
            return i.type not in ("TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayConcatV3")
        if i.type == "StackPushV2":
            self._pushed[i.attrs["stack"]] = i.inputs[0] in found
        if i.type in STACKS:
            return self._pushed.get(i.attrs["stack"], False)
        if i.stateful or not i.outputs or not found.issuperset(i.inputs):
            return False
        return i.type in PASS_THROUGH or i.type == "Range" or _is_deciding(i)

    def _loop(self, i: Instruction, around: frozenset[str]) -> frozenset[str]:
        """What the host has in a loop and after it: it has a loop variable that begins and goes on on the host."""
        condition, body = i.bodies
        borrowed = self._scalars.intersection(i.free_variables()) - around
        begun = {name for name, start in zip(body.feeds, i.inputs, strict=False) if start in around}
        while True:
            found = self._level(body, self._level(condition, around | begun | borrowed))
            kept = {
                n for n, following in zip(body.feeds, body.fetches, strict=True) if following in found
            } & begun
            if kept == begun:
                after = {o for o, name in zip(i.outputs, body.feeds, strict=True) if name in kept}
                return (found - borrowed) | after
            begun = kept


def _is_deciding(i: Instruction) -> bool:
    return all(
        dtype in _DECIDING
        and dims is not None
        and len(dims) <= 1
        and math.prod(n or _FEW + 1 for n in dims) <= _FEW
        for dtype, dims in zip(i.dtypes, i.shapes, strict=True)
    )


def _reading(plan: Plan, places: Mapping[str, Instruction], outermost: bool) -> Plan:
    """The plan in which loops begin with, and bodies give, values of variables and not the variables themselves."""
    instructions: list[Instruction] = []

    def read(name: str, by: str) -> str:
        """The value of a variable, read here."""
        if name not in places:
            return name
        made = f"{by}/{name.removesuffix(':0')}/read"
        instructions.append(
            replace(
                places[name], name=made, type="Identity", inputs=(name,), outputs=(f"{made}:0",), attrs={},
                control=(), definition=lookup("Identity"),
            )
        )  # fmt: skip
        return f"{made}:0"

    for i in plan.instructions:
        if i.type == kinds.WHILE:
            count = len(i.bodies[1].feeds)
            begun = tuple([read(n, f"{i.name}/{k}") for k, n in enumerate(i.inputs[:count])])
            i = replace(i, inputs=(*begun, *i.inputs[count:]))
        if i.bodies:
            i = replace(i, bodies=tuple(_reading(body, places, outermost=False) for body in i.bodies))
        instructions.append(i)
    fetches = plan.fetches
    if not outermost:
        last = plan.instructions[-1].name if plan.instructions else "end"
        fetches = tuple([read(n, f"{last}/{k}") for k, n in enumerate(plan.fetches)])
    return replace(plan, instructions=tuple(instructions), fetches=fetches)


@dataclass
class _Lane:
    """Instructions that follow each other, and what others can depend on."""

    work: list[Instruction] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    effects: bool = False

    def add(self, i: Instruction) -> None:
        """Adds an instruction at the end."""
        self.work.append(i)
        self.made |= {i.name, *i.outputs}
        self.taken.update(i.free_variables())
        self.written.update(i.writes())
        self.effects |= _has_effect(i)

    def precedes(self, i: Instruction) -> bool:
        """Whether anything here has to come before an instruction."""
        taken, written = set(i.free_variables()), set(i.writes())
        return bool(
            self.made & (taken | set(i.control))
            or self.written & (taken | written)
            or self.taken & written
            or (self.effects and _has_effect(i))
        )


def _has_effect(i: Instruction) -> bool:
    """Whether an instruction has an effect whose order is told by nothing else."""
    if i.bodies:
        return any(_has_effect(inner) for inner in walk(Plan((i,))) if not inner.bodies)
    return i.stateful and not i.is_prologue and i.type not in STACKS | LISTS and not i.writes()


class _Cut:
    """Cuts the levels of a plan. host: the values that the host has; fed: what the run is fed."""

    def __init__(self, host: frozenset[str], fed: frozenset[str]) -> None:
        self._host = host
        self._fed = fed
        self._count = 0

    def level(self, plan: Plan, around: Mapping[str, Instruction]) -> Plan:
        """A plan or a body with device regions. around: variables and constants of the plans that it is inside of."""
        own = [i for i in plan.instructions if i.is_prologue]
        around = {**around, **{o: i for i in own for o in i.outputs}}
        result = list(own)
        work = [i for i in plan.instructions if not i.is_prologue]
        for before, region, after in _windows(work, lambda i: self._for_device(i, around)):
            result += [self._with_bodies(i, around) for i in before]
            if region:
                inside = {i.name for i in region}
                outside = [i for i in work if i.name not in inside]
                wanted = {
                    *plan.fetches,
                    *plan.targets,
                    *(n for i in outside for n in (*i.free_variables(), *i.control)),
                }
                result.append(self._device_region(region, around, wanted))
            result += [self._with_bodies(i, around) for i in after]
        return plan.with_instructions(result)

    def _with_bodies(self, i: Instruction, around: Mapping[str, Instruction]) -> Instruction:
        return replace(i, bodies=tuple(self.level(body, around) for body in i.bodies)) if i.bodies else i

    def _for_device(self, i: Instruction, around: Mapping[str, Instruction]) -> bool:
        if i.bodies or i.type in STACKS or i.type in LISTS:
            return False
        if (
            i.type in ROWS
            and self._host.issuperset(i.inputs[1:4])
            and not all(n in around for n in i.inputs[1:4])
        ):
            return False  # Its place changes from one iteration to the next.
        if DeviceSpec.from_string(i.device).device_type != "GPU":
            return False
        return not i.outputs or not self._host.issuperset(i.outputs)

    def _device_region(
        self, work: Sequence[Instruction], around: Mapping[str, Instruction], wanted: set[str]
    ) -> Instruction:
        inside = {i.name for i in work}
        made = {
            o: (dtype, dims)
            for i in work
            for o, dtype, dims in zip(i.outputs, i.dtypes, i.shapes, strict=True)
            if o not in self._fed
        }
        taken = dict.fromkeys(n for i in work for n in i.free_variables() if n not in made)
        used = {around[n].name: around[n] for n in taken if n in around}
        feeds = tuple(n for n in taken if n not in around)
        fetches = tuple(o for o in made if o in wanted)
        body = [replace(i, control=tuple(c for c in i.control if c in inside)) for i in work]
        targets = tuple(i.name for i in work if i.name in wanted)
        plan = Plan((*used.values(), *body), feeds, fetches, targets)
        self._count += 1
        results = [(o, *made[o]) for o in fetches]
        attrs = {"plan": plan, "scalars": self._host & set(feeds)}
        return build.region(DEVICE_REGION, f"region {self._count}", feeds, results, attrs, work)


def _windows(
    work: Sequence[Instruction], for_device: Callable[[Instruction], bool]
) -> Iterator[tuple[list[Instruction], list[Instruction], list[Instruction]]]:
    """The work as triples: what the host does before a device region, the region, and what it does after it."""
    before, region, after = _Lane(), _Lane(), _Lane()
    for i in work:
        if not for_device(i):
            (after if region.precedes(i) or after.precedes(i) else before).add(i)
            continue
        if after.precedes(i):
            yield before.work, region.work, after.work
            before, region, after = _Lane(), _Lane(), _Lane()
        region.add(i)
    yield before.work, region.work, after.work
