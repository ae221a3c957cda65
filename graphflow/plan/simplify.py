"""Rewrites that change no bit of any result: a list of rules, each for one op type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from graphflow.graph.op_def import lookup
from graphflow.plan.ir import Instruction, Plan, producers
from graphflow.plan.passes import PassContext

Rule: TypeAlias = "Callable[[Instruction, Mapping[str, Instruction]], Instruction | str | None]"
"""From an instruction and the producers: another instruction, the name of a value that it equals, or None."""


def _constant(name: str, makers: Mapping[str, Instruction]) -> Any:
    maker = makers.get(name)
    return maker.attrs["value"] if maker is not None and maker.type == "Const" else None


def _same_type(i: Instruction, name: str, makers: Mapping[str, Instruction]) -> bool:
    """Whether a value surely has the shape of the instruction's result."""
    maker = makers.get(name)
    if maker is None:
        return False
    dims = maker.shapes[maker.outputs.index(name)]
    return dims is not None and None not in dims and dims == i.shapes[0]


def _neutral(position: int, number: float) -> Rule:
    """x op c is x, where c is a constant scalar at a position."""

    def rule(i: Instruction, makers: Mapping[str, Instruction]) -> str | None:
        value = _constant(i.inputs[position], makers)
        if value is None or value.size != 1 or value.ndim or value != number:
            return None
        return i.inputs[1 - position]

    return rule


def _involution(i: Instruction, makers: Mapping[str, Instruction]) -> str | None:
    inner = makers.get(i.inputs[0])
    return inner.inputs[0] if inner is not None and inner.type == i.type else None


def _reshape_of_reshape(i: Instruction, makers: Mapping[str, Instruction]) -> Instruction | None:
    inner = makers.get(i.inputs[0])
    if inner is None or inner.type != "Reshape" or not _may_take(i, inner.inputs[0], makers):
        return None
    return replace(i, inputs=(inner.inputs[0], *i.inputs[1:]))


def _reshape_to_same(i: Instruction, makers: Mapping[str, Instruction]) -> str | None:
    return i.inputs[0] if _same_type(i, i.inputs[0], makers) else None


def _cast_to_same(i: Instruction, makers: Mapping[str, Instruction]) -> str | None:
    inner = makers.get(i.inputs[0])
    if inner is None or inner.dtypes[inner.outputs.index(i.inputs[0])] is not i.dtypes[0]:
        return None
    return i.inputs[0]


def _transpose_of_transpose(i: Instruction, makers: Mapping[str, Instruction]) -> str | None:
    inner = makers.get(i.inputs[0])
    if inner is None or inner.type != "Transpose":
        return None
    first, second = _constant(inner.inputs[1], makers), _constant(i.inputs[1], makers)
    if (
        first is None
        or second is None
        or not np.array_equal(np.asarray(first)[second], np.arange(len(second)))
    ):
        return None
    return inner.inputs[0]


RULES: tuple[tuple[str, Rule], ...] = (
    ("Mul", _neutral(1, 1)),
    ("Mul", _neutral(0, 1)),
    ("RealDiv", _neutral(1, 1)),
    ("Sub", _neutral(1, 0)),
    ("Neg", _involution),
    ("LogicalNot", _involution),
    ("Reshape", _reshape_of_reshape),
    ("Reshape", _reshape_to_same),
    ("Cast", _cast_to_same),
    ("Transpose", _transpose_of_transpose),
)


def simplify(plan: Plan, ctx: PassContext) -> Plan:
    """The plan after every rule was tried on every instruction until none applies."""
    rules: dict[str, list[Rule]] = {}
    for op_type, rule in RULES:
        rules.setdefault(op_type, []).append(rule)
    instructions = [
        replace(i, bodies=tuple(simplify(body, ctx) for body in i.bodies)) if i.bodies else i
        for i in plan.instructions
    ]
    makers = dict(producers(plan))
    changed = True
    while changed:
        changed = False
        for position, i in enumerate(instructions):
            for rule in rules.get(i.type, ()):
                found = rule(i, makers)
                if found is None:
                    continue
                if isinstance(found, str):
                    if found not in plan.feeds and not _may_take(i, found, makers):
                        continue
                    found = replace(
                        i, type="Identity", inputs=(found,), attrs={}, definition=lookup("Identity")
                    )
                if not _keeps_order(i, found, makers):
                    continue
                instructions[position] = i = found
                makers.update(dict.fromkeys(found.outputs, found))
                changed = True
    return plan.with_instructions(instructions)


def _may_take(i: Instruction, value: str, makers: Mapping[str, Instruction]) -> bool:
    """Whether the value may stand in for the instruction's result: made on its own device, and no variable.

    A variable under another name would be read later than the instruction is.
    """
    maker = makers.get(value)
    return maker is not None and maker.device == i.device and maker.type != "VariableV2"


def _keeps_order(i: Instruction, found: Instruction, makers: Mapping[str, Instruction]) -> bool:
    """Whether what the instruction waited for through an input that it no longer takes is nothing but that input."""

    def free(name: str) -> bool:
        maker = makers.get(name)
        return name in found.inputs or maker is None or (maker.type == "Const" and not maker.control)

    for name in i.inputs:
        if not free(name):
            maker = makers[name]
            if maker.control or maker.stateful or not all(map(free, maker.inputs)):
                return False
    return True
