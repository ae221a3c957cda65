"""Prepares a plan for the compiler: from the plan and the shapes of a run to a compile job, or to why there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from graphflow._core.codegen import shared
from graphflow._core.compiler.added_rules import added_rules
from graphflow._core.compiler.compile_job import CompileJob, LoopJob
from graphflow._core.compiler.cpu.list_rules import LIST_RULES
from graphflow._core.compiler.cpu.rules import RULES
from graphflow._core.compiler.cpu.transposed import lower_in_order, side_by_side
from graphflow._core.compiler.lower import Around, DisagreementError, Lowering, Rule
from graphflow._core.compiler.native_parts import described, native_part
from graphflow._core.compiler.nested import loop_parts, nested, part_plan
from graphflow._core.compiler.nodes import KernelNode, Part, PythonNode, Statements
from graphflow._core.compiler.reasons import MayReshape, NothingNative, NoValue, WorthCutting
from graphflow._core.compiler.shapes.data_sizes import sized_by_data
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.shapes.loops import fixed_shapes
from graphflow._core.compiler.shapes.unseen import add_unseen
from graphflow._core.compiler.shared.repeated_rows import FIRSTS, with_repeated_rows
from graphflow._core.compiler.specialise import apart_from_feeds, complete, may_reshape, specialise
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.resources.store import ResourceStore


def prepare_job(
    plan: Plan,
    known: Known,
    store: ResourceStore,
    kernels: KernelTable,
    ctx: PassContext,
    cuttable: Collection[str] = (),
) -> CompileJob:
    """The compile job of a plan, or of a loop's part; raises StaysOnNumpy if there is to be none.

    cuttable: the instructions after which the plan may be cut, for which WorthCutting is raised.
    """
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
    parts = _Parts(store, kernels, ctx)
    plan, lowering = _lowered(plan, known, kernels, parts.rule)
    if cuttable and (after := sized_by_data(lowering, cuttable)):
        raise WorthCutting(after)
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
    loops = [loop for i in whiles if (loop := _prepare_loop(i, makers, part, parts, lowering)) is not None]
    native = any(isinstance(node, Statements | KernelNode) for node in lowering.nodes)
    if not loops and not native:
        raise NothingNative
    return CompileJob(plan, lowering, shared.compiler(), loops)


class _Parts:
    """Prepares the parts of loops and branches of which everything is native."""

    def __init__(self, store: ResourceStore, kernels: KernelTable, ctx: PassContext) -> None:
        self._store, self._kernels, self._ctx = store, kernels, ctx
        self._hosted = False

    def rule(self, lowering: Lowering, i: Instruction) -> bool:
        """Lowers a loop or branch as a node if all of it is native."""
        return nested(self.prepare, lowering, i)

    def hosted(
        self, lowering: Lowering, i: Instruction, around: Mapping[str, Instruction]
    ) -> list[Part] | None:
        """Condition and body of a loop that has a host."""
        self._hosted = True
        try:
            return loop_parts(self.prepare, lowering, i, around)
        finally:
            self._hosted = False

    def prepare(self, plan: Plan, around: Lowering) -> Part | None:
        """A part of a plan that is being lowered; None if not all of it is native."""
        known = around.known | described(plan)
        complete(plan, known, self._store)
        add_unseen(plan, known)
        variables = [i.outputs[0] for i in plan.instructions if i.is_variable]
        if any(name not in known for name in (*plan.feeds, *variables)) or may_reshape(plan, known):
            return None
        plan = specialise(plan, known, self._ctx)
        complete(plan, known, self._store)
        rules = {**RULES, **LIST_RULES, **added_rules("cpu")}
        lowering = Lowering(
            plan,
            known,
            self._kernels,
            rules,
            side_by_side,
            Around(self.rule, inside=True, hosted=self._hosted),
        )
        try:
            lowering.run()
        except DisagreementError:
            return None
        return native_part(plan, lowering)


def _lowered(plan: Plan, known: Known, kernels: KernelTable, nested: Rule) -> tuple[Plan, Lowering]:
    """The plan as it is lowered, with sparse updates of rows that may repeat if all of these are native."""
    rules = {**RULES, **added_rules("cpu")}
    with_rows, shapes = with_repeated_rows(plan, known)
    if with_rows is not plan:
        around = Around(nested, fixed=fixed_shapes(with_rows, shapes).fixed)
        lowering = Lowering(with_rows, shapes, kernels, rules, side_by_side, around)
        lower_in_order(lowering)
        others = [node.instruction for node in lowering.nodes if isinstance(node, PythonNode)]
        if not any(i.type == FIRSTS or i.attrs.get("dropping") for i in others):
            return with_rows, lowering
    around = Around(nested, fixed=fixed_shapes(plan, known).fixed)
    lowering = Lowering(plan, known, kernels, rules, side_by_side, around)
    lower_in_order(lowering)
    return plan, lowering


def _prepare_loop(
    i: Instruction,
    around: Mapping[str, Instruction],
    prepare: Callable[[Plan], CompileJob | None],
    parts: _Parts,
    lowering: Lowering,
) -> LoopJob | None:
    """The compile job of a While, its body prepared by `prepare` if not all of it is native; None if nothing is.

    around: the instruction that makes each value outside the loop.
    """
    body = i.bodies[1]
    condition_plan, body_plan = [
        part_plan(replace(part, feeds=body.feeds), i.inputs, around, part.fetches) for part in i.bodies
    ]
    native = None if i.writes() else parts.hosted(lowering, i, around)
    if native is not None:
        return LoopJob(i, condition_plan, body_plan, native[1].job, native)
    body_job = prepare(body_plan)
    return None if body_job is None else LoopJob(i, condition_plan, body_plan, body_job)
