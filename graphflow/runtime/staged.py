"""A plan that may wait, run in stages: cut before and after each instruction that waits for other runs or threads.

What waits must hold nothing that others need: neither the lock of a variable nor the memory of a compiled plan. So it
runs by itself, in the caller's thread, and what lies between the waits becomes compiled like any plan, for the shapes
that came out of the queue, unless it is so little that a stage of its own would cost more. The cuts follow the plan's
one order, so that they change nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Protocol

from graphflow.plan.ir import VARIABLE_TYPES, Instruction, Plan, producers
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


@dataclass(frozen=True)
class _Stage:
    executable: Runnable
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]


class StagedExecutable:
    """The stages of one plan, run one after the other. Thread-safe.

    `base` runs the whole plan at once, for runs with a deadline; make(part, blocks) gives what runs a stage.
    """

    def __init__(self, base: Executable, plan: Plan, make: Callable[[Plan, bool], Runnable]) -> None:
        self._base = base
        self._plan = plan
        self._stages: list[_Stage] = []
        places = {o: i for o, i in producers(plan).items() if i.type in VARIABLE_TYPES or i.type == "Const"}
        work = [i for i in plan.instructions if i.outputs[:1] == () or i.outputs[0] not in places]
        groups = _joined([(blocks, tuple(group)) for blocks, group in groupby(work, lambda i: i.blocks)])
        last = list(dict.fromkeys(name for name in plan.fetches if name in places))
        if last:
            groups.append((False, ()))
        needed = set(plan.fetches) - set(last)
        for blocks, group in reversed(groups):
            fetches = [o for i in group for o in i.outputs if o in needed and o not in plan.feeds]
            if not self._stages:
                fetches += last
            taken = dict.fromkeys(n for i in group for n in i.taken())
            made = {o for i in group for o in i.outputs if o not in plan.feeds}
            feeds = tuple(n for n in taken if n not in made and n not in places)
            around = [places[n] for n in dict.fromkeys([*taken, *fetches]) if n in places]
            stage = Plan((*around, *_within(group)), feeds, tuple(fetches), ())
            self._stages.insert(0, _Stage(make(stage, blocks), feeds, tuple(fetches)))
            needed |= set(feeds)

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of the first operation that fails."""
        if run.deadline is not None:
            return self._base.run(run, feeds)
        values = dict(zip(self._plan.feeds, feeds, strict=True))
        for stage in self._stages:
            results = stage.executable.run(run, [operand(values[name]) for name in stage.feeds])
            values.update(zip(stage.fetches, results, strict=True))
        fed = set(self._plan.feeds)
        return tuple(
            copied(values[name]) if name in fed or name in self._plan.fetches[:position] else values[name]
            for position, name in enumerate(self._plan.fetches)
        )

    def describe(self) -> str:
        """The compiled plans that there are, stage by stage; "" where there is none."""
        texts = [getattr(stage.executable, "describe", str)() for stage in self._stages]
        return "".join(texts)


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


def _within(group: Sequence[Instruction]) -> list[Instruction]:
    """The instructions, without the order after those of other stages."""
    names = {i.name for i in group}
    return [replace(i, control=tuple(c for c in i.control if c in names)) for i in group]
