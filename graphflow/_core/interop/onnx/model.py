"""An ONNX model of what tensors of a graph need, with the values that variables have now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.common.distribution import VERSION, to_install
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.interop.onnx import arithmetic, arrays, windows  # noqa: F401 - they register their forms.
from graphflow._core.interop.onnx.forms import FORMS, OPSET, Writer, onnx_dtype, refuse

_FED: Final = frozenset(("Placeholder", "PlaceholderV2"))
_OF_VARIABLES: Final = frozenset(("VarHandleOp", "ReadVariableOp", "VarIsInitializedOp"))
_OF_BRANCHES_AND_LOOPS: Final = frozenset(
    ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch")
)


def onnx_model(
    inputs: Mapping[str, Tensor],
    outputs: Mapping[str, Tensor],
    values_of: Callable[[list[Tensor]], Sequence[Any]],
) -> Any:
    """The ModelProto that computes `outputs` of `inputs`.

    Args:
        inputs: The tensors that are given, by the names that they get.
        outputs: The tensors that are computed, by the names that they get.
        values_of: Computes tensors that no input has a part in: constants, variables, and what is made of them.

    Raises:
        ModuleNotFoundError: The package onnx is not installed.
        UnimplementedError: An operation has no ONNX form; names it and the line that built it.
        InvalidArgumentError: An output needs a placeholder that is not among the inputs.
    """
    try:
        from onnx import checker, helper
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"Models are written by the package onnx, which is not installed: {to_install('onnx')}",
            name="onnx",
        ) from error

    given = {tensor: name for name, tensor in inputs.items()}
    needed = _in_order([tensor for tensor in outputs.values() if tensor not in given], given)
    moving = _that_change(needed, given)
    for op in moving:
        if op.type not in FORMS:
            raise _no_form(op)
    still = [t for op in moving for t in op.inputs if t not in given and t.op not in moving] + [
        t for t in outputs.values() if t not in given and t.op not in moving
    ]
    still = list(dict.fromkeys(still))
    known = dict(zip(still, values_of(still), strict=True)) if still else {}
    named = dict(given)
    writer = Writer(known, named)
    for name in (*inputs, *outputs):
        writer.unique(name)
    for op in moving:
        writer.begin(op)
        made = FORMS[op.type](writer, op)
        named.update(zip(op.outputs, [made] if isinstance(made, str) else made, strict=True))
    for name, tensor in outputs.items():
        writer.nodes.append(helper.make_node("Identity", [writer(tensor)], [name]))
    graph = helper.make_graph(
        writer.nodes, "graphflow", [_described(n, t) for n, t in inputs.items()],
        [_described(n, t) for n, t in outputs.items()], writer.constants,
    )  # fmt: skip
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="graphflow",
        producer_version=VERSION, ir_version=8,
    )  # fmt: skip
    checker.check_model(model)
    return model


def _no_form(op: Operation) -> errors.OpError:
    if op.type.startswith("Placeholder"):
        return errors.InvalidArgumentError(
            None,
            op,
            f"The outputs need the placeholder '{op.name}', which is not among the inputs: name it there.",
        )
    if op.type in _OF_BRANCHES_AND_LOOPS:
        return refuse(op, "branches and loops are not written; static_rnn and tf.where have forms")
    return refuse(op, "it is none of those that are written")


def _in_order(roots: Sequence[Tensor], given: Mapping[Tensor, str]) -> list[Operation]:
    """The operations that tensors need, each behind those that it needs."""
    found: dict[Operation, None] = {}
    todo: list[tuple[Operation, bool]] = [(tensor.op, False) for tensor in reversed(roots)]
    open_: set[Operation] = set()
    while todo:
        op, done = todo.pop()
        if done:
            found[op] = None
        elif op not in open_:
            open_.add(op)
            todo.append((op, True))
            todo += [(t.op, False) for t in op.inputs if t not in given]
    return list(found)


def _that_change(ops: Sequence[Operation], given: Mapping[Tensor, str]) -> dict[Operation, None]:
    """Those of them whose results differ from run to run: of inputs, and of what has a state but variables."""
    found: dict[Operation, None] = {}
    for op in ops:
        definition = op.op_def
        own = op.type in _FED or definition.stateful and not _reads_a_variable(op)
        if own or any(t in given or t.op in found for t in op.inputs):
            found[op] = None
    return found


def _reads_a_variable(op: Operation) -> bool:
    return bool(op.op_def.is_variable) or op.type in _OF_VARIABLES


def _described(name: str, tensor: Tensor) -> Any:
    from onnx import helper

    sizes = None
    if tensor.shape.ndims is not None:
        sizes = [
            f"{name}_{axis}" if size is None else size for axis, size in enumerate(tensor.shape.as_list())
        ]
    return helper.make_tensor_value_info(name, onnx_dtype(tensor.dtype, tensor.op), sizes)
