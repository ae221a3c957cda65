"""Saver: writes the variables of a session to checkpoint files and reads them back.

All its ops are made when it is made, so that it works with a finalized graph. One op writes one file, whatever devices
the variables are on. A Saver of everything also keeps the state that is no variable: random states, positions in
input, queues.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import graphflow.errors as errors
import graphflow.protos as protos
from graphflow._core.checkpoint.default_format import TENSORFLOW, default_format
from graphflow._core.checkpoint.resource_state import STATE
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.printable import printable
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.attributes import TooLargeError
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.identity import program_identity
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.scopes import resource_name
from graphflow._core.graph.types import SessionLike, VariableLike
from graphflow._core.ops.array.shaping import identity, placeholder_with_default, shape
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import constant
from graphflow._core.ops.distributed.sync_rounds import (
    beginnings_of_rounds,
    free_round,
    hold_round,
    is_between_rounds,
)
from graphflow._core.ops.state.checkpoints import (
    read_resource_state,
    restore_v2,
    save_v2,
    write_resource_state,
)
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.distribute.context import cross_tower, one_of_several_towers
from graphflow.train.saving.checkpoint_management import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    meta_graph_filename,
    remove_checkpoint,
    update_checkpoint_state,
)
from graphflow.train.saving.saveables import SaveableObject, VariableSaveable, saveables_of
from graphflow.train.saving.saver_def import SaverDef
from graphflow.train.saving.shared_graphs import SharedGraphs
from graphflow.train.steps import global_step as value_of_step

if TYPE_CHECKING:
    import numpy as np

_log = logging.getLogger(__name__)
_BUILT: WeakKeyDictionary[Graph, list[tuple[int, int]]] = WeakKeyDictionary()
"""Which operations of a graph its savers have made: a program is the same however many it has."""
_MOST_TRIES = 3
"""How often a checkpoint is written whose reads took longer than rounds wait: each time they wait longer."""


class Saver:
    """Saves and restores variables (tf.train.Saver).

    What is written is one file, PREFIX.safetensors, or TensorFlow's, PREFIX.index and PREFIX.data-00000-of-00001.
    Either can be restored. One thread at a time may use it.

    Args:
        var_list: What to save: a list of variables, partitioned variables or parts, or a dictionary from names in
            the checkpoint to these, or a function that gives such when the saver is built. By default all global
            variables, saveable objects, and the state of random ops, iterators and queues.
        reshape: Whether what has as many elements in another shape is restored.
        sharded: Changes nothing.
        max_to_keep: How many checkpoints are kept; None or 0 keeps all.
        keep_checkpoint_every_n_hours: One for each such time is kept besides.
        name: A name for the operations.
        restore_sequentially: Whether variables are restored one after another.
        saver_def: A SaverDef message, whose settings and names are taken.
        builder: None, as there is one way to save variables.
        defer_build: Whether it waits for build().
        allow_empty: Whether no variables are no error.
        write_version: gf.train.SaverDef.V2 for TensorFlow's files, V1 for the same. By default graphflow's one file,
            but TensorFlow's in a program for which `import tensorflow` gives graphflow; GRAPHFLOW_CHECKPOINTS in the
            environment, "tensorflow" or "safetensors", makes either one the default.
        pad_step_number: Whether steps are written 00000012 rather than 12.
        save_relative_paths: Whether the `checkpoint` file names others relative to itself, so that the folder may
            be moved.
        filename: The file if none is fed.

    Raises:
        ValueError: There is nothing to save, or a builder is given.

    Examples:
        >>> import tempfile
        >>> v = gf.Variable(3.0)
        >>> saver = gf.train.Saver()
        >>> with tempfile.TemporaryDirectory() as folder, gf.Session() as session:
        ...     session.run(v.initializer)
        ...     path = saver.save(session, folder + "/model", global_step=7)
        ...     session.run(v.assign(0.0))
        ...     saver.restore(session, path)
        ...     print(session.run(v), path.endswith("model-7"))
        np.float32(0.0)
        3.0 True
    """

    def __init__(
        self,
        var_list: Mapping[str, Any] | Iterable[Any] | Callable[[], Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int | None = None,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list is not None and not callable(var_list):
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                "var_list=None."
            )
        if builder is not None:
            raise ValueError(
                "graphflow's Saver has one way to write a checkpoint and takes no builder. To save something of your "
                "own, put a gf.train.SaveableObject in the collection gf.GraphKeys.SAVEABLE_OBJECTS."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sequentially = restore_sequentially
        self._name = name
        self._allow_empty = allow_empty
        self._pad = pad_step_number
        self._relative = save_relative_paths
        self._filename = filename or "model"
        self._form = TENSORFLOW if write_version is not None or default_format() == TENSORFLOW else ""
        self._write_version = SaverDef.V2  # As programs that derive from TensorFlow's ask for it.
        self._is_empty = False
        self._told = False
        self._graphs = SharedGraphs()
        self._last: list[tuple[str, float]] = []
        self._doomed: list[tuple[str, float]] = []
        self._own: set[str] = set()
        self._lines: dict[str, tuple[str, int]] = {}
        """The lines that built the variables, by their names in the checkpoint."""
        self._settings = SaverDef(
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
        )
        self._saver_def: SaverDef | None = None
        self._next_kept = time.time() + keep_checkpoint_every_n_hours * 3600
        if saver_def is not None:
            self._saver_def = SaverDef.of(saver_def)
            self._next_kept = time.time() + self._saver_def.keep_checkpoint_every_n_hours * 3600
        elif not defer_build:
            self.build()

    # ---- building -------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Adds the ops to the default graph, if defer_build had put that off; a second call does nothing."""
        if self._saver_def is not None or self._is_empty:
            return
        everything = self._var_list is None
        graph = get_default_graph()
        found = self._var_list() if callable(self._var_list) else self._var_list
        if everything:
            found = global_variables() + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
        if not found:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        tower = one_of_several_towers()
        before = graph.version
        program = program_identity(graph, _BUILT.get(graph, ())) if everything else ""
        across = nullcontext() if tower is None else cross_tower(tower.distribution_strategy)
        with across, graph.name_scope(self._name or "save"), graph.control_dependencies(None):
            saveables = saveables_of(found)
            self._lines = {s.name: s.op.op.line for s in saveables if isinstance(s, VariableSaveable)}
            self._saver_def = self._build(graph, saveables, program)
        _BUILT.setdefault(graph, []).append((before, graph.version))

    def _build(self, graph: Graph, saveables: list[SaveableObject], program: str) -> SaverDef:
        """`program`: whose state is saved besides, see program_identity; "" if none is."""
        filename = placeholder_with_default(self._filename, shape=(), name="filename")
        filename = placeholder_with_default(filename, shape=(), name="Const")
        saved = _save_op(graph, filename, saveables, program, self._form)
        with graph.control_dependencies([saved]):
            done = identity(filename, name="control_dependency")
        restored = self._restore_op(graph, filename, saveables, program)
        settings = SaverDef.of(self._settings)
        settings.filename_tensor_name = filename.name
        settings.save_tensor_name = done.name
        settings.restore_op_name = restored.name
        return settings

    def _restore_op(
        self, graph: Graph, filename: Tensor, saveables: list[SaveableObject], program: str
    ) -> Operation:
        specs = [spec for saveable in saveables for spec in saveable.specs]
        states = _tasks(graph, saveables, program)
        variables = [
            resource_name(s.op.op.attrs, s.op.op.name) for s in saveables if isinstance(s, VariableSaveable)
        ]
        expected = [dims for saveable in saveables for dims in saveable.expected_shapes]
        with graph.name_scope("RestoreV2") as scope:
            names = constant([s.name for s in specs] + [STATE + t for t in states], name="tensor_names")
            slices = constant([s.slice_spec for s in specs] + [""] * len(states), name="shape_and_slices")
            tensors = restore_v2(
                filename,
                names,
                slices,
                [spec.dtype for spec in specs] + [dtypes.uint8] * len(states),
                scope,
                [None] * (len(specs) + len(states)) if self._reshape else expected + [None] * len(states),
            )
        first: list[Operation] = []
        for task, state in zip(states, tensors[len(specs) :], strict=True):
            with graph.device(task or None):
                first.append(write_resource_state(state, program, variables))
        done: list[Any] = []
        position = 0
        for saveable in saveables:
            values = tensors[position : position + len(saveable.specs)]
            position += len(values)
            wanted = None
            if self._reshape:
                wanted = [_whole_shape(spec.tensor) for spec in saveable.specs]
            with graph.control_dependencies(first + (done[-1:] if self._sequentially else [])):
                done.append(saveable.restore(values, wanted))
        return group(*first, *done, name="restore_all")

    # ---- saving ---------------------------------------------------------------------------------------------------

    def save(
        self,
        sess: SessionLike,
        save_path: str,
        global_step: int | np.integer[Any] | Tensor | VariableLike | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | Any:
        """Writes a checkpoint and returns its prefix: save_path, with "-STEP" if a step is given.

        The folder is made if it is not there, ValueError if it cannot be. gf.errors.ResourceExhaustedError if
        the disk is full, and then nothing is left of it. None if there are no variables.

        Args:
            sess: The session that holds the variables.
            save_path: What the checkpoint's prefix begins with.
            global_step: A number, or a tensor or variable to read.
            latest_filename: The name of the file that lists a folder's checkpoints; by default "checkpoint".
            meta_graph_suffix: The ending of the graph's file.
            write_meta_graph: Whether the graph is written beside it.
            write_state: Whether the folder's `checkpoint` file names it, under `latest_filename`; then old
                ones are removed.
            strip_default_attrs: Accepted, and not needed.
            save_debug_info: Accepted, and not needed.

        Returns:
            The prefix of the checkpoint, which restore() takes.
        """
        definition = self._built("save")
        if os.path.split(latest_filename or "checkpoint")[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = user_path(save_path)
        if not hasattr(sess, "run") or not hasattr(sess, "graph"):
            raise TypeError(f"'sess' must be a Session; {sess!r}")
        prefix = save_path
        if global_step is not None:
            step: Any = global_step
            if not isinstance(step, int) and hasattr(step, "graph"):
                step = value_of_step(sess, step)
            prefix = f"{save_path}-{int(step):08d}" if self._pad else f"{save_path}-{int(step)}"
        elif os.path.basename(save_path) == (latest_filename or "checkpoint"):
            raise ValueError(
                f"'latest_filename' collides with 'save_path': {latest_filename or 'checkpoint'!r} and {save_path!r}"
            )
        folder = storage.folder_of(save_path)
        if definition is not None:
            try:
                written = _written(sess, definition, prefix)
            except errors.OpError as error:
                if storage.is_remote(folder) or os.path.isdir(folder or "."):
                    raise
                raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from error
            prefix = written.decode() if isinstance(written, bytes) else str(written)
            if write_state:
                self._record(prefix, definition)
                update_checkpoint_state(
                    folder, prefix, self.last_checkpoints, latest_filename, save_relative_paths=self._relative
                )
                self._remove_old(definition, meta_graph_suffix, folder)
        if write_meta_graph:
            path = meta_graph_filename(prefix, meta_graph_suffix)
            try:
                with sess.graph.as_default():
                    graph = self.export_meta_graph(path, strip_default_attrs=strip_default_attrs)
                if graph is not None:  # Else a subclass has written it.
                    self._graphs.written(user_path(path), graph.graph_def, prefix)
            except (ModuleNotFoundError, TooLargeError) as error:  # Training needs neither.
                if not self._told:
                    _log.warning("Checkpoints are written without their graphs: %s", error)
                    self._told = True
        return None if definition is None else prefix

    def _built(self, what: str) -> SaverDef | None:
        if self._saver_def is None and not self._is_empty:
            raise RuntimeError(f"`build()` should be called before {what} if defer_build==True")
        return self._saver_def

    def _record(self, prefix: str, definition: SaverDef) -> None:
        if definition.max_to_keep <= 0:
            return
        self._own.add(prefix)
        self._last = [(path, when) for path, when in self._last if path != prefix]
        self._last.append((prefix, time.time()))
        if len(self._last) > definition.max_to_keep:
            self._doomed.append(self._last.pop(0))

    def _remove_old(self, definition: SaverDef, meta_graph_suffix: str, folder: str) -> None:
        """Removes one checkpoint that is not to be kept: one that this saver wrote, or one of the same folder.

        What else it was told of comes from a `checkpoint` file as a rule, which may be anybody's and name any file.
        """
        if not self._doomed:
            return
        path, when = self._doomed.pop(0)
        if when > self._next_kept:
            self._next_kept += definition.keep_checkpoint_every_n_hours * 3600
            return
        of_others = path not in self._own
        self._own.discard(path)
        if of_others and not storage.same_folder(storage.folder_of(path), folder):
            _log.warning(
                "The old checkpoint %s is not removed: it is not in %s, where the new ones are.",
                printable(path), folder or ".",
            )  # fmt: skip
            return
        try:
            remove_checkpoint(path, meta_graph_suffix=meta_graph_suffix)
        except OSError as error:
            _log.warning("An old checkpoint could not be removed: %s", error)

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that were not removed yet, oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Says which checkpoints there are, as of now; see set_last_checkpoints_with_time.

        Args:
            last_checkpoints: Prefixes, or pairs of a prefix and a time.
        """
        self.set_last_checkpoints_with_time([(path, time.time()) for path in last_checkpoints])

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[str, float]]) -> None:
        """Says which checkpoints there are, oldest first, and when each was written, in seconds since 1970.

        Args:
            last_checkpoints_with_time: Pairs (prefix, seconds).
        """
        if not isinstance(last_checkpoints_with_time, list):
            raise TypeError(f"A list is needed, got {last_checkpoints_with_time!r}.")
        self._last = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over checkpoints that an earlier process wrote, so that the old ones are removed in time.

        Args:
            checkpoint_paths: Their prefixes, oldest first.
        """
        there = [path for path in checkpoint_paths if checkpoint_exists(path)]
        self.set_last_checkpoints_with_time(list(zip(there, get_checkpoint_mtimes(there), strict=True)))

    # ---- restoring ------------------------------------------------------------------------------------------------

    def restore(self, sess: SessionLike, save_path: str) -> None:
        """Sets the variables to those of a checkpoint; they need not be initialized. All of them or none.

        Args:
            sess: The session that holds the variables.
            save_path: A prefix, as save returned it.

        Raises:
            ValueError: If there is no such checkpoint; gf.errors.NotFoundError with all names that it lacks.
            InvalidArgumentError: If a dtype or shape differs.
            DataLossError: If a checksum does not hold.
        """
        definition = self._built("restore")
        if definition is None:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = user_path(save_path)
        if not checkpoint_exists(save_path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {save_path}")
        _log.info("Restoring parameters from %s", save_path)
        try:
            sess.run(definition.restore_op_name, {definition.filename_tensor_name: save_path})
        except (errors.InvalidArgumentError, errors.NotFoundError) as error:
            raise self._located(error) from None

    def _located(self, error: errors.OpError) -> errors.OpError:
        """The error with the lines that built the variables it names."""
        named = dict.fromkeys(
            re.findall(r"(?<=[ :])'([^'\n]+)' (?:has|\(near)|'([^'\n]+)'(?=[,.] )", error.message)
        )
        names = [name for pair in named for name in pair if name in self._lines]
        if not names:
            return error
        built = "; ".join("{} was built at {}:{}".format(name, *self._lines[name]) for name in names[:20])
        return type(error)(error.node_def, error.op, f"{error.message}\nVariables: {built}.")

    # ---- as data --------------------------------------------------------------------------------------------------

    @property
    def saver_def(self) -> SaverDef | None:
        """The names of its ops; None before build()."""
        return self._saver_def

    def as_saver_def(self) -> Any:
        """TensorFlow's SaverDef message (needs the protobuf messages); see to_proto."""
        return self.to_proto()

    def to_proto(self, export_scope: str | None = None) -> Any:
        """TensorFlow's SaverDef message, names taken relative to a scope; None if its ops are not in that scope.

        Args:
            export_scope: A name scope; names are taken relative to it.
        """
        definition = self._built("to_proto")
        if definition is None:
            return protos.saver_pb2.SaverDef()
        fields = asdict(definition)
        if export_scope is not None:
            start = export_scope.rstrip("/") + "/"
            if not definition.filename_tensor_name.startswith(start):
                return None
            for name in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                fields[name] = fields[name].removeprefix(start)
        return protos.saver_pb2.SaverDef(**fields)

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The saver of a SaverDef, whose ops are in the graph, under import_scope if one is given.

        Args:
            saver_def: A SaverDef message.
            import_scope: A name scope that names are put under.
        """
        definition = SaverDef.of(saver_def)
        if import_scope is not None:
            for name in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(definition, name, f"{import_scope.rstrip('/')}/{getattr(definition, name)}")
        return Saver(saver_def=definition, name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """The default graph as a MetaGraphDef with this saver in it, written to a file if one is named.

        Args:
            filename: The file to write, or None.
            collection_list: The collections to write; by default all.
            as_text: Whether the file is text.
            export_scope: A name scope; names are taken relative to it.
            clear_devices: Whether the nodes are written or read without their devices.
            clear_extraneous_savers: Whether other savers are left out.
            strip_default_attrs: Accepted, and not needed.
            save_debug_info: Accepted, and not needed.
        """
        # A meta graph holds savers, so its module stands above this one.
        from graphflow.train.saving.meta_graph import export_meta_graph

        return export_meta_graph(
            filename=filename,
            saver_def=None if self._saver_def is None else self.to_proto(export_scope),
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )


def _written(sess: SessionLike, definition: SaverDef, prefix: str) -> Any:
    """What the run that writes a checkpoint gives.

    One that was not read between two rounds of synchronous training, since it took too long or a round did not end, is
    written again, and has more time then; if it fails each time, nothing is left of it.
    """
    for left in reversed(range(_MOST_TRIES)):
        try:
            return sess.run(definition.save_tensor_name, {definition.filename_tensor_name: prefix})
        except errors.AbortedError as error:
            if not is_between_rounds(error.op):
                raise
            if not left:
                remove_checkpoint(prefix)
                raise
            _log.warning("The checkpoint %s is written again: %s", printable(prefix), error.message)
    raise AssertionError


def _save_op(
    graph: Graph, filename: Tensor, saveables: list[SaveableObject], program: str, form: str
) -> Operation:
    specs = [spec for saveable in saveables for spec in saveable.specs]
    tensors: list[Any] = [spec.tensor for spec in specs]
    names = [spec.name for spec in specs]
    begins = beginnings_of_rounds(graph)
    held = [hold_round(begin) for begin in begins]
    for task in _tasks(graph, saveables, program):
        with graph.device(task or None), graph.control_dependencies(held):
            tensors.append(read_resource_state(program))
        names.append(STATE + task)
    with graph.control_dependencies(held), graph.name_scope("SaveV2") as scope:
        slices = [spec.slice_spec for spec in specs] + [""] * (len(names) - len(specs))
        saved = save_v2(
            filename, constant(names, name="tensor_names"), constant(slices, name="shape_and_slices"), tensors, scope,
            form,
        )  # fmt: skip
    if not begins:
        return saved
    with graph.control_dependencies([saved]):
        return group(*(free_round(begin) for begin in begins))


def _tasks(graph: Graph, saveables: Sequence[SaveableObject], program: str) -> list[str]:
    """The tasks whose state is saved, as device names; "" stands for the session's own.

    Of a program these are all that its ops ask for. Without one they are those that have the variables.
    """
    if program:
        return sorted({"", *(_task(device) for device in {op.device for op in graph.get_operations()})})
    return sorted({_task(s.op.device) for s in saveables if isinstance(s, VariableSaveable)} - {""})


def _task(device: str) -> str:
    """The task of a device, as a device name; "" if it has none."""
    spec = DeviceSpec.from_string(device)
    return (
        "" if spec.job is None else DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task).to_string()
    )


def _whole_shape(tensor: Any) -> Any:
    dims: shapes.Dims = tensor.dims
    return shape(tensor) if dims is None or None in dims else list(dims)
