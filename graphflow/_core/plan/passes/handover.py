"""Finds the values of a checkpoint that become variables' values as they are.

A tensor that a restore reads and that only one assignment takes need not be copied by that. So the restore is told
which variables its results go to; where such a variable has no value yet, it gives the memory away.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from graphflow._core.graph.scopes import resource_name
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import PassContext

INTO: Final = "_into"
"""The attribute of a restore: for each result the variable that alone takes it, "" where there is none."""


def hand_over(plan: Plan, ctx: PassContext) -> Plan:
    """The plan whose restores know which variables take their results."""
    if not any(i.type == kinds.RESTORE for i in plan.instructions):
        return plan
    takers = Counter(name for i in plan.instructions for name in i.taken())
    takers.update(plan.fetches)
    places = {i.outputs[0]: resource_name(i.attrs, i.name) for i in plan.instructions if i.is_variable}
    into = {
        i.inputs[1]: places[i.inputs[0]]
        for i in plan.instructions
        if i.type == kinds.ASSIGN and i.inputs[0] in places and takers[i.inputs[1]] == 1
    }
    return plan.with_instructions([_told(i, into) for i in plan.instructions])


def _told(i: Instruction, into: dict[str, str]) -> Instruction:
    if i.type != kinds.RESTORE:
        return i
    return replace(i, attrs={**i.attrs, INTO: [into.get(output, "") for output in i.outputs]})
