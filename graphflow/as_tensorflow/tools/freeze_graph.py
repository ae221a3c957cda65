"""A graph with a checkpoint's values as constants in place of variables (tensorflow.python.tools.freeze_graph)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import graphflow.protos as protos
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.graph import Graph
from graphflow._core.interop.import_graph import import_graph_def
from graphflow._core.session import Session
from graphflow.graph_util import convert_variables_to_constants
from graphflow.saved_model import tag_constants
from graphflow.saved_model.files import read_saved_model
from graphflow.saved_model.loader import load, meta_graph_with_tags
from graphflow.train.saving.checkpoint_management import checkpoint_exists
from graphflow.train.saving.checkpoint_utils import CheckpointReader
from graphflow.train.saving.meta_graph import import_meta_graph
from graphflow.train.saving.saver import Saver
from graphflow.train.saving.saver_def import SaverDef


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str | None,
    clear_devices: bool,
    initializer_nodes: str | None,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: Sequence[str] | None = None,
    checkpoint_version: int = SaverDef.V2,
) -> Any:
    """What some nodes of a graph need, with a checkpoint's values as constants in place of variables.

    Args:
        input_graph_def: A GraphDef, or None with a meta graph.
        input_saver_def: A SaverDef message of a saver in the graph; by default all variables by their names.
        input_checkpoint: The prefix of the checkpoint; None with a SavedModel.
        output_node_names: The names of the nodes, with commas between.
        restore_op_name: Not used, as in TensorFlow.
        filename_tensor_name: Not used, as in TensorFlow.
        output_graph: The file to write the graph to, or None.
        clear_devices: Whether nodes are written without their devices.
        initializer_nodes: Nodes to run after the variables have their values, with commas between.
        variable_names_whitelist: The variables that become constants, with commas between; by default all.
        variable_names_blacklist: Those that do not.
        input_meta_graph_def: A MetaGraphDef message with a saver, in place of the graph.
        input_saved_model_dir: The folder of a SavedModel that has the values.
        saved_model_tags: The tags of its meta graph.
        checkpoint_version: Not used: any checkpoint is read.

    Returns:
        The GraphDef.

    Raises:
        ValueError: There is no graph, no such checkpoint, no node is named, or the graph has no variables.
    """
    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint or ""):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    graph_def = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    if graph_def is None:
        raise ValueError("No variables to save: give a graph, a meta graph or a SavedModel.")
    for node in graph_def.node if clear_devices else ():
        node.device = ""
    with Graph().as_default(), Session() as session:
        if input_graph_def and not input_saved_model_dir:
            import_graph_def(input_graph_def, name="")
        if input_saver_def and not input_saved_model_dir:
            Saver(saver_def=input_saver_def).restore(session, str(input_checkpoint))
        elif input_meta_graph_def:
            import_meta_graph(input_meta_graph_def, clear_devices=True).restore(session, input_checkpoint)
        elif input_saved_model_dir:
            load(session, saved_model_tags or [], input_saved_model_dir)
        else:
            _restore_by_name(session, str(input_checkpoint))
        if initializer_nodes and not (input_saver_def or input_saved_model_dir):
            session.run(_names(initializer_nodes))
        frozen = convert_variables_to_constants(
            session,
            graph_def,
            _names(output_node_names),
            _names(variable_names_whitelist) or None,
            _names(variable_names_blacklist) or None,
        )
    if output_graph:
        with storage.opened(user_path(output_graph), "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


def freeze_graph(
    input_graph: str | None,
    input_saver: str | None,
    input_binary: bool,
    input_checkpoint: str | None,
    output_node_names: str,
    restore_op_name: str | None,
    filename_tensor_name: str | None,
    output_graph: str | None,
    clear_devices: bool,
    initializer_nodes: str | None,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: str | None = None,
    input_saved_model_dir: str | None = None,
    saved_model_tags: str = tag_constants.SERVING,
    checkpoint_version: int = SaverDef.V2,
) -> Any:
    """The same with files: of a graph, of a saver or of a meta graph, as text or not.

    Args:
        input_graph: The file of a GraphDef.
        input_saver: The file of a SaverDef.
        input_binary: Whether these files are not text.
        input_checkpoint: The prefix of the checkpoint; None with a SavedModel.
        output_node_names: The names of the nodes, with commas between.
        restore_op_name: Not used, as in TensorFlow.
        filename_tensor_name: Not used, as in TensorFlow.
        output_graph: The file to write the graph to, or None.
        clear_devices: Whether nodes are written without their devices.
        initializer_nodes: Nodes to run after the variables have their values, with commas between.
        variable_names_whitelist: The variables that become constants, with commas between; by default all.
        variable_names_blacklist: Those that do not.
        input_meta_graph: The file of a MetaGraphDef, in place of the graph.
        input_saved_model_dir: The folder of a SavedModel, in place of the graph and the checkpoint.
        saved_model_tags: The tags of its meta graph, with commas between.
        checkpoint_version: Not used: any checkpoint is read.

    Returns:
        The GraphDef.

    Raises:
        OSError: A file is not there.
        ValueError: As of freeze_graph_with_def_protos.
    """
    graph_def = saver_def = meta_graph_def = None
    tags = saved_model_tags.replace(" ", "").split(",")
    if input_saved_model_dir:
        graph_def = meta_graph_with_tags(read_saved_model(input_saved_model_dir), tags).graph_def
    elif input_graph:
        graph_def = _message(input_graph, input_binary, protos.graph_pb2.GraphDef(), "graph")
    if input_meta_graph:
        meta_graph_def = _message(
            input_meta_graph, input_binary, protos.meta_graph_pb2.MetaGraphDef(), "meta graph"
        )
    if input_saver:
        saver_def = _message(input_saver, input_binary, protos.saver_pb2.SaverDef(), "saver")
    return freeze_graph_with_def_protos(
        graph_def,
        saver_def,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
        meta_graph_def,
        input_saved_model_dir,
        tags,
        checkpoint_version,
    )


def _names(text: str | None) -> list[str]:
    """Names with commas between."""
    return text.replace(" ", "").split(",") if text else []


def _message(path: str, binary: bool, message: Any, what: str) -> Any:
    """The message in a file."""
    from google.protobuf import text_format

    path = user_path(path)
    if not storage.is_file(path):
        raise OSError(f"Input {what} file '{path}' does not exist!")
    data = storage.read(path)
    if binary:
        message.ParseFromString(data)
        return message
    return text_format.Merge(data.decode(), message)


def _restore_by_name(session: Session, prefix: str) -> None:
    """Sets the variables of a graph to the tensors of their names in a checkpoint."""
    graph = session.graph
    found: dict[str, Any] = {}
    for name in CheckpointReader(prefix).get_variable_to_shape_map():
        with suppress(KeyError):
            operation = graph.get_operation_by_name(name)
            if operation.op_def.is_variable:
                found[name] = operation.outputs[0]
    if not found:
        raise ValueError(
            "No variables were found in this model. It is likely the model was frozen previously. You cannot freeze a "
            "graph twice."
        )
    Saver(found).restore(session, prefix)
