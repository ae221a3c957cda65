"""Keeps in a list what a loop gathers row by row and looks at only afterwards, as gradients by rows of a table do.

`rows = concat([rows, more], 0)` in each turn copies all rows that there are, gives a loop's variable another shape in
each turn, and asks a branch that has no rows for an array of none. In a list (a TensorArray) each turn writes what it
has. The rows are joined once, behind the loop, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import OpDef, Signature
from graphflow._core.ops.array.joining import CONCAT
from graphflow._core.ops.control_flow.tensor_array import ARRAY, SIZE, WRITE
from graphflow._core.ops.control_flow.tensor_array import CONCAT as JOIN
from graphflow._core.plan import build, kinds
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.pass_context import PassContext

_FLOW: Final[Signature] = [(dtypes.float32, ())]


def list_growth(plan: Plan, ctx: PassContext) -> Plan:
    """The plan in which variables of loops that only grow by rows are lists."""
    return _listed(plan, {})


def _listed(plan: Plan, around: Mapping[str, Any]) -> Plan:
    if not any(i.bodies for i in plan.instructions):
        return plan
    constants = {**around, **_constants(plan)}
    instructions: list[Instruction] = []
    for i in plan.instructions:
        bodies = tuple([_listed(body, constants) for body in i.bodies])
        if any(new is not old for new, old in zip(bodies, i.bodies, strict=True)):
            i = replace(i, bodies=bodies)
        instructions += _of_loop(i, constants) if i.type == kinds.WHILE else [i]
    changed = len(instructions) != len(plan.instructions) or any(
        new is not old for new, old in zip(instructions, plan.instructions, strict=True)
    )
    return plan.with_instructions(instructions) if changed else plan


def _constants(plan: Plan) -> dict[str, Any]:
    return {i.outputs[0]: i.attrs["value"] for i in plan.instructions if i.is_constant}


def _of_loop(loop: Instruction, constants: Mapping[str, Any]) -> list[Instruction]:
    """A loop with lists in place of variables that only grow, what makes these lists, and what joins their rows."""
    if "GPU" in loop.device:  # A list of rows that lie there is no gain.
        return [loop]
    before: list[Instruction] = []
    after: list[Instruction] = []
    for position in range(len(loop.bodies[1].feeds)):
        start = constants.get(loop.inputs[position])
        if start is not None and start.dtype != object and start.ndim and not len(start):
            grown = _growing(loop, position, constants)
            if grown is not None:
                size, array = _made(grown, loop)
                before += [size, array]
                after.append(_joined(loop, position, array, start.shape[1:]))
                loop = _with_list(loop, position, grown, array, constants)
    return [*before, loop, *after]


@dataclass(frozen=True, eq=False)
class _Growing:
    """What adds rows to a variable in each turn; others: the names of instructions that are needless then."""

    concat: Instruction
    others: frozenset[str]


def _growing(loop: Instruction, position: int, constants: Mapping[str, Any]) -> _Growing | None:
    """How a variable grows; None if it does anything else, or something looks at it before the loop ends."""
    condition, body = loop.bodies
    variable, end = body.feeds[position], body.fetches[position]
    concat = producers(body).get(end)
    if concat is None or concat.definition is not CONCAT or len(concat.inputs) != 3 or concat.control:
        return None
    axis = {**constants, **_constants(body)}.get(concat.inputs[2])
    if concat.inputs[0] != variable or concat.inputs[1] == variable or axis is None or int(axis) != 0:
        return None
    seen = {name for i in condition.instructions for name in i.free_variables()}
    if (
        variable in seen.union(condition.fetches)
        or [*body.fetches].count(end) > 1
        or variable in body.fetches
    ):
        return None
    waited = {name for i in body.instructions for name in i.control}.union(body.targets)
    taken = {name for i in body.instructions for name in i.free_variables()}.union(body.fetches)
    others = set[str]()
    for i in body.instructions:
        names = i.free_variables()
        if end in names or (variable in names and i is not concat):
            needless = i.type == kinds.IDENTITY and i.name not in waited and i.outputs[0] not in taken
            if not needless:
                return None
            others.add(i.name)
    return None if concat.name in waited else _Growing(concat, frozenset(others))


def _made(grown: _Growing, loop: Instruction) -> tuple[Instruction, Instruction]:
    """What makes a list without rows: its size, and the list."""
    name, dtype = f"{grown.concat.name} as list", grown.concat.dtypes[0]
    attrs = {
        "dtype": dtype,
        "element_shape": None,
        "dynamic_size": True,
        "clear_after_read": True,
        "identical_element_shapes": False,
        "tensor_array_name": "",
    }
    results: Signature = [(dtypes.resource, ()), (dtypes.float32, ())]
    array = build.of_definition(ARRAY, name, (f"{name}/size:0",), results, attrs, loop)
    of = replace(array, name=f"{name}/size", outputs=array.inputs, dtypes=(dtypes.int32,), shapes=((),))
    return build.constants(of, [np.array(0, np.int32)])[0], array


def _joined(loop: Instruction, position: int, array: Instruction, row: tuple[int, ...]) -> Instruction:
    """What joins the rows behind the loop, under the name that the variable had there; row: the shape of one."""
    dtype, dims = loop.dtypes[position], loop.shapes[position]
    attrs = {"dtype": dtype, "element_shape_except0": row}
    results: Signature = [(dtype, dims), (dtypes.int64, (None,))]
    name = f"{array.name}/rows"
    inputs = (array.outputs[0], _flow_of(array))
    concat = build.of_definition(JOIN, name, inputs, results, attrs, loop)
    return replace(concat, outputs=(loop.outputs[position], concat.outputs[1]))


def _flow_of(array: Instruction) -> str:
    """The name that the flow of a list has behind the loop that writes it."""
    return f"{array.name}/flow"


def _with_list(
    loop: Instruction, position: int, grown: _Growing, array: Instruction, constants: Mapping[str, Any]
) -> Instruction:
    condition, body = loop.bodies
    flow = f"{body.feeds[position]} of list"
    inner = [i for i in body.instructions if i is not grown.concat and i.name not in grown.others]
    known = {**constants, **_constants(body)}
    end = _Writes(array, flow, grown.concat).add(inner, grown.concat.inputs[1], known, body.fetches)
    feeds = _put(body.feeds, position, flow)
    return replace(
        loop,
        bodies=(
            replace(condition, feeds=feeds if condition.feeds else ()),
            replace(body, instructions=tuple(inner), feeds=feeds, fetches=_put(body.fetches, position, end)),
        ),
        inputs=(*_put(loop.inputs, position, array.outputs[1]), array.outputs[0]),
        outputs=_put(loop.outputs, position, _flow_of(array)),
        dtypes=_put(loop.dtypes, position, dtypes.float32),
        shapes=_put(loop.shapes, position, ()),
    )


def _put(items: Sequence[Any], position: int, item: Any) -> tuple[Any, ...]:
    return (*items[:position], item, *items[position + 1 :])


@dataclass(frozen=True, eq=False)
class _Writes:
    """Adds what writes rows to a list: in the branches that have rows, if these come from a branch."""

    array: Instruction
    flow: str
    concat: Instruction

    def add(
        self,
        instructions: list[Instruction],
        rows: str,
        constants: Mapping[str, Any],
        fetched: Sequence[str],
    ) -> str:
        """Adds the writing of some rows to a plan's instructions, and returns the flow behind it.

        fetched: what the plan hands out beside that.
        """
        alone = rows not in fetched and not any(rows in i.free_variables() for i in instructions)
        for place, i in enumerate(instructions):
            if alone and rows in i.outputs and i.type == kinds.IF:
                position = i.outputs.index(rows)
                known = [{**constants, **_constants(body)} for body in i.bodies]
                ends = [body.fetches[position] for body in i.bodies]
                if all(ends) and any(_is_empty(k, end) for k, end in zip(known, ends, strict=True)):
                    instructions[place] = self._into_branches(i, position, known)
                    return instructions[place].outputs[position]
        number = sum(i.name.startswith(self.array.name) for i in instructions)
        name = f"{self.array.name}/write" + (f" {number}" if number else "")
        size = self._of(SIZE, f"{name}/size", (self.flow,), [(dtypes.int32, ())], {})
        attrs = {"T": self.concat.dtypes[0]}
        write = self._of(WRITE, name, (size.outputs[0], rows, self.flow), _FLOW, attrs)
        instructions += [size, write]
        return write.outputs[0]

    def _of(
        self, definition: OpDef, name: str, inputs: tuple[str, ...], results: Signature, attrs: dict[str, Any]
    ) -> Instruction:
        handle = self.array.outputs[0]
        return build.of_definition(definition, name, (handle, *inputs), results, attrs, self.concat)

    def _into_branches(
        self, i: Instruction, position: int, known: Sequence[Mapping[str, Any]]
    ) -> Instruction:
        bodies = []
        for side, (body, constants) in enumerate(zip(i.bodies, known, strict=True)):
            inner, end = list(body.instructions), body.fetches[position]
            if _is_empty(constants, end):
                flow = f"{i.name} {self.array.name} {side}:0"
                like = replace(i, name=flow, outputs=(flow,), dtypes=(dtypes.float32,), shapes=((),))
                inner.append(build.identity_for(like, 0, self.flow))
            else:
                fetched = [name for k, name in enumerate(body.fetches) if k != position]
                flow = self.add(inner, end, constants, fetched)
            bodies.append(
                replace(body, instructions=tuple(inner), fetches=_put(body.fetches, position, flow))
            )
        return replace(
            i,
            bodies=tuple(bodies),
            inputs=tuple(dict.fromkeys([*i.inputs, self.array.outputs[0], self.flow])),
            outputs=_put(i.outputs, position, f"{i.name} {self.array.name}:0"),
            dtypes=_put(i.dtypes, position, dtypes.float32),
            shapes=_put(i.shapes, position, ()),
        )


def _is_empty(constants: Mapping[str, Any], name: str) -> bool:
    """Whether a value is a constant without rows."""
    value = constants.get(name)
    return value is not None and value.ndim > 0 and not len(value)
