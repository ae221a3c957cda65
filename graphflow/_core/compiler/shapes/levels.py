"""What shape rules see of a plan that is being compiled, of whose values more or less is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.graph import dtypes
from graphflow._core.plan.inference import Makers, Type, View, inferred
from graphflow._core.plan.ir import Instruction


class Level:
    """A plan as shape rules look at it: what makes each value, and what a subclass knows of dtypes and shapes."""

    def __init__(self, makers: Mapping[str, Instruction]) -> None:
        self._makers = makers
        self._view = View()

    def type_of(self, value: str) -> Type | None:
        """Dtype and shape of a value."""
        raise NotImplementedError

    def made(self, value: str) -> tuple[Instruction, Makers] | None:
        """What makes a value."""
        maker = self._makers.get(value)
        return None if maker is None else (maker, self)

    def results(self, i: Instruction) -> Sequence[Type]:
        """What the rule says of the results; nothing if something is wrong, which NumPy's kernel tells if it runs."""
        operation = self._view.operation(i, self)
        try:
            return list(inferred(operation, operation.inputs))
        except Exception:
            return []


def described(value: str, known: Known) -> Type | None:
    """Dtype and shape of a value as a run had them; None of one that is not known, or no array."""
    if value not in known or known[value][1] == "object":
        return None
    shape, dtype = known[value]
    return dtypes.as_dtype(dtype), shape
