"""Has what takes a read of a variable take the variable itself, where no write can come between.

A read that is an instruction of its own, as every use of a resource variable has one, keeps what it has read: it is a
copy if the plan writes the variable. Mostly nobody could tell, since all that takes it comes before the writes: a step
of training changes a variable when its gradient is there. The order of the plan says so, and uses of a variable stay in
that order whatever runs the plan. Of the reads that are left, those between the same writes are one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphflow._core.common.records import dataclass
from graphflow._core.plan.ir import Instruction, Plan, rename_inputs, walk
from graphflow._core.plan.kinds import IDENTITY, WHILE
from graphflow._core.plan.pass_context import PassContext


@dataclass(frozen=True)
class _Uses:
    """Where, by position in one level of a plan, values are taken and variables written."""

    taken: Mapping[str, Sequence[int]]
    written: Mapping[str, Sequence[int]]


def share_reads(plan: Plan, ctx: PassContext) -> Plan:
    """The ordered plan without the reads of variables that give what the variable still is where they are taken."""
    variables = frozenset(plan.variables()).difference(plan.feeds)
    if not any(_is_read(i, variables) for i in walk(plan)):
        return plan
    return _level(plan, variables)


def _is_read(i: Instruction, variables: frozenset[str]) -> bool:
    return i.type == IDENTITY and i.inputs[0] in variables


def _level(plan: Plan, variables: frozenset[str]) -> Plan:
    """One level of a plan, and those inside it."""
    instructions = [
        replace(i, bodies=tuple(_level(body, variables) for body in i.bodies)) if i.bodies else i
        for i in plan.instructions
    ]
    keep = {*plan.fetches, *plan.feeds}
    uses = _uses_of(instructions)
    names: dict[str, str] = {}
    waits: dict[str, tuple[str, ...]] = {}
    """By a read that is left out what it came after, which is what its takers come after."""
    kept: dict[tuple[str, int], Instruction] = {}
    """What reads a variable after so many writes of it."""
    for place, i in enumerate(instructions):
        if not _is_read(i, variables) or i.outputs[0] in keep or i.name in plan.targets:
            continue
        taken = uses.taken.get(i.outputs[0], ())
        writes = uses.written.get(i.inputs[0], ())
        version = (i.inputs[0], sum(w < place for w in writes))
        if not taken and len(uses.taken[i.inputs[0]]) == 1:
            continue  # That there is a value at all is what others wait for.
        if all(_may_take(instructions[t], i, place, t, writes) for t in taken):
            names[i.outputs[0]] = i.inputs[0]
        elif version in kept and kept[version].device == i.device:
            names[i.outputs[0]] = kept[version].outputs[0]
        else:
            kept[version] = i
            continue
        waits[i.name] = i.control
    if not names:
        return plan.with_instructions(instructions)
    return plan.with_instructions([_taking(i, names, waits) for i in instructions if i.name not in waits])


def _uses_of(instructions: Sequence[Instruction]) -> _Uses:
    taken: dict[str, list[int]] = {}
    written: dict[str, list[int]] = {}
    for place, i in enumerate(instructions):
        for name in dict.fromkeys(i.free_variables()):
            taken.setdefault(name, []).append(place)
        for name in dict.fromkeys(i.writes()):
            written.setdefault(name, []).append(place)
    return _Uses(taken, written)


def _may_take(taker: Instruction, read: Instruction, place: int, taken: int, writes: Sequence[int]) -> bool:
    """Whether what takes a read may take the variable: it has the same value there, and the taker only looks at it."""
    if any(place < w < taken or (w == taken and taker.bodies) for w in writes):
        return False
    return not (taker.bodies and _hands_on(taker, read.outputs[0]))


def _hands_on(construct: Instruction, value: str) -> bool:
    """Whether a branch or loop hands a value out as it is, or begins with it: it would be the variable's memory."""
    if construct.type == WHILE and value in construct.inputs[: len(construct.outputs)]:
        return True
    return any(
        value in body.fetches or any(inner.bodies and _hands_on(inner, value) for inner in body.instructions)
        for body in construct.bodies
    )


def _taking(i: Instruction, names: Mapping[str, str], waits: Mapping[str, tuple[str, ...]]) -> Instruction:
    """An instruction with what it takes, and waits for, in place of the reads that are left out."""
    before = [name for value in i.free_variables() if value in names for name in waits[_maker(value)]]
    control = [name for c in (*i.control, *before) for name in _followed(c, waits)]
    if control != list(i.control):
        i = replace(i, control=tuple(dict.fromkeys(name for name in control if name != i.name)))
    return rename_inputs(i, names)


def _maker(value: str) -> str:
    return value.rpartition(":")[0]


def _followed(name: str, waits: Mapping[str, tuple[str, ...]]) -> list[str]:
    """An instruction, or what one that is left out came after."""
    if name not in waits:
        return [name]
    return [found for before in waits[name] for found in _followed(before, waits)]
