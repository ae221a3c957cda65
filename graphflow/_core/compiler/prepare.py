"""Prepares a plan for the compiler: from the plan and the shapes of a run to a compile job, or to why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graphflow._core.codegen import shared
from graphflow._core.compiler.added_rules import added_rules
from graphflow._core.compiler.compile_job import CompileJob, LoopJob
from graphflow._core.compiler.cpu.rules import RULES
from graphflow._core.compiler.cpu.transposed import side_by_side
from graphflow._core.compiler.lower import Lowering, has_native_work
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.compiler.reasons import MayReshape, NothingNative, NoValue
from graphflow._core.compiler.shared.repeated_rows import FIRSTS, with_repeated_rows
from graphflow._core.compiler.specialise import Known, apart_from_feeds, complete, may_reshape, specialise
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.resources.store import ResourceStore


def prepare_job(
    plan: Plan, known: Known, store: ResourceStore, kernels: KernelTable, ctx: PassContext
) -> CompileJob:
    """The compile job of a plan, or of a loop's part; raises StaysOnNumpy if there is to be none."""
    plan, known = apart_from_feeds(plan, known)
    complete(plan, known, store)
    variables = [i.outputs[0] for i in plan.instructions if i.is_variable]
    for name in (*plan.feeds, *variables):
        if name not in known:
            raise NoValue(name)
    if may_reshape(plan, known):
        raise MayReshape
    plan = specialise(plan, known, ctx)
    complete(plan, known, store)
    plan, lowering = _lowered(plan, known, kernels)
    makers = producers(plan)

    def part(inner: Plan) -> CompileJob | None:
        try:
            return prepare_job(inner, known, store, kernels, ctx)
        except (NothingNative, NoValue, MayReshape):
            return None

    whiles = [
        node.instruction
        for node in lowering.nodes
        if isinstance(node, PythonNode) and node.instruction.type == kinds.WHILE
    ]
    loops = [loop for i in whiles if (loop := _prepare_loop(i, makers, part)) is not None]
    if not loops and not has_native_work(lowering.nodes):
        raise NothingNative
    return CompileJob(plan, lowering, shared.compiler(), loops)


def _lowered(plan: Plan, known: Known, kernels: KernelTable) -> tuple[Plan, Lowering]:
    """The plan as it is lowered, with sparse updates of rows that may repeat if all of these are native."""
    rules = {**RULES, **added_rules("cpu")}
    with_rows, shapes = with_repeated_rows(plan, known)
    if with_rows is not plan:
        lowering = Lowering(with_rows, shapes, kernels, rules, side_by_side)
        lowering.run()
        others = [node.instruction for node in lowering.nodes if isinstance(node, PythonNode)]
        if not any(i.type == FIRSTS or i.attrs.get("dropping") for i in others):
            return with_rows, lowering
    lowering = Lowering(plan, known, kernels, rules, side_by_side)
    lowering.run()
    return plan, lowering


def _prepare_loop(
    i: Instruction, around: Mapping[str, Instruction], prepare: Callable[[Plan], CompileJob | None]
) -> LoopJob | None:
    """The compile job of a While, its body prepared by `prepare`; None if nothing of that is native.

    around: the instruction that makes each value outside the loop.
    """
    condition, body = i.bodies
    extra: dict[str, Instruction] = {}
    captured: list[str] = []
    for name in dict.fromkeys(i.inputs):
        maker = around.get(name)
        if maker is not None and (maker.is_variable or maker.is_constant):
            extra[maker.name] = maker
        elif name not in body.feeds:
            captured.append(name)
    feeds = (*body.feeds, *captured)
    plans = [Plan((*extra.values(), *part.instructions), feeds, part.fetches) for part in (condition, body)]
    body_job = prepare(plans[1])
    if body_job is None:
        return None
    return LoopJob(i, plans[0], plans[1], body_job)
