"""Op types of graphflow's own as several of TensorFlow's, so that it can run what a gradient is made of.

The last of these nodes carries a mark with the op type they stand for, and the others one that says that they are parts
of it. The reader puts graphflow's op back in their place, if they are still connected as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from graphflow._core.graph import dtypes

if TYPE_CHECKING:
    from graphflow._core.graph.elements import Operation

MARK: Final = "_graphflow_op"
PART: Final = "_graphflow_part"
Add = Callable[[str, str, Sequence[str], Mapping[str, Any]], str]
"""Writes a part: (what it is called under the operation's name, op type, inputs, attributes) -> its name."""
Last = tuple[str, list[str], dict[str, Any]]
"""Op type, inputs and attributes of the last node, which has the operation's own name."""


def _constant(add: Add, name: str, value: Any) -> str:
    array = np.array(value, np.int32)
    return add(name, "Const", [], {"dtype": dtypes.int32, "value": array})


def _shape(add: Add, name: str, tensor: str, dtype: Any) -> str:
    return add(name, "Shape", [tensor], {"T": dtype, "out_type": dtypes.int32})


def _broadcast_like(op: Operation, names: Sequence[str], add: Add) -> Last:
    shape = _shape(add, "Shape", names[1], op.inputs[1].dtype)
    return "BroadcastTo", [names[0], shape], {"T": op.inputs[0].dtype, "Tidx": dtypes.int32}


def _broadcast_static(op: Operation, names: Sequence[str], add: Add) -> Last:
    shape = _constant(add, "shape", op.attrs["shape"].as_list())
    return "BroadcastTo", [names[0], shape], {"T": op.inputs[0].dtype, "Tidx": dtypes.int32}


def _sum_to_shape(op: Operation, names: Sequence[str], add: Add) -> Last:
    dtype = op.inputs[0].dtype
    wanted = _shape(add, "Shape", names[1], op.inputs[1].dtype)
    given = _shape(add, "Shape_1", names[0], dtype)
    axes = add("BroadcastGradientArgs", "BroadcastGradientArgs", [wanted, given], {"T": dtypes.int32})
    total = add("Sum", "Sum", [names[0], axes], {"T": dtype, "Tidx": dtypes.int32})
    return "Reshape", [total, wanted], {"T": dtype, "Tshape": dtypes.int32}


def _restore_axes(op: Operation, names: Sequence[str], add: Add) -> Last:
    reduced, x, axes = names
    shape = _shape(add, "Shape", x, op.inputs[1].dtype)
    kind = op.inputs[2].dtype
    axes = add("Cast", "Cast", [axes], {"SrcT": kind, "DstT": dtypes.int32})
    rank = add("Rank", "Rank", [x], {"T": op.inputs[1].dtype})
    place = add("mod", "FloorMod", [axes, rank], {"T": dtypes.int32})
    ones = add("ones", "OnesLike", [place], {"T": dtypes.int32})
    zero, one = _constant(add, "start", 0), _constant(add, "delta", 1)
    every = add("range", "Range", [zero, rank, one], {"Tidx": dtypes.int32})
    stitched = add("shape", "DynamicStitch", [every, place, shape, ones], {"N": 2, "T": dtypes.int32})
    return "Reshape", [reduced, stitched], {"T": op.inputs[0].dtype, "Tshape": dtypes.int32}


def _sparse_descent(op: Operation, names: Sequence[str], add: Add) -> Last:
    variable, rate, gradient, indices = names
    dtype = op.inputs[2].dtype
    step = add("mul", "Mul", [gradient, rate], {"T": dtype})
    return "ScatterSub", [variable, indices, step], {"T": dtype, "Tindices": op.inputs[3].dtype}


EXPANSIONS: Final[Mapping[str, Callable[[Operation, Sequence[str], Add], Last]]] = {
    "BroadcastLike": _broadcast_like,
    "BroadcastStatic": _broadcast_static,
    "SumToShape": _sum_to_shape,
    "RestoreReducedAxes": _restore_axes,
    "SparseApplyGradientDescent": _sparse_descent,
}
_PATHS: Final[Mapping[str, Sequence[Sequence[int]]]] = {
    "BroadcastLike": ((0,), (1, 0)),
    "BroadcastStatic": ((0,),),
    "SumToShape": ((0, 0), (1, 0)),
    "RestoreReducedAxes": ((0,), (1, 2, 0), (1, 1, 0, 0)),
    "SparseApplyGradientDescent": ((0,), (2, 1), (2, 0), (1,)),
}
"""Where the inputs of each are found: which input of the last node, which input of that, and so on."""


def contracted(graph_def: Any) -> list[Any]:
    """The nodes of a GraphDef with graphflow's ops in place of what they were written as."""
    nodes = {node.name: node for node in graph_def.node}
    result = [_contracted(node, nodes) if MARK in node.attr else node for node in graph_def.node]
    while True:  # A part may be there for other parts only.
        used = {s.removeprefix("^").partition(":")[0] for node in result for s in node.input}
        kept = [node for node in result if PART not in node.attr or node.name in used]
        if len(kept) == len(result):
            return kept
        result = kept


def _contracted(node: Any, nodes: Mapping[str, Any]) -> Any:
    """The node that a marked one stands for; itself if the parts are not as they were written."""
    kind = node.attr[MARK].s.decode("latin-1")
    found = []
    for path in _PATHS.get(kind, ()):
        current, source = node, ""
        for step, position in enumerate(path):
            inputs = [s for s in current.input if not s.startswith("^")]
            if position >= len(inputs):
                return node
            source = inputs[position]
            if step < len(path) - 1:
                current = nodes.get(source.partition(":")[0])
                if current is None or PART not in current.attr:
                    return node
        found.append(source)
    if not found:
        return node
    copy = type(node)(name=node.name, op=kind, device=node.device, input=found)
    copy.input.extend(source for source in node.input if source.startswith("^"))
    for name in ("_class", "_output_shapes"):
        if name in node.attr:
            copy.attr[name].CopyFrom(node.attr[name])
    for name, value in node.attr.items():
        if name.startswith(MARK + "_"):
            copy.attr[name.removeprefix(MARK + "_")].CopyFrom(value)
    return copy
