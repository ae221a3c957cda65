"""Savers in a graph that TensorFlow is to read: without the state that is no variable, whose operations it lacks.

A program that runs as TensorFlow's leaves its graph beside its checkpoints, for TensorFlow and its tools to go on with.
A saver of everything then saves and restores the variables alone.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from graphflow._core.checkpoint.default_format import TENSORFLOW, default_format
from graphflow._core.checkpoint.resource_state import STATE
from graphflow._core.graph import dtypes
from graphflow._core.graph.graph import Graph
from graphflow._core.interop.tensor_protos import make_ndarray, make_tensor_proto

_OF_STATE: Final = ("ReadResourceState", "WriteResourceState")
_SAVERS: Final = ("SaveV2", "RestoreV2")
_LISTS: Final = ("dtypes", "_output_shapes")
"""Attributes that have an entry for each tensor that is saved, or restored."""


def without_state(graph_def: Any) -> None:
    """Takes the state of resources out of the savers in a GraphDef, and the operations that read and write it."""
    nodes = graph_def.node
    dropped = {node.name for node in nodes if node.op in _OF_STATE}
    if not dropped:
        return
    by_name = {node.name: node for node in nodes}
    for node in nodes:
        if node.op in _SAVERS:
            _shorten(node, by_name)
        kept = [text for text in node.input if text.removeprefix("^").partition(":")[0] not in dropped]
        if len(kept) < len(node.input):
            del node.input[:]
            node.input.extend(kept)
    for number in reversed(range(len(nodes))):
        if nodes[number].name in dropped:
            del nodes[number]


def _shorten(node: Any, by_name: dict[str, Any]) -> None:
    """Takes the state, which is behind the variables, out of what an operation lists: names, slices, dtypes, shapes."""
    names, slices = (by_name[source] for source in list(node.input)[1:3])
    listed = make_ndarray(names.attr["value"].tensor).tolist()
    count = sum(not name.startswith(STATE.encode()) for name in listed)
    if count == len(listed):
        return
    for constant in (names, slices):
        values = make_ndarray(constant.attr["value"].tensor)[:count]
        constant.attr["value"].tensor.CopyFrom(make_tensor_proto(np.asarray(values, object), dtypes.string))
        if "_output_shapes" in constant.attr:
            constant.attr["_output_shapes"].list.shape[0].dim[0].size = count
    for name in _LISTS:
        if name in node.attr:
            found = node.attr[name].list
            del (found.type if name == "dtypes" else found.shape)[count:]


def is_for_tensorflow(graph: Graph) -> bool:
    """Whether what is written of a graph is for TensorFlow: the program runs as its, or has a saver of its files."""
    return default_format() == TENSORFLOW or any(
        op.attrs.get("_format") == TENSORFLOW for op in graph.get_operations()
    )
