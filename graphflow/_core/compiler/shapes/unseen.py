"""The shapes of values that a run has not computed, such as those in a branch that was not taken."""

from __future__ import annotations

from collections.abc import Mapping

from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.shapes.levels import Level, described
from graphflow._core.compiler.specialise import static_type
from graphflow._core.plan import kinds
from graphflow._core.plan.inference import Type
from graphflow._core.plan.ir import Instruction, Plan, producers


class _Level(Level):
    """A plan of which the shapes of some values are known."""

    def __init__(self, makers: Mapping[str, Instruction], known: Known) -> None:
        super().__init__(makers)
        self._known = known

    def type_of(self, value: str) -> Type | None:
        """See Level."""
        return described(value, self._known)


def add_unseen(plan: Plan, known: Known, around: Mapping[str, Instruction] | None = None) -> None:
    """Adds the shapes of values that follow from those of others by the shape rules of the operations."""
    makers = {**(around or {}), **producers(plan)}
    for i in plan.instructions:
        if i.is_variable or all(output in known for output in i.outputs):
            continue
        if i.type == kinds.IF:
            for body in i.bodies:
                add_unseen(body, known, makers)
                for output, fetch in zip(i.outputs, body.fetches, strict=True):
                    if fetch in known:
                        known.setdefault(output, known[fetch])
        elif i.type == kinds.WHILE:
            for name, start, output in zip(i.bodies[1].feeds, i.inputs, i.outputs, strict=False):
                if start in known:
                    known.setdefault(name, known[start])
                    known.setdefault(output, known[start])
            for body in i.bodies:
                add_unseen(body, known, makers)
        else:
            _infer(i, makers, known)


def _infer(i: Instruction, makers: Mapping[str, Instruction], known: Known) -> None:
    level = _Level(makers, known)
    seen = all(level.type_of(name) is not None for name in i.inputs) and i.definition is not None
    results = level.results(i) if seen else []
    for position, output in enumerate(i.outputs):
        found = static_type(i, position)
        if found is None and position < len(results):
            dims = results[position][1]
            if dims is not None and None not in dims:
                found = tuple([int(n) for n in dims if n is not None]), results[position][0].name
        if found is not None:
            known.setdefault(output, found)
