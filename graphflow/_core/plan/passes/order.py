"""Puts a plan in its one defined order.

The order is topological. Among the instructions that are ready, all that write no variable come first, then the write
whose operation was built earliest. A use of a variable is a read at the place of its consumer. So `run([loss,
train_op])` always gives the loss before the step, whichever is listed first.

What has nothing to do with an instruction that may wait, such as a dequeue, comes before it: if it fails, the run ends
and waits for nobody. Another one that may wait does not: what it may hold up is seen to in independent_waits.py. What
only what comes behind the wait takes stays there, with what it is compiled together with.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, needed, producers
from graphflow._core.plan.pass_context import PassContext

_BY_ITSELF: Final = frozenset(
    {
        "PyFunc",
        "PyFuncStateless",
        "IteratorGetNext",
        "IteratorGetNextAsOptional",
        "ReduceDataset",
        "DatasetToSingleElement",
        "DatasetToTFRecord",
        "QueueCloseV2",
        kinds.COLLECTIVE_DONE,
    }
)
"""Types that block, but come to their end or fail by themselves; the end of a collective comes last in any case."""


def order(plan: Plan, ctx: PassContext) -> Plan:
    """The plan with its instructions, and those of its bodies, in order; ValueError if it has a cycle."""
    instructions = [
        replace(i, bodies=tuple(order(body, ctx) for body in i.bodies)) if i.bodies else i
        for i in plan.instructions
    ]
    by_name = {i.name: i for i in instructions}
    makers = producers(plan)
    waiting: dict[str, int] = {}
    followers: dict[str, list[str]] = {name: [] for name in by_name}
    for instruction in instructions:
        before = {makers[n].name for n in instruction.inputs if n in makers} | {
            c for c in instruction.control if c in by_name
        }
        before.discard(instruction.name)
        waiting[instruction.name] = len(before)
        for name in before:
            followers[name].append(instruction.name)
    before_waits = _before_waits(plan, followers)
    ready: list[tuple[bool, bool, int, str]] = []

    def offer(instruction: Instruction) -> None:
        name = instruction.name
        heapq.heappush(ready, (bool(instruction.writes()), name not in before_waits, instruction.index, name))

    for instruction in instructions:
        if not waiting[instruction.name]:
            offer(instruction)
    ordered: list[Instruction] = []
    while ready:
        name = heapq.heappop(ready)[-1]
        ordered.append(by_name[name])
        for follower in followers[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                offer(by_name[follower])
    if len(ordered) < len(instructions):
        stuck = ", ".join(sorted(n for n, count in waiting.items() if count)[:5])
        raise ValueError(f"The graph has a cycle that is no loop; it goes through: {stuck}.")
    return plan.with_instructions(ordered)


def _waits(i: Instruction) -> bool:
    """Whether an instruction, or one in its bodies, may wait until another run or thread does something."""
    if not i.blocks:
        return False
    return any(_waits(inner) for body in i.bodies for inner in body.instructions) or not (
        i.bodies or i.type in _BY_ITSELF
    )


def _before_waits(plan: Plan, followers: Mapping[str, Sequence[str]]) -> set[str]:
    """The names of what comes before all that may wait, with what it needs; none of it depends on that."""
    waits = [i for i in plan.instructions if _waits(i)]
    if not waits:
        return set()
    behind: set[str] = set()
    todo = [i.name for i in waits]
    while todo:
        name = todo.pop()
        if name not in behind:
            behind.add(name)
            todo += followers[name]
    makers = producers(plan)
    taken_behind: set[str] = set()
    todo = list(behind)
    by_name = {i.name: i for i in plan.instructions}
    while todo:
        for value in by_name[todo.pop()].free_variables():
            if value in makers and (name := makers[value].name) not in taken_behind:
                taken_behind.add(name)
                todo.append(name)
    apart = [i for i in plan.instructions if i.name not in behind and i.name not in taken_behind]
    return needed(plan, apart)
