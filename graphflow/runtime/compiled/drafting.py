"""From a plan and the shapes that a run of it had to a draft, or to the reason why there is none."""

from __future__ import annotations

from graphflow.plan.ir import VARIABLE_TYPES, Plan, producers
from graphflow.plan.passes import PassContext
from graphflow.runtime.assemble import KernelTable
from graphflow.runtime.compiled import native
from graphflow.runtime.compiled.draft import Draft
from graphflow.runtime.compiled.loops import draft_loop
from graphflow.runtime.compiled.lower import Lowering, has_native_work
from graphflow.runtime.compiled.nodes import PythonNode
from graphflow.runtime.compiled.reasons import MayReshape, NothingNative, NoValue
from graphflow.runtime.compiled.rules import RULES
from graphflow.runtime.compiled.specialise import (
    Known,
    apart_from_feeds,
    complete,
    may_reshape,
    specialise,
)
from graphflow.runtime.resources import ResourceStore


def draft_plan(
    plan: Plan, known: Known, store: ResourceStore, kernels: KernelTable, ctx: PassContext
) -> Draft:
    """The draft of a plan, or of a loop's part; raises StaysOnNumpy where there is to be none."""
    plan, known = apart_from_feeds(plan, known)
    complete(plan, known, store)
    variables = [i.outputs[0] for i in plan.instructions if i.type in VARIABLE_TYPES]
    for name in (*plan.feeds, *variables):
        if name not in known:
            raise NoValue(name)
    if may_reshape(plan, known):
        raise MayReshape
    plan = specialise(plan, known, ctx)
    complete(plan, known, store)
    lowering = Lowering(plan, known, kernels, RULES)
    lowering.run()
    makers = producers(plan)

    def part(inner: Plan) -> Draft | None:
        try:
            return draft_plan(inner, known, store, kernels, ctx)
        except (NothingNative, NoValue, MayReshape):
            return None

    whiles = [
        node.instruction
        for node in lowering.nodes
        if isinstance(node, PythonNode) and node.instruction.type == "While"
    ]
    loops = [loop for i in whiles if (loop := draft_loop(i, makers, part)) is not None]
    if not loops and not has_native_work(lowering.nodes):
        raise NothingNative
    return Draft(plan, lowering, native.compiler(), loops)
