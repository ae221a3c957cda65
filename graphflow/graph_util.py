"""Parts of a GraphDef, and constants in place of variables (tf.graph_util)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import graphflow.protos as protos
from graphflow._core.checkpoint.atomic import write_atomically
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.graph.attributes import tensor_to_proto
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import SessionLike
from graphflow._core.interop.onnx.model import onnx_model

if TYPE_CHECKING:
    from os import PathLike

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.graph_util", globals())

__all__ = [
    "convert_variables_to_constants",
    "export_onnx",
    "extract_sub_graph",
    "must_run_on_cpu",
    "node_name",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

_VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
_WRITERS = (
    "Assign",
    "AssignAdd",
    "AssignSub",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
)


def node_name(name: str) -> str:
    """The node of an input: "^a", "a" and "a:1" all mean "a".

    Args:
        name: A name for the operation.
    """
    return name.removeprefix("^").partition(":")[0]


def _nodes(graph_def: Any) -> dict[str, Any]:
    if not isinstance(graph_def, protos.graph_pb2.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    return {node.name: node for node in graph_def.node}


def _needed(nodes: dict[str, Any], roots: Iterable[str]) -> set[str]:
    """The names of the nodes that the roots need; AssertionError if a root is not there."""
    found: set[str] = set()
    todo = list(roots)
    for name in todo:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    while todo:
        name = todo.pop()
        if name in nodes and name not in found:
            found.add(name)
            todo += [node_name(source) for source in nodes[name].input]
    return found


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """The nodes of a GraphDef that `dest_nodes` need (tf.graph_util.extract_sub_graph).

    Args:
        graph_def: A GraphDef message.
        dest_nodes: The names of nodes.

    Returns:
        A GraphDef.

    Raises:
        TypeError: If dest_nodes is a string.
        AssertionError: If one of them is not there.
    """
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    needed = _needed(_nodes(graph_def), dest_nodes)
    result = protos.graph_pb2.GraphDef()
    result.node.extend(node for node in graph_def.node if node.name in needed)
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    return result


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether TensorFlow has a node's op for the CPU only (tf.graph_util.must_run_on_cpu).

    Args:
        node: A node or operation.
        pin_variables_on_cpu: Whether variables count.
    """
    node_def = node if isinstance(node, protos.node_def_pb2.NodeDef) else node.node_def
    if pin_variables_on_cpu and node_def.op in ("Variable", "VariableV2"):
        return True
    strings_and_integers = (3, 7)  # DT_INT32 and DT_STRING
    return node_def.op == "Const" and node_def.attr["dtype"].type in strings_and_integers


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """The shape of what a node's input names (tf.graph_util.tensor_shape_from_node_def_name).

    Args:
        graph: The graph.
        input_name: The name of a node.

    Returns:
        A gf.TensorShape.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).shape


def convert_variables_to_constants(
    sess: SessionLike,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> Any:
    """What `output_node_names` need, with the session's values in place of variables.

    TensorFlow's tf.graph_util.convert_variables_to_constants.

    Args:
        sess: The session.
        input_graph_def: A GraphDef.
        output_node_names: The nodes to keep, with all they need.
        variable_names_whitelist: The names of the variables to convert, all by default.
        variable_names_blacklist: Those not to.

    Returns:
        A GraphDef.

    Raises:
        ValueError: If the result still writes one.
    """
    graph_def = extract_sub_graph(input_graph_def, list(output_node_names))
    wanted = None if variable_names_whitelist is None else set(variable_names_whitelist)
    unwanted = set(variable_names_blacklist or ())
    names = [
        node.name
        for node in graph_def.node
        if node.op in _VARIABLES and (wanted is None or node.name in wanted) and node.name not in unwanted
    ]
    values = dict(zip(names, sess.run([f"{name}:0" for name in names]), strict=True)) if names else {}
    result = protos.graph_pb2.GraphDef()
    result.library.CopyFrom(graph_def.library)
    result.versions.CopyFrom(graph_def.versions)
    for node in graph_def.node:
        converted = [node_name(source) in values for source in node.input]
        if node.op in _WRITERS and converted[:1] == [True]:
            raise ValueError(
                f"{node.name!r} writes the variable {node.input[0]!r}, which is to be a constant. Leave it out of what "
                "the outputs need, or put the variable into variable_names_blacklist."
            )
        copy = result.node.add()
        if node.name in values:
            _make_constant(copy, node, values[node.name])
        else:
            copy.CopyFrom(node)
            if any(converted):
                _read_constant(copy)
    return result


def _make_constant(copy: Any, node: Any, value: Any) -> None:
    copy.name, copy.op, copy.device = node.name, "Const", node.device
    copy.attr["dtype"].type = node.attr["dtype"].type
    tensor_to_proto(value, copy.attr["value"].tensor)


def _read_constant(copy: Any) -> None:
    """What read or passed on a variable passes on a constant."""
    if copy.op == "ReadVariableOp":
        copy.op = "Identity"
        copy.attr["T"].CopyFrom(copy.attr["dtype"])
        del copy.attr["dtype"]
    elif copy.op.startswith("Ref"):
        copy.op = copy.op.removeprefix("Ref")
    copy.attr.pop("_class", None)


_REMOVED = ("CheckNumerics", "Identity")


def remove_training_nodes(input_graph: Any, protected_nodes: Iterable[str] | None = None) -> Any:
    """A GraphDef without CheckNumerics and Identity nodes, whose inputs take their place.

    TensorFlow's tf.graph_util.remove_training_nodes. Kept are `protected_nodes`, and those with or behind control
    inputs, and those in branches and loops.

    Args:
        input_graph: A GraphDef.
        protected_nodes: Names of nodes that stay.

    Returns:
        A GraphDef.
    """
    protected = set(protected_nodes or ())
    nodes = _nodes(input_graph)
    behind_control = {node_name(s) for node in input_graph.node for s in node.input if s.startswith("^")}
    by_index = {source for node in input_graph.node for source in node.input if ":" in source}
    replaced: dict[str, str] = {}
    for node in input_graph.node:
        source = nodes.get(node_name(node.input[0])) if len(node.input) == 1 else None
        kept = node.name in protected | behind_control or f"{node.name}:0" in by_index
        if source is None or kept or node.op not in _REMOVED or node.input[0].startswith("^"):
            continue
        if source.op not in ("Switch", "RefSwitch", *_VARIABLES):
            replaced[node.name] = node.input[0]
    result = protos.graph_pb2.GraphDef()
    result.library.CopyFrom(input_graph.library)
    result.versions.CopyFrom(input_graph.versions)
    for node in input_graph.node:
        if node.name in replaced:
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        del copy.input[:]
        for source in node.input:
            while source in replaced:
                source = replaced[source]
            copy.input.append(source)
    return result


def export_onnx(
    sess: SessionLike,
    filename: str | PathLike[str],
    inputs: Mapping[str, Tensor] | Sequence[Tensor],
    outputs: Mapping[str, Tensor] | Sequence[Tensor],
) -> None:
    """Writes an ONNX model of part of the session's graph, with the values that its variables have now.

    Args:
        sess: The session.
        filename: The file.
        inputs: The tensors that the model is given, by name, or a sequence of those that keep their own names. What has
            a batch of any size has it in the model, too.
        outputs: The tensors that it computes, likewise.

    Raises:
        UnimplementedError: An operation has no ONNX form: names it and the line that built it.
        InvalidArgumentError: The outputs need a placeholder that is not among the inputs.
        ModuleNotFoundError: The package onnx is not installed.
    """
    model = onnx_model(_by_name(inputs), _by_name(outputs), sess.run)
    write_atomically(user_path(filename), model.SerializeToString())


def _by_name(tensors: Any) -> dict[str, Tensor]:
    if isinstance(tensors, Mapping):
        return dict(tensors)
    return {tensor.name.removesuffix(":0"): tensor for tensor in tensors}
