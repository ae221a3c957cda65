"""References: which variable a tensor stands for, if an op that needs a variable itself takes it.

As in TensorFlow 1, what a write of a variable gives may be written again: scatter_max(scatter_mul(v, ...), ...) changes
v twice, the second time behind the first. A branch or a loop passes a reference on as it passes a value on. A value
that was computed or read is no reference.
"""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import InputSpec, OpDef


def variables_of(tensor: Tensor) -> list[Tensor]:
    """The results of the variables that a tensor is a reference to, of each once; [] if it may be a mere value.

    There are several if a branch decides which one it is.
    """
    found: dict[Tensor, None] = {}
    seen: set[Tensor] = set()
    todo = [tensor]
    while todo:
        reference = todo.pop()
        if reference in seen:
            continue
        seen.add(reference)
        op, definition = reference.op, reference.op.op_def
        if definition.is_variable:
            found[reference] = None
        elif definition.forwards:
            todo += op.inputs if definition.takes_lists else op.inputs[:1]
        elif definition.gives_ref is not None and reference.value_index == 0:
            todo.append(op.inputs[definition.gives_ref])
        else:
            return []
    return list(found)


def variable_for(definition: OpDef, spec: InputSpec, tensor: Tensor) -> Tensor:
    """The result of the variable that an op is given for an input which takes a variable itself.

    TypeError if the tensor is no reference, or may be one to several variables.
    """
    if tensor.op.op_def.is_variable:
        return tensor
    found = variables_of(tensor)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(sorted(repr(variable.op.name) for variable in found))
        raise TypeError(
            f"Input '{spec.name}' of '{definition.name}' must be one variable, but {tensor.name!r} is one of {names}, "
            "which the run decides. Write each of them where it is decided, in its branch."
        )
    raise TypeError(
        f"Input '{spec.name}' of '{definition.name}' must be a gf.Variable, or what an op gives that writes one, "
        f"got the value {tensor!r}."
    )
