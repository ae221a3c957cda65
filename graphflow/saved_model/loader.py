"""Loading a SavedModel into a session (tf.saved_model.loader)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.session import BaseSession
from graphflow.saved_model import constants
from graphflow.saved_model.files import assets_of, read_saved_model, variables_path
from graphflow.saved_model.utils import under_scope
from graphflow.train.saving.meta_graph import import_scoped

if TYPE_CHECKING:
    from os import PathLike

__all__ = [
    "add_meta_graph", "init_op_name", "load", "maybe_saved_model_directory", "meta_graph_with_tags", "restore",
    "run_init_op",
]  # fmt: skip


def maybe_saved_model_directory(export_dir: str | PathLike[str]) -> bool:
    """Whether a folder holds saved_model.pb or saved_model.pbtxt. Nothing is read.

    Args:
        export_dir: The folder of the SavedModel.
    """
    folder = user_path(export_dir)
    names = (constants.SAVED_MODEL_FILENAME_PBTXT, constants.SAVED_MODEL_FILENAME_PB)
    return any(storage.exists(os.path.join(folder, name)) for name in names)


def meta_graph_with_tags(model: Any, tags: Iterable[str]) -> Any:
    """The meta graph of a SavedModel message that has exactly these tags; RuntimeError that lists what there is.

    Args:
        model: A SavedModel message.
        tags: The tags that name a meta graph, such as gf.saved_model.tag_constants.SERVING.
    """
    if isinstance(tags, str):
        raise TypeError(f"The tags of a meta graph are a list of strings: write [{tags!r}].")
    wanted = set(tags)
    for meta_graph in model.meta_graphs:
        if set(meta_graph.meta_info_def.tags) == wanted:
            return meta_graph
    available = [sorted(set(meta_graph.meta_info_def.tags)) for meta_graph in model.meta_graphs]
    raise RuntimeError(
        f"MetaGraphDef associated with tags {sorted(wanted)} could not be found in SavedModel.\n"
        f"available_tags: {', '.join(map(str, available)) or 'none'}"
    )


def load(
    sess: BaseSession,
    tags: Iterable[str],
    export_dir: str | PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Adds the meta graph with exactly these tags to the session's graph, and restores its variables there.

    The main operation, if there is one, runs last, with the paths of the assets in this folder. Returns the
    MetaGraphDef, in which `signature_def` says what to feed and to fetch; names are those without `import_scope`.
    saver_kwargs go to gf.train.import_meta_graph.

    Args:
        sess: The session.
        tags: The tags that name a meta graph, such as gf.saved_model.tag_constants.SERVING.
        export_dir: The folder of the SavedModel.
        import_scope: A name scope that names are put under.
        **saver_kwargs: Arguments of the saver.

    Raises:
        OSError: If there is no SavedModel or it is damaged, RuntimeError that lists the tags there are.
        ValueError: If the graph cannot be.
    """
    meta_graph = meta_graph_with_tags(read_saved_model(export_dir), tags)
    assets_of(meta_graph)  # What cannot be used is refused before the graph is changed.
    init_op_name(meta_graph)
    with sess.graph.as_default():
        saver, _ = add_meta_graph(meta_graph, import_scope, **saver_kwargs)
    restore(sess, saver, variables_path(export_dir), import_scope)
    run_init_op(sess, meta_graph, export_dir, import_scope)
    return meta_graph


def add_meta_graph(
    meta_graph: Any,
    import_scope: str | None = None,
    clear_devices: bool = False,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    restore_collections_predicate: Callable[[str], bool] | None = None,
) -> tuple[Any, list[Any] | None]:
    """Adds a meta graph to the default graph.

    Args:
        meta_graph: A MetaGraphDef message.
        import_scope: A name scope that names are put under.
        clear_devices: Whether the nodes are read without their devices.
        input_map: {name: tensor}: what takes the place of results.
        return_elements: Names of operations and tensors to give, too.
        restore_collections_predicate: Which collections are taken, a function of the name.

    Returns:
        The saver of its variables, None if it has none; and the elements that were asked for, or None.
    """
    return import_scoped(
        meta_graph, clear_devices, import_scope, input_map, return_elements, restore_collections_predicate
    )


def restore(sess: BaseSession, saver: Any, prefix: str, import_scope: str | None = None) -> None:
    """Restores the variables of a model, if it has any.

    Args:
        sess: The session.
        saver: The saver that add_meta_graph gave.
        prefix: The checkpoint.
        import_scope: The scope that the graph was added under.

    Raises:
        ValueError: The saver does not fit the graph, or there is none and the graph has variables.
    """
    if saver is None:
        if sess.graph.get_collection(GraphKeys.GLOBAL_VARIABLES, import_scope):
            raise ValueError(
                "No gf.train.Saver was given to restore the variables by, but the graph has variables."
            )
        return
    if not callable(getattr(saver, "restore", None)):
        raise ValueError(f"Variables are restored by a gf.train.Saver, not by {saver!r}.")
    try:
        saver.restore(sess, prefix)
    except (TypeError, KeyError) as error:
        raise ValueError(f"The saver of the SavedModel does not fit its graph: {error}") from error


def run_init_op(
    sess: BaseSession, meta_graph: Any, export_dir: str | PathLike[str], import_scope: str | None = None
) -> None:
    """Runs what a model names to be run after loading, if anything, with the paths of its assets.

    Args:
        sess: The session.
        meta_graph: The MetaGraphDef message.
        export_dir: The folder of the SavedModel.
        import_scope: The scope that the graph was added under.

    Raises:
        ValueError: The graph does not have what the model names.
    """
    init_op = init_op_name(meta_graph)
    if not init_op:
        return
    folder = os.path.join(user_path(export_dir), constants.ASSETS_DIRECTORY)
    fed = {
        _element(sess.graph, asset.tensor_info.name, import_scope, "an asset"): os.path.join(
            folder, asset.filename
        )
        for asset in assets_of(meta_graph)
    }
    try:
        sess.run(_element(sess.graph, init_op, import_scope, "its main operation"), fed)
    except TypeError as error:
        raise ValueError(f"The main operation of the SavedModel cannot be run: {error}") from error


def init_op_name(meta_graph: Any) -> str:
    """The name of the operation that runs after loading, "" if there is none.

    Args:
        meta_graph: A MetaGraphDef message.
    """
    key = constants.INIT_OP_SIGNATURE_KEY
    signature = meta_graph.signature_def.get(key)
    if signature is not None and key in signature.outputs:
        return str(signature.outputs[key].name)
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        collection = meta_graph.collection_def.get(key)
        if collection is None:
            continue
        names = list(collection.node_list.value)
        if len(names) != 1:
            raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {names}")
        return str(names[0])
    return ""


def _element(graph: Graph, name: str, import_scope: str | None, what: str) -> Any:
    try:
        return graph.as_graph_element(under_scope(name, import_scope))
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"The SavedModel names {name!r} as {what}, which its graph does not have."
        ) from error
