"""Lets every variable be read after the state is seen to which the read must belong.

A step of synchronous training belongs to the round that it reads from the global step. Its gradients are right only if
what they were computed from was read after that. The graph does not say so, since the loss was built before the
optimizer. So the instruction that reads the round comes before all that reads a variable in the same run. The same
holds for a step whose staleness is counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from graphflow._core.plan.ir import Plan, needed
from graphflow._core.plan.pass_context import PassContext

BEFORE_READS: Final = frozenset({"StalenessBegin", "SyncRoundBegin", "SyncRoundHold"})
"""Types of instructions that come before every read of a variable."""


def order_reads(plan: Plan, ctx: PassContext) -> Plan:
    """The plan in which what reads variables waits for what comes before reads, unless that depends on it."""
    first = [i for i in plan.instructions if i.type in BEFORE_READS]
    if not first:
        return plan
    before = needed(plan, first)
    names = tuple(i.name for i in first)
    variables = set(plan.variables())
    return plan.with_instructions(
        [
            replace(i, control=tuple(dict.fromkeys((*i.control, *names))))
            if i.name not in before and not i.is_variable and variables.intersection(i.free_variables())
            else i
            for i in plan.instructions
        ]
    )
