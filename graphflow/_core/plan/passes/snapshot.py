"""Gives the fetch of a variable a place in the order.

A run may fetch a variable that it also writes. The fetch is read like every other use without control dependencies:
before the write. So a fetch of the variable, of its value() and of what is computed from it give the same state.
"""

from __future__ import annotations

from dataclasses import replace

from graphflow._core.graph.op_def import lookup
from graphflow._core.plan.ir import Instruction, Plan, walk
from graphflow._core.plan.pass_context import PassContext


def snapshot_fetches(plan: Plan, ctx: PassContext) -> Plan:
    """The plan with a reading instruction for each fetched variable that it writes."""
    written = {name for i in walk(plan) for name in i.writes()}
    variables = plan.variables()
    reads: dict[str, Instruction] = {}
    for name in dict.fromkeys(plan.fetches):
        if name in written and name in variables and name not in plan.feeds:
            variable = variables[name]
            reads[name] = replace(
                variable,
                name=f"{variable.name}/fetched",
                type="Identity",
                inputs=(name,),
                outputs=(f"{variable.name}/fetched:0",),
                attrs={},
                control=(),
                definition=lookup("Identity"),
            )
    if not reads:
        return plan
    fetches = tuple(reads[f].outputs[0] if f in reads else f for f in plan.fetches)
    return replace(plan, instructions=(*plan.instructions, *reads.values()), fetches=fetches)
