"""Computes beforehand what depends on constants alone.

A folded value is kept unless it is larger than both 1 MiB and its inputs: a plan should not carry a value that is as
quickly made anew. An instruction that raises while it is folded is left as it is, so that it raises when it runs, and
only if it runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.plan import build
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import PassContext

LARGE: Final = 1 << 20
"""Bytes of a value that is folded whatever its inputs are."""
_NEVER: Final = frozenset({"Placeholder", "PlaceholderWithDefault"})
"""Types that compute nothing: what they give comes from outside."""


def fold(plan: Plan, ctx: PassContext, controlled: bool = False) -> Plan:
    """The plan with constants in place of instructions that compute the same every time.

    With `controlled` of those that wait for others too: the constant waits for all that its inputs and it waited for.
    """
    if ctx.evaluate is None:
        return plan
    return _fold(plan, ctx, {}, controlled)


_Known = dict[str, tuple[Any, tuple[str, ...]]]
"""Values that are the same every time, and what they wait for."""


def _fold(plan: Plan, ctx: PassContext, known: _Known, controlled: bool) -> Plan:
    instructions: list[Instruction] = []
    waiting = list(plan.instructions)
    progress = True
    folded: dict[str, list[Instruction]] = {}
    for instruction in waiting:
        if (
            instruction.is_constant
            and (controlled or not instruction.control)
            and instruction.outputs[0] not in plan.feeds
        ):
            known[instruction.outputs[0]] = instruction.attrs["value"], tuple(instruction.control)
    while progress:
        progress = False
        for instruction in waiting:
            if (
                instruction.name not in folded
                and _foldable(instruction, known)
                and (controlled or not instruction.control)
                and not _fed(instruction, plan)
            ):
                constants = _evaluate(instruction, ctx, known)
                if constants is not None:
                    folded[instruction.name] = constants
                    progress = True
    for instruction in waiting:
        if instruction.name in folded:
            instructions += folded[instruction.name]
        elif instruction.bodies:
            bodies = tuple(_fold(body, ctx, dict(known), controlled) for body in instruction.bodies)
            instructions.append(replace(instruction, bodies=bodies))
        else:
            instructions.append(instruction)
    return plan.with_instructions(instructions)


def _fed(i: Instruction, plan: Plan) -> bool:
    return any(output in plan.feeds for output in i.outputs)


def _foldable(i: Instruction, known: _Known) -> bool:
    return (
        i.type not in _NEVER
        and not i.is_constant
        and not i.bodies
        and not i.stateful
        and bool(i.outputs)
        and all(n in known for n in i.inputs)
    )


def _evaluate(i: Instruction, ctx: PassContext, known: _Known) -> list[Instruction] | None:
    assert ctx.evaluate is not None
    inputs = [known[n][0] for n in i.inputs]
    control = tuple(dict.fromkeys([*i.control, *(c for n in i.inputs for c in known[n][1])]))
    try:
        values = [
            np.asarray(v)
            for v in ctx.evaluate(i, [v[()] if v.ndim == 0 and v.dtype != object else v for v in inputs])
        ]
    except Exception:
        # Whatever is wrong is the run's to report, with the operation's name, if the run gets there.
        return None
    budget = max([LARGE, *(v.nbytes for v in inputs)])
    if any(v.nbytes > budget or v.dtype.kind == "V" for v in values):
        return None
    constants = []
    for output, value in zip(i.outputs, values, strict=True):
        value = np.array(value)
        value.flags.writeable = False
        known[output] = value, control
        constants.append(value)
    return build.constants(i, constants, control)
