"""A plan for known shapes: what depends on shapes alone becomes constant, and what nobody needs any more goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from graphflow.plan.fold import fold
from graphflow.plan.ir import VARIABLE_TYPES, Instruction, Plan, walk
from graphflow.plan.passes import PassContext
from graphflow.plan.pipeline import mark_used
from graphflow.runtime.assemble import PASS_THROUGH
from graphflow.runtime.resources import ResourceStore

OF_SHAPES: Final = frozenset({"Shape", "ShapeN", "Size", "Rank"})
Known = dict[str, tuple[tuple[int, ...], str]]


def complete(plan: Plan, known: Known, store: ResourceStore) -> None:
    """Adds what a run did not observe: variables, constants, and results that are another name of a value."""
    for i in plan.instructions:
        if i.type in VARIABLE_TYPES:
            value = store.cell(i).value
            if value is not None:
                known[i.outputs[0]] = (value.shape, value.dtype.name)
        elif i.type == "Const":
            known[i.outputs[0]] = (i.attrs["value"].shape, i.attrs["value"].dtype.name)
        elif i.type in PASS_THROUGH and i.inputs[0] in known:
            known.setdefault(i.outputs[0], known[i.inputs[0]])


def specialise(plan: Plan, known: Mapping[str, tuple[tuple[int, ...], str]], ctx: PassContext) -> Plan:
    """The plan for these shapes."""
    instructions: list[Instruction] = []
    for i in plan.instructions:
        if i.type in OF_SHAPES and all(n in known for n in i.inputs):
            instructions += _constants(i, known)
        else:
            instructions.append(i)
    folded = fold(plan.with_instructions(instructions), ctx)
    return mark_used(_without_dead(folded), frozenset())


def _constants(i: Instruction, known: Mapping[str, tuple[tuple[int, ...], str]]) -> list[Instruction]:
    result = []
    for position, output in enumerate(i.outputs):
        shape = known[i.inputs[position]][0]
        number: Any = shape
        if i.type == "Size":
            number = int(np.prod(shape, dtype=np.int64))
        elif i.type == "Rank":
            number = len(shape)
        value = np.array(number, i.dtypes[position].as_numpy_dtype)
        result.append(
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
    return result


def _without_dead(plan: Plan) -> Plan:
    """The plan without pure instructions whose results nobody takes."""
    needed = set(plan.fetches)
    kept: list[Instruction] = []
    for i in reversed(plan.instructions):
        effect = i.type not in VARIABLE_TYPES and i.stateful and i.type != "Const"
        if effect or any(o in needed for o in i.outputs):
            kept.append(i)
            needed.update(i.inputs)
            for inner in walk(Plan((i,))):
                needed.update(inner.inputs)
            for body in i.bodies:
                needed.update(body.fetches)
    return plan.with_instructions(list(reversed(kept)))
