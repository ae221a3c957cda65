"""Infers dtypes and shapes again from a plan alone, as the graph inferred them when its operations were built.

A shape rule gets an operation. Here it gets a `DescribedOperation`, made of an instruction and, if it looks at them, of
the instructions that make its inputs. The rule sees the dtypes, shapes, attributes and known integers that the plan
says, and no graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, registry
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan.ir import Instruction
from graphflow._core.plan.kinds import IF, WHILE

Type: TypeAlias = tuple[DType, Dims]
"""Dtype and shape of a value."""
_GIVEN: Final = OpDef("Given", (), infer=lambda op: [], declared_gradient=NOT_DIFFERENTIABLE)
"""What makes a value of which nothing is known but its dtype and shape."""
NOT_FROM_DATA: Final = {
    IF: "what it hands out is what its branches fetch, which are checked by themselves",
    WHILE: "what it hands out is what its body fetches, which is checked by itself",
}
"""Types whose results no shape rule tells from the plan, and why."""


class DescribedOperation(Operation):
    """An instruction as shape rules see operations; it belongs to no graph."""

    __slots__ = ()

    def __init__(
        self,
        name: str,
        definition: OpDef,
        attrs: dict[str, object],
        results: Sequence[Type],
        inputs: Sequence[Tensor] = (),
    ) -> None:
        self._name = name
        self.op_def = definition
        self._attrs = attrs
        self._inputs = list(inputs)
        self._control_inputs = []
        self._context = None
        self._outputs = [Tensor(self, position, *result) for position, result in enumerate(results)]


def given(name: str, dtype: DType, dims: Dims) -> Tensor:
    """A value that comes from outside the plan, or of which no more is to be known."""
    return DescribedOperation(name, _GIVEN, {}, [(dtype, dims)]).outputs[0]


class Makers(Protocol):
    """A plan, or a level of one, as inference needs it."""

    def type_of(self, value: str) -> Type | None:
        """Dtype and shape of a value; None if nobody says them."""

    def made(self, value: str) -> tuple[Instruction, Makers] | None:
        """What makes a value, and the level that this is in; None if it is fed."""


class View:
    """What a shape rule sees of a plan, for one inference.

    Its inputs are described as far as a rule looks: most look at dtypes and shapes alone. looked: the values of which
    it asked for more, which is for what makes them; its answer depends on nothing else but these and the attributes.
    """

    def __init__(self) -> None:
        self.looked: set[str] = set()
        self._described: dict[str, DescribedOperation] = {}

    def operation(self, i: Instruction, level: Makers) -> DescribedOperation:
        """An instruction of a level as an operation. If nobody says the type of one of its inputs, no rule tells what
        its results are, and the operation only stands for them.
        """
        found = self._described.get(i.name)
        if found is None:
            definition, types = definition_of(i), [level.type_of(name) for name in i.inputs]
            known = [kind for kind in types if kind is not None]
            if definition is None or len(known) < len(types):
                definition, known = _GIVEN, []
            attrs = i.attrs if isinstance(i.attrs, dict) else dict(i.attrs)
            results = list(zip(i.dtypes, i.shapes, strict=True))
            inputs = [_ViewedTensor(self, level, *named) for named in zip(i.inputs, known, strict=False)]
            found = self._described[i.name] = DescribedOperation(i.name, definition, attrs, results, inputs)
        return found

    def look(self, level: Makers, value: str, kind: Type) -> Tensor:
        """A value that is taken at a level, as the result of what makes it."""
        self.looked.add(value)
        made = level.made(value)
        return (
            given(value, *kind)
            if made is None
            else self.operation(*made).outputs[made[0].outputs.index(value)]
        )


class _ViewedTensor(Tensor):
    """An input of a described operation. What makes it is described when it is asked for."""

    __slots__ = ("_found", "_level", "_value", "_view")

    def __init__(self, view: View, level: Makers, value: str, kind: Type) -> None:
        self._found: Tensor | None = None
        self._view = view
        self._level = level
        self._value = value
        self._dtype, self._dims = kind
        self._consumers = []

    @property
    def op(self) -> Operation:
        return self._made().op

    @property
    def value_index(self) -> int:
        return self._made().value_index

    @property
    def name(self) -> str:
        return self._value

    def _made(self) -> Tensor:
        if self._found is None:
            self._found = self._view.look(self._level, self._value, (self._dtype, self._dims))
        return self._found


def definition_of(i: Instruction) -> OpDef | None:
    """The definition that says what an instruction's results are; None if none does."""
    return None if i.type in NOT_FROM_DATA else i.definition or registry().get(i.type)


def inferred(op: DescribedOperation, inputs: Sequence[Tensor]) -> Signature:
    """What the shape rule says of the results, given these inputs. Raises what the rule raises."""
    kept, op._inputs = op._inputs, list(inputs)
    try:
        return op.op_def.infer(op)
    finally:
        op._inputs = kept


def wrong_dtype(op: DescribedOperation) -> str:
    """Which input has a dtype that the definition does not allow, "" if none has."""
    specs = op.op_def.inputs
    if len(specs) != len(op.inputs) or op.op_def.takes_lists:
        return ""
    chosen: dict[str, DType] = {}
    for spec, tensor in zip(specs, op.inputs, strict=True):
        dtype = tensor.dtype
        expected = dtype if spec.variable is None else chosen.setdefault(spec.variable, dtype)
        if dtype is not expected:
            return f"its input '{spec.name}' is {dtype.name}, which must be {expected.name}"
        if spec.allowed is not dtypes.ALL and all(dtype is not allowed for allowed in spec.allowed):
            allowed = ", ".join(d.name for d in spec.allowed)
            return f"its input '{spec.name}' is {dtype.name}, which must be {allowed}"
    return ""
