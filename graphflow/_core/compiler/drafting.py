"""From a plan and the shapes that a run of it had to a draft, or to the reason why there is none."""

from __future__ import annotations

from graphflow._core.compiler.cpu.rules import RULES
from graphflow._core.compiler.draft import Draft
from graphflow._core.compiler.lower import Lowering, has_native_work
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.compiler.reasons import MayReshape, NothingNative, NoValue
from graphflow._core.compiler.specialise import Known, apart_from_feeds, complete, may_reshape, specialise
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import VARIABLE_TYPES, Plan, producers
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.compiled import native
from graphflow._core.runtime.compiled.loops import draft_loop


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
