"""Donates the buffers of restored tensors to the variables that they become.

If only one assignment takes a tensor that a restore reads, the assignment need not copy it. So the pass tells the
restore which variables its results go to. If such a variable has no value yet, the restore gives it the buffer.
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
"""The attribute of a restore: for each result the variable that alone takes it, "" if there is none."""


def donate_buffers(plan: Plan, ctx: PassContext) -> Plan:
    """The plan whose restores know which variables take their results."""
    if not any(i.type == kinds.RESTORE for i in plan.instructions):
        return plan
    takers = Counter(name for i in plan.instructions for name in i.free_variables())
    takers.update(plan.fetches)
    variables = {i.outputs[0]: resource_name(i.attrs, i.name) for i in plan.instructions if i.is_variable}
    into = {
        i.inputs[1]: variables[i.inputs[0]]
        for i in plan.instructions
        if i.type == kinds.ASSIGN and i.inputs[0] in variables and takers[i.inputs[1]] == 1
    }
    return plan.with_instructions([_donating(i, into) for i in plan.instructions])


def _donating(i: Instruction, into: dict[str, str]) -> Instruction:
    if i.type != kinds.RESTORE:
        return i
    return replace(i, attrs={**i.attrs, INTO: [into.get(output, "") for output in i.outputs]})
