"""Infers dtypes and shapes again from a plan alone, as the graph inferred them when its operations were built.

A shape rule gets an operation. Here it gets a `DescribedOperation`, made of an instruction and of the instructions that
make its inputs. The rule sees the dtypes, shapes, attributes and known integers that the plan says, and no graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, registry
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan.ir import Instruction
from graphflow._core.plan.kinds import IF, WHILE

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
        self, name: str, definition: OpDef, attrs: dict[str, object], results: Sequence[tuple[DType, Dims]]
    ) -> None:
        self._name = name
        self.op_def = definition
        self._attrs = attrs
        self._inputs = []
        self._control_inputs = []
        self._context = None
        self._outputs = [Tensor(self, position, *result) for position, result in enumerate(results)]

    def take(self, inputs: Sequence[Tensor | None]) -> bool:
        """Sets the inputs; whether they are others than before. None is one whose type nobody knows: then no rule tells
        what the results are, and the operation only stands for them.
        """
        known = [tensor for tensor in inputs if tensor is not None]
        if len(known) < len(inputs):
            self.op_def, known = _GIVEN, []
        before = self._inputs
        self._inputs = known
        return len(before) != len(known) or any(a is not b for a, b in zip(before, known, strict=True))

    @property
    def is_given(self) -> bool:
        """Whether nothing is known of its results but what it says."""
        return self.op_def is _GIVEN


def given(name: str, dtype: DType, dims: Dims) -> Tensor:
    """A value that comes from outside the plan, or of which no more is to be known."""
    return DescribedOperation(name, _GIVEN, {}, [(dtype, dims)]).outputs[0]


def described(i: Instruction) -> DescribedOperation:
    """An instruction as an operation whose inputs are not set yet."""
    definition = definition_of(i)
    attrs = i.attrs if isinstance(i.attrs, dict) else dict(i.attrs)
    return DescribedOperation(i.name, definition or _GIVEN, attrs, list(zip(i.dtypes, i.shapes, strict=True)))


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
