"""A plan that may wait, run in stages: cut before and after each instruction that waits for other runs or threads.

What waits must hold nothing that others need: neither the lock of a variable nor the memory of a compiled plan. So it
runs by itself, in the caller's thread, and what lies between the waits becomes compiled like any plan, for the shapes
that came out of the queue, unless it is so little that a stage of its own would cost more. The cuts follow the plan's
one order, so that they change nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final, Protocol

from graphflow.plan.ir import Instruction, Plan, producers
from graphflow.plan.stages import AROUND, cut
from graphflow.runtime.assemble import copied, operand
from graphflow.runtime.context import RunContext
from graphflow.runtime.executor import Executable

_SHORT: Final = 3
"""Instructions that are not worth a stage of their own."""


class Runnable(Protocol):
    """What runs a stage."""

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values."""
        ...


class StagedExecutable:
    """The stages of one plan, run one after the other. Thread-safe.

    `base` runs the whole plan at once, for runs with a deadline; make(part, blocks) gives what runs a stage.
    """

    def __init__(self, base: Executable, plan: Plan, make: Callable[[Plan, bool], Runnable]) -> None:
        self._base = base
        self._plan = plan
        work = [i for i in plan.instructions if i.type not in AROUND]
        groups = _joined([(blocks, tuple(group)) for blocks, group in groupby(work, lambda i: i.blocks)])
        makers = producers(plan)
        if any(name in makers and makers[name].type in AROUND for name in plan.fetches):
            groups.append((False, ()))  # What waits holds no variable.
        self._stages = [(make(stage.plan, stage.blocks), stage.plan) for stage in cut(groups, plan)]

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of the first operation that fails."""
        if run.deadline is not None:
            return self._base.run(run, feeds)
        values = dict(zip(self._plan.feeds, feeds, strict=True))
        for executable, stage in self._stages:
            results = executable.run(run, [operand(values[name]) for name in stage.feeds])
            values.update(zip(stage.fetches, results, strict=True))
        fed = set(self._plan.feeds)
        return tuple(
            copied(values[name]) if name in fed or name in self._plan.fetches[:position] else values[name]
            for position, name in enumerate(self._plan.fetches)
        )

    def describe(self) -> str:
        """The compiled plans that there are, stage by stage; "" where there is none."""
        return "".join(getattr(executable, "describe", str)() for executable, _ in self._stages)


def _joined(
    groups: Sequence[tuple[bool, tuple[Instruction, ...]]],
) -> list[tuple[bool, tuple[Instruction, ...]]]:
    """The groups, with the short ones run together with the waits beside them: a stage costs more than they do."""
    result: list[tuple[bool, tuple[Instruction, ...]]] = []
    for blocks, group in groups:
        joins = blocks or len(group) <= _SHORT
        if result and joins and result[-1][0]:
            result[-1] = True, (*result[-1][1], *group)
        else:
            result.append((joins, group))
    return result
