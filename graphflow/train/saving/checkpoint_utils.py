"""Looking into checkpoints without a graph, and starting variables from one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.opening import open_checkpoint
from graphflow._core.checkpoint.reader import CheckpointFile
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.shapes import compatible, text
from graphflow._core.ops.core import constant
from graphflow._core.ops.state.checkpoints import restore_v2
from graphflow._core.ops.state.partitioning import PartitionedVariable
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.distribute.context import one_of_several_towers
from graphflow.distribute.values import select
from graphflow.train.saving.checkpoint_management import checkpoint_exists, latest_checkpoint
from graphflow.train.saving.saveables import VariableSaveable, saveables_of

_log = logging.getLogger(__name__)


_NAMES: Final = {"float16": "half", "float32": "float", "float64": "double"}
"""The names of dtypes in TensorFlow's messages, where they have others."""


class CheckpointReader:
    """The tensors of one checkpoint (what tf.train.NewCheckpointReader returns).

    A variable that was saved in parts is one tensor here. gf.errors.NotFoundError if there is no such checkpoint,
    DataLossError if its header is damaged. Thread-safe.

    Args:
        filepattern: The prefix of the checkpoint.
    """

    def __init__(self, filepattern: str) -> None:
        try:
            self._file: CheckpointFile = open_checkpoint(user_path(filepattern))
        except errors.NotFoundError as error:
            raise errors.NotFoundError(
                None,
                None,
                f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {filepattern}: "
                f"{error.message}",
            ) from error

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """The shape of each tensor, by name."""
        return {name: list(self._file.shape(name)) for name in self._file.names()}

    def get_variable_to_dtype_map(self) -> dict[str, dtypes.DType]:
        """The dtype of each tensor, by name."""
        return {name: self._file.dtype(name) for name in self._file.names()}

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a tensor of this name.

        Args:
            tensor_str: The name of a tensor.
        """
        return tensor_str in self._file

    def get_tensor(self, tensor_str: str) -> Any:
        """The value of a tensor, a fresh array.

        Args:
            tensor_str: The name of a tensor.

        Returns:
            An array.

        Raises:
            NotFoundError: If there is none.
            DataLossError: If it is damaged.
        """
        (value,) = self._file.read([(tensor_str, None)])
        if np.ndim(value) == 0:
            return value if isinstance(value, bytes) else value[()]
        return value if value.flags.owndata else value.copy()

    def debug_string(self) -> bytes:
        """A line for each tensor: name (dtype, by TensorFlow's name such as DT_FLOAT) shape."""
        file = self._file
        shapes = {name: str(list(file.shape(name))).replace(" ", "") for name in file.names()}
        return "".join(
            f"{name} (DT_{_NAMES.get(file.dtype(name).name, file.dtype(name).name).upper()}) {shape}\n"
            for name, shape in shapes.items()
        ).encode()


def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """A reader of a checkpoint, or of a folder's latest (tf.train.load_checkpoint).

    Args:
        ckpt_dir_or_file: A checkpoint's prefix, or a folder, whose latest checkpoint is meant.

    Raises:
        ValueError: If there is none.
    """
    return CheckpointReader(checkpoint_prefix(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """The value of one tensor of a checkpoint (tf.train.load_variable); a name may end in ":0".

    Args:
        ckpt_dir_or_file: A checkpoint's prefix, or a folder, whose latest checkpoint is meant.
        name: A name for the operation.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """(name, shape) of every tensor of a checkpoint, sorted by name (tf.train.list_variables).

    Args:
        ckpt_dir_or_file: A checkpoint's prefix, or a folder, whose latest checkpoint is meant.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def checkpoint_prefix(ckpt_dir_or_file: str) -> str:
    """The prefix of a checkpoint, or of the latest one of a folder; ValueError if it has none."""
    given = user_path(ckpt_dir_or_file)
    if not storage.is_folder(given) or checkpoint_exists(given):
        return given
    found = latest_checkpoint(given)
    if found is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {given}")
    return found


def init_from_checkpoint(ckpt_dir_or_file: str, assignment_map: Mapping[str, Any]) -> None:
    """Lets variables begin with values of a checkpoint (tf.train.init_from_checkpoint).

    The values are read when the initializers run. Of several towers, each has to call it.

    Args:
        ckpt_dir_or_file: A checkpoint's prefix, or a folder, whose latest checkpoint is meant.
        assignment_map: From names in the checkpoint to variables, their names, or lists of the parts of one;
            a scope of the checkpoint ("old/", "/" for all) to a scope of the graph ("new/") takes every
            variable of the new scope.

    Raises:
        ValueError: If a name is not there or a shape differs.
    """
    context = one_of_several_towers()
    if context is None:
        _begin_all(None, ckpt_dir_or_file, assignment_map)
    else:
        context.merge_call(_begin_all, ckpt_dir_or_file, assignment_map)


def _begin_all(_: Any, ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    prefix = checkpoint_prefix(select(0, ckpt_dir_or_file))
    file = open_checkpoint(prefix)
    assignment_map = select(0, assignment_map)
    pairs = assignment_map.items() if isinstance(assignment_map, Mapping) else assignment_map
    for source, target in pairs:
        for name, variable in _assignments(file, prefix, source, target):
            _begin_with(file, prefix, name, variable)


def _assignments(file: CheckpointFile, prefix: str, source: str, target: Any) -> Iterable[tuple[str, Any]]:
    """(name in the checkpoint, variable or parts of one) for one entry of the map."""
    if not isinstance(target, str):
        yield source, list(target) if isinstance(target, PartitionedVariable | tuple) else target
        return
    named = _variables_by_name()
    if not target.endswith("/") and not source.endswith("/"):
        if target not in named:
            raise ValueError(
                f"Assignment map with scope or variable name {target!r} which is not in the graph."
            )
        yield source, named[target]
        return
    if not source.endswith("/") or not target.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {source} should map to scope only {target}. Both end in '/'."
        )
    scope, start = ("" if target == "/" else target), ("" if source == "/" else source)
    found = {name: variable for name, variable in named.items() if name.startswith(scope)}
    if not found:
        _log.warning("init_from_checkpoint: the graph has no variables in the scope %r.", target)
    for name, variable in found.items():
        stored = start + name.removeprefix(scope)
        if stored not in file:
            raise ValueError(
                f"Tensor {stored} ({name} in the graph) is not found in {prefix} checkpoint: "
                f"{', '.join(file.names()[:20])}"
            )
        yield stored, variable


def _variables_by_name() -> dict[str, Any]:
    """The global variables; the parts of one are a list, by the name of the whole."""
    named: dict[str, Any] = {}
    for variable in global_variables():
        info = variable.get_save_slice_info()
        if info is None:
            named[variable.op.name] = variable
        else:
            named.setdefault(info.full_name, []).append(variable)
    return named


def _begin_with(file: CheckpointFile, prefix: str, name: str, target: Any) -> None:
    """Makes the initializers of a variable, or of the parts of one, read a tensor of a checkpoint."""
    if name not in file:
        raise ValueError(f"Tensor {name} is not found in {prefix} checkpoint: {', '.join(file.names()[:20])}")
    for saveable in saveables_of({name: target}):
        if not isinstance(saveable, VariableSaveable):
            raise TypeError(f"{name!r} is mapped to {target!r}, which is not a variable.")
        variable: Variable = saveable.op
        info = variable.get_save_slice_info()
        dims = variable.dims if info is None else tuple(info.full_shape)
        if not compatible(dims, file.shape(name)):
            raise ValueError(
                f"Shape of variable {variable.op.name} ({text(dims)}) doesn't match with shape of tensor {name} "
                f"({text(file.shape(name))}) from checkpoint reader."
            )
        graph = get_default_graph()
        with graph.control_dependencies(None), graph.name_scope("checkpoint_initializer") as scope:
            places = (
                constant(prefix, name="prefix"),
                constant([name], name="tensor_names"),
                constant([saveable.specs[0].slice_spec], name="shape_and_slices"),
            )
            (value,) = restore_v2(*places, [variable.dtype], scope, [None if info else variable.dims])
            variable.set_initializer(value, assign(variable, value).op)
