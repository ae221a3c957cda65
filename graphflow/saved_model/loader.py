"""Loading a SavedModel into a session (tf.saved_model.loader)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import graphflow.train as train
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.graph import Graph
from graphflow._core.session import BaseSession
from graphflow.saved_model import constants
from graphflow.saved_model.files import assets_of, read_saved_model, variables_path
from graphflow.saved_model.utils import under_scope

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["init_op_name", "load", "maybe_saved_model_directory", "meta_graph_with_tags"]


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
    assets = assets_of(meta_graph)
    init_op = init_op_name(meta_graph)
    with sess.graph.as_default():
        saver = train.import_meta_graph(meta_graph, import_scope=import_scope, **saver_kwargs)
        if saver is not None:
            _restore(sess, saver, variables_path(export_dir))
        if init_op:
            folder = os.path.join(user_path(export_dir), constants.ASSETS_DIRECTORY)
            fed = {
                _element(sess.graph, asset.tensor_info.name, import_scope, "an asset"): os.path.join(
                    folder, asset.filename
                )
                for asset in assets
            }
            try:
                sess.run(_element(sess.graph, init_op, import_scope, "its main operation"), fed)
            except TypeError as error:
                raise ValueError(f"The main operation of the SavedModel cannot be run: {error}") from error
    return meta_graph


def _restore(sess: BaseSession, saver: Any, prefix: str) -> None:
    try:
        saver.restore(sess, prefix)
    except (TypeError, KeyError) as error:
        raise ValueError(f"The saver of the SavedModel does not fit its graph: {error}") from error


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
