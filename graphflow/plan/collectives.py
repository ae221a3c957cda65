"""Takes collectives apart into halves: what brings a member's value, and what waits for the others.

The first half stands where its value is made and waits for nobody. The second comes, among what is ready, after
everything else, so that back-propagation goes on while the gradients of later layers are on their way, and so that two
devices may come to the same operations in different orders.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from graphflow.graph import dtypes
from graphflow.graph.op_def import lookup
from graphflow.graph.shapes import TensorShape
from graphflow.plan.ir import Instruction, Plan
from graphflow.plan.passes import PassContext

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
_LAST: Final = 1 << 48
"""Added to the index of what waits: it comes after all that was built."""


def halve_collectives(plan: Plan, ctx: PassContext) -> Plan:
    """The plan in which each collective outside of branches and loops is two instructions."""
    if not any(i.type in TYPES for i in plan.instructions):
        return plan
    halves: list[Instruction] = []
    for i in plan.instructions:
        halves += _halves(i) if i.type in TYPES else (i,)
    return plan.with_instructions(halves)


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
