"""Stacks on which a loop keeps, for its gradient, what is the same in every turn: a constant needs no stack.

A size that the gradient asks for is computed in the loop as a rule, of the shapes of what the turn makes. Once these
are known it is a constant, and all that the gradient computes of it as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphflow._core.graph.op_def import lookup
from graphflow._core.ops.control_flow.contexts import STACK_POP, STACK_PUSH
from graphflow._core.plan import build, kinds
from graphflow._core.plan.ir import Instruction, Plan, walk


def with_constant_stacks(plan: Plan) -> Plan:
    """The plan without the stacks onto which it pushes one constant alone."""
    constants = {i.outputs[0]: i.attrs["value"] for i in walk(plan) if i.is_constant}
    pushed: dict[str, Any] = {}
    """What is pushed onto each stack; None if that is more than one constant."""
    popped = set[str]()
    for i in walk(plan):
        if i.definition is STACK_PUSH:
            stack, value = i.attrs["stack"], constants.get(i.inputs[0])
            same = stack not in pushed or _are_same(pushed[stack], value)
            pushed[stack] = value if same else None
        elif i.definition is STACK_POP:
            popped.add(i.attrs["stack"])
    found = {stack: value for stack, value in pushed.items() if value is not None and stack in popped}
    return _without(plan, found) if found else plan


def _are_same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    same = one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return bool(same)


def _without(plan: Plan, stacks: dict[str, Any]) -> Plan:
    instructions: list[Instruction] = []
    for i in plan.instructions:
        if i.bodies:
            bodies = tuple([_without(body, stacks) for body in i.bodies])
            instructions.append(replace(i, bodies=bodies))
        elif i.definition is STACK_POP and i.attrs["stack"] in stacks:
            instructions += build.constants(i, [np.asarray(stacks[i.attrs["stack"]])], i.control)
        elif i.definition is STACK_PUSH and i.attrs["stack"] in stacks:
            attrs = {"T": i.dtypes[0]}
            instructions.append(
                replace(i, type=kinds.IDENTITY, definition=lookup(kinds.IDENTITY), attrs=attrs)
            )
        else:
            instructions.append(i)
    return plan.with_instructions(instructions)
