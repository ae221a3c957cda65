"""Computes beforehand what depends on constants alone.

A folded value is kept unless it is larger than both 1 MiB and its inputs: a plan should not carry what is as quickly
made anew. What raises while it is folded is left as it is, so that it raises when it runs, and only if it runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow.plan.ir import VARIABLE_TYPES, Instruction, Plan
from graphflow.plan.passes import PassContext

_LARGE: Final = 1 << 20
_NEVER: Final = (
    frozenset({"Const", "Placeholder", "PlaceholderWithDefault", "NoOp", "Send", "Recv"}) | VARIABLE_TYPES
)


def fold(plan: Plan, ctx: PassContext) -> Plan:
    """The plan with constants in place of instructions that compute the same every time."""
    if ctx.evaluate is None:
        return plan
    return _fold(plan, ctx, {})


def _fold(plan: Plan, ctx: PassContext, known: dict[str, Any]) -> Plan:
    instructions: list[Instruction] = []
    waiting = list(plan.instructions)
    progress = True
    folded: dict[str, list[Instruction]] = {}
    for instruction in waiting:
        if (
            instruction.type == "Const"
            and not instruction.control
            and instruction.outputs[0] not in plan.feeds
        ):
            known[instruction.outputs[0]] = instruction.attrs["value"]
    while progress:
        progress = False
        for instruction in waiting:
            if (
                instruction.name not in folded
                and _foldable(instruction, known)
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
            bodies = tuple(_fold(body, ctx, dict(known)) for body in instruction.bodies)
            instructions.append(replace(instruction, bodies=bodies))
        else:
            instructions.append(instruction)
    return plan.with_instructions(instructions)


def _fed(i: Instruction, plan: Plan) -> bool:
    return any(output in plan.feeds for output in i.outputs)


def _foldable(i: Instruction, known: dict[str, Any]) -> bool:
    return (
        i.type not in _NEVER
        and not i.bodies
        and not i.stateful
        and not i.control
        and bool(i.outputs)
        and all(n in known for n in i.inputs)
    )


def _evaluate(i: Instruction, ctx: PassContext, known: dict[str, Any]) -> list[Instruction] | None:
    assert ctx.evaluate is not None
    inputs = [known[n] for n in i.inputs]
    try:
        values = [
            np.asarray(v)
            for v in ctx.evaluate(i, [v[()] if v.ndim == 0 and v.dtype != object else v for v in inputs])
        ]
    except Exception:
        # Whatever is wrong is the run's to report, with the operation's name, if the run gets there.
        return None
    budget = max([_LARGE, *(v.nbytes for v in inputs)])
    if any(v.nbytes > budget or v.dtype.kind == "V" for v in values):
        return None
    constants = []
    for position, (output, value) in enumerate(zip(i.outputs, values, strict=True)):
        value = np.array(value)
        value.flags.writeable = False
        known[output] = value
        constants.append(
            Instruction(
                i.name if position == 0 else f"{i.name}/{position}",
                "Const",
                (),
                (output,),
                (i.dtypes[position],),
                (value.shape,),
                {"value": value, "dtype": i.dtypes[position]},
                (),
                i.device,
                i.index,
                None,
                i.op,
            )
        )
    return constants
