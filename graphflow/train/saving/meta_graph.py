"""MetaGraphDef: a graph on disk with its collections and its saver, so that a program can go on without the code.

Nothing in such a file is code, and nothing in it is believed: what does not hold together raises.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import graphflow.errors as errors
import graphflow.protos as protos
from graphflow._core.checkpoint.atomic import write_atomically
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes
from graphflow._core.graph.attributes import attr_to_proto, shape_to_proto
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.interop.import_graph import import_graph_def
from graphflow._core.interop.message_text import message_text
from graphflow._core.interop.op_table import Argument, tensorflow_op
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.train.saving.bare_savers import is_for_tensorflow, without_state
from graphflow.train.saving.collections import add_collection_def, restore_collections
from graphflow.train.saving.saver import Saver
from graphflow.train.saving.saver_def import SaverDef

if TYPE_CHECKING:
    from os import PathLike

TENSORFLOW_VERSION: Final = "1.15.5"
"""The version whose op types and attributes are written."""


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph, or a GraphDef, to logdir/name and returns that path (tf.train.write_graph).

    As text by default, as TensorFlow does. The folder is made if it is not there.

    Args:
        graph_or_graph_def: A gf.Graph or a GraphDef.
        logdir: The folder.
        name: The file's name.
        as_text: Whether it is text.

    Returns:
        The path.
    """
    graph_def = graph_or_graph_def
    if isinstance(graph_def, Graph):
        graph_def = graph_def.as_graph_def()
        if is_for_tensorflow(graph_or_graph_def):
            without_state(graph_def)
    logdir = user_path(logdir)
    storage.make_folders(logdir)
    path = os.path.join(logdir, name)
    _write(path, graph_def, as_text)
    return path


def _write(path: str, message: Any, as_text: bool) -> None:
    if as_text:
        data = message_text(message).encode()
    else:
        data = message.SerializeToString(deterministic=True)  # So that the same graph is the same file.
    write_atomically(path, data)


# ---- writing --------------------------------------------------------------------------------------------------------


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> Any:
    """The default graph as a MetaGraphDef, written to `filename` if one is given (tf.train.export_meta_graph).

    Args:
        filename: The file to write, or None.
        meta_info_def: A MetaInfoDef message, or None.
        graph_def: In place of the graph's own.
        saver_def: What Saver.saver_def is, or a SaverDef message, or None.
        collection_list: The names of collections to write, by default all that can be.
        as_text: Whether the file is text.
        graph: The graph; by default the default graph.
        export_scope: Only what is in this name scope, names without it.
        clear_devices: Without devices.
        clear_extraneous_savers: Without the savers other than saver_def.
        strip_default_attrs: Without attributes that have TensorFlow's default, so that an older version can
            read it.
        save_debug_info: Accepted, and not needed.

    Raises:
        ValueError: If the scope takes something from outside.
    """
    graph = graph or get_default_graph()
    result = protos.meta_graph_pb2.MetaGraphDef()
    if meta_info_def is not None:
        result.meta_info_def.MergeFrom(meta_info_def)
    nodes = graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def
    left_out = _other_savers(graph, saver_def) if clear_extraneous_savers else []
    bare = _bare_names(export_scope, left_out)
    _add_nodes(result.graph_def, nodes, bare, clear_devices)
    if is_for_tensorflow(graph):
        without_state(result.graph_def)
    info = result.meta_info_def
    info.tensorflow_version = TENSORFLOW_VERSION
    info.tensorflow_git_version = _own_version()
    if strip_default_attrs:
        strip_defaults(result.graph_def)
        info.stripped_default_attrs = True
    if not info.stripped_op_list.op:
        info.stripped_op_list.MergeFrom(op_list_of(result.graph_def))
    if saver_def is not None:
        given = (
            protos.saver_pb2.SaverDef(**asdict(saver_def)) if isinstance(saver_def, SaverDef) else saver_def
        )
        result.saver_def.MergeFrom(given)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        items = graph.get_collection(key)
        if key == GraphKeys.SAVERS and clear_extraneous_savers:
            items = [s for s in items if s.to_proto(export_scope=export_scope) == saver_def]
        add_collection_def(result, key, items, export_scope, bare)
    if filename:
        filename = user_path(filename)
        storage.make_folders(storage.folder_of(storage.absolute(filename)))
        _write(filename, result, as_text)
    return result


def _own_version() -> str:
    return f"graphflow {import_module('graphflow').__version__}"


def _bare_names(scope: str | None, left_out: Sequence[str]) -> Callable[[str], str | None]:
    prefix = scope.rstrip("/") + "/" if scope else ""

    def bare(name: str) -> str | None:
        if not name.startswith(prefix) or any(name.startswith(s) for s in left_out):
            return None
        return name[len(prefix) :]

    return bare


def _other_savers(graph: Graph, saver_def: Any) -> list[str]:
    """The name scopes of the savers in the graph that are not this one."""
    scopes = {
        s.to_proto().filename_tensor_name.partition("/")[0] for s in graph.get_collection(GraphKeys.SAVERS)
    }
    own = "" if saver_def is None else saver_def.filename_tensor_name.partition("/")[0]
    return [f"{scope}/" for scope in scopes if scope and scope != own]


def _add_nodes(result: Any, graph_def: Any, bare: Callable[[str], str | None], clear_devices: bool) -> None:
    result.versions.CopyFrom(graph_def.versions)
    result.library.CopyFrom(graph_def.library)
    outside: dict[str, str] = {}
    for node in graph_def.node:
        name = bare(node.name)
        if name is None:
            continue
        copy = result.node.add()
        copy.CopyFrom(node)
        copy.name = name
        del copy.input[:]
        for source in node.input:
            mark = "^" if source.startswith("^") else ""
            inner = bare(source.lstrip("^"))
            if inner is not None:
                copy.input.append(mark + inner)
            elif not mark:
                outside[source] = node.name
        if "_class" in copy.attr:
            _rename_classes(copy.attr["_class"].list, bare)
        if clear_devices:
            copy.device = ""
    if outside:
        source, user = next(iter(outside.items()))
        raise ValueError(
            f"Graph contains unbound inputs: {user!r} takes {source!r}, which is outside of the exported scope"
            f"{'' if len(outside) == 1 else f', and {len(outside) - 1} more'}. Export a scope that holds all it needs."
        )


def _rename_classes(listed: Any, bare: Callable[[str], str | None]) -> None:
    names = [bare(item.decode().removeprefix("loc:@")) for item in listed.s]
    del listed.s[:]
    listed.s.extend(f"loc:@{name}".encode() for name in names if name is not None)


def strip_defaults(graph_def: Any) -> None:
    """Takes out of a GraphDef the attributes that have TensorFlow's default."""
    for node in graph_def.node:
        declared = tensorflow_op(node.op)
        for attribute in declared.attributes.values() if declared else ():
            if attribute.optional and attribute.name in node.attr:
                value = protos.attr_value_pb2.AttrValue()
                attr_to_proto(attribute.type, attribute.default, value)
                if node.attr[attribute.name] == value:
                    del node.attr[attribute.name]


def op_list_of(graph_def: Any) -> Any:
    """An OpList of TensorFlow's declarations of the op types in a GraphDef; without graphflow's own."""
    result = protos.op_def_pb2.OpList()
    for name in sorted({node.op for node in graph_def.node}):
        declared = tensorflow_op(name)
        if declared is None:
            continue
        op = result.op.add(name=name, is_stateful=declared.stateful)
        for arguments, listed in ((declared.inputs, op.input_arg), (declared.outputs, op.output_arg)):
            for argument in arguments:
                _add_argument(listed.add(name=argument.name), argument)
        for attribute in declared.attributes.values():
            proto = op.attr.add(name=attribute.name, type=attribute.type)
            if not attribute.optional:
                continue
            if attribute.type == "shape":
                shape_to_proto(attribute.default, proto.default_value.shape)
            else:
                attr_to_proto(attribute.type, attribute.default, proto.default_value)
    return result


def _add_argument(proto: Any, argument: Argument) -> None:
    proto.is_ref = argument.reference
    proto.number_attr = argument.count
    if argument.types:
        proto.type_list_attr = argument.type
    elif argument.type in dtypes.BY_NAME:
        proto.type = dtypes.as_dtype(argument.type).as_datatype_enum
    else:
        proto.type_attr = argument.type


# ---- reading --------------------------------------------------------------------------------------------------------


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    restore_collections_predicate: Callable[[str], bool] | None = None,
    graph: Graph | None = None,
) -> Any:
    """Adds a MetaGraphDef, or that of a file, to the default graph and returns its Saver (tf.train.import_meta_graph).

    Variables and other collections are there again; values come from the saver's restore(). None if the graph has
    neither a saver nor variables.

    Args:
        meta_graph_or_file: A MetaGraphDef, or the path of its file.
        clear_devices: Whether the nodes are written or read without their devices.
        import_scope: A prefix for all names.
        input_map: {name: tensor}: what takes the place of results.
        return_elements: Names of operations and tensors to give, too.
        restore_collections_predicate: Which collections are taken, a function of the name.
        graph: The graph; by default the default graph.

    Returns:
        The saver, or None.

    Raises:
        OSError: If there is no such file, gf.errors.DataLossError if it is none; otherwise errors as those of
            gf.import_graph_def.
    """
    with (graph or get_default_graph()).as_default():
        saver, _ = import_scoped(
            meta_graph_or_file,
            clear_devices,
            import_scope,
            input_map,
            return_elements,
            restore_collections_predicate,
        )
    return saver


def import_scoped(
    meta_graph_or_file: Any,
    clear_devices: bool,
    import_scope: str | None,
    input_map: Mapping[str, Any] | None,
    return_elements: Sequence[str] | None,
    predicate: Callable[[str], bool] | None,
) -> tuple[Any, list[Any] | None]:
    """The saver of a meta graph that is added to the default graph, and the elements asked for."""
    meta_graph = meta_graph_or_file
    if not isinstance(meta_graph, protos.meta_graph_pb2.MetaGraphDef):
        meta_graph = read_meta_graph_file(meta_graph_or_file)
    graph_def = meta_graph.graph_def
    if clear_devices:
        graph_def = protos.graph_pb2.GraphDef()
        graph_def.CopyFrom(meta_graph.graph_def)
        for node in graph_def.node:
            node.device = ""
    graph = get_default_graph()
    around = graph.get_name_scope()
    scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else around
    elements = import_graph_def(
        graph_def,
        input_map,
        return_elements,
        name=import_scope or (f"{around}/" if around else ""),
        producer_op_list=meta_graph.meta_info_def.stripped_op_list,
    )
    keys = [k for k in sorted(meta_graph.collection_def) if predicate is None or predicate(k)]
    with graph.as_default():
        restore_collections(graph, meta_graph, scope, keys)
        if meta_graph.HasField("saver_def"):
            return Saver.from_proto(meta_graph.saver_def, scope or None), elements
        if global_variables(scope or None):
            return Saver(), elements
    return None, elements


def read_meta_graph_file(filename: str | PathLike[str]) -> Any:
    """The MetaGraphDef in a file, binary or text; OSError if there is none, DataLossError on another."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    path = user_path(filename)
    if not storage.is_file(path):
        raise OSError(f"File {path} does not exist.")
    data = storage.read(path)
    message = protos.meta_graph_pb2.MetaGraphDef()
    try:
        message.ParseFromString(data)
        return message
    except DecodeError as error:
        reason: Exception = error
    try:
        return text_format.Parse(data.decode(), protos.meta_graph_pb2.MetaGraphDef())
    except (text_format.ParseError, UnicodeDecodeError, RecursionError):
        raise errors.DataLossError(
            None,
            None,
            f"Cannot parse file {path} as a MetaGraphDef: {reason}. It is damaged, or another kind of file.",
        ) from reason
