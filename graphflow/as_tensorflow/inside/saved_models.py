"""TensorFlow's own writer and loader of SavedModels, which name operations by signatures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import graphflow.errors as errors
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.session import BaseSession
from graphflow.saved_model.builder import SavedModelBuilder, check_signatures
from graphflow.saved_model.constants import ASSETS_KEY, INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY
from graphflow.saved_model.files import assets_of, read_saved_model, variables_path
from graphflow.saved_model.loader import add_meta_graph, meta_graph_with_tags, restore, run_init_op
from graphflow.saved_model.signature_constants import (
    SUPERVISED_EVAL_METHOD_NAME,
    SUPERVISED_TRAIN_METHOD_NAME,
)
from graphflow.saved_model.signature_def_utils import build_signature_def
from graphflow.saved_model.utils import (
    build_tensor_info,
    build_tensor_info_from_op,
    get_element_from_tensor_info,
)
from graphflow.train.saving.saver import Saver


class InnerSavedModelBuilder:
    """Builds a SavedModel whose signatures name the operations that run when it is loaded, and that train it.

    Its first operation is restored with the variables, before the second; nothing is added to collections.

    Args:
        export_dir: The folder of the SavedModel, which is empty or not there.
    """

    def __init__(self, export_dir: str | PathLike[str]) -> None:
        self._builder = SavedModelBuilder(export_dir)

    def add_meta_graph_and_variables(
        self,
        sess: BaseSession,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_list: Sequence[Tensor] | None = None,
        clear_devices: bool = False,
        init_op: Operation | Tensor | None = None,
        train_op: Operation | Tensor | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the session's graph and the values of its variables, once.

        Args:
            sess: The session.
            tags: The tags that name the meta graph.
            signature_def_map: {name: SignatureDef}.
            assets_list: Tensors of file names, which are copied.
            clear_devices: Whether nodes are written without their devices.
            init_op: What runs when it is loaded.
            train_op: What trains it.
            strip_default_attrs: Whether attributes that are as by default are left out.
            saver: The saver of the variables; by default all are saved.

        Raises:
            AssertionError: Variables were added before, or a signature says too little.
            KeyError: A signature has a name that is reserved.
        """
        self._builder.add_meta_graph_and_variables(
            sess, tags, signature_def_map, assets_list, None, clear_devices, None, strip_default_attrs, saver
        )
        self._complete(init_op, train_op)

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_list: Sequence[Tensor] | None = None,
        clear_devices: bool = False,
        init_op: Operation | Tensor | None = None,
        train_op: Operation | Tensor | None = None,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph, which shares the variables that are there already.

        Args:
            tags: The tags that name the meta graph.
            signature_def_map: {name: SignatureDef}.
            assets_list: Tensors of file names, which are copied.
            clear_devices: Whether nodes are written without their devices.
            init_op: What runs when it is loaded.
            train_op: What trains it.
            saver: The saver to name in it.

        Raises:
            AssertionError: No variables were added yet, or a signature says too little.
            KeyError: A signature has a name that is reserved.
        """
        self._builder.add_meta_graph(
            tags, signature_def_map, assets_list, None, clear_devices, None, True, saver
        )
        self._complete(init_op, train_op)

    def save(self, as_text: bool = False) -> bytes:
        """Puts the SavedModel in place.

        Args:
            as_text: Whether the message is written as text.

        Returns:
            The path of the message's file.
        """
        return os.fsencode(self._builder.save(as_text))

    def _validate_signature_def_map(self, signature_def_map: Mapping[str, Any]) -> None:
        """Raises what the signatures are refused for."""
        check_signatures(signature_def_map)

    def _complete(self, init_op: Operation | Tensor | None, train_op: Operation | Tensor | None) -> None:
        """Moves what the last meta graph has in collections to where it is looked for first."""
        meta_graph = self._builder.last_meta_graph
        for key, element in ((INIT_OP_SIGNATURE_KEY, init_op), (TRAIN_OP_SIGNATURE_KEY, train_op)):
            if element is not None:
                meta_graph.signature_def[key].outputs[key].CopyFrom(build_tensor_info_from_op(element))
        meta_graph.asset_file_def.extend(assets_of(meta_graph))
        meta_graph.collection_def.pop(ASSETS_KEY, None)


class SavedModelLoader:
    """Loads a SavedModel in steps: its graph, the values of its variables, its first operation.

    Args:
        export_dir: The folder of the SavedModel.

    Raises:
        OSError: There is none, or it cannot be read.
    """

    def __init__(self, export_dir: str | PathLike[str]) -> None:
        self._export_dir = user_path(export_dir)
        self._model = read_saved_model(export_dir)

    @property
    def export_dir(self) -> str:
        """The folder."""
        return self._export_dir

    @property
    def variables_path(self) -> str:
        """The prefix of the checkpoint that holds the variables."""
        return variables_path(self._export_dir)

    @property
    def saved_model(self) -> Any:
        """The SavedModel message."""
        return self._model

    def get_meta_graph_def_from_tags(self, tags: Iterable[str]) -> Any:
        """The meta graph that has exactly these tags.

        Args:
            tags: The tags.

        Raises:
            RuntimeError: There is none; its text lists what there is.
        """
        return meta_graph_with_tags(self._model, tags)

    def load_graph(
        self, graph: Graph, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any
    ) -> tuple[Saver | None, Sequence[Operation | Tensor] | None]:
        """Adds a meta graph to a graph.

        Args:
            graph: The graph.
            tags: The tags that name the meta graph.
            import_scope: A name scope that names are put under.
            **saver_kwargs: Arguments of gf.train.import_meta_graph.

        Returns:
            The saver of its variables, None if it has none; and what `return_elements` asks for, or None.
        """
        with graph.as_default():
            return add_meta_graph(self.get_meta_graph_def_from_tags(tags), import_scope, **saver_kwargs)

    def restore_variables(
        self, sess: BaseSession, saver: Saver | None, import_scope: str | None = None
    ) -> None:
        """Restores the variables.

        Args:
            sess: The session.
            saver: The saver that load_graph gave.
            import_scope: The scope that was given there.

        Raises:
            ValueError: There is no saver, but there are variables.
        """
        restore(sess, saver, self.variables_path, import_scope)

    def run_init_ops(self, sess: BaseSession, tags: Iterable[str], import_scope: str | None = None) -> None:
        """Runs the operation that a meta graph names for it, if any, with the paths of its assets.

        Args:
            sess: The session.
            tags: The tags that name the meta graph.
            import_scope: The scope that was given to load_graph.
        """
        run_init_op(sess, self.get_meta_graph_def_from_tags(tags), self._export_dir, import_scope)

    def load(
        self, sess: BaseSession, tags: Iterable[str], import_scope: str | None = None, **saver_kwargs: Any
    ) -> Any:
        """Does all three.

        Args:
            sess: The session.
            tags: The tags that name the meta graph.
            import_scope: A name scope that names are put under.
            **saver_kwargs: Arguments of gf.train.import_meta_graph.

        Returns:
            The MetaGraphDef message.
        """
        saver, _ = self.load_graph(sess.graph, tags, import_scope, **saver_kwargs)
        self.restore_variables(sess, saver, import_scope)
        self.run_init_ops(sess, tags, import_scope)
        return self.get_meta_graph_def_from_tags(tags)


def get_train_op(meta_graph_def: Any, import_scope: str | None = None) -> Any:
    """The operation or tensor of the default graph that trains a model, as its meta graph says; None if it names none.

    Args:
        meta_graph_def: The MetaGraphDef message.
        import_scope: The scope that the graph was added under.

    Raises:
        NotFoundError: The graph does not have it.
    """
    signature = meta_graph_def.signature_def.get(TRAIN_OP_SIGNATURE_KEY)
    if signature is None:
        return None
    return load_op_from_signature_def(signature, TRAIN_OP_SIGNATURE_KEY, import_scope)


def parse_saved_model(export_dir: str | PathLike[str]) -> Any:
    """The SavedModel message of a folder.

    Args:
        export_dir: The folder.

    Raises:
        OSError: There is none, or it cannot be read.
    """
    return read_saved_model(export_dir)


def op_signature_def(op: Operation | Tensor, key: str) -> Any:
    """A signature with one output, which names an operation.

    Args:
        op: The operation.
        key: The output's name.

    Returns:
        The SignatureDef message.
    """
    return build_signature_def(outputs={key: build_tensor_info_from_op(op)})


def load_op_from_signature_def(signature_def: Any, key: str, import_scope: str | None = None) -> Any:
    """The operation or tensor of the default graph that a signature of op_signature_def names.

    Args:
        signature_def: The SignatureDef message.
        key: The output's name.
        import_scope: A name scope that names are put under.

    Raises:
        NotFoundError: The graph does not have it.
    """
    try:
        return get_element_from_tensor_info(signature_def.outputs[key], import_scope=import_scope)
    except KeyError as error:
        raise errors.NotFoundError(
            None, None, f"The {key} could not be found in the graph: {error.args[0]}"
        ) from error


def supervised_train_signature_def(
    inputs: Mapping[str, Any],
    loss: Mapping[str, Any] | None,
    predictions: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> Any:
    """The signature of a training step.

    Args:
        inputs: {name: tensor}.
        loss: {name: tensor}, or None.
        predictions: {name: tensor}, or None.
        metrics: {name: tensor}, or None.

    Returns:
        A SignatureDef message.

    Raises:
        ValueError: There are no inputs.
    """
    return _supervised(SUPERVISED_TRAIN_METHOD_NAME, inputs, loss, predictions, metrics)


def supervised_eval_signature_def(
    inputs: Mapping[str, Any],
    loss: Mapping[str, Any] | None,
    predictions: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> Any:
    """The signature of an evaluation.

    Args:
        inputs: {name: tensor}.
        loss: {name: tensor}, or None.
        predictions: {name: tensor}, or None.
        metrics: {name: tensor}, or None.

    Returns:
        A SignatureDef message.

    Raises:
        ValueError: There are no inputs.
    """
    return _supervised(SUPERVISED_EVAL_METHOD_NAME, inputs, loss, predictions, metrics)


def _supervised(method: str, inputs: Mapping[str, Any], *outputs: Mapping[str, Any] | None) -> Any:
    if not inputs:
        raise ValueError(f"{method} inputs cannot be None or empty.")
    given = {name: tensor for group in outputs for name, tensor in (group or {}).items()}
    return build_signature_def(
        {name: build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: build_tensor_info(tensor) for name, tensor in given.items()},
        method,
    )
