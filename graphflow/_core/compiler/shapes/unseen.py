"""The shapes of values that a run has not computed, such as those in a branch that was not taken."""

from __future__ import annotations

from collections.abc import Mapping

from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.specialise import static_type
from graphflow._core.graph import dtypes
from graphflow._core.plan import kinds
from graphflow._core.plan.inference import Makers, Type, View, inferred
from graphflow._core.plan.ir import Instruction, Plan, producers


class _Level:
    """A plan and what is known of its values, as shape rules look at it."""

    def __init__(self, makers: Mapping[str, Instruction], known: Known) -> None:
        self._makers, self._known = makers, known

    def type_of(self, value: str) -> Type | None:
        """Dtype and shape of a value."""
        if value not in self._known or self._known[value][1] == "object":
            return None
        shape, dtype = self._known[value]
        return dtypes.as_dtype(dtype), shape

    def made(self, value: str) -> tuple[Instruction, Makers] | None:
        """What makes a value."""
        maker = self._makers.get(value)
        return None if maker is None else (maker, self)


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
    results: list[Type] = []
    if all(level.type_of(name) is not None for name in i.inputs) and i.definition is not None:
        operation = View().operation(i, level)
        try:
            results = list(inferred(operation, operation.inputs))
        except Exception:  # What is wrong with it is told by NumPy's kernel, if it runs.
            results = []
    for position, output in enumerate(i.outputs):
        found = static_type(i, position)
        if found is None and position < len(results):
            dims = results[position][1]
            if dims is not None and None not in dims:
                found = tuple([int(n) for n in dims if n is not None]), results[position][0].name
        if found is not None:
            known.setdefault(output, found)
