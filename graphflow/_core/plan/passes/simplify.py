"""Rewrites that change no bit of any result: a list of rules, each for one op type.

A rule looks at the numbers alone. Whether an instruction may take another value than before is asked here, of all that
rules return: a variable is read where its consumer stands, so taking it would move the read, perhaps behind a write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from graphflow._core.graph.op_def import lookup
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan import kinds
from graphflow._core.plan.extents import Makers, elements, extents
from graphflow._core.plan.ir import Instruction, Plan, producers, rename_inputs
from graphflow._core.plan.pass_context import PassContext

_DEEPEST: Final = 8
"""Operations, one behind the other, that may all be found to wait for nothing else."""
Rule: TypeAlias = "Callable[[Instruction, Makers], Instruction | str | None]"
"""From an instruction and what makes the values: another instruction, the name of a value that it equals, or None.

`makers` has the values of the instruction's own level of the plan. What it lacks is fed, or comes from outside of a
branch or loop. A rule needs no checks of order, devices and variables: what it returns is left out if those forbid it.
"""


def _constant(name: str, makers: Mapping[str, Instruction]) -> Any:
    maker = makers.get(name)
    return maker.attrs["value"] if maker is not None and maker.is_constant else None


def _same_type(i: Instruction, name: str, makers: Mapping[str, Instruction]) -> bool:
    """Whether a value surely has the shape of the instruction's result."""
    maker = makers.get(name)
    if maker is None:
        return False
    dims = maker.shapes[maker.outputs.index(name)]
    return dims is not None and None not in dims and dims == i.shapes[0]


def _neutral(position: int, number: float) -> Rule:
    """x op c is x, if c is the constant scalar at a position."""

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
    if inner is None or inner.type != "Reshape":
        return None
    return replace(i, inputs=(inner.inputs[0], *i.inputs[1:]))


def _reshape_to_same(i: Instruction, makers: Mapping[str, Instruction]) -> str | None:
    return i.inputs[0] if _same_type(i, i.inputs[0], makers) else None


def _reshape_to_own_extents(i: Instruction, makers: Makers) -> str | None:
    """Where all extents are the same, though some are known at the run alone; one may be left open."""
    have, wanted = extents(i, 0, makers), elements(i, 1, makers)
    if have is None or wanted is None or len(have) != len(wanted):
        return None
    other = [(h, w) for h, w in zip(have, wanted, strict=True) if h != w]
    if other and (len(other) > 1 or other[0][1] != -1 or not all(isinstance(w, int) and w for w in wanted)):
        return None
    return i.inputs[0]


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
    ("Reshape", _reshape_to_own_extents),
    ("Cast", _cast_to_same),
    ("Transpose", _transpose_of_transpose),
)

_ADDED: Final[list[tuple[str, Rule]]] = []
"""Rules of extensions."""


def add_rule(op_type: str, rule: Rule) -> None:
    """Has all plans that are made from now on go through a rule of an extension, behind graphflow's own."""
    _ADDED.append((op_type, rule))


def remove_rule(op_type: str, rule: Rule) -> None:
    """Takes out a rule that was added, if it is there."""
    if (op_type, rule) in _ADDED:
        _ADDED.remove((op_type, rule))


def simplify(plan: Plan, ctx: PassContext) -> Plan:
    """The plan after every rule was tried on every instruction until none applies."""
    return _simplify(plan, {name: dims for name, (_, dims) in zip(plan.feeds, plan.feed_types, strict=False)})


def _simplify(plan: Plan, given: Mapping[str, Dims]) -> Plan:
    """One level of a plan and those inside it, given the shapes of what is fed."""
    rules: dict[str, list[Rule]] = {}
    for op_type, rule in (*RULES, *_ADDED):
        rules.setdefault(op_type, []).append(rule)
    instructions = [
        replace(i, bodies=tuple(_simplify(b, dict(zip(b.feeds, i.shapes, strict=False))) for b in i.bodies))
        if i.bodies
        else i
        for i in plan.instructions
    ]
    makers = Makers(producers(plan), given)
    changed = True
    while changed:
        changed = False
        for position, i in enumerate(instructions):
            for rule in rules.get(i.type, ()):
                found = rule(i, makers)
                if found is None:
                    continue
                if isinstance(found, str):
                    found = replace(
                        i, type=kinds.IDENTITY, inputs=(found,), attrs={}, definition=lookup(kinds.IDENTITY)
                    )
                # An Identity gives another name to what it takes, even if the instruction took it as well.
                had = () if found.type == kinds.IDENTITY else i.inputs
                if not all(v in had or v in plan.feeds or _may_take(i, v, makers) for v in found.inputs):
                    continue
                if not _keeps_order(i, found, makers):
                    continue
                instructions[position] = i = found
                makers.update(dict.fromkeys(found.outputs, found))
                changed = True
                if i.type not in rules:
                    break
    return plan.with_instructions(_take_feeds(instructions, plan))


def _take_feeds(instructions: Sequence[Instruction], plan: Plan) -> list[Instruction]:
    """Has instructions take what is fed in place of what is the same: no device has to wait for another to say it."""
    same = {
        i.outputs[0]: i.inputs[0]
        for i in instructions
        if i.type == kinds.IDENTITY and not i.control and i.inputs[0] in plan.feeds
    }
    return [rename_inputs(i, same) for i in instructions]


def _may_take(i: Instruction, value: str, makers: Mapping[str, Instruction]) -> bool:
    """Whether an instruction may take a value that it did not take: made at its level, on its device, no variable."""
    maker = makers.get(value)
    return maker is not None and maker.device == i.device and not maker.is_variable


def _keeps_order(i: Instruction, found: Instruction, makers: Mapping[str, Instruction]) -> bool:
    """Whether what the instruction waited for through an input that it no longer takes is nothing but that input.

    It waits for what it still takes, and for all that this is made of.
    """
    awaited, depths = set(found.inputs), [(name, 0) for name in found.inputs]
    for name, depth in depths:
        maker = makers.get(name)
        if maker is not None and depth < _DEEPEST:
            new = [source for source in maker.inputs if source not in awaited]
            awaited.update(new)
            depths += [(source, depth + 1) for source in new]

    def free(name: str) -> bool:
        maker = makers.get(name)
        return name in awaited or maker is None or (maker.is_constant and not maker.control)

    todo = [(name, 0) for name in i.inputs if not free(name)]
    for name, depth in todo:
        maker = makers[name]
        if maker.control or maker.stateful or depth == _DEEPEST:
            return False
        todo += [(source, depth + 1) for source in maker.inputs if not free(source)]
    return True
