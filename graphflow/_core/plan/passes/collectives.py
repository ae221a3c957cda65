"""Takes collectives apart into halves: what brings a member's value, and what waits for the others.

The first half waits for nobody, and comes as early as it can: what a value needs is computed before what only later
ones need, the one that needs least first. The second half comes, among what is ready, after everything else. So
back-propagation goes on while the gradients of the layers behind are on their way, and two devices may come to the same
operations in different orders.
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
        "CollectiveReduce",
        "CollectiveGather",
        "CollectiveGatherGrad",
        "CollectiveBcastSend",
        "CollectiveBcastRecv",
    }
)
HALVES: Final = frozenset({"CollectiveBegin", "CollectiveEnd"})
_TURN: Final = 1 << 40
"""Between the indices of what one first half needs and of what the next one needs: more than there are operations."""
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
    return (i for i in walk(plan) if i.type in TYPES or i.type in HALVES)


def halve_collectives(plan: Plan, ctx: PassContext) -> Plan:
    """The plan in which each collective outside of branches and loops is two instructions."""
    if not any(i.type in TYPES for i in plan.instructions):
        return plan
    halves: list[Instruction] = []
    for i in plan.instructions:
        halves += _halves(i) if i.type in TYPES else (i,)
    return _hurried(plan.with_instructions(halves))


def _hurried(plan: Plan) -> Plan:
    """The plan with such indices that those which the first halves need come first."""
    begins = [i for i in plan.instructions if i.type == kinds.COLLECTIVE_START]
    needs = {begin.name: needed(plan, [begin]) for begin in begins}
    begins.sort(key=lambda i: (len(needs[i.name]), i.index))
    turn: dict[str, int] = {}
    for number, begin in enumerate(begins):
        for name in needs[begin.name]:
            turn.setdefault(name, number - len(begins))
    return plan.with_instructions([
        i if i.name not in turn or i.type == kinds.COLLECTIVE_DONE or i.written()
        else replace(i, index=i.index + turn[i.name] * _TURN)
        for i in plan.instructions
    ])  # fmt: skip


def _halves(i: Instruction) -> tuple[Instruction, Instruction]:
    ticket = f"{i.name}/begin:0"
    attrs = {**i.attrs, "kind": i.type, "name": i.name}
    begin = replace(
        i, name=f"{i.name}/begin", type="CollectiveBegin", outputs=(ticket,), dtypes=(dtypes.int64,), shapes=((3,),),
        attrs=attrs, definition=lookup("CollectiveBegin"), used=(),
    )  # fmt: skip
    end = replace(
        i, type="CollectiveEnd", inputs=(ticket,), control=(), index=i.index + _LAST, used=(),
        attrs=attrs | {"T": i.dtypes[0], "shape": attrs.get("shape", TensorShape(i.shapes[0]))},
        definition=lookup("CollectiveEnd"),
    )  # fmt: skip
    return begin, end
