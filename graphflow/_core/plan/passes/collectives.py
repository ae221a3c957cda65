"""Splits each collective into its start, which brings a member's value, and its end, which waits for the others.

The start waits for nobody and comes as early as it can: what a value needs is computed before what only later values
need, and the start that needs least comes first. The end comes after everything else that is ready. So back-propagation
goes on while the gradients of later layers travel, and two devices may come to the same collectives in different
orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import lookup
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, needed, walk
from graphflow._core.plan.pass_context import PassContext

TYPES: Final = frozenset(
    {
        "CollectiveAllToAll",
        "CollectiveReduce",
        "CollectiveGather",
        "CollectiveGatherGrad",
        "CollectiveBcastSend",
        "CollectiveBcastRecv",
    }
)
SPLIT: Final = frozenset({kinds.COLLECTIVE_START, kinds.COLLECTIVE_DONE})
"""Types of the start and the end of a collective."""
_TURN: Final = 1 << 40
"""Between the indices of what one start needs and of what the next one needs: more than there are operations."""
_LAST: Final = 1 << 60
"""Added to the index of what waits: it comes after all that was built."""


def members(plan: Plan) -> set[tuple[int, str]]:
    """The members that a plan runs collectives of: the key of the group, and the device."""
    return {(i.attrs["group_key"], i.device) for i in _collectives(plan)}


def needs_others(plan: Plan) -> bool:
    """Whether a plan runs collectives of groups that have members elsewhere too."""
    here = [group for group, _ in members(plan)]
    return any(here.count(i.attrs["group_key"]) < i.attrs["group_size"] for i in _collectives(plan))


def _collectives(plan: Plan) -> Iterator[Instruction]:
    return (i for i in walk(plan) if i.type in TYPES or i.type in SPLIT)


def split_collectives(plan: Plan, ctx: PassContext) -> Plan:
    """The plan in which each collective outside of branches and loops is two instructions."""
    if not any(i.type in TYPES for i in plan.instructions):
        return plan
    instructions: list[Instruction] = []
    for i in plan.instructions:
        instructions += _split(i) if i.type in TYPES else (i,)
    return _hurried(plan.with_instructions(instructions))


def _hurried(plan: Plan) -> Plan:
    """The plan with such indices that what the starts need comes first."""
    starts = [i for i in plan.instructions if i.type == kinds.COLLECTIVE_START]
    needs = {start.name: needed(plan, [start]) for start in starts}
    starts.sort(key=lambda i: (len(needs[i.name]), i.index))
    turn: dict[str, int] = {}
    for number, start in enumerate(starts):
        for name in needs[start.name]:
            turn.setdefault(name, number - len(starts))
    return plan.with_instructions([
        i if i.name not in turn or i.type == kinds.COLLECTIVE_DONE or i.writes()
        else replace(i, index=i.index + turn[i.name] * _TURN)
        for i in plan.instructions
    ])  # fmt: skip


def _split(i: Instruction) -> tuple[Instruction, Instruction]:
    handle = f"{i.name}/begin:0"
    attrs = {**i.attrs, "kind": i.type, "name": i.name}
    start = replace(
        i, name=f"{i.name}/begin", type=kinds.COLLECTIVE_START, outputs=(handle,), dtypes=(dtypes.int64,),
        shapes=((3,),), attrs=attrs, definition=lookup(kinds.COLLECTIVE_START), used=(),
    )  # fmt: skip
    done = replace(
        i, type=kinds.COLLECTIVE_DONE, inputs=(handle,), control=(), index=i.index + _LAST, used=(),
        attrs=attrs | {"T": i.dtypes[0], "shape": attrs.get("shape", TensorShape(i.shapes[0]))},
        definition=lookup(kinds.COLLECTIVE_DONE),
    )  # fmt: skip
    return start, done
