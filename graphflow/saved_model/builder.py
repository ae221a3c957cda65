"""Writing a SavedModel (tf.saved_model.builder).

A model server looks at the folder at any time, and a program may die while it writes. So everything is written to a
folder beside the one asked for, synced, and put in place by renaming it.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from filecmp import cmp
from typing import TYPE_CHECKING, Any

import graphflow.protos as protos
import graphflow.train as train
from graphflow._core.checkpoint.atomic import atomic_file, sync_folder, write_atomically
from graphflow._core.checkpoint.bundle import BundleFile
from graphflow._core.checkpoint.bundle_writer import write_bundle
from graphflow._core.checkpoint.opening import open_checkpoint
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.interop.message_text import message_text
from graphflow._core.session import BaseSession
from graphflow.saved_model import constants, signature_constants, signature_def_utils, tag_constants
from graphflow.saved_model.files import serialized, variables_path
from graphflow.saved_model.foreign import drop_what_tensorflow_lacks

if TYPE_CHECKING:
    from os import PathLike

    from graphflow.train.saving.saver import Saver

__all__ = ["SavedModelBuilder", "check_signatures", "simple_save"]


class SavedModelBuilder:
    """Builds a SavedModel: first a meta graph with its variables, then any number of meta graphs, then save().

    `export_dir` must not exist, or be empty; AssertionError otherwise. Nothing stands there before save(). What was
    begun and never saved is taken away when the builder is.

    Args:
        export_dir: The folder of the SavedModel.
        for_tensorflow: TensorFlow and its servers can load the model too; the variables are written in
            TensorFlow's file format, and operations that TensorFlow lacks are left out.
    """

    def __init__(self, export_dir: str | PathLike[str], for_tensorflow: bool = False) -> None:
        self._for_tensorflow = for_tensorflow
        self._export_dir = storage.absolute(user_path(export_dir))
        self._model = protos.saved_model_pb2.SavedModel(
            saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION
        )
        self._assets: dict[str, str] = {}
        self._has_variables = False
        self._folder: str | None = None
        """Where it writes: a folder beside export_dir, and after save() export_dir."""
        self._cleanup: weakref.finalize[Any, Any] | None = None
        self._refuse_existing()

    def add_meta_graph_and_variables(
        self,
        sess: BaseSession,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
        assets_list: Sequence[Tensor] | None = None,
    ) -> None:
        """Adds the session's graph under `tags`, and the values of its variables, which must be initialised.

        Once for each builder, before add_meta_graph; AssertionError otherwise.

        Args:
            sess: The session.
            tags: The tags that name a meta graph, such as gf.saved_model.tag_constants.SERVING.
            signature_def_map: SignatureDef messages by name. assets_collection (or assets_list): string
                constants that hold paths of files, which are copied. main_op (or legacy_init_op): an
                operation that runs when the model is loaded, with the new paths of the assets.
            assets_collection: Tensors of file names, which are copied.
            legacy_init_op: An older name of `main_op`.
            clear_devices: Whether nodes are written without their devices.
            main_op: The operation that runs when it is loaded.
            strip_default_attrs: Accepted, and not needed.
            saver: a gf.train.Saver for some of the variables; by default all are saved.
            assets_list: As assets_collection.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        with sess.graph.as_default():
            saver = saver or _default_saver()
            check_signatures(signature_def_map or {})
            path = variables_path(self._staging())
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if saver.save(sess, path, write_meta_graph=False, write_state=False) and self._for_tensorflow:
                written = open_checkpoint(path)
                if not isinstance(written, BundleFile):
                    write_bundle(path, written)  # In its place.
            self._add(
                saver, tags, signature_def_map or {}, assets_collection or assets_list or (),
                main_op or legacy_init_op, clear_devices, strip_default_attrs,
            )  # fmt: skip
        self._has_variables = True

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
        assets_list: Sequence[Tensor] | None = None,
    ) -> None:
        """Adds the default graph under `tags`, sharing the variables and assets that are there already.

        The arguments are those of add_meta_graph_and_variables, which must have been called; AssertionError otherwise.

        Args:
            tags: The tags that name a meta graph, such as gf.saved_model.tag_constants.SERVING.
            signature_def_map: {name: SignatureDef}.
            assets_collection: Tensors of file names, which are copied.
            legacy_init_op: An older name of `main_op`.
            clear_devices: Whether nodes are written without their devices.
            main_op: The operation that runs when it is loaded.
            strip_default_attrs: Accepted, and not needed.
            saver: The saver to name in it.
            assets_list: As assets_collection.
        """
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        check_signatures(signature_def_map or {})
        self._add(
            saver or _default_saver(), tags, signature_def_map or {}, assets_collection or assets_list or (),
            main_op or legacy_init_op, clear_devices, strip_default_attrs,
        )  # fmt: skip

    def save(self, as_text: bool = False) -> str:
        """Puts the SavedModel in place and returns the path of its saved_model.pb (saved_model.pbtxt with `as_text`).

        Args:
            as_text: Whether the message is written as text.

        Returns:
            The path of the message's file.

        Raises:
            AssertionError: If something has been put at export_dir since.
            ValueError: If the graph is larger than the 2 GB that a protocol buffer can hold.
        """
        if as_text:
            name, data = constants.SAVED_MODEL_FILENAME_PBTXT, message_text(self._model).encode()
        else:
            name, data = constants.SAVED_MODEL_FILENAME_PB, serialized(self._model)
        folder = self._staging()
        write_atomically(os.path.join(folder, name), data)
        if folder != self._export_dir:
            self._put_in_place(folder)
        return os.path.join(self._export_dir, name)

    @property
    def last_meta_graph(self) -> Any:
        """The MetaGraphDef message that was added last; what is changed in it is saved.

        Raises:
            IndexError: None was added.
        """
        return self._model.meta_graphs[-1]

    # ---- the folder -----------------------------------------------------------------------------------------------

    def _refuse_existing(self) -> None:
        if storage.is_remote(self._export_dir):
            taken = storage.exists(self._export_dir) and (
                not storage.is_folder(self._export_dir) or bool(storage.names(self._export_dir))
            )
        else:
            taken = os.path.lexists(self._export_dir) and (
                not os.path.isdir(self._export_dir) or bool(os.listdir(self._export_dir))
            )
        if taken:
            raise AssertionError(
                "Export directory already exists, and isn't empty. Please choose a different export directory, or "
                f"delete all the contents of the specified directory: {self._export_dir}"
            )

    def _staging(self) -> str:
        if self._folder is None and storage.is_remote(self._export_dir):
            self._folder = tempfile.mkdtemp(prefix="graphflow-")
            self._cleanup = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        elif self._folder is None:
            target = os.path.realpath(self._export_dir)
            # A mount point cannot be replaced, and its parent may be another disk or not writable.
            parent, name = (target, "model") if os.path.ismount(target) else os.path.split(target)
            os.makedirs(parent, exist_ok=True)
            self._folder = os.path.join(parent, f".{name}.{secrets.token_hex(4)}.unfinished")
            os.mkdir(self._folder)
            self._cleanup = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _put_in_place(self, folder: str) -> None:
        if storage.is_remote(self._export_dir):
            self._bring(folder)
            return
        target = os.path.realpath(self._export_dir)
        if os.path.dirname(folder) == target:
            # saved_model.pb comes last: until then there is no SavedModel for anybody to find.
            for name in sorted(os.listdir(folder), key=lambda name: (name.startswith("saved_model."), name)):
                os.rename(os.path.join(folder, name), os.path.join(target, name))
            os.rmdir(folder)
        else:
            try:
                os.rename(folder, target)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    self._refuse_existing()
                raise
            sync_folder(os.path.dirname(target))
        if self._cleanup is not None:
            self._cleanup.detach()
        self._folder = self._export_dir

    def _bring(self, folder: str) -> None:
        """Brings all files to a remote folder; saved_model.pb comes last, and makes it a SavedModel."""
        found = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
        for path in sorted(found, key=lambda path: (os.path.dirname(path) == folder, path)):
            target = os.path.join(self._export_dir, os.path.relpath(path, folder))
            storage.make_folders(storage.folder_of(target))
            storage.put(path, target)

    # ---- a meta graph ---------------------------------------------------------------------------------------------

    def _add(
        self,
        saver: Any,
        tags: Iterable[str],
        signatures: Mapping[str, Any],
        assets: Sequence[Tensor],
        main_op: Operation | None,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        if isinstance(tags, str):
            raise TypeError(f"The tags of a meta graph are a list of strings: write [{tags!r}].")
        meta_graph = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        self._add_assets(meta_graph, assets)
        if main_op is not None:
            _add_main_op(meta_graph, main_op)
        if self._for_tensorflow:
            drop_what_tensorflow_lacks(meta_graph, signatures)
        meta_graph.meta_info_def.tags.extend(tags)
        for key, signature in signatures.items():
            meta_graph.signature_def[key].CopyFrom(signature)
        self._model.meta_graphs.append(meta_graph)

    def _add_assets(self, meta_graph: Any, assets: Sequence[Tensor]) -> None:
        """Copies files into assets/ and says in the meta graph which tensor each is for."""
        meta_graph.collection_def.pop(constants.ASSETS_KEY, None)  # of a model that the graph was loaded from
        for tensor in assets:
            source = _asset_path(tensor)
            name = self._asset_name(source)
            asset = protos.meta_graph_pb2.AssetFileDef(filename=name)
            asset.tensor_info.name = tensor.name
            packed = meta_graph.collection_def[constants.ASSETS_KEY].any_list.value.add()
            packed.type_url = "type.googleapis.com/tensorflow.AssetFileDef"
            packed.value = asset.SerializeToString()

    def _asset_name(self, source: str) -> str:
        """The name under which a file lies in assets/; two files of the same name are told apart by a number."""
        base = name = os.path.basename(source)
        number = 0
        while name in self._assets:
            if self._assets[name] == source or _same_content(self._assets[name], source):
                return name
            number += 1
            name = f"{base}_{number}"
        folder = os.path.join(self._staging(), constants.ASSETS_DIRECTORY)
        os.makedirs(folder, exist_ok=True)
        with (
            storage.opened(source) as file,
            atomic_file(os.path.join(folder, name)) as descriptor,
            open(descriptor, "wb", closefd=False) as copy,
        ):
            shutil.copyfileobj(file, copy)
        self._assets[name] = source
        return name


def _same_content(path: str, other: str) -> bool:
    if storage.is_remote(path) or storage.is_remote(other):
        return storage.read(path) == storage.read(other)
    return cmp(path, other, shallow=False)


def check_signatures(signatures: Mapping[str, Any]) -> None:
    """Raises AssertionError for a tensor without name or dtype, KeyError for a name that TensorFlow reserves.

    Args:
        signatures: {name: SignatureDef}.
    """
    for key, signature in signatures.items():
        for name, info in (*signature.inputs.items(), *signature.outputs.items()):
            if info.WhichOneof("encoding") is None or not info.dtype:
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have the name and dtype fields set: in the "
                    f"signature {key!r}, {name!r} is {str(info).strip() or 'empty'}. Make it by build_tensor_info."
                )
    for reserved in (constants.INIT_OP_SIGNATURE_KEY, constants.TRAIN_OP_SIGNATURE_KEY):
        if reserved in signatures:
            raise KeyError(
                f"The signature name {reserved!r} is reserved by TensorFlow. Please use another name."
            )


def _default_saver() -> Any:
    variables = [
        item
        for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.SAVEABLE_OBJECTS)
        for item in get_default_graph().get_collection(key)
    ]
    return train.Saver(variables, sharded=True, allow_empty=True)


def _add_main_op(meta_graph: Any, main_op: Operation) -> None:
    if not isinstance(main_op, Operation):
        raise TypeError(f"main_op needs to be an Operation: {main_op!r}. gf.group makes one of several.")
    for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
        there = [op.name for op in get_default_graph().get_collection(key) if op is not main_op]
        if there:
            raise ValueError(
                f"Graph already contains a main op, {there[0]!r}, in the collection {key!r}. Clear the collection, or "
                "leave main_op out."
            )
    nodes = meta_graph.collection_def[constants.MAIN_OP_KEY].node_list
    del nodes.value[:]
    nodes.value.append(main_op.name)


def _asset_path(tensor: Any) -> str:
    if not isinstance(tensor, Tensor) or not tensor.op.op_def.is_constant or tensor.dtype != dtypes.string:
        raise TypeError(
            f"An asset is a constant string Tensor that holds the path of a file, not {tensor!r}."
        )
    value = tensor.op.get_attr("value")
    if value.shape:
        raise TypeError(f"An asset is one path, but {tensor.name!r} has the shape {value.shape}.")
    path = storage.absolute(user_path(value.item()))
    if not storage.is_file(path):
        raise ValueError(f"The asset {tensor.name!r} names {value.item()!r}, which is no file.")
    return path


def simple_save(
    session: BaseSession,
    export_dir: str | PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
    for_tensorflow: bool = False,
) -> None:
    """Saves the session's graph and variables for serving, with one signature (tf.saved_model.simple_save).

    `inputs` and `outputs` are tensors by name. Files named in the collection ASSET_FILEPATHS are copied.

    Args:
        session: The session.
        export_dir: The folder of the SavedModel.
        inputs: {name: tensor}.
        outputs: {name: tensor}.
        legacy_init_op: An operation that runs when it is loaded.
        for_tensorflow: See SavedModelBuilder.

    Raises:
        AssertionError: If export_dir exists and is not empty.
    """
    signature = signature_def_utils.predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir, for_tensorflow)
    builder.add_meta_graph_and_variables(
        session,
        [tag_constants.SERVING],
        {signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
