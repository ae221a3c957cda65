"""What an estimator writes as a SavedModel: the graph of one mode, or those of several modes that share variables."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

import graphflow.errors as errors
import graphflow.train as train
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import constant
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow._core.session import Session
from graphflow.estimator.building import building
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.signatures import new_folder, signatures_of
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.saved_model import signature_constants, tag_constants
from graphflow.saved_model.builder import SavedModelBuilder
from graphflow.saved_model.signature_def_utils import build_signature_def
from graphflow.saved_model.utils import build_tensor_info

_log = logging.getLogger(__name__)

_TAGS: Final[Mapping[str, str]] = {
    ModeKeys.TRAIN: tag_constants.TRAINING,
    ModeKeys.EVAL: tag_constants.EVAL,
    ModeKeys.PREDICT: tag_constants.SERVING,
}
"""The tags of the modes' graphs, in the order in which they are written: that of training has most variables."""
_METHODS: Final[Mapping[str, str]] = {
    ModeKeys.TRAIN: signature_constants.SUPERVISED_TRAIN_METHOD_NAME,
    ModeKeys.EVAL: signature_constants.SUPERVISED_EVAL_METHOD_NAME,
}
_TRAIN_OP: Final = "saved_model_train_op"

ModelFunction = Callable[[Any, Any, str, RunConfig], EstimatorSpec]


def saved() -> list[Any]:
    """What a model consists of: variables, and objects that say how they are saved."""
    return [*global_variables(), *get_default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS)]


def write_saved_model(
    export_dir_base: str | os.PathLike[str],
    receivers: Mapping[str, Callable[[], Any]],
    model_fn: ModelFunction,
    config: RunConfig,
    checkpoint_path: str,
    assets_extra: Mapping[str, str] | None,
    as_text: bool,
) -> bytes:
    """Writes the graphs of modes into a new folder; its path.

    Args:
        export_dir_base: The folder in which the new one is made.
        receivers: For each mode a function that makes what is received.
        model_fn: Takes features, labels, the mode and the RunConfig.
        config: The RunConfig.
        checkpoint_path: What is restored.
        assets_extra: Files to copy: from paths under assets.extra to where they are.
        as_text: Whether the graphs are written as text.

    Returns:
        The path, as bytes.

    Raises:
        ValueError: If there is no mode, or the checkpoint lacks a variable of one.
    """
    modes = [mode for mode in _TAGS if receivers.get(mode) is not None]
    if not modes:
        raise ValueError(f"No valid modes for exporting found. Got {list(receivers)}.")
    folder = new_folder(user_path(export_dir_base))
    builder = SavedModelBuilder(folder)
    for mode in modes:
        with building(config, mode):
            receiver = receivers[mode]()
            spec = model_fn(receiver.features, getattr(receiver, "labels", None), mode, config)
            _add(builder, mode, spec, receiver, config, checkpoint_path, mode == modes[0])
    builder.save(as_text)
    for name, source in (assets_extra or {}).items():
        target = os.path.join(folder, "assets.extra", name)
        storage.make_folders(storage.folder_of(target))
        storage.copy(user_path(source), target)
    _log.info("SavedModel written to: %s", folder)
    return os.fsencode(folder)


def _add(
    builder: SavedModelBuilder, mode: str, spec: EstimatorSpec, receiver: Any, config: RunConfig, path: str, first: bool
) -> None:  # fmt: skip
    """Adds the default graph; the first one's variables are those of the SavedModel."""
    graph = get_default_graph()
    if mode == ModeKeys.PREDICT:
        signatures = signatures_of(spec, receiver)
        tables = graph.get_collection(GraphKeys.TABLE_INITIALIZERS)
        main_op = spec.scaffold.local_init_op or (group(*tables, name="init_tables") if tables else None)
    else:
        signatures = {mode: _supervised(mode, spec, receiver.receiver_tensors)}
        main_op = spec.scaffold.local_init_op or train.Scaffold.default_local_init_op()
    if mode == ModeKeys.TRAIN:
        graph.add_to_collection(_TRAIN_OP, spec.train_op)
    with Session(config=config.session_config) as session:
        saver = spec.scaffold.saver or train.Saver(saved())
        try:
            saver.restore(session, path)
        except errors.NotFoundError as error:
            raise ValueError(
                "Could not load all requested variables from checkpoint. Please make sure your model_fn does not "
                f"expect variables that were not saved in the checkpoint. In the mode {mode!r}, from {path}: {error}"
            ) from error
        if main_op is not None:
            session.run(main_op)
        assets = graph.get_collection(GraphKeys.ASSET_FILEPATHS)
        if first:
            builder.add_meta_graph_and_variables(session, [_TAGS[mode]], signatures, assets, main_op=main_op)
        else:
            builder.add_meta_graph([_TAGS[mode]], signatures, assets, main_op=main_op, saver=saver)


def _supervised(mode: str, spec: EstimatorSpec, receivers: Mapping[str, Any]) -> Any:
    """The signature of training or an evaluation: its loss, predictions and metrics by name."""
    predictions = (
        spec.predictions if isinstance(spec.predictions, Mapping) else {"predictions": spec.predictions}
    )
    found: dict[str, Any] = {"loss": spec.loss}
    found |= {_under("predictions", key): value for key, value in predictions.items()}
    for key, (value, update) in spec.eval_metric_ops.items():
        name = _under("metrics", key)
        found |= {f"{name}/value": value, f"{name}/update_op": _as_tensor(update)}
    infos = [
        {name: build_tensor_info(tensor) for name, tensor in tensors.items()}
        for tensors in (receivers, found)
    ]
    return build_signature_def(infos[0], infos[1], _METHODS[mode])


def _under(prefix: str, key: Any) -> str:
    name = "/".join(key) if isinstance(key, tuple) else str(key)
    return name if name.startswith(prefix) else f"{prefix}/{name}"


def _as_tensor(update: Any) -> Any:
    """An operation as a tensor, which alone a signature can name."""
    if not isinstance(update, Operation):
        return update
    with control_dependencies([update]):
        return constant([], name="metric_op_wrapper")
