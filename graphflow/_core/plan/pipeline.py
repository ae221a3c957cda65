"""The passes between lowering and partition, in their one order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from graphflow._core.common.records import dataclass
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import Pass, PassContext
from graphflow._core.plan.passes.collectives import split_collectives
from graphflow._core.plan.passes.donation import donate_buffers
from graphflow._core.plan.passes.fold import fold
from graphflow._core.plan.passes.growth import list_growth
from graphflow._core.plan.passes.initializers import order_initializers
from graphflow._core.plan.passes.merge import merge_common
from graphflow._core.plan.passes.order import order
from graphflow._core.plan.passes.placement import place
from graphflow._core.plan.passes.prune import prune
from graphflow._core.plan.passes.read_order import order_reads
from graphflow._core.plan.passes.simplify import simplify
from graphflow._core.plan.passes.snapshot import snapshot_fetches
from graphflow._core.plan.passes.variable_reads import share_reads

PASSES: tuple[Pass, ...] = (
    place,
    fold,
    simplify,
    merge_common,
    prune,
    list_growth,
    order_initializers,
    snapshot_fetches,
    order_reads,
    donate_buffers,
    split_collectives,
    order,
    share_reads,
)
"""Placement is first, so that no bad device is folded away and nothing is merged across devices."""

POINTS: Final[Mapping[str, str]] = {"placed": "place", "folded": "fold", "merged": "merge_common"}
"""Where passes of extensions may come, and the pass that they come behind."""


@dataclass(frozen=True)
class AddedPass:
    """A pass of an extension: what it does, under which name, and at which of the POINTS."""

    function: Callable[[Plan], Plan]
    name: str
    point: str

    def __call__(self, plan: Plan) -> Plan:
        """The plan after the pass; what it raises says which pass it was."""
        try:
            after = self.function(plan)
        except Exception as error:
            error.add_note(f"This is of the pass {self.name!r} of {self.function.__module__}.")
            raise
        if not isinstance(after, Plan):
            raise TypeError(
                f"The pass {self.name!r} of {self.function.__module__} must return a Plan, got {after!r}."
            )
        return after


_ADDED: Final[list[AddedPass]] = []


def add_pass(added: AddedPass) -> None:
    """Has all plans that are made from now on go through a pass; ValueError if one has its name, or no such point."""
    if added.point not in POINTS:
        raise ValueError(f"A pass comes at one of the points {', '.join(POINTS)}, not at {added.point!r}.")
    if added.name in ("lower", *(p.__name__ for p in PASSES), *(p.name for p in _ADDED)):
        raise ValueError(f"There is a pass named {added.name!r} already: give this one another name.")
    _ADDED.append(added)


def remove_pass(added: AddedPass) -> None:
    """Takes a pass out again, if it is there; plans that are made stay as they are."""
    if added in _ADDED:
        _ADDED.remove(added)


Watch: TypeAlias = Callable[[str, Plan], None]
"""Sees a plan after a pass, by the pass's name."""


def run_passes(
    lowered: Plan, ctx: PassContext, watch: Watch | None = None, verify: Watch | None = None
) -> Plan:
    """The plan after all passes; `watch` sees it after each and as it was lowered, and `verify` before that."""
    watches = [seen for seen in (verify, watch) if seen is not None]
    plan = lowered
    for seen in watches:
        seen("lower", plan)
    added = {p: [a for a in _ADDED if POINTS[a.point] == p] for p in POINTS.values()} if _ADDED else {}
    for function in PASSES:
        plan = function(plan, ctx)
        for seen in watches:
            seen(function.__name__, plan)
        for one in added.get(function.__name__, ()):
            plan = one(plan)
            for seen in watches:
                seen(one.name, plan)
    return mark_used(plan, frozenset())


def mark_used(plan: Plan, around: frozenset[str]) -> Plan:
    """The plan with `used` set on every instruction."""
    taken = set(plan.fetches) | around
    for instruction in plan.instructions:
        taken |= set(instruction.inputs)
        for body in instruction.bodies:
            taken |= set(body.fetches)
    return plan.with_instructions([_marked(i, taken) for i in plan.instructions])


def _marked(i: Instruction, taken: set[str]) -> Instruction:
    if not i.bodies and taken.issuperset(i.outputs):
        return replace(i, used=()) if i.used else i
    bodies = tuple(mark_used(body, frozenset(taken)) for body in i.bodies)
    return replace(i, used=tuple(o in taken for o in i.outputs), bodies=bodies)
