"""Translations of nodes that TensorFlow writes in another way: older op types, references and resource variables.

A variable of either kind becomes a VariableV2, and what names it (a reference passed through a branch or a loop, a
resource handle) is the variable itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.op_def import RESOURCE
from graphflow._core.graph.shapes import as_dims
from graphflow._core.interop.import_nodes import Node


class Builder(Protocol):
    """The builder that adds a GraphDef's nodes to a graph, as rules see it."""

    stacks: dict[Tensor, str]
    stacked: dict[str, Tensor]

    def add(
        self,
        node: Node,
        kind: str,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any] | None = None,
        suffix: str = "",
    ) -> Sequence[Tensor]: ...

    def constant(self, node: Node, suffix: str, value: Any) -> Tensor: ...

    def full_name(self, name: str) -> str: ...


Rule = Callable[[Builder, Node, list[Tensor]], Sequence[Tensor]]

_RENAMED: Final[Mapping[str, str]] = {
    "Variable": "VariableV2",
    "VarHandleOp": "VariableV2",
    "RefIdentity": "Identity",
    "ReadVariableOp": "Identity",
    "Snapshot": "Identity",
    "PlaceholderV2": "Placeholder",
    "Inv": "Reciprocal",
    "AssignVariableOp": "Assign",
    "AssignAddVariableOp": "AssignAdd",
    "AssignSubVariableOp": "AssignSub",
    "VarIsInitializedOp": "IsVariableInitialized",
    "VariableShape": "Shape",
    "BatchMatMul": "BatchMatMulV2",
    "RefMerge": "Merge",
    "RefExit": "Exit",
    "RefNextIteration": "NextIteration",
    "ResourceGatherNd": "GatherNd",
}
"""Op types that are another one of graphflow's, with the same inputs."""
_RESOURCE_PREFIXES: Final = ("ResourceApply", "ResourceSparseApply", "ResourceScatter")


def renamed(op_type: str) -> str:
    """The op type that stands for one of TensorFlow's; the name itself if it is no other."""
    if op_type.startswith(_RESOURCE_PREFIXES):
        return op_type.removeprefix("Resource")
    return _RENAMED.get(op_type, op_type)


def translatable(op_type: str) -> bool:
    """Whether there is a rule for an op type of TensorFlow's."""
    return op_type in RULES


def _through(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    """A variable's name in a branch or a loop: the variable; else the operation itself."""
    if inputs and (inputs[0].op.op_def.is_variable or inputs[0] in builder.stacks):
        return [inputs[0]] * 2
    kind = node.op.removeprefix("Ref")
    return builder.add(node, kind, inputs)


def _enter(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    if inputs and inputs[0].op.op_def.is_variable:
        if node.attrs.get("is_constant"):
            return inputs[:1]
        inputs = [*builder.add(node, "Identity", inputs[:1], suffix="value", attrs={}), *inputs[1:]]
    if inputs and inputs[0] in builder.stacks:
        return inputs[:1]
    return builder.add(node, "Enter", inputs)


def _identity(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    if inputs and node.attrs.get("T") is dtypes.resource and inputs[0].op.op_def.is_variable:
        return inputs[:1]
    return builder.add(node, "Identity", inputs)


def _variable(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    attrs = {
        "shape": as_dims(node.attrs.get("shape")),
        "dtype": node.attrs.get("dtype", dtypes.float32),
        "shared_name": "",
        "container": "",
    }
    if node.op == "VarHandleOp" or node.attrs.get(RESOURCE):
        attrs[RESOURCE] = True
    return builder.add(node, "VariableV2", inputs, attrs=attrs)


def _gather(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    attrs = {"batch_dims": int(node.attrs.get("batch_dims", 0))}
    axis = builder.constant(node, "axis", np.array(attrs["batch_dims"], np.int32))
    return builder.add(node, "GatherV2", [*inputs, axis], attrs=attrs)


def _concat(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    return builder.add(
        node, "ConcatV2", [*inputs[1:], *inputs[:1]], attrs={"N": len(inputs) - 1, "Tidx": dtypes.int32}
    )


def _top_k(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    k = builder.constant(node, "k", np.array(node.attrs.get("k", 0), np.int32))
    return builder.add(node, "TopKV2", [*inputs, k], attrs={"sorted": bool(node.attrs.get("sorted", True))})


def _batch_norm(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    return builder.add(node, "FusedBatchNormV3", inputs)[:5]


def _py_func(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    token = str(node.attrs.get("token", ""))

    def function(*_: Any) -> Any:
        raise RuntimeError(
            f"{node.describe()} calls the Python function {token!r}, which is not in the file that the graph was "
            "imported from: a graph on disk has no Python code. Build it where the function is, or map its result "
            "with input_map."
        )

    attrs = {"function": function, "Tout": list(node.attrs.get("Tout", []))}
    return builder.add(node, node.op, inputs, attrs=attrs)


def _same_dataset(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    """Leaves out an op that only says how TensorFlow has to run a dataset."""
    return inputs[:1]


def _control_trigger(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    return builder.add(node, "NoOp", inputs, attrs={"_written_as": "ControlTrigger"})


def _stack(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    """The handle of a stack: its name is what counts; the size, its only input, stands for it."""
    handle = builder.constant(node, "stack", np.array(-1, np.int32))
    builder.stacks[handle] = builder.full_name(node.name)
    return [handle]


def _stack_name(builder: Builder, node: Node, inputs: list[Tensor]) -> str:
    name = builder.stacks.get(inputs[0]) if inputs else None
    if name is None:
        raise ValueError("its first input is no stack.")
    return name


def _stack_push(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    stack = _stack_name(builder, node, inputs)
    attrs = {"stack": stack, "T": node.attrs.get("T")}
    builder.stacked[stack] = inputs[1]
    return builder.add(node, "StackPushV2", inputs[1:], attrs=attrs)


def _stack_pop(builder: Builder, node: Node, inputs: list[Tensor]) -> Sequence[Tensor]:
    stack = _stack_name(builder, node, inputs)
    pushed = builder.stacked.get(stack)
    attrs = {
        "stack": stack,
        "elem_type": node.attrs.get("elem_type"),
        "_dims": None if pushed is None else pushed.dims,
    }
    return builder.add(node, "StackPopV2", [], attrs=attrs)


RULES: Final[Mapping[str, Rule]] = {
    "RefSwitch": _through,
    "Switch": _through,
    "RefEnter": _enter,
    "Enter": _enter,
    "Identity": _identity,
    "Variable": _variable,
    "VariableV2": _variable,
    "VarHandleOp": _variable,
    "Gather": _gather,
    "ResourceGather": _gather,
    "Concat": _concat,
    "TopK": _top_k,
    "FusedBatchNorm": _batch_norm,
    "FusedBatchNormV2": _batch_norm,
    "PyFunc": _py_func,
    "PyFuncStateless": _py_func,
    "ControlTrigger": _control_trigger,
    "ModelDataset": _same_dataset,
    "OptimizeDataset": _same_dataset,
    "StackV2": _stack,
    "StackPushV2": _stack_push,
    "StackPopV2": _stack_pop,
}
"""How the nodes of an op type are built if a new name is not all."""
