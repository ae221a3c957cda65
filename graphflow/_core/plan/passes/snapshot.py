"""Gives the fetch of a variable a place in the order.

A run may fetch a variable that it also writes. What it gets is the variable's value when the run's writes are done, as
in TensorFlow, whose fetch of a variable is the buffer that the writes change: programs take the number of the step that
they have just made so. The same holds for the variable's value(), and for another Identity of it that no order is asked
of. What is computed from the variable is read like every other use: before the write, unless the program says so. And a
read of a resource variable stays the read that it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphflow._core.graph.op_def import RESOURCE, lookup
from graphflow._core.plan.ir import Instruction, Plan, producers, walk
from graphflow._core.plan.kinds import IDENTITY
from graphflow._core.plan.pass_context import PassContext


def snapshot_fetches(plan: Plan, ctx: PassContext) -> Plan:
    """The plan with a last reading instruction for each fetched variable that it writes."""
    writers: dict[str, list[str]] = {}
    for i in plan.instructions:
        for name in _written(i):
            writers.setdefault(name, []).append(i.name)
    variables = plan.variables()
    makers = producers(plan)
    waited_for = {name for i in walk(plan) for name in i.control}
    fetched: dict[str, str] = {}
    reads: dict[str, Instruction] = {}
    for name in dict.fromkeys(plan.fetches):
        source = _variable_of(name, makers, waited_for, variables)
        if source not in writers or source not in variables or {name, source} & set(plan.feeds):
            continue
        variable = variables[source]
        fetched[name] = f"{variable.name}/fetched:0"
        reads[source] = replace(
            variable,
            name=f"{variable.name}/fetched",
            type=IDENTITY,
            inputs=(source,),
            outputs=(fetched[name],),
            attrs={},
            control=tuple(writers[source]),
            definition=lookup(IDENTITY),
        )
    if not reads:
        return plan
    fetches = tuple(fetched.get(f, f) for f in plan.fetches)
    return replace(plan, instructions=(*plan.instructions, *reads.values()), fetches=fetches)


def _written(instruction: Instruction) -> set[str]:
    """What an instruction writes, itself or in its bodies."""
    inner = {name for body in instruction.bodies for i in walk(body) for name in i.writes()}
    return inner.union(instruction.writes())


def _variable_of(
    name: str,
    makers: Mapping[str, Instruction],
    waited_for: set[str],
    variables: Mapping[str, Instruction],
) -> str:
    """The tensor whose state a fetch asks for: that which a plain Identity takes, or itself."""
    maker = makers.get(name)
    if maker is None or maker.type != IDENTITY or maker.control or maker.name in waited_for:
        return name
    source = variables.get(maker.inputs[0])
    return name if source is not None and RESOURCE in source.attrs else maker.inputs[0]
