"""The passes between lowering and partition, in their one order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import Pass, PassContext
from graphflow._core.plan.passes.collectives import halve_collectives
from graphflow._core.plan.passes.fold import fold
from graphflow._core.plan.passes.handover import hand_over
from graphflow._core.plan.passes.initializers import order_initializers
from graphflow._core.plan.passes.merge import merge_common
from graphflow._core.plan.passes.order import order
from graphflow._core.plan.passes.placement import place
from graphflow._core.plan.passes.prune import prune
from graphflow._core.plan.passes.read_order import order_reads
from graphflow._core.plan.passes.simplify import simplify
from graphflow._core.plan.passes.snapshot import snapshot_fetches

PASSES: tuple[Pass, ...] = (
    place,
    fold,
    simplify,
    merge_common,
    prune,
    order_initializers,
    snapshot_fetches,
    order_reads,
    hand_over,
    halve_collectives,
    order,
)
"""Placement is first, so that no bad device is folded away and nothing is merged across devices."""


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
    for function in PASSES:
        plan = function(plan, ctx)
        for seen in watches:
            seen(function.__name__, plan)
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
