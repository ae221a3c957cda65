"""Checks what every pass must leave true, so that a mistake in a pass is told by its name and not by a wrong number.

    session.plan(fetches, feeds, watch=lambda name, plan: verify(plan, name))

No run pays for this: tests, and whoever writes a pass, ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from graphflow import errors
from graphflow._core.plan.ir import VARIABLE_TYPES, Instruction, Plan, walk


def verify(plan: Plan, after: str = "") -> None:
    """Raises InternalError where a plan cannot be right; `after` is the name of the pass that made it.

    Names of instructions are unique, those of values in their level; every input, fetch and target is there; an
    input that must be a variable is one; each output has a dtype and a shape; branches and loops hand out as many
    values as they take over, and name as inputs all that their bodies use. After "order" everything also stands
    behind what it needs.
    """
    _Verifier(plan, after).level(plan, {})


class _Verifier:
    def __init__(self, plan: Plan, after: str) -> None:
        self._after = after
        names: set[str] = set()
        for instruction in walk(plan):
            if instruction.name in names:
                self._fail("a second instruction has this name", instruction)
            names.add(instruction.name)

    def _fail(self, what: str, instruction: Instruction | None = None) -> NoReturn:
        op = None if instruction is None else instruction.op
        where = "" if instruction is None else f"{instruction.describe()}: "
        built = "" if op is None else " Built at {}:{}.".format(*op.line)
        passed = f" after the pass {self._after!r}" if self._after else ""
        raise errors.InternalError(None, op, f"The plan is wrong{passed}: {where}{what}.{built}")

    def _outputs(self, instructions: Sequence[Instruction]) -> None:
        made: set[str] = set()
        for i in instructions:
            if not len(i.outputs) == len(i.dtypes) == len(i.shapes):
                counts = f"{len(i.outputs)} outputs, {len(i.dtypes)} dtypes and {len(i.shapes)} shapes"
                self._fail(f"it has {counts}", i)
            for output in i.outputs:
                if output in made:
                    self._fail(f"a second instruction makes {output!r}", i)
                made.add(output)

    def level(self, plan: Plan, around: Mapping[str, Instruction | None]) -> None:
        """Checks one level; `around` are the values of the levels outside, with their makers."""
        self._outputs(plan.instructions)
        known: dict[str, Instruction | None] = {**around, **dict.fromkeys(plan.feeds)}
        whole = {**known, **{o: i for i in plan.instructions for o in i.outputs if o not in plan.feeds}}
        names = {i.name for i in plan.instructions}
        done: set[str] = set()
        there = known if self._after == "order" else whole
        for i in plan.instructions:
            self._inputs(i, there, whole)
            if self._after == "order":
                late = [c for c in i.control if c in names and c not in done]
                if late:
                    self._fail(f"it stands before {late[0]!r}, which it must come after", i)
            self._bodies(i, there)
            done.add(i.name)
            known.update((o, i) for o in i.outputs if o not in plan.feeds)
        for value in plan.fetches:
            if value and value not in whole:
                self._fail(f"{value!r} is fetched, but nothing makes it")
        for target in plan.targets:
            if target not in names:
                self._fail(f"{target!r} is to run, but is not there")

    def _inputs(
        self, i: Instruction, there: Mapping[str, Instruction | None], whole: Mapping[str, Instruction | None]
    ) -> None:
        for name, place in zip(i.inputs, i.places(), strict=False):
            if name not in there:
                self._fail(
                    f"it takes {name!r}, which " + ("is made later" if name in whole else "nothing makes"), i
                )
            maker = there[name]
            if place and (maker is None or maker.type not in VARIABLE_TYPES):
                self._fail(f"its input {name!r} must be a variable", i)

    def _bodies(self, i: Instruction, there: Mapping[str, Instruction | None]) -> None:
        beside = [name for name in i.taken() if name not in i.inputs]
        if beside:
            self._fail(f"its bodies use {beside[0]!r}, which is not among its inputs", i)
        if i.type == "If" and [len(b.fetches) for b in i.bodies] != [len(i.outputs)] * 2:
            self._fail(f"each branch must hand out {len(i.outputs)} values", i)
        if i.type == "While":
            condition, body = i.bodies
            if len(condition.fetches) != 1 or condition.feeds != body.feeds:
                self._fail("its condition must hand out one value, and take what its body takes", i)
            if not len(body.feeds) == len(body.fetches) == len(i.outputs):
                self._fail("its body must hand out as many values as it takes", i)
            around = {**there, **{o: m for m in condition.instructions for o in m.outputs}}
            self.level(condition, there)
            self.level(body, around)
            return
        for inner in i.bodies:
            self.level(inner, there)
