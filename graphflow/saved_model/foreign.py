"""Making a meta graph one that TensorFlow can load.

Some gradients, and savers that keep more than variables, use operations that TensorFlow does not have. A model that is
served needs none of them, so they go, with all that depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from graphflow._core.interop.op_table import tensorflow_op
from graphflow.saved_model import constants
from graphflow.train.saving.collections import message_of


def drop_what_tensorflow_lacks(meta_graph: Any, signatures: Mapping[str, Any]) -> None:
    """Takes out of a meta graph the operations that TensorFlow does not have, and those that depend on them.

    Args:
        meta_graph: The MetaGraphDef message, which is changed.
        signatures: The SignatureDef messages by name.

    Raises:
        ValueError: A signature, the saver or the main operation needs one; lists them.
    """
    nodes = meta_graph.graph_def.node
    unknown = {node.name: node.op for node in nodes if tensorflow_op(node.op) is None}
    if not unknown:
        return
    dropped = _with_consumers(unknown, nodes)
    lacking = sorted(set(_needed(meta_graph, signatures)) & dropped)
    if lacking:
        told = ", ".join(f"{op} ({name!r})" for name, op in sorted(unknown.items()))
        raise ValueError(
            f"TensorFlow does not have these operations: {told}. {', '.join(map(repr, lacking))} cannot be computed "
            "without them. Build the model of other operations, or export it for graphflow alone."
        )
    kept = [node for node in nodes if node.name not in dropped]
    copies = [type(node).FromString(node.SerializeToString()) for node in kept]
    del nodes[:]
    nodes.extend(copies)
    for key in list(meta_graph.collection_def):
        _clean(key, meta_graph.collection_def[key], dropped)


def _with_consumers(names: Iterable[str], nodes: Iterable[Any]) -> set[str]:
    """Nodes and all that depend on them."""
    consumers: dict[str, list[str]] = {}
    for node in nodes:
        for text in node.input:
            consumers.setdefault(_node(text), []).append(node.name)
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += consumers.get(name, ())
    return found


def _node(text: str) -> str:
    """The node of a name such as "a", "a:1" or "^a"."""
    return text.removeprefix("^").partition(":")[0]


def _needed(meta_graph: Any, signatures: Mapping[str, Any]) -> Iterator[str]:
    for signature in signatures.values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            yield from _texts(info)
    yield from _texts(meta_graph.saver_def)
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        if key in meta_graph.collection_def:
            yield from map(_node, meta_graph.collection_def[key].node_list.value)


def _texts(message: Any) -> Iterator[str]:
    """The nodes that the texts of a message may name."""
    for _, value in message.ListFields():
        for item in [value] if isinstance(value, str) or hasattr(value, "ListFields") else _items(value):
            if isinstance(item, str):
                yield _node(item)
            elif hasattr(item, "ListFields"):
                yield from _texts(item)


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, Iterable) and not isinstance(value, bytes) else ()


def _clean(key: str, collection: Any, dropped: set[str]) -> None:
    """Takes out of a collection what names a node that is dropped."""
    kind = collection.WhichOneof("kind")
    if kind == "node_list":
        values = collection.node_list.value
        kept: list[Any] = [name for name in values if _node(name) not in dropped]
    elif kind == "bytes_list" and (message := message_of(key)) is not None:
        values = collection.bytes_list.value
        kept = [item for item in values if dropped.isdisjoint(_texts(message.FromString(item)))]
    else:
        return
    del values[:]
    values.extend(kept)
