"""Orders the initialisers of variables by their dependencies.

An initial value may be computed from another variable. If both are initialised in one run, as by
global_variables_initializer(), the other variable's initialiser comes first. TensorFlow leaves the order open, and
often fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import graphflow.errors as errors
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.pass_context import PassContext


def order_initializers(plan: Plan, ctx: PassContext) -> Plan:
    """The plan in which what reads a variable for an initial value waits for that variable's initialiser.

    FailedPreconditionError if initial values depend on each other in a circle.
    """
    initialisers = {i.inputs[0]: i for i in plan.instructions if i.attrs.get("_initializer")}
    if len(initialisers) < 2:
        return plan
    by_name = {i.name: i for i in plan.instructions}
    makers = producers(plan)
    waits: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {variable: [] for variable in initialisers}
    for variable, initialiser in initialisers.items():
        for instruction in _before(initialiser, makers, by_name):
            for name in _reads(instruction):
                first = initialisers.get(name)
                if first is not None and first is not initialiser and instruction is not first:
                    waits.setdefault(instruction.name, []).append(first.name)
                    needs[variable].append(name)
    _refuse_circle(needs, initialisers)
    return plan.with_instructions(
        [
            replace(i, control=tuple(dict.fromkeys((*i.control, *waits[i.name])))) if i.name in waits else i
            for i in plan.instructions
        ]
    )


def _before(
    last: Instruction, makers: Mapping[str, Instruction], by_name: Mapping[str, Instruction]
) -> Iterable[Instruction]:
    """An initialiser and what it needs, but for other initialisers and what these need."""
    found: dict[str, Instruction] = {}
    todo = [last]
    while todo:
        instruction = todo.pop()
        if instruction.name in found:
            continue
        found[instruction.name] = instruction
        needed = [makers[n] for n in instruction.inputs if n in makers]
        needed += [by_name[c] for c in instruction.control if c in by_name]
        todo += [i for i in needed if not i.attrs.get("_initializer")]
    return found.values()


def _reads(instruction: Instruction) -> set[str]:
    return set(instruction.inputs) - set(instruction.writes())


def _refuse_circle(needs: Mapping[str, list[str]], initialisers: Mapping[str, Instruction]) -> None:
    done: set[str] = set()
    for start in needs:
        path: list[str] = []
        todo = [(start, False)]
        while todo:
            variable, finished = todo.pop()
            if finished:
                path.pop()
                done.add(variable)
            elif variable in path:
                circle = [*path[path.index(variable) :], variable]
                origin = initialisers[variable].origin
                built = "" if origin is None else f" {variable} was built at {origin.built}."
                raise errors.FailedPreconditionError(
                    None,
                    origin,
                    "The initial values of variables depend on each other in a circle: "
                    f"{' needs '.join(circle)}.{built} Give one of them an initial value of its own.",
                )
            elif variable not in done:
                path.append(variable)
                todo.append((variable, True))
                todo += [(other, False) for other in needs[variable]]
