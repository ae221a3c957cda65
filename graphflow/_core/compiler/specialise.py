"""A plan for known shapes: what depends on shapes alone becomes constant, and what nobody needs any more goes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from graphflow._core.compiler.shapes.fixed import OF_SHAPES, Known
from graphflow._core.compiler.shapes.loops import fixed_shapes
from graphflow._core.plan import build, kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan, walk
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.passes.fold import fold
from graphflow._core.plan.passes.stacks import with_constant_stacks
from graphflow._core.plan.pipeline import mark_used
from graphflow._core.resources.store import ResourceStore


def static_type(i: Instruction, position: int) -> tuple[tuple[int, ...], str] | None:
    """The shape and dtype name that the graph says of a result; None if the shape is not known whole."""
    dims = i.shapes[position]
    if dims is None or None in dims:
        return None
    return tuple([int(n) for n in dims if n is not None]), i.dtypes[position].name


def apart_from_feeds(plan: Plan, known: Known) -> tuple[Plan, Known]:
    """The plan in which what is fed has its name for itself, if the operation that would make it runs as well."""
    feeds = set(plan.feeds)
    instructions: list[Instruction] = []
    known = dict(known)
    for i in plan.instructions:
        if feeds.isdisjoint(i.outputs):
            instructions.append(i)
        elif not i.is_variable and not i.is_constant:
            outputs = tuple(f"{o} as computed" if o in feeds else o for o in i.outputs)
            for position, (own, name) in enumerate(zip(outputs, i.outputs, strict=True)):
                if own != name:
                    known[own] = static_type(i, position) or known[name]
            instructions.append(replace(i, outputs=outputs))
    return plan.with_instructions(instructions), known


def complete(plan: Plan, known: Known, store: ResourceStore) -> None:
    """Adds what a run did not observe: variables, constants, and results that are another name of a value."""
    for i in plan.instructions:
        if i.is_variable:
            value = store.cell(i).value
            if value is not None:
                known.setdefault(i.outputs[0], (value.shape, value.dtype.name))
        elif i.is_constant:
            known[i.outputs[0]] = (i.attrs["value"].shape, i.attrs["value"].dtype.name)
        elif i.type in PASS_THROUGH and i.inputs[0] in known:
            known.setdefault(i.outputs[0], known[i.inputs[0]])


def specialise(plan: Plan, known: Known, ctx: PassContext) -> Plan:
    """The plan for these shapes.

    A size that becomes a constant may say the shape of what a reshape makes of something of unknown shape, and with it
    other sizes; so this is asked until nothing is new.
    """
    folded = False
    while (sizes := _known_sizes(plan, known)) or not folded:
        plan, folded = fold(_with_sizes(plan, sizes, known), ctx, controlled=True), True
        plan = with_constant_stacks(plan)
    return mark_used(_without_dead(plan), frozenset())


def _known_sizes(plan: Plan, known: Known) -> set[str]:
    """The names of the instructions, those of loops included, that give sizes of what has a fixed shape."""
    sizes = [i for i in _outside_branches(plan) if i.type in OF_SHAPES]
    fixed = fixed_shapes(plan, known).fixed if sizes else ()
    return {i.name for i in sizes if all(name in fixed for name in i.inputs)}


def _outside_branches(plan: Plan) -> Iterator[Instruction]:
    for i in plan.instructions:
        yield i
        for body in i.bodies if i.type == kinds.WHILE else ():
            yield from _outside_branches(body)


def _with_sizes(plan: Plan, sizes: Collection[str], known: Known) -> Plan:
    """The plan with constants for sizes."""
    instructions: list[Instruction] = []
    for i in plan.instructions:
        if i.type == kinds.WHILE:
            bodies = tuple([_with_sizes(body, sizes, known) for body in i.bodies])
            instructions.append(replace(i, bodies=bodies))
        else:
            instructions += _constants(i, known) if i.name in sizes else [i]
    return plan.with_instructions(instructions)


def shape_changes(plan: Plan) -> list[Instruction]:
    """The assignments that may give a variable another shape: unchecked ones, or any if a variable leaves its open."""
    steps = list(walk(plan))
    open_shape = any(i.is_variable and (i.shapes[0] is None or None in i.shapes[0]) for i in steps)
    return [
        i for i in steps if i.type == kinds.ASSIGN and (open_shape or not i.attrs.get("validate_shape", True))
    ]


def may_reshape(plan: Plan, known: Known) -> bool:
    """Whether a run for the known shapes may give a variable another shape."""
    free = shape_changes(plan)
    if not free:
        return False
    fixed = fixed_shapes(plan, known).fixed
    return any(
        i.inputs[1] not in fixed or i.inputs[0] not in known or known[i.inputs[1]][0] != known[i.inputs[0]][0]
        for i in free
    )


def _constants(i: Instruction, known: Known) -> list[Instruction]:
    values = []
    for name, dtype in zip(i.inputs, i.dtypes, strict=False):
        shape = known[name][0]
        number: Any = shape
        if i.type == "Size":
            number = int(np.prod(shape, dtype=np.int64))
        elif i.type == "Rank":
            number = len(shape)
        values.append(np.array(number, dtype.as_numpy_dtype))
    return build.constants(i, values)


def _without_dead(plan: Plan) -> Plan:
    """The plan without pure instructions whose results nobody takes, and that nothing runs or waits for.

    What is waited for may fail, and what waits for it comes after all that it comes after itself.
    """
    needed = {*plan.fetches, *plan.targets}
    kept: list[Instruction] = []
    for i in reversed(plan.instructions):
        effect = not i.is_variable and i.stateful and not i.is_constant
        if effect or i.name in needed or any(o in needed for o in i.outputs):
            kept.append(i)
            for inner in walk(Plan((i,))):
                needed.update(inner.inputs, inner.control)
            for body in i.bodies:
                needed.update(body.fetches)
    return plan.with_instructions(list(reversed(kept)))
