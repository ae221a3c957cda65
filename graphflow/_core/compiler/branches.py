"""Branches that a fed truth value decides, taken out of a plan that is compiled for that value.

A network with batch normalisation and dropout is built once and told by a fed `training` whether it trains. It has two
branches in every layer, and what lies in a branch stays on NumPy. For each value of `training` there is another
compiled plan, as for each combination of shapes, and in it the branches are gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphflow._core.plan import build, kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan, producers, walk

_FOLLOWED = PASS_THROUGH | {"LogicalNot"}


def deciding_feeds(plan: Plan) -> tuple[int, ...]:
    """The positions of the feeds that decide a branch by themselves."""
    makers = producers(plan)
    deciding = {_origin(i.inputs[0], makers)[0] for i in walk(plan) if i.type == kinds.IF}
    return tuple(position for position, name in enumerate(plan.feeds) if name in deciding)


def decided(plan: Plan, values: Mapping[str, bool]) -> Plan:
    """The plan with the contents of the taken branch in the place of each that these feeds, or constants, decide."""
    makers = producers(plan)
    standing: dict[str, tuple[str, ...]] = {}
    instructions = _in_line(plan.instructions, values, makers, standing)
    if not standing:
        return plan
    return plan.with_instructions([_after(i, standing) for i in instructions])


def _origin(name: str, makers: Mapping[str, Instruction]) -> tuple[str, bool]:
    """The value that this one is another name of, or the opposite of, and whether it is the opposite."""
    opposite = False
    while name in makers and makers[name].type in _FOLLOWED:
        opposite ^= makers[name].type == "LogicalNot"
        name = makers[name].inputs[0]
    return name, opposite


def _in_line(
    instructions: tuple[Instruction, ...],
    values: Mapping[str, bool],
    makers: dict[str, Instruction],
    standing: dict[str, tuple[str, ...]],
) -> list[Instruction]:
    """The instructions, decided branches replaced; `standing` gets the names of what stands for each of them."""
    result: list[Instruction] = []
    for i in instructions:
        origin, opposite = _origin(i.inputs[0], makers) if i.type == kinds.IF else ("", False)
        maker = makers.get(origin)
        if origin in values:
            taken = values[origin]
        elif maker is not None and maker.is_constant:
            taken = bool(maker.attrs["value"])
        else:
            result.append(i)
            continue
        body = i.bodies[0 if taken is not opposite else 1]
        makers.update((output, inner) for inner in body.instructions for output in inner.outputs)
        placed = _in_line(body.instructions, values, makers, standing)
        for position, (output, fetch) in enumerate(zip(i.outputs, body.fetches, strict=True)):
            # What only the other branch makes has no name here; what both know by one name needs no other.
            if fetch and fetch != output:
                placed.append(build.identity_for(i, position, fetch))
        makers.update((output, inner) for inner in placed for output in inner.outputs)
        standing[i.name] = tuple(inner.name for inner in placed)
        result += [replace(inner, control=(*inner.control, *i.control)) for inner in placed]
    return result


def _after(i: Instruction, standing: Mapping[str, tuple[str, ...]]) -> Instruction:
    """The instruction with its control inputs as they are named now."""
    if not any(name in standing for name in i.control):
        return i
    control: list[str] = []
    pending = list(i.control)
    while pending:
        name = pending.pop(0)
        if name in standing:
            pending += standing[name]
        else:
            control.append(name)
    return replace(i, control=tuple(dict.fromkeys(control)))
