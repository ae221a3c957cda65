"""Puts a plan in its one defined order.

The order is topological. Among the instructions that are ready, all that write no variable come first, then the write
whose operation was built earliest. A use of a variable is a read at the place of its consumer. So `run([loss,
train_op])` always gives the loss before the step, whichever is listed first.
"""

from __future__ import annotations

import heapq
from dataclasses import replace

from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.pass_context import PassContext


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
    ready: list[tuple[bool, int, str]] = []

    def offer(instruction: Instruction) -> None:
        heapq.heappush(ready, (bool(instruction.writes()), instruction.index, instruction.name))

    for instruction in instructions:
        if not waiting[instruction.name]:
            offer(instruction)
    ordered: list[Instruction] = []
    while ready:
        _, _, name = heapq.heappop(ready)
        ordered.append(by_name[name])
        for follower in followers[name]:
            waiting[follower] -= 1
            if not waiting[follower]:
                offer(by_name[follower])
    if len(ordered) < len(instructions):
        stuck = ", ".join(sorted(n for n, count in waiting.items() if count)[:5])
        raise ValueError(f"The graph has a cycle that is no loop; it goes through: {stuck}.")
    return plan.with_instructions(ordered)
