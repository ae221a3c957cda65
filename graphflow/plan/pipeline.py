"""The passes between lowering and partition, in their one order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphflow.plan.collectives import halve_collectives
from graphflow.plan.fold import fold
from graphflow.plan.handover import hand_over
from graphflow.plan.initializers import order_initializers
from graphflow.plan.ir import Instruction, Plan
from graphflow.plan.merge import merge_common
from graphflow.plan.order import order
from graphflow.plan.passes import Pass, PassContext
from graphflow.plan.placement import place
from graphflow.plan.prune import prune
from graphflow.plan.read_order import order_reads
from graphflow.plan.simplify import simplify
from graphflow.plan.snapshot import snapshot_fetches

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


def run_passes(plan: Plan, ctx: PassContext, watch: Callable[[str, Plan], None] | None = None) -> Plan:
    """The plan after all passes; `watch` sees it after each, by the pass's name."""
    for function in PASSES:
        plan = function(plan, ctx)
        if watch is not None:
            watch(function.__name__, plan)
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
