"""Meta graphs of scopes, and what variables are in them (tensorflow.python.framework.meta_graph)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.train.saving.meta_graph import export_meta_graph, import_meta_graph
from graphflow.train.saving.meta_graph import read_meta_graph_file as read_meta_graph_file


def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    exclude_nodes: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """A graph as a MetaGraphDef message.

    Args:
        meta_info_def: A MetaInfoDef message, or None.
        graph_def: In place of the graph's own.
        saver_def: A SaverDef message, or None.
        collection_list: The names of collections to write, by default all that can be.
        graph: The graph; by default the default graph.
        export_scope: Only what is in this name scope, names without it.
        exclude_nodes: None.
        clear_extraneous_savers: Without the savers other than saver_def.
        strip_default_attrs: Without attributes that have TensorFlow's default.

    Raises:
        NotImplementedError: For exclude_nodes.
    """
    if exclude_nodes is not None:
        raise NotImplementedError("graphflow writes all nodes of a scope: leave exclude_nodes out.")
    return export_meta_graph(
        None, meta_info_def, graph_def, saver_def, collection_list, False, graph, export_scope, False,
        clear_extraneous_savers, strip_default_attrs,
    )  # fmt: skip


def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Graph | None = None,
    export_scope: str | None = None,
    as_text: bool = False,
    unbound_inputs_col_name: str = "unbound_inputs",
    clear_devices: bool = False,
    saver_def: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> tuple[Any, dict[str, Variable]]:
    """A scope of a graph as a MetaGraphDef message, and its variables.

    Args:
        filename: The file to write, or None.
        graph_def: In place of the graph's own.
        graph: The graph; by default the default graph.
        export_scope: The name scope; by default all.
        as_text: Whether the file is text.
        unbound_inputs_col_name: Accepted, and not needed: nothing may come from outside of the scope.
        clear_devices: Without devices.
        saver_def: A SaverDef message, or None.
        clear_extraneous_savers: Without the savers other than saver_def.
        strip_default_attrs: Without attributes that have TensorFlow's default.
        save_debug_info: Accepted, and not needed.
        **kwargs: meta_info_def and collection_list.

    Returns:
        The message, and the scope's variables by their names in it.
    """
    graph = graph or get_default_graph()
    message = export_meta_graph(
        filename, graph_def=graph_def, saver_def=saver_def, as_text=as_text, graph=graph, export_scope=export_scope,
        clear_devices=clear_devices, clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs, **kwargs,
    )  # fmt: skip
    return message, _variables(graph, export_scope)


def import_scoped_meta_graph(
    meta_graph_or_file: Any | str | PathLike[str],
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: Mapping[str, Any] | None = None,
    unbound_inputs_col_name: str = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] | None = None,
) -> dict[str, Variable]:
    """Adds a meta graph to a graph.

    Args:
        meta_graph_or_file: A MetaGraphDef, or the path of its file.
        clear_devices: Whether the nodes are read without their devices.
        graph: The graph; by default the default graph.
        import_scope: A prefix for all names.
        input_map: {name: tensor}: what takes the place of results.
        unbound_inputs_col_name: Accepted, and not needed.
        restore_collections_predicate: Which collections are taken, a function of the name.

    Returns:
        The variables that it added, by their names in the message.
    """
    graph = graph or get_default_graph()
    with graph.as_default():
        scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else None
        import_meta_graph(
            meta_graph_or_file, clear_devices, import_scope, input_map, None, restore_collections_predicate
        )
    return _variables(graph, scope)


def copy_scoped_meta_graph(
    from_scope: str, to_scope: str, from_graph: Graph | None = None, to_graph: Graph | None = None
) -> dict[str, Variable]:
    """Copies a scope into another, of the same or another graph.

    Args:
        from_scope: The scope to copy.
        to_scope: The scope to make.
        from_graph: Its graph; by default the default graph.
        to_graph: The graph to copy into; by default the default graph.

    Returns:
        The variables that were made, by their names in the scope.

    Raises:
        ValueError: Both scopes are the same of one graph.
    """
    from_graph, to_graph = from_graph or get_default_graph(), to_graph or get_default_graph()
    if from_graph is to_graph and from_scope == to_scope:
        raise ValueError(
            f"'from_scope' and 'to_scope' need to be different when performing copy in the same graph: {to_scope!r}."
        )
    message, _ = export_scoped_meta_graph(graph=from_graph, export_scope=from_scope)
    return import_scoped_meta_graph(message, graph=to_graph, import_scope=to_scope)


def _variables(graph: Graph, scope: str | None) -> dict[str, Variable]:
    prefix = f"{scope.rstrip('/')}/" if scope else ""
    with graph.as_default():
        return {str(v.name).removeprefix(prefix): v for v in global_variables(prefix or None)}
