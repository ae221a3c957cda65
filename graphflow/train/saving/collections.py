"""Collections of a graph as CollectionDef messages, and back.

What a collection holds is told from its items: operations and tensors are written by name, numbers and bytes as they
are, objects with a message of their own (variables, queue runners, savers) as that message. What cannot be written is
left out with one logged line.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import graphflow.protos as protos
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.state.variable import Variable
from graphflow.train.queue_runner import QueueRunner
from graphflow.train.saving.saver import Saver

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Kind:
    """How the items of a collection are read: the module and name of their message, and a function of it."""

    module: str
    message: str
    from_proto: Callable[[Any, str | None], Any]


def _queue_runner(message: Any, scope: str | None) -> Any:
    return QueueRunner(queue_runner_def=message, import_scope=scope)


_VARIABLES: Final = _Kind("variable_pb2", "VariableDef", Variable.from_proto)
_KINDS: dict[str, _Kind] = {
    **dict.fromkeys(
        (
            GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES, GraphKeys.GLOBAL_STEP,
            GraphKeys.TRAINABLE_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.METRIC_VARIABLES,
            GraphKeys.CONCATENATED_VARIABLES, GraphKeys.WEIGHTS, GraphKeys.BIASES, GraphKeys.EVAL_STEP,
        ),
        _VARIABLES,
    ),
    GraphKeys.QUEUE_RUNNERS: _Kind("queue_runner_pb2", "QueueRunnerDef", _queue_runner),
    GraphKeys.SAVERS: _Kind("saver_pb2", "SaverDef", Saver.from_proto),
}  # fmt: skip
_CONTEXTS: Final = (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT)
"""Branches and loops, which are told from the edges instead."""


def register_proto_function(
    collection_name: str, module: str, message: str, from_proto: Callable[[Any, str | None], Any]
) -> None:
    """Says how the items of a collection are read: graphflow.protos.MODULE.MESSAGE, and from_proto(message, scope).

    They are written by their own to_proto(export_scope).
    """
    _KINDS[collection_name] = _Kind(module, message, from_proto)


def message_of(key: str) -> Any:
    """The class of the messages in the bytes of a collection; None if they are something else."""
    kind = _KINDS.get(key)
    return None if kind is None else getattr(getattr(protos, kind.module), kind.message)


# ---- writing --------------------------------------------------------------------------------------------------------


def add_collection_def(
    meta_graph: Any, key: str, items: list[Any], scope: str | None, bare: Callable[[str], str | None]
) -> None:
    """Adds a collection to a MetaGraphDef; what is outside of the exported scope is left out.

    bare: the exported name of an operation or tensor, None if it is not exported.
    """
    if key in _CONTEXTS or not items:
        return
    collection = protos.meta_graph_pb2.CollectionDef()
    try:
        for item in items:
            _add_item(collection, key, item, scope, bare)
        if collection.WhichOneof("kind") is not None:
            meta_graph.collection_def[key].CopyFrom(collection)
    except (TypeError, ValueError, OverflowError) as error:
        _log.warning("The collection %r is left out of the meta graph: %s", key, error)
    except RuntimeError as error:  # Of what is not complete yet, such as a saver that is built later.
        _log.info("The collection %r is left out of the meta graph: %s", key, error)


def _add_item(
    collection: Any, key: str, item: Any, scope: str | None, bare: Callable[[str], str | None]
) -> None:
    if isinstance(item, Variable) and key not in _KINDS:
        # In a collection of the program's own nothing says what bytes are: its name says which variable it is.
        kind, value = "node_list", bare(str(item.name))
    else:
        kind, value = _written(item, scope, bare)
    if value is None:
        return
    present = collection.WhichOneof("kind")
    if present not in (None, kind):
        raise TypeError(f"it mixes items of kinds {present} and {kind}, such as {item!r}.")
    getattr(collection, kind).value.append(value)


def _written(item: Any, scope: str | None, bare: Callable[[str], str | None]) -> tuple[str, Any]:
    if isinstance(item, Operation | Tensor):
        return "node_list", bare(item.name)
    if isinstance(item, bool):
        raise TypeError(f"{item!r} has no kind of list.")
    if isinstance(item, int):
        return "int64_list", item
    if isinstance(item, float):
        return "float_list", item
    if isinstance(item, str | bytes):
        return "bytes_list", item.encode() if isinstance(item, str) else item
    to_proto = getattr(item, "to_proto", None)
    if to_proto is not None:
        message = to_proto(export_scope=scope)
        return "bytes_list", None if message is None else message.SerializeToString()
    if type(item).__module__.startswith("google.protobuf") and hasattr(item, "type_url"):
        return "any_list", item
    if hasattr(item, "_as_graph_element"):
        return "node_list", bare(item._as_graph_element().name)
    raise TypeError(f"{item!r} has no message to be written as.")


# ---- reading --------------------------------------------------------------------------------------------------------


def restore_collections(graph: Graph, meta_graph: Any, scope: str, keys: Iterable[str] | None = None) -> None:
    """Adds the collections of a MetaGraphDef to a graph; names get the prefix `scope`. ValueError on a bad one.

    A variable that is in several collections is one object.
    """
    made: dict[tuple[str, bytes], Any] = {}
    for key in sorted(meta_graph.collection_def) if keys is None else keys:
        collection = meta_graph.collection_def[key]
        kind = collection.WhichOneof("kind")
        if kind is None or key in _CONTEXTS:
            continue
        try:
            for value in getattr(collection, kind).value:
                graph.add_to_collection(key, _read(graph, key, kind, value, scope, made))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"The collection {key!r} of the meta graph cannot be read: {error}") from error


def _read(
    graph: Graph, key: str, kind: str, value: Any, scope: str, made: dict[tuple[str, bytes], Any]
) -> Any:
    if kind == "node_list":
        return graph.as_graph_element(f"{scope}/{value}" if scope else value)
    if kind != "bytes_list" or key not in _KINDS:
        return value
    reader = _KINDS[key]
    if (reader.message, value) not in made:
        from google.protobuf.message import DecodeError

        message = getattr(getattr(protos, reader.module), reader.message)()
        try:
            message.ParseFromString(value)
        except DecodeError as error:
            raise ValueError(f"an item is no {reader.message}: {error}") from error
        made[reader.message, value] = reader.from_proto(message, scope or None)
    return made[reader.message, value]
