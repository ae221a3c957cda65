"""A pass and a rewrite."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from graphflow import extend


def multiply_by_reciprocals(plan: extend.Plan) -> extend.Plan:
    """Has a division by a constant power of two multiply by its reciprocal, which is the same number and quicker."""
    makers = {output: i for i in plan.instructions for output in i.outputs}
    instructions = []
    for i in plan.instructions:
        if i.bodies:
            i = replace(i, bodies=tuple(multiply_by_reciprocals(body) for body in i.bodies))
        divisor = makers.get(i.inputs[1]) if i.type == "RealDiv" else None
        if divisor is not None and divisor.type == "Const" and is_power_of_two(divisor.attrs["value"]):
            value = np.reciprocal(divisor.attrs["value"])
            attrs = {"value": value, "dtype": divisor.attrs["dtype"]}
            new = extend.new_instruction(plan, f"{i.name}/reciprocal", "Const", (), attrs, near=i)
            instructions.append(new)
            i = extend.in_place_of(i, "Mul", (i.inputs[0], new.outputs[0]))
        instructions.append(i)
    return plan.with_instructions(instructions)


def is_power_of_two(value: np.ndarray) -> bool:
    """Whether all of a constant are powers of two of a middling size."""
    if value.dtype not in (np.float32, np.float64) or not value.size:
        return False
    parts, exponents = np.frexp(value)
    return bool((parts == 0.5).all() and (np.abs(exponents) < 100).all())


def add_negative(
    i: extend.Instruction, makers: Mapping[str, extend.Instruction]
) -> extend.Instruction | None:
    """x - (-y) is x + y."""
    inner = makers.get(i.inputs[1])
    if inner is None or inner.type != "Neg":
        return None
    return extend.in_place_of(i, "AddV2", (i.inputs[0], inner.inputs[0]))


def install() -> ExitStack:
    """Adds both; what it returns takes them out at its end."""
    stack = ExitStack()
    stack.enter_context(extend.add_pass(multiply_by_reciprocals, at="folded"))
    stack.enter_context(extend.add_rewrite("Sub", add_negative))
    return stack
