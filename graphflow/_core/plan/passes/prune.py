"""Leaves out instructions that the passes before have made needless.

Lowering takes only what is needed. Folding and rewriting leave instructions behind that nothing uses any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import PassContext


def prune(plan: Plan, ctx: PassContext) -> Plan:
    """The plan without what has no effect and is neither used nor to run nor waited for."""
    wanted = set(plan.fetches) | set(plan.targets)
    kept: set[str] = set()
    makers = {o: i for i in plan.instructions for o in i.outputs}
    by_name = {i.name: i for i in plan.instructions}
    todo = [i for i in plan.instructions if i.stateful or i.name in wanted or wanted.intersection(i.outputs)]
    while todo:
        instruction = todo.pop()
        if instruction.name in kept:
            continue
        kept.add(instruction.name)
        todo += [makers[n] for n in _taken(instruction) if n in makers]
        todo += [by_name[c] for c in instruction.control if c in by_name]
    if len(kept) == len(plan.instructions):
        return plan
    return plan.with_instructions([i for i in plan.instructions if i.name in kept])


def _taken(instruction: Instruction) -> Iterator[str]:
    yield from instruction.inputs
    for body in instruction.bodies:
        yield from body.fetches
        for inner in body.instructions:
            yield from _taken(inner)
